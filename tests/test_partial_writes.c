/* test_partial_writes.c - messages with descriptors, and with arrays that are
 * sent from where they lie, by writes that end at every byte: the stream is the
 * same, and descriptors go with the first byte of their message and no other;
 * also of what gets out of a connection that fails in the middle. */

#define _GNU_SOURCE 1

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "dwire/connection.h"
#include "support/ends.h"
#include "support/failing.h"
#include "support/kernel.h"

enum { ARRAY = 600, MESSAGES = 9 };

static uint8_t array[ARRAY];
static int files[2];

/* How many descriptors each has, and whether its array lies apart. */
static const struct {
    uint32_t n_fds;
    bool apart;
} kinds[MESSAGES] = {
    {2, false}, {0, true},  {1, true}, {0, false}, {0, true},
    {2, true},  {1, false}, {1, true}, {0, true},
};

static void write_message(dw_writer *w, unsigned i, bool by_ref)
{
    size_t n = kinds[i].apart ? ARRAY - i : i;
    dw_begin(w, &(dw_header){.type = DW_SIGNAL,
                             .path = "/o",
                             .interface = "a.b",
                             .member = "M",
                             .signature = "ayuayy",
                             .fds = files,
                             .n_fds = kinds[i].n_fds});
    (by_ref ? dw_put_array_ref : dw_put_array)(w, 'y', array, n);
    dw_put_uint32(w, i);
    (by_ref ? dw_put_array_ref : dw_put_array)(w, 'y', array, n);
    dw_put_byte(w, 7);
    expect_code(dw_finish(w), 0);
}

/* What must come: each message as it is without tricks. */
static uint8_t *expected[MESSAGES];
static size_t lengths[MESSAGES], total;

static int make_expected(void **state)
{
    (void)state;
    dw_writer w;
    files[0] = open("/", O_RDONLY | O_CLOEXEC);
    files[1] = open("/tmp", O_RDONLY | O_CLOEXEC);
    for (size_t i = 0; i < ARRAY; i++)
        array[i] = (uint8_t)(i * 7 + i / 256);
    dw_writer_init(&w, NULL, 0, dw_heap);
    for (unsigned i = 0; i < MESSAGES; i++) {
        write_message(&w, i, false);
        const uint8_t *p = dw_writer_bytes(&w, &lengths[i]);
        expected[i] = malloc(lengths[i]);
        memcpy(expected[i], p, lengths[i]);
        expected[i][8] = (uint8_t)(i + 1); /* the serial */
        expected[i][11] = 0;
        if (DW_NATIVE == DW_BIG) {
            expected[i][8] = 0;
            expected[i][11] = (uint8_t)(i + 1);
        }
        total += lengths[i];
    }
    dw_writer_free(&w);
    return 0;
}

static int free_expected(void **state)
{
    (void)state;
    for (unsigned i = 0; i < MESSAGES; i++)
        free(expected[i]);
    close(files[0]);
    return close(files[1]);
}

static ino_t file_of(int fd)
{
    struct stat st;
    assert_int_equal(fstat(fd, &st), 0);
    return st.st_ino;
}

