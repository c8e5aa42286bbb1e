/* test_syscalls.c - every system call that a connection makes, and every
 * allocation, failing by turns, cut short and interrupted, through a whole life:
 * listening, connecting, the handshake, messages with and without descriptors
 * and arrays of their own, calls, the end. Whatever happens: the right error,
 * nothing leaked, nothing acknowledged that is lost or doubled. */

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
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "dwire/bus.h"
#include "dwire/connection.h"
#include "support/ends.h"
#include "support/failing.h"
#include "support/kernel.h"

/* -- The story ---------------------------------------------------------------------- */

enum { MESSAGES = 64, ARRAY = 1100, TRIES = 3 };

/* Of the messages from client to server: what comes with the number. */
enum kind { PLAIN, FDS, APART, BOTH, KINDS };

typedef struct story {
    failing memory;
    dw_options options;
    char folder[32], path[64], address[80];
    int file[2];
    uint8_t array[ARRAY];
    dw_listener *listener;
    dw_conn *client, *server;
    unsigned sent, came;   /* numbers acknowledged by the client's end; come out at the server's */
    unsigned told, heard;  /* the same of what the server says on its own account */
    unsigned asked, ended; /* calls in flight, and their ends */
    bool over;             /* a connection has ended: no more than that can be expected */
    bool served_out;       /* the server's end has ended */
    int code, cause;       /* the first error, and its errno */
    const char *wrong;
} story;

/* Notes the first error. */
static int note(story *s, int code)
{
    if (code < 0 && s->code == 0) {
        s->code = code;
        s->cause = errno;
    }
    return code;
}

static void blame(story *s, const char *wrong)
{
    if (s->wrong == NULL)
        s->wrong = wrong;
}

static ino_t file_of(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 ? st.st_ino : 0;
}

static void write_number(story *s, dw_writer *w, unsigned number)
{
    enum kind kind = number % KINDS;
    dw_begin(w, &(dw_header){.type = DW_SIGNAL,
                             .path = "/o",
                             .interface = "org.example.Test",
                             .member = "Number",
                             .signature = "uay",
                             .fds = s->file,
                             .n_fds = kind == FDS    ? 2
                                      : kind == BOTH ? 1
                                                     : 0});
    dw_put_uint32(w, number);
    if (kind == APART || kind == BOTH)
        dw_put_array_ref(w, 'y', s->array, ARRAY - number);
    else
        dw_put_byte_array(w, s->array, number);
    expect_code(dw_finish(w), 0);
}

static void check_number(story *s, const dw_message *m)
{
    dw_reader r;
    size_t n;
    dw_reader_init(&r, m);
    unsigned number = dw_get_uint32(&r);
    const uint8_t *array = dw_get_byte_array(&r, &n);
    if (dw_reader_finish(&r) != 0 || number >= s->sent || number != s->came)
        blame(s, "a message lost, doubled or never sent");
    enum kind kind = number % KINDS;
    if (n != (kind == APART || kind == BOTH ? ARRAY - number : number) ||
        memcmp(array, s->array, n) != 0)
        blame(s, "other bytes");
    if (m->unix_fds != (kind == FDS ? 2u : kind == BOTH ? 1u : 0u))
        blame(s, "another number of descriptors");
    for (uint32_t i = 0; i < m->unix_fds; i++)
        if (file_of(m->fds[i]) != file_of(s->file[i]) ||
            (fcntl(m->fds[i], F_GETFD) & FD_CLOEXEC) == 0)
            blame(s, "another descriptor");
    s->came = number + 1;
}

/* -- The server ------------------------------------------------------------------------ */

static void end_server(story *s)
{
    dw_conn_close(s->server);
    s->server = NULL;
    s->over = s->served_out = true;
}

/* Sends, again if that has failed and the connection lives. */
static bool server_says(story *s, dw_writer *w)
{
    for (int i = 0; i < TRIES; i++)
        if (note(s, dw_send(s->server, w, NULL)) == 0)
            return true;
        else if (dw_conn_error(s->server) != 0)
            return false;
    blame(s, "the server cannot send");
    return false;
}

