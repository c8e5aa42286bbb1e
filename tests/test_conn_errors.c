/* test_conn_errors.c - what can go wrong with a connection: a row that provokes
 * it, the code that tells it from all else, and, where that is not its end, that
 * the connection goes on. Time passes only in support/kernel.c. */

#define _GNU_SOURCE 1

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "dwire/bus.h"
#include "dwire/connection.h"
#include "support/ends.h"
#include "support/failing.h"
#include "support/kernel.h"

/* What a row has at hand: two ends that are through with the handshake; and a
 * socket whose other end says what the row wants. */
typedef struct stage {
    ends e;
    dw_conn *c; /* on that socket; not authenticated */
    int peer;
    failing memory;
    dw_writer w;
    dw_message m;
} stage;

static const fault no_fault;

static dw_conn *open_alone(stage *s, unsigned flags, const char *guid)
{
    int fd[2];
    dw_options o = {.flags = flags, .guid = guid, .auth_timeout_ms = 100};
    make_sockets(fd);
    s->peer = fd[1];
    expect_code(dw_conn_from_fd_with(&s->c, fd[0], &o), 0);
    return s->c;
}

static void say(const stage *s, const char *p, size_t n)
{
    assert_int_equal(send(s->peer, p, n, MSG_NOSIGNAL), n);
}

#define OK           "DATA\r\nOK 0123456789abcdef0123456789abcdef\r\n"
#define HEADER       "l\4\1\1\0\0\0\0\1\0\0\0"
#define SAY(s, text) say((s), text, sizeof text - 1)

/* -- Opening ------------------------------------------------------------------- */

static int no_such_socket(stage *s)
{
    return dw_connect(&s->c, "unix:path=/none/such", 0, DW_TIMEOUT_DEFAULT);
}

static int refused(stage *s)
{
    return dw_connect(&s->c, "unix:abstract=dwire-nobody-is-here", 0, DW_TIMEOUT_DEFAULT);
}

static int no_unix_socket(stage *s)
{
    return dw_connect(&s->c, "tcp:host=localhost,port=1", 0, DW_TIMEOUT_DEFAULT);
}

static int malformed_address(stage *s)
{
    return dw_connect(&s->c, "unix:path", 0, DW_TIMEOUT_DEFAULT);
}

static int server_is_busy(stage *s)
{
    kernel_start((fault){CALL_CONNECT, .at = 1, .for_good = true, .error = EAGAIN}, NULL, NULL);
    return dw_connect(&s->c, "unix:abstract=dwire-nobody-is-here", 0, 0);
}

static bool nobody(void *context, int64_t uid)
{
    (void)context, (void)uid;
    return false;
}

static void meet_stranger(ends *e)
{
    dw_options server = {.admit = nobody};
    ends_open(e, NULL, &server);
    dw_flush(e->client, 0);
    dw_flush(e->server, 0);
}

static int wrong_user(stage *s)
{
    ends e;
    meet_stranger(&e);
    int r = dw_flush(e.client, 0);
    ends_close(&e);
    (void)s;
    return r;
}

static int stranger(stage *s)
{
    ends e;
    meet_stranger(&e);
    int r = dw_receive(e.server, &s->m, 0);
    ends_close(&e);
    return r;
}

static int other_guid(stage *s)
{
    open_alone(s, 0, "00000000000000000000000000000000");
    SAY(s, OK "AGREE_UNIX_FD\r\n");
    return dw_flush(s->c, 0);
}

static int handshake_of_another_kind(stage *s)
{
    open_alone(s, 0, NULL);
    SAY(s, "HTTP/1.1 400 Bad Request\r\n");
    return dw_flush(s->c, 0);
}

static int endless_line(stage *s)
{
    char line[600];
    memset(line, 'A', sizeof line);
    open_alone(s, 0, NULL);
    say(s, line, sizeof line);
    return dw_flush(s->c, 0);
}

/* -- Time ------------------------------------------------------------------------ */