/* Reads at most len bytes, and expects n_fds descriptors with them. */
static ssize_t take(int from, uint8_t *p, size_t len, uint32_t n_fds)
{
    union {
        struct cmsghdr align;
        char room[CMSG_SPACE(8 * sizeof(int))];
    } control;
    struct iovec part = {p, len};
    struct msghdr msg = {.msg_iov = &part,
                         .msg_iovlen = 1,
                         .msg_control = control.room,
                         .msg_controllen = sizeof control};
    ssize_t n = recvmsg(from, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n <= 0)
        return 0;
    struct cmsghdr *h = CMSG_FIRSTHDR(&msg);
    size_t came = h == NULL ? 0 : (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    assert_int_equal(came, n_fds);
    for (size_t i = 0; i < came; i++) {
        int fd;
        memcpy(&fd, CMSG_DATA(h) + i * sizeof fd, sizeof fd);
        assert_int_equal(file_of(fd), file_of(files[i]));
        close(fd);
    }
    return n;
}

/* All that has come, which is the beginning of what is expected. */
static size_t take_stream(int from)
{
    static uint8_t room[4096];
    size_t came = 0;
    for (unsigned i = 0; i < MESSAGES; i++) {
        size_t at = 0;
        ssize_t n = take(from, room, 1, kinds[i].n_fds);
        while (n > 0) {
            at += (size_t)n;
            n = at < lengths[i] ? take(from, room + at, lengths[i] - at, 0) : 0;
        }
        assert_memory_equal(room, expected[i], at);
        came += at;
        if (at < lengths[i])
            break;
    }
    return came;
}

/* Sends all of them, each from a writer that goes on to the next one. */
static int send_all(dw_conn *c, bool queue)
{
    dw_writer w;
    int r = 0;
    dw_writer_init(&w, NULL, 0, dw_heap);
    for (unsigned i = 0; i < MESSAGES && r == 0; i++) {
        write_message(&w, i, true);
        r = queue ? dw_queue(c, &w, NULL) : dw_send(c, &w, NULL);
    }
    dw_writer_free(&w);
    for (size_t i = 0; r == 0 && i < total + 20 && dw_conn_queued(c) > 0; i++) {
        r = dw_flush(c, 0);
        r = r == DW_E_TIMEOUT ? 0 : r;
    }
    return r;
}

/* One connection, one fault; says how much has come. */
static size_t run(fault f, bool queue, int code)
{
    int fd[2];
    dw_conn *c;
    failing memory;
    failing_init(&memory, 0, false);
    dw_options o = {.flags = DW_CONN_NO_AUTH, .allocator = &memory.allocator};
    make_sockets(fd);
    expect_code(dw_conn_from_fd_with(&c, fd[0], &o), 0);
    kernel_start(f, NULL, NULL);
    int r = send_all(c, queue);
    kernel_stop();
    expect_code(r, code);
    if (code != 0) {
        expect_code(dw_conn_error(c), code);
        expect_code(send_signal(c, 1), code);
    }
    assert_int_equal(dw_conn_queued(c), 0);
    dw_conn_close(c);
    size_t came = take_stream(fd[1]);
    close(fd[1]);
    assert_int_equal(memory.live, 0);
    return came;
}

static void one_write_ends_anywhere(void **state)
{
    (void)state;
    unsigned before = count_descriptors();
    for (fault f = {.call = CALL_SENDMSG, .at = 1, .most = 1}; f.most <= total; f.most++)
        for (int queue = 0; queue < 2; queue++)
            assert_int_equal(run(f, queue, 0), total);
    assert_int_equal(count_descriptors(), before);
}

/* Not so early that the socket, which nobody reads meanwhile, is full of them. */
static void every_write_ends_early(void **state)
{
    (void)state;
    unsigned before = count_descriptors();
    for (size_t most = 60; most <= total; most += most < 200 ? 1 : 61)
        for (int queue = 0; queue < 2; queue++) {
            fault f = {.call = CALL_SENDMSG, .at = 1, .for_good = true, .most = most};
            assert_int_equal(run(f, queue, 0), total);
        }
    assert_int_equal(count_descriptors(), before);
}

/* Nothing of what follows goes out, nothing of it is kept. */
static void connections_fail_in_the_middle(void **state)
{
    (void)state;
    static const struct {
        int error, code;
    } ways[] = {{EPIPE, DW_E_CLOSED}, {ENOBUFS, DW_E_SYSTEM}};
    unsigned before = count_descriptors();
    for (size_t i = 0; i < 2; i++)
        for (size_t most = 1; most < lengths[0]; most++)
            for (int queue = 0; queue < 2; queue++) {
                fault f = {CALL_SENDMSG, .at = 1, .most = most, .then = ways[i].error};
                assert_int_equal(run(f, queue, ways[i].code), most);
            }
    /* Later ones, up to where the next descriptors start a write of their own. */
    for (size_t most = 1; most < lengths[0] + lengths[1]; most++) {
        fault f = {CALL_SENDMSG, .at = 2, .most = most, .then = EPIPE};
        size_t came = run(f, true, DW_E_CLOSED), sent = lengths[0] + lengths[1];
        size_t second = lengths[2] + lengths[3] + lengths[4];
        assert_int_equal(came, sent + (most < second ? most : second));
    }
    assert_int_equal(count_descriptors(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_write_ends_anywhere),
        cmocka_unit_test(every_write_ends_early),
        cmocka_unit_test(connections_fail_in_the_middle),
    };
    return cmocka_run_group_tests_name("partial_writes", tests, make_expected, free_expected);
}
