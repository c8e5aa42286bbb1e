/* test_descriptors.c - file descriptors that travel with messages. Each test
 * counts the open ones before and after. */

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
#include <unistd.h>

#include <cmocka.h>

#include "dwire/connection.h"
#include "support/ends.h"
#include "support/failing.h"

#define MAX_FDS 253

/* A message with n descriptors, all of them fd; the body has their indexes. */
static void write_fds(dw_writer *w, const int *fds, uint32_t n)
{
    dw_begin(w, &(dw_header){.type = DW_SIGNAL,
                             .path = "/org/example",
                             .interface = "org.example.Test",
                             .member = "Fds",
                             .signature = "uah",
                             .fds = fds,
                             .n_fds = n});
    dw_put_uint32(w, n);
    dw_open_array(w);
    for (uint32_t i = 0; i < n; i++)
        dw_put_unix_fd(w, i);
    dw_close_array(w);
    expect_code(dw_finish(w), 0);
}

/* A descriptor of a file of its own, that can be told from others. */
static int make_file(void)
{
    char name[] = "/tmp/dwire-test-XXXXXX";
    int fd = mkostemp(name, O_CLOEXEC);
    assert_true(fd >= 0);
    unlink(name);
    return fd;
}

static ino_t file_of(int fd)
{
    struct stat st;
    assert_int_equal(fstat(fd, &st), 0);
    return st.st_ino;
}

static void expect_fds(dw_conn *c, const int *fds, uint32_t n)
{
    dw_message m;
    expect_code(dw_receive(c, &m, DW_TIMEOUT_DEFAULT), 1);
    assert_int_equal(m.unix_fds, n);
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(file_of(m.fds[i]), file_of(fds[i]));
        assert_true(fcntl(m.fds[i], F_GETFD) & FD_CLOEXEC);
    }
}

static void go_with_their_messages(void **state)
{
    (void)state;
    unsigned before = count_descriptors();
    for (unsigned flags = 0; flags <= DW_CONN_NO_AUTH; flags += DW_CONN_NO_AUTH) {
        ends e;
        dw_writer w;
        int fds[5];
        dw_options o = {.flags = flags};
        for (int i = 0; i < 5; i++)
            fds[i] = make_file();
        ends_open(&e, &o, &o);
        ends_ready(&e);
        dw_writer_init(&w, NULL, 0, dw_heap);
        /* Queued, so that some have to wait, and sent; with and without some. */
        for (uint32_t i = 0; i < 60; i++) {
            write_fds(&w, fds, i % 6);
            expect_code(i % 4 == 3 ? dw_send(e.client, &w, NULL) : dw_queue(e.client, &w, NULL), 0);
        }
        expect_code(dw_flush(e.client, 0), 0);
        for (uint32_t i = 0; i < 60; i++)
            expect_fds(e.server, fds, i % 6);
        dw_writer_free(&w);
        ends_close(&e);
        for (int i = 0; i < 5; i++)
            close(fds[i]);
    }
    assert_int_equal(count_descriptors(), before);
}

static void belong_to_who_takes_them(void **state)
{
    (void)state;
    unsigned before = count_descriptors();
    ends e;
    dw_message m;
    dw_writer w;
    int fds[3] = {make_file(), make_file(), make_file()};
    ends_open(&e, NULL, NULL);
    ends_ready(&e);
    dw_writer_init(&w, NULL, 0, dw_heap);
    write_fds(&w, fds, 3);
    expect_code(dw_send(e.client, &w, NULL), 0);
    unsigned sent = count_descriptors();
    expect_code(dw_receive(e.server, &m, 0), 1);
    assert_int_equal(count_descriptors(), sent + 3);
    int taken = dw_take_fd(&m, 1);
    assert_int_equal(file_of(taken), file_of(fds[1]));
    assert_int_equal(dw_take_fd(&m, 1), DW_E_FDS);
    assert_int_equal(dw_take_fd(&m, 3), DW_E_FDS);
    expect_code(dw_receive(e.server, &m, 0), 0);
    assert_int_equal(count_descriptors(), sent + 1);
    assert_int_equal(file_of(taken), file_of(fds[1]));
    close(taken);
    dw_writer_free(&w);
    ends_close(&e);
    for (int i = 0; i < 3; i++)
        close(fds[i]);
    assert_int_equal(count_descriptors(), before);
}

/* A socket so small that messages are cut anywhere: descriptors still arrive
 * with the message that they were sent with. */
