/* test_hostile_peer.c - peers that vanish, never read, send too much, announce
 * what does not come, answer what was not asked, and share their socket: what
 * they can make us hold has a bound, and ends with the connection. */

#define _GNU_SOURCE 1

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "dwire/connection.h"
#include "support/ends.h"
#include "support/failing.h"
#include "support/text.h"

#define OK_LINES "DATA\r\nOK 0123456789abcdef0123456789abcdef\r\n"

/* As connection.h says: of a stranger, and beside what a peer has really sent. */
#define STRANGER_LIMIT (320 * 1024u)
#define CONSTANT_LIMIT (1408 * 1024u)

static failing memory;
static unsigned descriptors;

static int start(void **state)
{
    (void)state;
    descriptors = count_descriptors();
    failing_init(&memory, 0, false);
    return 0;
}

static int nothing_is_left(void **state)
{
    (void)state;
    return count_descriptors() != descriptors || memory.live != 0 || memory.mistold != 0;
}

static dw_conn *open_conn(int *peer, unsigned flags)
{
    int fd[2];
    dw_conn *c;
    dw_options o = {.flags = flags, .allocator = &memory.allocator};
    make_sockets(fd);
    expect_code(dw_conn_from_fd_with(&c, fd[0], &o), 0);
    *peer = fd[1];
    return c;
}