static int handshake_takes_long(stage *s)
{
    kernel_start(no_fault, NULL, NULL);
    return dw_flush(open_alone(s, 0, NULL), DW_TIMEOUT_DEFAULT);
}

static int client_takes_long(stage *s)
{
    kernel_start(no_fault, NULL, NULL);
    return dw_receive(open_alone(s, DW_CONN_SERVER, NULL), &s->m, DW_TIMEOUT_DEFAULT);
}

static int answer_takes_long(stage *s)
{
    kernel_start(no_fault, NULL, NULL);
    write_call(&s->w, "Ask", 1);
    int r = dw_call(s->e.client, &s->w, &s->m, DW_TIMEOUT_DEFAULT);
    assert_int_equal(kernel.clock / 1000000000, 25);
    return r;
}

static void keep_code(void *context, int code, dw_message *reply)
{
    (void)reply;
    *(int *)context = code;
}

static int answer_in_flight_takes_long(stage *s)
{
    int code = 0;
    kernel_start(no_fault, NULL, NULL);
    write_call(&s->w, "Ask", 1);
    expect_code(dw_start_call(s->e.client, &s->w, 1000, keep_code, &code, NULL), 0);
    expect_code(dw_receive(s->e.client, &s->m, 2000), 0);
    return code;
}

static int peer_does_not_read(stage *s)
{
    kernel_start(no_fault, NULL, NULL);
    open_alone(s, DW_CONN_NO_AUTH, NULL);
    write_ballast(&s->w, 1000000);
    expect_code(dw_send(s->c, &s->w, NULL), 0);
    return dw_flush(s->c, DW_TIMEOUT_DEFAULT);
}

/* -- Sending ------------------------------------------------------------------------ */

static void write_fds(dw_writer *w, const int *fds)
{
    dw_begin(w, &(dw_header){.type = DW_SIGNAL,
                             .path = "/o",
                             .interface = "a.b",
                             .member = "M",
                             .fds = fds,
                             .n_fds = 1});
    expect_code(dw_finish(w), 0);
}

static int descriptors_refused(stage *s)
{
    open_alone(s, DW_CONN_NO_AUTH | DW_CONN_NO_FDS, NULL);
    write_fds(&s->w, &s->peer);
    return dw_send(s->c, &s->w, NULL);
}

static int descriptors_refused_later(stage *s)
{
    open_alone(s, 0, NULL);
    write_fds(&s->w, &s->peer);
    expect_code(dw_send(s->c, &s->w, NULL), 0);
    SAY(s, OK "ERROR\r\n");
    return dw_flush(s->c, 0);
}

static int no_such_descriptor(stage *s)
{
    int fd = 1000000;
    write_fds(&s->w, &fd);
    return dw_send(s->e.client, &s->w, NULL);
}

static int out_of_descriptors(stage *s)
{
    int fd = 0;
    write_fds(&s->w, &fd);
    kernel_start((fault){CALL_FCNTL, .at = 1, .error = EMFILE}, NULL, NULL);
    return dw_queue(s->e.client, &s->w, NULL);
}

static int queue_full(stage *s)
{
    dw_conn_limits(s->e.client, 1000, 0);
    write_ballast(&s->w, 600);
    expect_code(dw_queue(s->e.client, &s->w, NULL), 0);
    int r = dw_queue(s->e.client, &s->w, NULL);
    expect_code(dw_flush(s->e.client, 0), 0);
    expect_code(dw_receive(s->e.server, &s->m, 0), 1);
    return r;
}

static int too_much_meanwhile(stage *s)
{
    dw_conn_limits(s->e.client, 0, 1);
    expect_code(send_signal(s->e.server, 1), 0);
    expect_code(send_signal(s->e.server, 2), 0);
    write_call(&s->w, "Ask", 1);
    int r = dw_call(s->e.client, &s->w, &s->m, 0);
    expect_signal(s->e.client, 1);
    expect_signal(s->e.client, 2);
    expect_code(dw_receive(s->e.server, &s->m, 0), 1);
    return r;
}

