/* test_connection.c - two ends of a connection in one process, and one end
 * against bytes made by hand. Descriptors are in test_descriptors.c, calls in
 * test_calls.c, buses in test_bus.c. */

#define _GNU_SOURCE 1

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "dwire/connection.h"
#include "support/ends.h"
#include "support/failing.h"
#include "support/text.h"

#define GUID "0123456789abcdef0123456789abcdef"

/* -- Handshake ------------------------------------------------------------------- */

static void handshakes_in_every_way(void **state)
{
    (void)state;
    static const unsigned ways[] = {0, DW_CONN_LOCKSTEP, DW_CONN_ANONYMOUS, DW_CONN_NO_FDS,
                                    DW_CONN_NO_AUTH};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        ends e;
        dw_options client = {.flags = ways[i]};
        dw_options server = {.flags = ways[i] & DW_CONN_NO_AUTH, .guid = GUID};
        ends_open(&e, &client, &server);
        expect_code(send_signal(e.client, 1), 0);
        expect_code(send_signal(e.server, 2), 0);
        ends_ready(&e);
        expect_signal(e.client, 2);
        expect_signal(e.server, 1);
        assert_string_equal(dw_conn_guid(e.client), ways[i] == DW_CONN_NO_AUTH ? "" : GUID);
        assert_int_equal(dw_conn_can_pass_fds(e.client), ways[i] != DW_CONN_NO_FDS);
        assert_int_equal(dw_conn_can_pass_fds(e.server), ways[i] != DW_CONN_NO_FDS);
        assert_false(dw_conn_anonymous(e.server));
        ends_close(&e);
    }
}

static bool admit_nobody(void *context, int64_t uid)
{
    ++*(int *)context;
    assert_int_equal(uid, geteuid());
    return false;
}

static void admits_whom_the_callback_says(void **state)
{
    (void)state;
    for (unsigned anonymous = 0; anonymous <= DW_CONN_ANONYMOUS; anonymous += DW_CONN_ANONYMOUS) {
        ends e;
        int asked = 0;
        dw_message m;
        dw_options client = {.flags = anonymous};
        dw_options server = {.flags = anonymous, .admit = admit_nobody, .context = &asked};
        ends_open(&e, &client, &server);
        expect_code(send_signal(e.client, 1), 0);
        if (anonymous) {
            ends_ready(&e);
            expect_signal(e.server, 1);
            assert_true(dw_conn_anonymous(e.server));
        } else {
            /* Nothing of a client that is not admitted gets through. */
            expect_code(dw_receive(e.server, &m, 0), DW_E_PROTOCOL);
            expect_code(dw_receive(e.client, &m, 0), DW_E_AUTH);
            expect_code(dw_receive(e.client, &m, 0), DW_E_AUTH);
            expect_code(send_signal(e.client, 1), DW_E_AUTH);
            expect_code(dw_conn_error(e.client), DW_E_AUTH);
        }
        assert_int_equal(asked, 1);
        ends_close(&e);
    }
}

static void guid_must_be_the_one(void **state)
{
    (void)state;
    ends e;
    dw_message m;
    dw_options client = {.guid = "ffffffffffffffffffffffffffffffff"}, server = {.guid = GUID};
    ends_open(&e, &client, &server);
    dw_flush(e.client, 0);
    dw_flush(e.server, 0);
    expect_code(dw_flush(e.client, 0), DW_E_GUID);
    expect_code(dw_receive(e.client, &m, 0), DW_E_GUID);
    ends_close(&e);
    dw_conn *c;
    client.guid = "fff";
    expect_code(dw_conn_from_fd_with(&c, 0, &client), DW_E_ARGUMENT);
    assert_null(c);
}

/* What is told of a connection stays where it is when the handshake ends. */
static void guid_stays_in_its_place(void **state)
{
    (void)state;
    ends e;
    dw_options server = {.guid = GUID};
    ends_open(&e, NULL, &server);
    const char *guid = dw_conn_guid(e.server);
    assert_string_equal(guid, GUID);
    assert_string_equal(dw_conn_guid(e.client), "");
    ends_ready(&e);
    assert_string_equal(guid, GUID);
    assert_ptr_equal(guid, dw_conn_guid(e.server));
    ends_close(&e);
}