static void answer(story *s, const dw_message *call)
{
    uint8_t room[256];
    dw_writer w;
    dw_writer_init(&w, room, sizeof room, NULL);
    if (s->told < MESSAGES) {
        write_signal(&w, s->told);
        if (!server_says(s, &w))
            return;
        s->told++;
    }
    dw_begin_reply(&w, call, "u");
    dw_put_uint32(&w, value_of(call) + 1000);
    expect_code(dw_finish(&w), 0);
    server_says(s, &w);
}

/* All that the server does, while the client waits. */
static void serve(void *context)
{
    story *s = context;
    dw_message m;
    for (int i = 0; s->server == NULL && s->listener != NULL && !s->served_out && i < TRIES; i++)
        note(s, dw_accept(s->listener, &s->server, 0));
    for (int i = 0, r; s->server != NULL && i < TRIES;) {
        errno = 0;
        while (s->server != NULL && (r = note(s, dw_receive(s->server, &m, 0))) > 0) {
            if (m.type == DW_METHOD_CALL)
                answer(s, &m);
            else
                check_number(s, &m);
        }
        if (dw_conn_error(s->server) != 0) {
            note(s, dw_conn_error(s->server));
            if (dw_receive(s->server, &m, 0) >= 0 && send_signal(s->server, 0) == 0)
                blame(s, "an error does not last");
            end_server(s);
            return;
        }
        if (r == 0)
            return;
        i++;
    }
}

/* -- The client ---------------------------------------------------------------------------- */

/* Whether to go on: it worked; or it is to be tried again. */
static bool again(story *s, int code, int *tries)
{
    if (note(s, code) >= 0 || s->client == NULL)
        return false;
    if (dw_conn_error(s->client) != 0 || s->over) {
        s->over = true;
        return false;
    }
    if (++*tries < TRIES)
        return true;
    blame(s, "not even the next time");
    return false;
}

static void open_client(story *s)
{
    int r = DW_E_SYSTEM;
    for (int i = 0; s->listener == NULL && i < TRIES; i++)
        note(s, dw_listen(&s->listener, s->address, &s->options));
    if (s->listener == NULL) {
        blame(s, "it cannot listen");
        return;
    }
    for (int i = 0; r < 0 && i < TRIES; i++)
        r = note(s, dw_connect_with(&s->client, dw_listener_address(s->listener), &s->options,
                                    DW_TIMEOUT_DEFAULT));
    if (r != 0)
        blame(s, "it cannot connect");
    /* Of those that were given up none is to be taken for the client. */
    for (int i = 0; r == 0 && i < 2 * TRIES && s->server == NULL; i++) {
        dw_message m;
        note(s, dw_accept(s->listener, &s->server, 0));
        if (s->server != NULL && dw_receive(s->server, &m, 0) < 0 &&
            dw_conn_error(s->server) == DW_E_CLOSED) {
            dw_conn_close(s->server);
            s->server = NULL;
        }
    }
}

static void send_number(story *s, bool queue)
{
    dw_writer w;
    int tries = 0, r;
    if (s->client == NULL || s->over)
        return;
    dw_writer_init(&w, NULL, 0, dw_heap);
    do {
        write_number(s, &w, s->sent);
        s->sent++; /* it may come out before this returns */
        r = queue ? dw_queue(s->client, &w, NULL) : dw_send(s->client, &w, NULL);
        s->sent -= r != 0;
    } while (again(s, r, &tries));
    dw_writer_free(&w);
}

static void flush(story *s)
{
    int tries = 0;
    while (s->client != NULL && !s->over &&
           again(s, dw_flush(s->client, DW_TIMEOUT_DEFAULT), &tries))
        ;
}

static void call(story *s, uint32_t value)
{
    uint8_t room[256];
    dw_writer w;
    dw_message reply;
    int tries = 0, r;
    if (s->client == NULL || s->over)
        return;
    dw_writer_init(&w, room, sizeof room, NULL);
    do {
        write_call(&w, "Ask", value);
        r = dw_call(s->client, &w, &reply, DW_TIMEOUT_DEFAULT);
        if (r == 0 && value_of(&reply) != value + 1000)
            blame(s, "another answer");
    } while (again(s, r, &tries));
}