static int not_finished(stage *s)
{
    dw_begin_signal(&s->w, "/o", "a.b", "M", "u");
    return dw_send(s->e.client, &s->w, NULL);
}

static int message_too_large(stage *s)
{
    static const uint8_t byte;
    dw_begin_signal(&s->w, "/o", "a.b", "M", "ay");
    dw_put_byte_array(&s->w, &byte, (size_t)DW_MAX_ARRAY + 1);
    dw_finish(&s->w);
    return dw_send(s->e.client, &s->w, NULL);
}

static int reply_to_nothing(stage *s)
{
    expect_code(send_signal(s->e.server, 1), 0);
    expect_code(dw_receive(s->e.client, &s->m, 0), 1);
    return dw_reply(s->e.client, &s->m);
}

static int no_such_call(stage *s)
{
    return dw_cancel_call(s->e.client, 77);
}

static int out_of_memory(stage *s)
{
    dw_options o = {.allocator = &s->memory.allocator};
    int fd[2];
    make_sockets(fd);
    failing_init(&s->memory, 1, true);
    int r = dw_conn_from_fd_with(&s->c, fd[0], &o);
    close(fd[0]);
    close(fd[1]);
    return r;
}

/* -- Receiving ------------------------------------------------------------------------ */

static int hear(stage *s, const char *p, size_t n, bool hang_up)
{
    open_alone(s, DW_CONN_NO_AUTH, NULL);
    say(s, p, n);
    if (hang_up) {
        close(s->peer);
        s->peer = -1;
    }
    return dw_receive(s->c, &s->m, 0);
}

#define HEAR(s, text, hang_up) hear((s), text, sizeof text - 1, (hang_up))

static int peer_gone(stage *s)
{
    return HEAR(s, "", true);
}

static int peer_gone_in_the_middle(stage *s)
{
    return HEAR(s, HEADER "\0\0", true);
}

static int garbage(stage *s)
{
    return HEAR(s, "GET / HTTP/1.1\r\n\r\n", false);
}

static int promise_too_large(stage *s)
{
    return HEAR(s, "l\4\1\1\0\0\0\10\1\0\0\0\0\0\0\0", false);
}

static int descriptors_missing(stage *s)
{
    return HEAR(s,
                "l\4\1\1\0\0\0\0\1\0\0\0\70\0\0\0"
                "\1\1o\0\2\0\0\0/o\0\0\0\0\0\0"
                "\2\1s\0\3\0\0\0a.b\0\0\0\0\0"
                "\3\1s\0\1\0\0\0M\0\0\0\0\0\0\0"
                "\11\1u\0\1\0\0\0",
                false);
}

static int refused_call(stage *s)
{
    write_call(&s->w, "Ask", 1);
    uint32_t serial;
    int code = 0;
    expect_code(dw_start_call(s->e.client, &s->w, 1000, keep_code, &code, &serial), 0);
    expect_code(dw_receive(s->e.server, &s->m, 0), 1);
    refuse_call(s->e.server, &s->m);
    expect_code(dw_receive(s->e.client, &s->m, 0), 0);
    return code;
}

static int no_way_to_read(stage *s)
{
    open_alone(s, DW_CONN_NO_AUTH, NULL);
    kernel_start((fault){CALL_RECVMSG, .at = 1, .error = EIO}, NULL, NULL);
    return dw_receive(s->c, &s->m, 0);
}

/* -- The table --------------------------------------------------------------------------- */