static void silent_client_is_dropped(void **state)
{
    (void)state;
    ends e;
    dw_message m;
    dw_options server = {.auth_timeout_ms = 1};
    ends_open(&e, NULL, &server);
    assert_in_range(dw_conn_timeout(e.server), 0, 1);
    expect_code(dw_receive(e.server, &m, DW_TIMEOUT_NONE), DW_E_TIMEOUT);
    expect_code(dw_receive(e.server, &m, DW_TIMEOUT_NONE), DW_E_TIMEOUT);
    expect_code(dw_conn_timeout(e.server), 0);
    ends_close(&e);
}

/* -- Bytes made by hand -------------------------------------------------------------- */

/* What a client sends: the handshake, if any, and n signals with bodies of
 * different lengths, so that they start at all offsets from 8. */
static void make_stream(text *out, bool auth, uint32_t n)
{
    static const char greeting[] = "\0AUTH EXTERNAL\r\nDATA\r\nNEGOTIATE_UNIX_FD\r\nBEGIN\r\n";
    uint8_t room[512];
    dw_writer w;
    dw_writer_init(&w, room, sizeof room, NULL);
    if (auth)
        text_add(out, greeting, sizeof greeting - 1);
    for (uint32_t i = 0; i < n; i++) {
        size_t len;
        dw_begin_signal(&w, "/org/example", "org.example.Test", "Member", "us");
        dw_put_uint32(&w, i);
        dw_put_string_n(&w, "abcdefghijklmnop", i % 11);
        expect_code(dw_finish(&w), 0);
        const uint8_t *p = dw_writer_bytes(&w, &len);
        text_add(out, p, len);
    }
}

static void open_server(dw_conn **server, int *peer, unsigned flags)
{
    int fd[2];
    make_sockets(fd);
    expect_code(dw_conn_from_fd(server, fd[1], DW_CONN_SERVER | flags), 0);
    *peer = fd[0];
}

/* Takes in what there is, and counts the messages, which come in order. */
static int drain(dw_conn *c, uint32_t *n)
{
    dw_message m;
    int r;
    while ((r = dw_receive(c, &m, 0)) > 0) {
        dw_reader in;
        dw_reader_init(&in, &m);
        assert_int_equal(dw_get_uint32(&in), *n);
        dw_get_string(&in);
        expect_code(dw_reader_finish(&in), 0);
        assert_int_equal((uintptr_t)m.bytes % 8, 0);
        ++*n;
    }
    return r;
}

static void put(int fd, const char *p, size_t n)
{
    assert_int_equal(write(fd, p, n), n);
}

static void reads_end_anywhere(void **state)
{
    (void)state;
    for (int auth = 0; auth < 2; auth++) {
        text in = {0};
        make_stream(&in, auth, 12);
        for (size_t cut = 0; cut <= in.n; cut++) {
            dw_conn *c;
            int peer;
            uint32_t n = 0;
            open_server(&c, &peer, auth ? 0 : DW_CONN_NO_AUTH);
            put(peer, in.p, cut);
            expect_code(drain(c, &n), 0);
            put(peer, in.p + cut, in.n - cut);
            expect_code(drain(c, &n), 0);
            assert_int_equal(n, 12);
            close(peer);
            dw_conn_close(c);
        }
        text_free(&in);
    }
}

static void bytes_come_one_at_a_time(void **state)
{
    (void)state;
    text in = {0};
    dw_conn *c;
    int peer;
    uint32_t n = 0;
    make_stream(&in, true, 20);
    open_server(&c, &peer, 0);
    for (size_t i = 0; i < in.n; i++) {
        put(peer, in.p + i, 1);
        expect_code(drain(c, &n), 0);
    }
    assert_int_equal(n, 20);
    close(peer);
    expect_code(drain(c, &n), DW_E_CLOSED);
    dw_conn_close(c);
    text_free(&in);
}

/* A peer that is gone after any byte: what was whole is handed out, then the
 * right error is said, again and again. */