static void ask_machine(story *s)
{
    uint8_t room[256];
    dw_writer w;
    dw_message reply;
    int tries = 0, r;
    if (s->server == NULL || s->over)
        return;
    dw_writer_init(&w, room, sizeof room, NULL);
    do {
        dw_begin_call(&w, NULL, "/", "org.freedesktop.DBus.Peer", "GetMachineId", NULL);
        expect_code(dw_finish(&w), 0);
        r = dw_call(s->client, &w, &reply, DW_TIMEOUT_DEFAULT);
    } while (r != DW_E_REPLY && again(s, r, &tries));
}

static void call_ends(void *context, int code, dw_message *reply)
{
    story *s = context;
    s->ended++;
    if (code == 0 ? value_of(reply) < 1000 : reply != NULL)
        blame(s, "another answer to a call in flight");
}

static void start_call(story *s, uint32_t value)
{
    uint8_t room[256];
    dw_writer w;
    int tries = 0, r;
    if (s->client == NULL || s->over)
        return;
    dw_writer_init(&w, room, sizeof room, NULL);
    do {
        write_call(&w, "Ask", value);
        r = dw_start_call(s->client, &w, 1000, call_ends, s, NULL);
        s->asked += r == 0;
    } while (again(s, r, &tries));
}

/* All that the server has said, and the ends of the calls in flight. */
static void hear(story *s)
{
    dw_message m;
    int tries = 0, r = 1;
    while (s->client != NULL && !s->over && r != 0) {
        r = dw_receive(s->client, &m, 2000);
        if (r > 0) {
            if (value_of(&m) != s->heard++)
                blame(s, "a message of the server's lost or doubled");
        } else if (r < 0 && !again(s, r, &tries)) {
            r = 0;
        }
    }
}

static void live(story *s)
{
    open_client(s);
    send_number(s, false); /* with the handshake: number 1 has descriptors that must wait */
    send_number(s, true);
    send_number(s, true);
    flush(s);
    for (int i = 0; i < 6; i++)
        send_number(s, i == 2);
    call(s, 1);
    start_call(s, 2);
    start_call(s, 3);
    send_number(s, false);
    hear(s);
    ask_machine(s);
    for (int i = 0; i < 4; i++)
        send_number(s, true);
    flush(s);
    for (int i = 0; i < TRIES; i++)
        serve(s);
}

/* -- What must hold ------------------------------------------------------------------------ */

static char folder[32];

static void make_stale_file(const char *path)
{
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    unlink(path);
    memcpy(un.sun_path, path, strlen(path) + 1);
    assert_int_equal(bind(fd, (struct sockaddr *)&un, sizeof un), 0);
    close(fd);
}

/* One life, with one fault in it. */
static void tell(story *s, fault f, unsigned fail_at, bool for_good)
{
    *s = (story){.file = {open("/", O_RDONLY | O_CLOEXEC), open("/tmp", O_RDONLY | O_CLOEXEC)}};
    snprintf(s->path, sizeof s->path, "%s/s", folder);
    snprintf(s->address, sizeof s->address, "unix:path=%s/s", folder);
    for (size_t i = 0; i < ARRAY; i++)
        s->array[i] = (uint8_t)(i * 7 + i / 256);
    make_stale_file(s->path);
    failing_init(&s->memory, fail_at, for_good);
    s->options.allocator = &s->memory.allocator;
    kernel_start(f, serve, s);
    live(s);
    if (!s->over && s->wrong == NULL) {
        if (s->came != s->sent)
            blame(s, "not all has come");
        if (s->told != s->heard)
            blame(s, "not all was heard");
        if (s->asked != s->ended)
            blame(s, "a call has no end");
    }
    dw_conn_close(s->client);
    if (s->asked != s->ended)
        blame(s, "a call has no end, or two");
    dw_conn_close(s->server);
    dw_listener_close(s->listener);
    kernel_stop();
    if (kernel.stuck)
        blame(s, "it would wait forever");
    close(s->file[0]);
    close(s->file[1]);
    if (s->memory.live != 0 || s->memory.mistold != 0)
        blame(s, "memory leaked");
    bool kept = f.at != 0 && (f.call == CALL_LSTAT || f.call == CALL_UNLINK);
    if (unlink(s->path) == 0 && !kept)
        blame(s, "the socket's file is still there");
}