/* ends: that of the connection s->c, which goes on saying so. */
static const struct {
    const char *name;
    int (*provoke)(stage *s);
    int code, cause;
    bool ends;
} rows[] = {
#define ROW(name, ...)                                                                             \
    {                                                                                              \
#name, name, __VA_ARGS__                                                                   \
    }
    ROW(no_such_socket, DW_E_SYSTEM, ENOENT, false),
    ROW(refused, DW_E_SYSTEM, ECONNREFUSED, false),
    ROW(no_unix_socket, DW_E_UNSUPPORTED, 0, false),
    ROW(malformed_address, DW_E_ADDRESS, 0, false),
    ROW(server_is_busy, DW_E_TIMEOUT, 0, false),
    ROW(wrong_user, DW_E_AUTH, 0, false),
    ROW(stranger, DW_E_PROTOCOL, 0, false),
    ROW(other_guid, DW_E_GUID, 0, true),
    ROW(handshake_of_another_kind, DW_E_PROTOCOL, 0, true),
    ROW(endless_line, DW_E_LIMIT, 0, true),
    ROW(handshake_takes_long, DW_E_TIMEOUT, 0, false),
    ROW(client_takes_long, DW_E_TIMEOUT, 0, true),
    ROW(answer_takes_long, DW_E_TIMEOUT, 0, false),
    ROW(answer_in_flight_takes_long, DW_E_TIMEOUT, 0, false),
    ROW(peer_does_not_read, DW_E_TIMEOUT, 0, false),
    ROW(descriptors_refused, DW_E_UNSUPPORTED, 0, false),
    ROW(descriptors_refused_later, DW_E_UNSUPPORTED, 0, true),
    ROW(no_such_descriptor, DW_E_SYSTEM, EBADF, false),
    ROW(out_of_descriptors, DW_E_SYSTEM, EMFILE, false),
    ROW(queue_full, DW_E_QUEUE, 0, false),
    ROW(too_much_meanwhile, DW_E_QUEUE, 0, false),
    ROW(not_finished, DW_E_STATE, 0, false),
    ROW(message_too_large, DW_E_LIMIT, 0, false),
    ROW(reply_to_nothing, DW_E_ARGUMENT, 0, false),
    ROW(no_such_call, DW_E_ARGUMENT, 0, false),
    ROW(out_of_memory, DW_E_NO_MEMORY, 0, false),
    ROW(peer_gone, DW_E_CLOSED, 0, true),
    ROW(peer_gone_in_the_middle, DW_E_CUT, 0, true),
    ROW(garbage, DW_E_HEADER, 0, true),
    ROW(promise_too_large, DW_E_LIMIT, 0, true),
    ROW(descriptors_missing, DW_E_FDS, 0, true),
    ROW(refused_call, DW_E_REPLY, 0, false),
    ROW(no_way_to_read, DW_E_SYSTEM, EIO, true),
#undef ROW
};

/* The ends, which the row may have used, are as good as ever. */
static void go_on(stage *s)
{
    int r;
    expect_code(send_signal(s->e.client, 7), 0);
    while ((r = dw_receive(s->e.server, &s->m, 0)) > 0 && s->m.type != DW_SIGNAL)
        ;
    expect_code(r, 1);
    assert_int_equal(value_of(&s->m), 7);
    expect_code(dw_conn_error(s->e.client), 0);
    expect_code(dw_conn_error(s->e.server), 0);
}

static void each_has_its_code(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        unsigned before = count_descriptors();
        stage s = {.peer = -1};
        dw_writer_init(&s.w, NULL, 0, dw_heap);
        ends_open(&s.e, NULL, NULL);
        ends_ready(&s.e);
        errno = 0;
        int code = rows[i].provoke(&s), cause = code == DW_E_SYSTEM ? errno : 0;
        kernel_stop();
        if (code != rows[i].code || cause != rows[i].cause)
            fail_msg("%s: %s (%s)", rows[i].name, dw_error_name(code), strerror(cause));
        if (rows[i].ends) {
            errno = 0;
            expect_code(dw_conn_error(s.c), code);
            expect_code(dw_receive(s.c, &s.m, 0), code);
            assert_int_equal(code == DW_E_SYSTEM ? errno : 0, cause);
        }
        go_on(&s);
        dw_conn_close(s.c);
        if (s.peer >= 0)
            close(s.peer);
        ends_close(&s.e);
        dw_writer_free(&s.w);
        if (count_descriptors() != before)
            fail_msg("%s: descriptors leaked", rows[i].name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_has_its_code),
    };
    return cmocka_run_group_tests_name("conn_errors", tests, NULL, NULL);
}