static void peer_vanishes_anywhere(void **state)
{
    (void)state;
    text in = {0};
    size_t auth_len, start = 0;
    make_stream(&in, true, 0);
    auth_len = in.n;
    make_stream(&in, false, 5);
    uint32_t whole = 0;
    for (size_t cut = 0; cut <= in.n; cut++) {
        dw_conn *c;
        int peer;
        uint32_t n = 0;
        size_t len;
        if (cut == auth_len)
            start = cut;
        if (cut - start >= 16 && cut >= auth_len &&
            dw_message_frame(in.p + start, cut - start, &len) == 1) {
            start += len;
            whole++;
        }
        open_server(&c, &peer, 0);
        put(peer, in.p, cut);
        close(peer);
        int code = cut <= auth_len || cut == start ? DW_E_CLOSED : DW_E_CUT;
        expect_code(drain(c, &n), code);
        assert_int_equal(n, whole);
        expect_code(drain(c, &n), code);
        expect_code(dw_conn_error(c), code);
        expect_code(dw_conn_timeout(c), 0);
        dw_conn_close(c);
    }
    assert_int_equal(whole, 5);
    text_free(&in);
}

static void garbage_is_no_message(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        int code;
    } rows[] = {
        {"GET / HTTP/1.1\r\n\r\n", DW_E_HEADER},
        {"l\1\0\2\0\0\0\0\1\0\0\0\0\0\0\0", DW_E_HEADER}, /* version 2 */
        {"l\0\0\1\0\0\0\0\1\0\0\0\0\0\0\0", DW_E_HEADER}, /* type 0 */
        {"l\1\0\1\377\377\377\377\1\0\0\0\0\0\0\0", DW_E_LIMIT},
        {"l\1\0\1\0\0\0\0\1\0\0\0\377\377\377\377", DW_E_LIMIT},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dw_conn *c;
        int peer;
        uint32_t n = 0;
        text in = {0};
        open_server(&c, &peer, 0);
        make_stream(&in, true, 3);
        text_add(&in, rows[i].bytes, 16);
        put(peer, in.p, in.n);
        expect_code(drain(c, &n), rows[i].code);
        assert_int_equal(n, 3);
        expect_code(drain(c, &n), rows[i].code);
        expect_code(send_signal(c, 1), rows[i].code);
        close(peer);
        dw_conn_close(c);
        text_free(&in);
    }
}

/* A header that promises much makes us hold little. */
static void promises_cost_little(void **state)
{
    (void)state;
    int fd[2];
    dw_conn *c;
    dw_message m;
    failing f;
    static const char big[] = "l\1\0\1\0\0\0\7\1\0\0\0\0\0\0\0"; /* 112 MiB */
    failing_init(&f, 0, false);
    make_sockets(fd);
    dw_options o = {.flags = DW_CONN_NO_AUTH, .allocator = &f.allocator};
    expect_code(dw_conn_from_fd_with(&c, fd[1], &o), 0);
    put(fd[0], big, 16);
    expect_code(dw_receive(c, &m, 0), 0);
    expect_code(dw_receive(c, &m, 0), 0);
    assert_in_range(f.live, 1, 2);
    close(fd[0]);
    expect_code(dw_receive(c, &m, 0), DW_E_CUT);
    dw_conn_close(c);
    assert_int_equal(f.live, 0);
    assert_int_equal(f.mistold, 0);
}

static void unknown_types_are_dropped(void **state)
{
    (void)state;
    dw_conn *c;
    int peer;
    text in = {0};
    dw_message m;
    open_server(&c, &peer, DW_CONN_NO_AUTH);
    make_stream(&in, false, 2);
    in.p[1] = 77;
    put(peer, in.p, in.n);
    expect_code(dw_receive(c, &m, 0), 1);
    assert_int_equal(m.type, DW_SIGNAL);
    expect_code(dw_receive(c, &m, 0), 0);
    close(peer);
    dw_conn_close(c);
    text_free(&in);
}

/* -- Sending ------------------------------------------------------------------------- */