/* Sends all that the socket takes, with descriptors if there are any. */
static ssize_t put(int to, const void *p, size_t len, const int *fds, size_t n)
{
    union {
        struct cmsghdr align;
        char room[CMSG_SPACE(253 * sizeof(int))];
    } control;
    struct iovec part = {(void *)(uintptr_t)p, len};
    struct msghdr msg = {.msg_iov = &part, .msg_iovlen = 1};
    if (n > 0) {
        memset(&control, 0, sizeof control);
        msg.msg_control = control.room;
        msg.msg_controllen = CMSG_SPACE(n * sizeof(int));
        struct cmsghdr *header = CMSG_FIRSTHDR(&msg);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(n * sizeof(int));
        memcpy(CMSG_DATA(header), fds, n * sizeof(int));
    }
    return sendmsg(to, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* A message that somebody else has written, as bytes. */
static void add_message(text *out, const dw_header *header, uint32_t serial)
{
    dw_writer w;
    size_t len;
    dw_header h = *header;
    h.serial = serial;
    dw_writer_init(&w, NULL, 0, dw_heap);
    dw_begin(&w, &h);
    if (h.signature && *h.signature == 's')
        dw_put_string(&w, ":1.42");
    if (h.signature && *h.signature == 'u')
        dw_put_uint32(&w, serial);
    expect_code(dw_finish(&w), 0);
    const uint8_t *p = dw_writer_bytes(&w, &len);
    text_add(out, p, len);
    dw_writer_free(&w);
}

static const dw_header hello_reply = {
    .type = DW_METHOD_RETURN, .reply_serial = 1, .signature = "s"};

static const dw_header a_signal = {.type = DW_SIGNAL,
                                   .path = "/o",
                                   .interface = "org.example.Test",
                                   .member = "Member",
                                   .signature = "u"};

/* -- That vanish --------------------------------------------------------------- */

/* A server, and a bus, that is gone after any byte of what it has to say. */
static void servers_vanish_anywhere(void **state)
{
    (void)state;
    static const char *const lines[] = {OK_LINES "AGREE_UNIX_FD\r\n", OK_LINES "ERROR\r\n",
                                        OK_LINES};
    static const unsigned flags[] = {DW_CONN_BUS, DW_CONN_BUS, DW_CONN_BUS | DW_CONN_NO_FDS};
    for (size_t i = 0; i < 3; i++) {
        text all = {0};
        size_t auth_len = strlen(lines[i]);
        text_add(&all, lines[i], auth_len);
        add_message(&all, &hello_reply, 1);
        for (size_t cut = 0; cut <= all.n; cut++) {
            int peer;
            dw_message m;
            dw_conn *c = open_conn(&peer, flags[i]);
            assert_int_equal(put(peer, all.p, cut, NULL, 0), cut > 0 ? (ssize_t)cut : 0);
            expect_code(send_signal(c, 1), 0);
            close(peer);
            bool in_message = cut > auth_len && cut < all.n;
            int end = in_message ? DW_E_CUT : DW_E_CLOSED;
            int r = dw_flush(c, DW_TIMEOUT_DEFAULT);
            if (cut < all.n)
                expect_code(r, end);
            expect_code(dw_receive(c, &m, DW_TIMEOUT_DEFAULT), end);
            expect_code(dw_receive(c, &m, 0), end);
            expect_code(dw_conn_error(c), end);
            dw_conn_close(c);
        }
        text_free(&all);
    }
}

/* -- Strangers ------------------------------------------------------------------- */

/* Lines without end, and without number, from either end. */
static void strangers_cost_little(void **state)
{
    (void)state;
    static const struct {
        unsigned flags;
        const char *first, *more;
        int code;
    } rows[] = {
        {DW_CONN_SERVER, "\0", "A", DW_E_LIMIT},
        {DW_CONN_SERVER, "\0", "\r\n", DW_E_LIMIT},
        {DW_CONN_SERVER, "\0", "AUTH\r\n", DW_E_AUTH},
        {DW_CONN_SERVER, "\0", "NEGOTIATE_UNIX_FD\r\n", DW_E_LIMIT},
        {DW_CONN_SERVER, "A", "A", DW_E_PROTOCOL},
        {DW_CONN_LOCKSTEP, "", "A", DW_E_LIMIT},
        {DW_CONN_LOCKSTEP, "", "ERROR\r\n", DW_E_PROTOCOL},
        {DW_CONN_LOCKSTEP, "", "DATA\r\n", DW_E_PROTOCOL},
        {0, "", "A", DW_E_LIMIT},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        static char flood[100000];
        int peer, r = 0;
        dw_message m;
        dw_conn *c = open_conn(&peer, rows[i].flags);
        size_t n = strlen(rows[i].more);
        for (size_t at = 0; at + n <= sizeof flood; at += n)
            memcpy(flood + at, rows[i].more, n);
        if (rows[i].flags == DW_CONN_SERVER)
            put(peer, rows[i].first, 1, NULL, 0);
        for (int k = 0; k < 10 && r == 0; k++) {
            put(peer, flood, sizeof flood / n * n, NULL, 0);
            r = dw_receive(c, &m, 0);
        }
        if (r != rows[i].code)
            fail_msg("row %zu: %s", i, dw_error_name(r));
        assert_in_range(memory.most, 1, STRANGER_LIMIT);
        dw_conn_close(c);
        close(peer);
    }
}

/* Nobody who is not admitted, or with whom nothing is agreed, hands us any. */
static void strangers_pass_no_descriptors(void **state)
{
    (void)state;
    int peer, fds[253];
    dw_message m;
    dw_conn *c = open_conn(&peer, DW_CONN_SERVER);
    for (size_t i = 0; i < 253; i++)
        fds[i] = peer;
    unsigned before = count_descriptors();
    assert_int_equal(put(peer, "\0", 1, fds, 253), 1);
    expect_code(dw_receive(c, &m, 0), DW_E_FDS);
    assert_int_equal(count_descriptors(), before);
    dw_conn_close(c);
    close(peer);
}

/* Those that come with BEGIN are for the first message: they have been agreed on. */
static void descriptors_may_come_with_begin(void **state)
{
    (void)state;
    static const char lines[] = "\0AUTH EXTERNAL\r\nDATA\r\nNEGOTIATE_UNIX_FD\r\n";
    int peer;
    dw_message m;
    text all = {0};
    dw_header h = a_signal;
    dw_conn *c = open_conn(&peer, DW_CONN_SERVER);
    h.n_fds = 1;
    h.fds = &peer;
    add_message(&all, &h, 1);
    put(peer, lines, sizeof lines - 1, NULL, 0);
    expect_code(dw_receive(c, &m, 0), 0);
    put(peer, "BEGIN\r\n", 7, NULL, 0);
    put(peer, all.p, all.n, &peer, 1);
    expect_code(dw_receive(c, &m, 0), 1);
    assert_int_equal(m.unix_fds, 1);
    dw_conn_close(c);
    close(peer);
    text_free(&all);
}

/* -- That send too much -------------------------------------------------------------- */

/* What is promised costs nothing; what comes at most four times as much. */
static void large_messages_cost_what_they_are(void **state)
{
    (void)state;
    enum { SENT = 24 * 1024 * 1024 };
    static uint8_t zeros[100000];
    int peer;
    dw_message m;
    size_t sent = 16;
    dw_conn *c = open_conn(&peer, DW_CONN_NO_AUTH);
    /* Header and body together just as large as may be: 128 MiB. */
    put(peer, "l\4\1\1\360\377\377\7\1\0\0\0\0\0\0\0", 16, NULL, 0);
    expect_code(dw_receive(c, &m, 0), 0);
    assert_in_range(memory.most, 1, CONSTANT_LIMIT);
    while (sent < SENT) {
        ssize_t n = put(peer, zeros, sizeof zeros, NULL, 0);
        expect_code(dw_receive(c, &m, 0), 0);
        sent += n > 0 ? (size_t)n : 0;
        assert_in_range(memory.most, 1, 4 * sent + CONSTANT_LIMIT);
    }
    close(peer);
    expect_code(dw_receive(c, &m, 0), DW_E_CUT);
    dw_conn_close(c);
}

/* Lengths of all kinds, the sums of which may overflow. */
static void lengths_are_checked(void **state)
{
    (void)state;
    static const uint32_t lengths[] = {0,          1,          0x03ffffff, 0x04000001,
                                       0x07ffffff, 0x08000000, 0x7fffffff, 0x80000000,
                                       0xfffffff0, 0xfffffff8, 0xffffffff};
    for (size_t i = 0; i < 11; i++)
        for (size_t k = 0; k < 11; k++) {
            uint8_t header[17] = "l\4\1\1....\1\0\0\0....";
            int peer;
            dw_message m;
            for (size_t byte = 0; byte < 4; byte++) {
                header[4 + byte] = (uint8_t)(lengths[i] >> 8 * byte);
                header[12 + byte] = (uint8_t)(lengths[k] >> 8 * byte);
            }
            uint64_t sum = 16 + (uint64_t)lengths[k] + 7;
            sum = sum - sum % 8 + lengths[i];
            bool large = lengths[k] > DW_MAX_ARRAY || sum > DW_MAX_MESSAGE;
            dw_conn *c = open_conn(&peer, DW_CONN_NO_AUTH);
            put(peer, header, 16, NULL, 0);
            int r = dw_receive(c, &m, 0);
            if (large)
                expect_code(r, DW_E_LIMIT);
            else
                assert_true(r == 0 || (i + k == 0 && r == DW_E_HEADER));
            assert_in_range(memory.most, 1, CONSTANT_LIMIT);
            dw_conn_close(c);
            close(peer);
        }
}

/* While a call waits for its answer, it gets all but that. */
static void kept_messages_are_bounded(void **state)
{
    (void)state;
    enum { LIMIT = 100000 };
    for (int with_fds = 0; with_fds < 2; with_fds++) {
        int peer, fds[253];
        text one = {0};
        dw_message m;
        dw_writer w;
        dw_conn *c = open_conn(&peer, DW_CONN_NO_AUTH);
        dw_conn_limits(c, 0, LIMIT);
        for (size_t i = 0; i < 253; i++)
            fds[i] = peer;
        dw_header h = a_signal;
        h.fds = fds;
        h.n_fds = with_fds ? 100 : 0;
        add_message(&one, &h, 1);
        dw_writer_init(&w, NULL, 0, dw_heap);
        int r = DW_E_TIMEOUT;
        unsigned before = count_descriptors(), most = 0;
        for (int i = 0; i < 1000 && r == DW_E_TIMEOUT; i++) {
            for (int k = 0; k < 5; k++)
                put(peer, one.p, one.n, fds, with_fds ? 100 : 0);
            write_call(&w, "Ask", 1);
            r = dw_call(c, &w, &m, 0);
            most = count_descriptors() - before;
        }
        expect_code(r, DW_E_QUEUE);
        expect_code(dw_conn_error(c), 0);
        assert_true(most <= 3 * 506);
        assert_in_range(memory.most, 1, 4 * LIMIT + CONSTANT_LIMIT);
        for (int i = 0; i < 5; i++) { /* nothing of it is lost */
            expect_code(dw_receive(c, &m, 0), 1);
            assert_int_equal(m.unix_fds, with_fds ? 100 : 0);
        }
        dw_writer_free(&w);
        dw_conn_close(c);
        close(peer);
        text_free(&one);
    }
}

/* Calls of org.freedesktop.DBus.Peer, and what the program says, for one that
 * never reads. */
static void unread_output_is_bounded(void **state)
{
    (void)state;
    enum { LIMIT = 100000 };
    int peer, r = 0;
    text ping = {0};
    dw_message m;
    dw_conn *c = open_conn(&peer, DW_CONN_NO_AUTH);
    dw_conn_limits(c, LIMIT, 0);
    for (uint32_t i = 1; i < 500; i++)
        add_message(&ping,
                    &(dw_header){.type = DW_METHOD_CALL,
                                 .path = "/",
                                 .interface = "org.freedesktop.DBus.Peer",
                                 .member = "Ping"},
                    i);
    for (int i = 0; i < 1000 && r == 0; i++) {
        put(peer, ping.p, ping.n, NULL, 0);
        r = dw_receive(c, &m, 0);
    }
    /* A write of our bytes that ended in the middle of a message of theirs is no
     * matter: it is the answers that nobody reads. */
    expect_code(r, DW_E_QUEUE);
    expect_code(send_signal(c, 1), DW_E_QUEUE);
    expect_code(dw_flush(c, 0), DW_E_TIMEOUT);
    assert_in_range(memory.most, 1, 4 * LIMIT + CONSTANT_LIMIT);
    text_free(&ping);
    dw_conn_close(c);
    close(peer);
}

/* -- That say what was not asked -------------------------------------------------------- */

static void count_end(void *context, int code, dw_message *reply)
{
    (void)reply;
    expect_code(code, 0);
    ++*(int *)context;
}

/* Answers to what was never asked are messages like any other, and the second
 * answer to a call is one of them. */
static void answers_to_everything(void **state)
{
    (void)state;
    int peer, told = 0, handed_out = 0, r;
    text all = {0};
    dw_message m;
    dw_writer w;
    uint32_t serial;
    dw_conn *c = open_conn(&peer, DW_CONN_NO_AUTH);
    dw_writer_init(&w, NULL, 0, dw_heap);
    write_call(&w, "Ask", 1);
    expect_code(dw_start_call(c, &w, 1000, count_end, &told, &serial), 0);
    assert_int_equal(serial, 1);
    for (uint32_t i = 1; i <= 1000; i++)
        add_message(&all,
                    &(dw_header){.type = i % 3 ? DW_METHOD_RETURN : DW_ERROR,
                                 .error_name = i % 3 ? NULL : "org.example.No",
                                 .reply_serial = (i - 1) % 500 + 1},
                    i);
    assert_int_equal(put(peer, all.p, all.n, NULL, 0), all.n);
    while ((r = dw_receive(c, &m, 0)) > 0)
        handed_out++;
    expect_code(r, 0);
    assert_int_equal(told, 1);
    assert_int_equal(handed_out, 999);
    assert_in_range(memory.most, 1, CONSTANT_LIMIT);
    text_free(&all);
    dw_writer_free(&w);
    dw_conn_close(c);
    close(peer);
}

/* -- Descriptors ------------------------------------------------------------------------- */

static ino_t file_of(int fd)
{
    struct stat st;
    assert_int_equal(fstat(fd, &st), 0);
    return st.st_ino;
}

/* The answer to Hello has one, and others come while what we say waits. */
static void descriptors_come_with_hello(void **state)
{
    (void)state;
    int peer, files[2] = {open("/", O_RDONLY | O_CLOEXEC), open("/tmp", O_RDONLY | O_CLOEXEC)};
    text all = {0};
    dw_message m;
    dw_writer w;
    dw_conn *c = open_conn(&peer, DW_CONN_BUS);
    dw_header hello = hello_reply, other = a_signal;
    hello.fds = other.fds = files;
    hello.n_fds = other.n_fds = 1;
    dw_writer_init(&w, NULL, 0, dw_heap);
    write_ballast(&w, 2000000); /* more than the socket takes */
    expect_code(dw_send(c, &w, NULL), 0);
    put(peer, OK_LINES "AGREE_UNIX_FD\r\n", sizeof OK_LINES + 14, NULL, 0);
    add_message(&all, &hello, 1);
    put(peer, all.p, all.n, &files[0], 1);
    text_free(&all);
    all = (text){0};
    add_message(&all, &other, 2);
    put(peer, all.p, all.n, &files[1], 1);
    expect_code(dw_flush(c, 20), DW_E_TIMEOUT);
    assert_true(dw_conn_ready(c));
    expect_code(dw_receive(c, &m, 0), 1);
    assert_int_equal(m.unix_fds, 1);
    assert_int_equal(file_of(m.fds[0]), file_of(files[1]));
    dw_writer_free(&w);
    text_free(&all);
    dw_conn_close(c);
    close(peer);
    close(files[0]);
    close(files[1]);
}

/* One message, and its descriptors a few with each byte: in the order they came. */
static void descriptors_may_be_split(void **state)
{
    (void)state;
    int peer, files[3] = {open("/", O_RDONLY | O_CLOEXEC), open("/tmp", O_RDONLY | O_CLOEXEC),
                          open("/dev", O_RDONLY | O_CLOEXEC)};
    text all = {0};
    dw_message m;
    dw_header h = a_signal;
    h.fds = files;
    h.n_fds = 3;
    add_message(&all, &h, 1);
    for (size_t at = 2; at < all.n; at++) {
        dw_conn *c = open_conn(&peer, DW_CONN_NO_AUTH);
        put(peer, all.p, 1, files, 1);
        put(peer, all.p + 1, at - 1, files + 1, 1);
        expect_code(dw_receive(c, &m, 0), 0);
        put(peer, all.p + at, all.n - at, files + 2, 1);
        expect_code(dw_receive(c, &m, 0), 1);
        for (size_t i = 0; i < 3; i++)
            assert_int_equal(file_of(m.fds[i]), file_of(files[i]));
        dw_conn_close(c);
        close(peer);
    }
    text_free(&all);
    for (size_t i = 0; i < 3; i++)
        close(files[i]);
}

/* -- That share their socket ----------------------------------------------------------------- */

/* Two processes write to it: as each write is one message, all are whole, and
 * those of each come in order. */
static void two_processes_write(void **state)
{
    (void)state;
    enum { EACH = 300 };
    int peer;
    uint32_t next[2] = {0, 1000};
    dw_message m;
    dw_conn *c = open_conn(&peer, DW_CONN_NO_AUTH), *other;
    expect_code(dw_conn_from_fd(&other, peer, DW_CONN_NO_AUTH), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int r = 0;
        for (uint32_t i = 0; i < EACH && r == 0; i++)
            if ((r = send_signal(other, 1000 + i)) == 0)
                r = dw_flush(other, 10000);
        dw_conn_close(other);
        dw_conn_close(c);
        _exit(r != 0);
    }
    for (uint32_t i = 0; i < EACH; i++)
        expect_code(send_signal(other, i), 0); /* what the socket does not take is queued */
    for (int n = 0; n < 2 * EACH; n++) {
        dw_flush(other, 0);
        expect_code(dw_receive(c, &m, 10000), 1);
        uint32_t value = value_of(&m);
        assert_int_equal(value, next[value >= 1000]++);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(next[0], EACH);
    assert_int_equal(next[1], 1000 + EACH);
    dw_conn_close(other);
    expect_code(dw_receive(c, &m, 0), DW_E_CLOSED);
    dw_conn_close(c);
}

/* And in the middle of each other's messages: there is an end to it. */
static void writes_cross(void **state)
{
    (void)state;
    text one = {0};
    add_message(&one, &a_signal, 1);
    for (size_t at = 1; at < one.n; at++) {
        int peer, r, n = 0;
        dw_message m;
        dw_conn *c = open_conn(&peer, DW_CONN_NO_AUTH);
        put(peer, one.p, at, NULL, 0);
        put(peer, one.p, one.n, NULL, 0);
        put(peer, one.p + at, one.n - at, NULL, 0);
        close(peer);
        while ((r = dw_receive(c, &m, 0)) > 0)
            n++;
        assert_true(r < 0 && r != DW_E_CLOSED);
        assert_true(n <= 3);
        expect_code(dw_receive(c, &m, 0), r);
        dw_conn_close(c);
    }
    text_free(&one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, nothing_is_left)
        TEST(servers_vanish_anywhere),
        TEST(strangers_cost_little),
        TEST(strangers_pass_no_descriptors),
        TEST(descriptors_may_come_with_begin),
        TEST(large_messages_cost_what_they_are),
        TEST(lengths_are_checked),
        TEST(kept_messages_are_bounded),
        TEST(unread_output_is_bounded),
        TEST(answers_to_everything),
        TEST(descriptors_come_with_hello),
        TEST(descriptors_may_be_split),
        TEST(two_processes_write),
        TEST(writes_cross),
#undef TEST
    };
    return cmocka_run_group_tests_name("hostile_peer", tests, NULL, NULL);
}