static unsigned complaints;

static void complain(const story *s, fault f, unsigned fail_at, const char *wrong)
{
    if (++complaints < 30)
        print_error("%s no. %u%s (%s, %zu bytes), allocation %u: %s; first error %s (%s)\n",
                    system_call_names[f.call], f.at, f.for_good ? " on" : "", strerror(f.error),
                    f.most, fail_at, wrong, dw_error_name(s->code), strerror(s->cause));
}

/* -- The table ------------------------------------------------------------------------------- */

/* What a call may say, and what comes of it: nothing (0), or one of two codes. Of
 * DW_E_SYSTEM errno is that of the call, but where other is set. */
typedef struct row {
    enum system_call call;
    int error;
    int code[2];
    int other;
} row;

#define ANY_OF(...)                                                                                \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define SYSTEM                                                                                     \
    {                                                                                              \
        DW_E_SYSTEM, DW_E_SYSTEM                                                                   \
    }
#define NOTHING                                                                                    \
    {                                                                                              \
        0, 0                                                                                       \
    }
#define PERHAPS                                                                                    \
    {                                                                                              \
        0, DW_E_SYSTEM                                                                             \
    }
#define GONE                                                                                       \
    {                                                                                              \
        DW_E_CLOSED, DW_E_CUT                                                                      \
    }