static void serials_are_never_0(void **state)
{
    (void)state;
    ends e;
    dw_message m;
    uint8_t room[256];
    dw_writer w;
    static const char orders[] = {DW_LITTLE, DW_BIG};
    dw_options client = {.flags = DW_CONN_NO_AUTH, .serial = UINT32_MAX - 2};
    dw_options server = {.flags = DW_CONN_NO_AUTH};
    ends_open(&e, &client, &server);
    dw_writer_init(&w, room, sizeof room, NULL);
    for (uint32_t i = 0; i < 4; i++) {
        static const uint32_t expected[] = {UINT32_MAX - 1, UINT32_MAX, 1, 2};
        uint32_t serial;
        dw_begin(&w, &(dw_header){.type = DW_SIGNAL,
                                  .order = orders[i % 2],
                                  .path = "/",
                                  .interface = "a.b",
                                  .member = "C"});
        expect_code(dw_finish(&w), 0);
        expect_code(dw_send(e.client, &w, &serial), 0);
        assert_int_equal(serial, expected[i]);
        expect_code(dw_receive(e.server, &m, 0), 1);
        assert_int_equal(m.serial, serial);
    }
    ends_close(&e);
}

static void only_finished_messages_go(void **state)
{
    (void)state;
    ends e;
    dw_message m;
    uint8_t room[256];
    dw_writer w;
    ends_open(&e, NULL, NULL);
    ends_ready(&e);
    dw_writer_init(&w, room, sizeof room, NULL);
    expect_code(dw_send(e.client, &w, NULL), DW_E_STATE);
    dw_begin_signal(&w, "/", "a.b", "C", "u");
    expect_code(dw_send(e.client, &w, NULL), DW_E_STATE);
    dw_finish(&w);
    expect_code(dw_send(e.client, &w, NULL), DW_E_TYPE);
    dw_begin_signal(&w, "not a path", "a.b", "C", NULL);
    dw_finish(&w);
    expect_code(dw_send(e.client, &w, NULL), DW_E_PATH);
    dw_begin_body(&w, "u", 0);
    dw_put_uint32(&w, 1);
    expect_code(dw_finish(&w), 0);
    expect_code(dw_send(e.client, &w, NULL), DW_E_STATE);
    expect_code(dw_receive(e.server, &m, 0), 0);
    ends_close(&e);
}

/* A socket that takes little at once: messages of all sizes get through, cut by
 * the kernel wherever it likes. */
static void writes_end_anywhere(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 100, 4096, 65536, 300000, 5000000};
    ends e;
    dw_message m;
    dw_writer w;
    int small = 1;
    ends_open(&e, NULL, NULL);
    setsockopt(dw_conn_fd(e.client), SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
    ends_ready(&e);
    dw_writer_init(&w, NULL, 0, dw_heap);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        write_ballast(&w, sizes[i]);
        expect_code(dw_send(e.client, &w, NULL), 0);
    }
    assert_true(dw_conn_queued(e.client) > 5000000);
    assert_int_equal(dw_conn_events(e.client), POLLIN | POLLOUT);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int r;
        while ((r = dw_receive(e.server, &m, 0)) == 0)
            expect_code(dw_receive(e.client, &m, 0), 0);
        expect_code(r, 1);
        dw_reader in;
        size_t n;
        dw_reader_init(&in, &m);
        const uint8_t *p = dw_get_byte_array(&in, &n);
        expect_code(dw_reader_finish(&in), 0);
        assert_int_equal(n, sizes[i]);
        for (size_t k = 0; k < n; k += 97)
            assert_int_equal(p[k], (uint8_t)(k * 7));
    }
    assert_int_equal(dw_conn_queued(e.client), 0);
    assert_int_equal(dw_conn_events(e.client), POLLIN);
    dw_writer_free(&w);
    ends_close(&e);
}