static void survive_short_writes(void **state)
{
    (void)state;
    unsigned before = count_descriptors();
    ends e;
    dw_message m;
    dw_writer w, ballast;
    int small = 1, fds[2] = {make_file(), make_file()};
    ends_open(&e, NULL, NULL);
    setsockopt(dw_conn_fd(e.client), SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
    ends_ready(&e);
    dw_writer_init(&w, NULL, 0, dw_heap);
    dw_writer_init(&ballast, NULL, 0, dw_heap);
    write_ballast(&ballast, 30001);
    for (uint32_t i = 0; i < 20; i++) {
        write_fds(&w, fds, i % 3);
        expect_code(dw_send(e.client, &w, NULL), 0);
        expect_code(dw_send(e.client, &ballast, NULL), 0);
    }
    for (uint32_t i = 0; i < 40; i++) {
        int r;
        while ((r = dw_receive(e.server, &m, 0)) == 0)
            dw_flush(e.client, 0);
        expect_code(r, 1);
        assert_int_equal(m.unix_fds, i % 2 ? 0 : i / 2 % 3);
        for (uint32_t k = 0; k < m.unix_fds; k++)
            assert_int_equal(file_of(m.fds[k]), file_of(fds[k]));
    }
    dw_writer_free(&w);
    dw_writer_free(&ballast);
    ends_close(&e);
    close(fds[0]);
    close(fds[1]);
    assert_int_equal(count_descriptors(), before);
}

static void wait_for_the_negotiation(void **state)
{
    (void)state;
    unsigned before = count_descriptors();
    for (unsigned refused = 0; refused <= DW_CONN_NO_FDS; refused += DW_CONN_NO_FDS) {
        ends e;
        dw_message m;
        dw_writer w;
        int fd = make_file();
        dw_options server = {.flags = refused};
        ends_open(&e, NULL, &server);
        dw_writer_init(&w, NULL, 0, dw_heap);
        write_fds(&w, &fd, 1);
        expect_code(send_signal(e.client, 1), 0);
        expect_code(dw_send(e.client, &w, NULL), 0);
        expect_code(send_signal(e.client, 2), 0);
        expect_code(dw_flush(e.client, 0), DW_E_TIMEOUT);
        expect_signal(e.server, 1);
        expect_code(dw_receive(e.server, &m, 0), 0);
        expect_code(dw_flush(e.client, 0), refused ? DW_E_UNSUPPORTED : 0);
        if (refused) {
            expect_code(send_signal(e.client, 3), DW_E_UNSUPPORTED);
        } else {
            expect_fds(e.server, &fd, 1);
            expect_signal(e.server, 2);
        }
        dw_writer_free(&w);
        ends_close(&e);
        close(fd);
    }
    assert_int_equal(count_descriptors(), before);
}

static void are_refused_where_not_agreed_on(void **state)
{
    (void)state;
    unsigned before = count_descriptors();
    for (int side = 0; side < 2; side++) {
        ends e;
        dw_writer w;
        int fd = make_file();
        dw_options o = {.flags = DW_CONN_NO_FDS}, defaults = {.flags = 0};
        ends_open(&e, side ? &o : &defaults, side ? &defaults : &o);
        ends_ready(&e);
        dw_writer_init(&w, NULL, 0, dw_heap);
        write_fds(&w, &fd, 1);
        expect_code(dw_send(e.client, &w, NULL), DW_E_UNSUPPORTED);
        expect_code(dw_send(e.server, &w, NULL), DW_E_UNSUPPORTED);
        expect_code(send_signal(e.client, 1), 0);
        expect_signal(e.server, 1);
        dw_writer_free(&w);
        ends_close(&e);
        close(fd);
    }
    assert_int_equal(count_descriptors(), before);
}

static void have_a_limit(void **state)
{
    (void)state;
    unsigned before = count_descriptors();
    ends e;
    dw_writer w;
    int file = make_file(), fds[MAX_FDS + 1];
    for (int i = 0; i <= MAX_FDS; i++)
        fds[i] = file;
    ends_open(&e, NULL, NULL);
    ends_ready(&e);
    dw_writer_init(&w, NULL, 0, dw_heap);
    write_fds(&w, fds, MAX_FDS + 1);
    expect_code(dw_send(e.client, &w, NULL), DW_E_LIMIT);
    write_fds(&w, NULL, 1); /* how many, and not which */
    expect_code(dw_send(e.client, &w, NULL), DW_E_FDS);
    write_fds(&w, fds, MAX_FDS);
    expect_code(dw_send(e.client, &w, NULL), 0);
    expect_fds(e.server, fds, MAX_FDS);
    dw_writer_free(&w);
    ends_close(&e);
    close(file);
    assert_int_equal(count_descriptors(), before);
}

/* -- A peer that does it wrong ------------------------------------------------------ */

static void send_raw(int to, const void *p, size_t len, const int *fds, size_t n)
{
    union {
        struct cmsghdr align;
        char room[CMSG_SPACE(MAX_FDS * sizeof(int))];
    } control;
    struct iovec part = {(void *)(uintptr_t)p, len};
    struct msghdr msg = {.msg_iov = &part, .msg_iovlen = 1};
    memset(&control, 0, sizeof control);
    if (n > 0) {
        msg.msg_control = control.room;
        msg.msg_controllen = CMSG_SPACE(n * sizeof(int));
        struct cmsghdr *header = CMSG_FIRSTHDR(&msg);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(n * sizeof(int));
        memcpy(CMSG_DATA(header), fds, n * sizeof(int));
    }
    assert_int_equal(sendmsg(to, &msg, MSG_NOSIGNAL), len);
}

/* A message that announces so many, sent with so many: at which byte. */
static int receive_wrong(uint32_t announced, size_t sent, size_t at, unsigned flags)
{
    int fd[2], file = make_file(), fds[MAX_FDS];
    dw_conn *c;
    dw_message m;
    dw_writer w;
    size_t len;
    for (size_t i = 0; i < MAX_FDS; i++)
        fds[i] = file;
    make_sockets(fd);
    expect_code(dw_conn_from_fd(&c, fd[0], DW_CONN_NO_AUTH | flags), 0);
    dw_writer_init(&w, NULL, 0, dw_heap);
    write_fds(&w, fds, announced);
    const uint8_t *p = dw_writer_bytes(&w, &len);
    if (at > 0)
        send_raw(fd[1], p, at, NULL, 0);
    send_raw(fd[1], p + at, len - at, fds, sent);
    int r = dw_receive(c, &m, 0);
    if (r > 0) /* what is left over shows when all is read */
        r = dw_receive(c, &m, 0);
    if (r < 0)
        expect_code(dw_receive(c, &m, 0), r);
    dw_writer_free(&w);
    dw_conn_close(c);
    close(fd[1]);
    close(file);
    return r;
}

static void too_many_or_too_few_are_errors(void **state)
{
    (void)state;
    unsigned before = count_descriptors();
    expect_code(receive_wrong(2, 2, 0, 0), 0);
    expect_code(receive_wrong(2, 2, 5, 0), 0);
    expect_code(receive_wrong(2, 1, 0, 0), DW_E_FDS);
    expect_code(receive_wrong(2, 0, 0, 0), DW_E_FDS);
    expect_code(receive_wrong(2, 3, 0, 0), DW_E_FDS);
    expect_code(receive_wrong(0, 1, 0, 0), DW_E_FDS);
    expect_code(receive_wrong(0, 1, 7, 0), DW_E_FDS);
    expect_code(receive_wrong(MAX_FDS, MAX_FDS, 0, 0), 0);
    expect_code(receive_wrong(1, 1, 0, DW_CONN_NO_FDS), DW_E_FDS);
    assert_int_equal(count_descriptors(), before);
}

/* Descriptors with every byte of one message: bounded. */
static void hoards_are_bounded(void **state)
{
    (void)state;
    unsigned before = count_descriptors();
    int fd[2], file = make_file(), fds[100];
    dw_conn *c;
    dw_message m;
    int r = 0, i;
    for (i = 0; i < 100; i++)
        fds[i] = file;
    make_sockets(fd);
    expect_code(dw_conn_from_fd(&c, fd[0], DW_CONN_NO_AUTH), 0);
    send_raw(fd[1], "l\1\0\1\0\0\1\0\1\0\0\0\0\0\0\0", 16, NULL, 0);
    for (i = 0; i < 20 && r == 0; i++) {
        send_raw(fd[1], "x", 1, fds, 100);
        r = dw_receive(c, &m, 0);
    }
    expect_code(r, DW_E_FDS);
    assert_int_equal(i, 6);
    dw_conn_close(c);
    close(fd[1]);
    close(file);
    assert_int_equal(count_descriptors(), before);
}

/* During the handshake nobody has agreed on any. */
static void none_before_the_handshake(void **state)
{
    (void)state;
    unsigned before = count_descriptors();
    int fd[2], file = make_file();
    dw_conn *c;
    dw_message m;
    make_sockets(fd);
    expect_code(dw_conn_from_fd(&c, fd[0], DW_CONN_SERVER), 0);
    send_raw(fd[1], "\0AUTH EXTERNAL\r\nDATA\r\n", 22, &file, 1);
    send_raw(fd[1], "BEGIN\r\n", 7, NULL, 0);
    expect_code(dw_receive(c, &m, 0), DW_E_FDS);
    dw_conn_close(c);
    close(fd[1]);
    close(file);
    assert_int_equal(count_descriptors(), before);
}

static void set_limit(rlim_t n)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = n;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* No descriptor is free: for one to be kept, for one that comes. */
static void out_of_descriptors_is_an_error(void **state)
{
    (void)state;
    skip_without_limits();
    unsigned before = count_descriptors();
    struct rlimit old;
    ends e;
    dw_message m;
    dw_writer w;
    int file = make_file(), fds[2] = {file, file};
    getrlimit(RLIMIT_NOFILE, &old);
    ends_open(&e, NULL, NULL);
    ends_ready(&e);
    dw_writer_init(&w, NULL, 0, dw_heap);
    write_fds(&w, fds, 2);
    int next = dup(file);
    close(next);
    set_limit((rlim_t)next + 1);
    errno = 0;
    expect_code(dw_queue(e.client, &w, NULL), DW_E_SYSTEM);
    assert_int_equal(errno, EMFILE);
    expect_code(send_signal(e.client, 1), 0);
    expect_signal(e.server, 1);
    expect_code(dw_send(e.client, &w, NULL), 0);
    errno = 0;
    expect_code(dw_receive(e.server, &m, 0), DW_E_SYSTEM);
    assert_int_equal(errno, EMFILE);
    errno = 0;
    expect_code(dw_receive(e.server, &m, 0), DW_E_SYSTEM);
    assert_int_equal(errno, EMFILE);
    set_limit(old.rlim_cur);
    dw_writer_free(&w);
    ends_close(&e);
    close(file);
    assert_int_equal(count_descriptors(), before);
}

static void kept_messages_keep_theirs(void **state)
{
    (void)state;
    unsigned before = count_descriptors();
    ends e;
    dw_message m;
    dw_writer w;
    int fds[2] = {make_file(), make_file()};
    ends_open(&e, NULL, NULL);
    ends_ready(&e);
    dw_writer_init(&w, NULL, 0, dw_heap);
    for (uint32_t i = 0; i < 30; i++) {
        write_fds(&w, fds, i % 3);
        expect_code(dw_send(e.server, &w, NULL), 0);
    }
    write_call(&w, "Ask", 1);
    expect_code(dw_call(e.client, &w, &m, 0), DW_E_TIMEOUT);
    for (uint32_t i = 0; i < 20; i++)
        expect_fds(e.client, fds, i % 3);
    dw_writer_free(&w);
    ends_close(&e); /* with ten of them never handed out */
    close(fds[0]);
    close(fds[1]);
    assert_int_equal(count_descriptors(), before);
}

/* Memory fails by turns, with descriptors in both queues. */
static void memory_failures_leak_none(void **state)
{
    (void)state;
    unsigned before = count_descriptors();
    for (unsigned fail_at = 1; fail_at < 30; fail_at++) {
        failing f;
        ends e;
        dw_message m;
        dw_writer w;
        int fds[20];
        failing_init(&f, 0, false);
        for (int i = 0; i < 20; i++)
            fds[i] = make_file();
        dw_options o = {.allocator = &f.allocator};
        ends_open(&e, &o, &o);
        ends_ready(&e);
        dw_writer_init(&w, NULL, 0, dw_heap);
        write_fds(&w, fds, 20);
        failing_init(&f, fail_at, false);
        f.live = 2;
        for (int i = 0; i < 4; i++) {
            dw_queue(e.client, &w, NULL);
            dw_send(e.client, &w, NULL);
            for (int k = 0; k < 3; k++)
                dw_receive(e.server, &m, 0);
        }
        dw_writer_free(&w);
        ends_close(&e);
        assert_int_equal(f.live, 0);
        for (int i = 0; i < 20; i++)
            close(fds[i]);
    }
    assert_int_equal(count_descriptors(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(go_with_their_messages),
        cmocka_unit_test(belong_to_who_takes_them),
        cmocka_unit_test(survive_short_writes),
        cmocka_unit_test(wait_for_the_negotiation),
        cmocka_unit_test(are_refused_where_not_agreed_on),
        cmocka_unit_test(have_a_limit),
        cmocka_unit_test(too_many_or_too_few_are_errors),
        cmocka_unit_test(hoards_are_bounded),
        cmocka_unit_test(none_before_the_handshake),
        cmocka_unit_test(out_of_descriptors_is_an_error),
        cmocka_unit_test(kept_messages_keep_theirs),
        cmocka_unit_test(memory_failures_leak_none),
    };
    return cmocka_run_group_tests_name("descriptors", tests, NULL, NULL);
}