static const row rows[] = {
    {CALL_SOCKET, EMFILE, SYSTEM, EADDRINUSE},
    {CALL_SOCKET, ENFILE, SYSTEM, EADDRINUSE},
    {CALL_SOCKET, ENOMEM, SYSTEM, EADDRINUSE},
    {CALL_SOCKET, ENOBUFS, SYSTEM, EADDRINUSE},
    {CALL_SOCKET, EACCES, SYSTEM, EADDRINUSE},
    {CALL_SOCKET, EAFNOSUPPORT, SYSTEM, EADDRINUSE},
    {CALL_CONNECT, EACCES, SYSTEM, EADDRINUSE},
    {CALL_CONNECT, ECONNREFUSED, PERHAPS, 0}, /* the stale one does say so */
    {CALL_CONNECT, ENOENT, SYSTEM, EADDRINUSE},
    {CALL_CONNECT, EPERM, SYSTEM, EADDRINUSE},
    {CALL_CONNECT, EPROTOTYPE, SYSTEM, EADDRINUSE},
    {CALL_CONNECT, EAGAIN, PERHAPS, EADDRINUSE}, /* then it waits */
    {CALL_CONNECT, EINTR, PERHAPS, EADDRINUSE},
    {CALL_BIND, EACCES, SYSTEM, 0},
    {CALL_BIND, EADDRINUSE, PERHAPS, 0},
    {CALL_BIND, ENOENT, SYSTEM, 0},
    {CALL_BIND, EROFS, SYSTEM, 0},
    {CALL_BIND, ENOMEM, SYSTEM, 0},
    {CALL_LISTEN, EADDRINUSE, SYSTEM, 0},
    {CALL_LISTEN, EOPNOTSUPP, SYSTEM, 0},
    {CALL_ACCEPT, EINTR, NOTHING, 0},
    {CALL_ACCEPT, ECONNABORTED, NOTHING, 0},
    {CALL_ACCEPT, EAGAIN, NOTHING, 0},
    {CALL_ACCEPT, EMFILE, SYSTEM, 0},
    {CALL_ACCEPT, ENFILE, SYSTEM, 0},
    {CALL_ACCEPT, ENOMEM, SYSTEM, 0},
    {CALL_ACCEPT, ENOBUFS, SYSTEM, 0},
    {CALL_ACCEPT, EPERM, SYSTEM, 0},
    {CALL_SENDMSG, EINTR, NOTHING, 0},
    {CALL_SENDMSG, EAGAIN, NOTHING, 0},
    {CALL_SENDMSG, EPIPE, GONE, 0},
    {CALL_SENDMSG, ECONNRESET, GONE, 0},
    {CALL_SENDMSG, ENOTCONN, GONE, 0},
    {CALL_SENDMSG, ENOBUFS, SYSTEM, 0},
    {CALL_SENDMSG, ENOMEM, SYSTEM, 0},
    {CALL_SENDMSG, ETOOMANYREFS, SYSTEM, 0},
    {CALL_SENDMSG, EBADF, SYSTEM, 0},
    {CALL_SENDMSG, EPERM, SYSTEM, 0},
    {CALL_RECVMSG, EINTR, NOTHING, 0},
    {CALL_RECVMSG, EAGAIN, NOTHING, 0},
    {CALL_RECVMSG, ECONNRESET, GONE, 0},
    {CALL_RECVMSG, ENOMEM, SYSTEM, 0},
    {CALL_RECVMSG, ENOBUFS, SYSTEM, 0},
    {CALL_RECVMSG, EIO, SYSTEM, 0},
    {CALL_POLL, EINTR, NOTHING, 0},
    {CALL_POLL, ENOMEM, SYSTEM, 0},
    {CALL_POLL, EINVAL, SYSTEM, 0},
    {CALL_FCNTL, EMFILE, PERHAPS, 0},
    {CALL_FCNTL, EBADF, PERHAPS, 0},
    {CALL_SETSOCKOPT, ENOMEM, PERHAPS, 0},
    {CALL_SETSOCKOPT, EDOM, PERHAPS, 0},
    {CALL_GETSOCKOPT, ENOPROTOOPT, ANY_OF(DW_E_PROTOCOL, DW_E_AUTH), 0},
    {CALL_GETENTROPY, EIO, SYSTEM, 0},
    {CALL_GETENTROPY, ENOSYS, SYSTEM, 0},
    {CALL_LSTAT, ENOENT, PERHAPS, EADDRINUSE},
    {CALL_LSTAT, EACCES, PERHAPS, EADDRINUSE},
    {CALL_UNLINK, EACCES, PERHAPS, 0},
    {CALL_UNLINK, ENOENT, PERHAPS, 0},
    {CALL_OPEN, EMFILE, ANY_OF(0, DW_E_REPLY), 0},
    {CALL_OPEN, ENOENT, ANY_OF(0, DW_E_REPLY), 0},
    {CALL_READ, EINTR, ANY_OF(0, DW_E_REPLY), 0},
    {CALL_READ, EIO, ANY_OF(0, DW_E_REPLY), 0},
    {CALL_CLOSE, EINTR, NOTHING, 0},
    {CALL_CLOSE, EIO, NOTHING, 0},
};

static bool expected(const row *expect, const story *s)
{
    return (s->code == expect->code[0] || s->code == expect->code[1]) &&
           (s->code != DW_E_SYSTEM || s->cause == expect->error ||
            (expect->other != 0 && s->cause == expect->other));
}

/* The same fault at the 1st, 2nd, 3rd ... call. */
static void try_each(const row *expect, fault f)
{
    story s;
    unsigned before = count_descriptors();
    for (f.at = 1;; f.at++) {
        tell(&s, f, 0, false);
        if (s.wrong != NULL)
            complain(&s, f, 0, s.wrong);
        if (kernel.hits == 0 ? s.code != 0 : expect != NULL && !expected(expect, &s))
            complain(&s, f, 0, "another error");
        if (kernel.count[f.call] < f.at)
            break;
    }
    assert_int_equal(count_descriptors(), before);
    assert_int_equal(complaints, 0);
}

static void each_call_fails(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        try_each(&rows[i], (fault){.call = rows[i].call, .error = rows[i].error});
}

/* What is no wonder where nothing works any more: all else is wrong even then. */
static bool is_standstill(const char *wrong)
{
    return strstr(wrong, "cannot") || strstr(wrong, "not even") || strstr(wrong, "not all");
}