static void queue_has_a_limit(void **state)
{
    (void)state;
    ends e;
    dw_message m;
    dw_writer w;
    uint32_t sent = 0, serial = 0;
    ends_open(&e, NULL, NULL);
    ends_ready(&e);
    dw_conn_limits(e.client, 20000, 0);
    dw_writer_init(&w, NULL, 0, dw_heap);
    write_ballast(&w, 10000);
    int r;
    while ((r = dw_send(e.client, &w, &serial)) == 0)
        assert_int_equal(serial, ++sent);
    expect_code(r, DW_E_QUEUE);
    assert_in_range(dw_conn_queued(e.client), 1, 20000);
    size_t queued = dw_conn_queued(e.client);
    expect_code(dw_queue(e.client, &w, NULL), DW_E_QUEUE);
    assert_int_equal(dw_conn_queued(e.client), queued);
    /* All that was taken arrives, and nothing else. */
    for (uint32_t i = 1; i <= sent; i++) {
        expect_code(dw_flush(e.client, 0) == 0 || dw_conn_queued(e.client) > 0, true);
        expect_code(dw_receive(e.server, &m, 0), 1);
        assert_int_equal(m.serial, i);
    }
    expect_code(dw_receive(e.server, &m, 0), 0);
    /* A single message always may, whatever its size. */
    write_ballast(&w, 1000000);
    expect_code(dw_send(e.client, &w, &serial), 0);
    assert_int_equal(serial, sent + 1);
    dw_writer_free(&w);
    ends_close(&e);
}

static void queued_goes_in_one_write(void **state)
{
    (void)state;
    ends e;
    uint8_t room[256];
    dw_writer w;
    char in[4096];
    ends_open(&e, NULL, NULL);
    ends_ready(&e);
    dw_writer_init(&w, room, sizeof room, NULL);
    write_signal(&w, 1);
    for (int i = 0; i < 10; i++)
        expect_code(dw_queue(e.client, &w, NULL), 0);
    assert_int_equal(recv(dw_conn_fd(e.server), in, sizeof in, MSG_DONTWAIT | MSG_PEEK), -1);
    expect_code(dw_flush(e.client, 0), 0);
    assert_int_equal(recv(dw_conn_fd(e.server), in, sizeof in, MSG_DONTWAIT | MSG_PEEK),
                     10 * dw_writer_size(&w));
    ends_close(&e);
}

/* The first write of a client has it all: AUTH, BEGIN, and what it sends next. */
static void first_write_has_it_all(void **state)
{
    (void)state;
    int fd[2];
    char in[4096];
    dw_conn *c;
    make_sockets(fd);
    expect_code(dw_conn_from_fd(&c, fd[0], DW_CONN_BUS), 0);
    assert_int_equal(recv(fd[1], in, sizeof in, MSG_DONTWAIT), -1);
    expect_code(send_signal(c, 1), 0);
    ssize_t n = recv(fd[1], in, sizeof in, MSG_DONTWAIT);
    assert_true(n > 200);
    assert_memory_equal(in, "\0AUTH EXTERNAL\r\n", 16);
    assert_non_null(memmem(in, (size_t)n, "BEGIN\r\nl", 8));
    assert_non_null(memmem(in, (size_t)n, "Hello", 5));
    assert_non_null(memmem(in, (size_t)n, "org.example.Test", 16));
    assert_false(dw_conn_ready(c));
    close(fd[1]);
    dw_conn_close(c);
}

/* -- Ends ----------------------------------------------------------------------------- */

static void writing_to_the_gone_is_an_error(void **state)
{
    (void)state;
    ends e;
    dw_message m;
    ends_open(&e, NULL, NULL);
    ends_ready(&e);
    expect_code(send_signal(e.server, 5), 0);
    dw_conn_close(e.server);
    expect_code(send_signal(e.client, 1), DW_E_CLOSED);
    expect_code(send_signal(e.client, 1), DW_E_CLOSED);
    expect_code(dw_flush(e.client, DW_TIMEOUT_NONE), DW_E_CLOSED);
    /* What had come whole is not lost. */
    expect_signal(e.client, 5);
    expect_code(dw_receive(e.client, &m, DW_TIMEOUT_NONE), DW_E_CLOSED);
    dw_conn_close(e.client);
}