/* And fails ever after. */
static void each_call_fails_for_good(void **state)
{
    (void)state;
    static const struct {
        enum system_call call;
        int error;
    } faults[] = {
        {CALL_SENDMSG, EPIPE},  {CALL_SENDMSG, ENOBUFS}, {CALL_RECVMSG, ECONNRESET},
        {CALL_RECVMSG, ENOMEM}, {CALL_POLL, ENOMEM},     {CALL_SETSOCKOPT, ENOMEM},
        {CALL_OPEN, ENOENT},    {CALL_READ, EIO},        {CALL_CLOSE, EIO},
        {CALL_UNLINK, EACCES},  {CALL_LSTAT, EACCES},    {CALL_GETSOCKOPT, EINVAL},
        {CALL_SOCKET, EMFILE},  {CALL_ACCEPT, EMFILE},   {CALL_CONNECT, EACCES},
        {CALL_BIND, EACCES},    {CALL_LISTEN, EINVAL},   {CALL_GETENTROPY, ENOSYS},
        {CALL_FCNTL, EMFILE},   {CALL_CONNECT, EAGAIN},
    };
    unsigned before = count_descriptors();
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        for (fault f = {faults[i].call, 1, .for_good = true, .error = faults[i].error};; f.at++) {
            story s;
            tell(&s, f, 0, false);
            if (s.wrong != NULL && !is_standstill(s.wrong))
                complain(&s, f, 0, s.wrong);
            if (kernel.count[f.call] < f.at)
                break;
        }
    assert_int_equal(count_descriptors(), before);
    assert_int_equal(complaints, 0);
}

/* Each write, and each read, goes so far and no further: that one, or all. */
static void each_call_is_cut_short(void **state)
{
    (void)state;
    static const size_t all[] = {1, 2, 3, 5, 7, 8, 13, 16, 17, 64, 100, 1000};
    for (enum system_call call = CALL_SENDMSG; call <= CALL_RECVMSG; call++) {
        for (size_t most = 1; most < 300; most += most < 40 ? 1 : 13)
            try_each(&(row){call, 0, NOTHING, 0}, (fault){.call = call, .most = most});
        for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
            fault f = {.call = call, .at = 1, .for_good = true, .most = all[i]};
            story s;
            tell(&s, f, 0, false);
            if (s.wrong != NULL || s.code != 0 || s.over)
                complain(&s, f, 0, s.wrong != NULL ? s.wrong : "an error");
        }
    }
    assert_int_equal(complaints, 0);
}

static void ends_are_told(void **state)
{
    (void)state;
    try_each(&(row){CALL_RECVMSG, 0, GONE, 0}, (fault){.call = CALL_RECVMSG});
}

static void withheld_descriptors_are_noticed(void **state)
{
    (void)state;
    static const row expect = {CALL_RECVMSG, 0, {DW_E_FDS, DW_E_FDS}, 0};
    try_each(&expect, (fault){.call = CALL_RECVMSG, .withhold = true});
}

static void memory_fails(void **state)
{
    (void)state;
    unsigned before = count_descriptors(), n = 1;
    for (bool more = true; more; n++) {
        fault none = {.at = 0};
        story s;
        for (int for_good = 0; for_good < 2; for_good++) {
            tell(&s, none, n, for_good);
            if (s.wrong != NULL && !(for_good && is_standstill(s.wrong)))
                complain(&s, none, n, s.wrong);
            if (s.code != 0 && s.code != DW_E_NO_MEMORY)
                complain(&s, none, n, "another error");
            more = s.memory.asked >= n;
        }
    }
    assert_in_range(n, 10, 200);
    assert_int_equal(count_descriptors(), before);
    assert_int_equal(complaints, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_call_fails),
        cmocka_unit_test(each_call_fails_for_good),
        cmocka_unit_test(each_call_is_cut_short),
        cmocka_unit_test(ends_are_told),
        cmocka_unit_test(withheld_descriptors_are_noticed),
        cmocka_unit_test(memory_fails),
    };
    strcpy(folder, "/tmp/dwire-syscalls-XXXXXX");
    if (mkdtemp(folder) == NULL)
        return 1;
    int r = cmocka_run_group_tests_name("syscalls", tests, NULL, NULL);
    return rmdir(folder) == 0 ? r : 1;
}