static void timeouts_are_kept(void **state)
{
    (void)state;
    for (int nonblocking = 0; nonblocking < 2; nonblocking++) {
        ends e;
        dw_message m;
        dw_writer w;
        ends_open(&e, NULL, NULL);
        ends_ready(&e);
        if (nonblocking)
            fcntl(dw_conn_fd(e.client), F_SETFL, O_NONBLOCK);
        expect_code(dw_receive(e.client, &m, 0), 0);
        expect_code(dw_receive(e.client, &m, 1), 0);
        expect_code(dw_receive(e.client, &m, 110), 0);
        expect_code(dw_receive(e.client, &m, 5), 0);
        dw_writer_init(&w, NULL, 0, dw_heap);
        write_ballast(&w, 10000000);
        expect_code(dw_send(e.client, &w, NULL), 0);
        expect_code(dw_flush(e.client, 0), DW_E_TIMEOUT);
        expect_code(dw_flush(e.client, 1), DW_E_TIMEOUT);
        expect_code(dw_receive(e.client, &m, 1), 0);
        expect_code(send_signal(e.server, 2), 0);
        expect_code(dw_flush(e.client, 5), DW_E_TIMEOUT); /* what comes in is no end of it */
        expect_signal(e.client, 2);
        /* None of these ended it. */
        while (dw_receive(e.server, &m, 0) == 0)
            dw_flush(e.client, 0);
        expect_code(send_signal(e.server, 3), 0);
        expect_signal(e.client, 3);
        dw_writer_free(&w);
        ends_close(&e);
    }
}

/* -- Loops ------------------------------------------------------------------------------ */

static void loops_are_told_when(void **state)
{
    (void)state;
    ends e;
    dw_message m;
    dw_writer w;
    ends_open(&e, NULL, NULL);
    expect_code(dw_conn_timeout(e.client), -1);
    assert_in_range(dw_conn_timeout(e.server), 1, 30000);
    ends_ready(&e);
    expect_code(dw_conn_timeout(e.client), -1);
    expect_code(dw_conn_timeout(e.server), -1);
    dw_writer_init(&w, NULL, 0, dw_heap);
    write_ballast(&w, 1000); /* so that the next read is a large one */
    expect_code(dw_send(e.client, &w, NULL), 0);
    expect_code(send_signal(e.client, 1), 0);
    expect_code(send_signal(e.client, 2), 0);
    expect_code(dw_receive(e.server, &m, 0), 1);
    expect_signal(e.server, 1);
    expect_code(dw_conn_timeout(e.server), 0);
    expect_signal(e.server, 2);
    assert_int_equal(dw_conn_timeout(e.server), 1000); /* to give the buffer back */
    dw_writer_free(&w);
    ends_close(&e);
}

/* With DW_CONN_LEVEL a short read counts as the last one. */
static void level_triggered_loops_read_once(void **state)
{
    (void)state;
    ends e;
    dw_message m;
    dw_options server = {.flags = DW_CONN_LEVEL};
    ends_open(&e, NULL, &server);
    ends_ready(&e);
    expect_code(send_signal(e.client, 1), 0);
    expect_signal(e.server, 1);
    expect_code(send_signal(e.client, 2), 0);
    expect_code(dw_receive(e.server, &m, 0), 0);
    expect_signal(e.server, 2);
    ends_close(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(handshakes_in_every_way),
        cmocka_unit_test(admits_whom_the_callback_says),
        cmocka_unit_test(guid_must_be_the_one),
        cmocka_unit_test(guid_stays_in_its_place),
        cmocka_unit_test(silent_client_is_dropped),
        cmocka_unit_test(reads_end_anywhere),
        cmocka_unit_test(bytes_come_one_at_a_time),
        cmocka_unit_test(peer_vanishes_anywhere),
        cmocka_unit_test(garbage_is_no_message),
        cmocka_unit_test(promises_cost_little),
        cmocka_unit_test(unknown_types_are_dropped),
        cmocka_unit_test(serials_are_never_0),
        cmocka_unit_test(only_finished_messages_go),
        cmocka_unit_test(writes_end_anywhere),
        cmocka_unit_test(queue_has_a_limit),
        cmocka_unit_test(queued_goes_in_one_write),
        cmocka_unit_test(first_write_has_it_all),
        cmocka_unit_test(writing_to_the_gone_is_an_error),
        cmocka_unit_test(timeouts_are_kept),
        cmocka_unit_test(loops_are_told_when),
        cmocka_unit_test(level_triggered_loops_read_once),
    };
    return cmocka_run_group_tests_name("connection", tests, NULL, NULL);
}
