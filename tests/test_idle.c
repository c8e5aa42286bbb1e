/* test_idle.c - a server with ten thousand peers under epoll: all of them are
 * heard, large messages and small, and what each takes when it has fallen silent
 * is less than 1 KiB of heap. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "dwire/connection.h"
#include "support/ends.h"

enum { PEERS = 10000, SPARE = 100, OVERHEAD = 16, LARGE = 20000 };

/* -- Memory ------------------------------------------------------------------------- */

typedef struct heap {
    size_t bytes, blocks;
} heap;

static void *count(void *context, void *p, size_t old_size, size_t new_size)
{
    heap *h = context;
    void *block = dw_heap->resize(dw_heap->context, p, old_size, new_size);
    if (new_size > 0 && block == NULL)
        return NULL;
    h->bytes += new_size - old_size;
    h->blocks += (size_t)(new_size > 0) - (size_t)(p != NULL);
    return block;
}

/* -- Clients -------------------------------------------------------------------------- */

static unsigned affordable(void)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    return limit.rlim_cur > PEERS + SPARE ? PEERS : (unsigned)limit.rlim_cur - SPARE;
}

/* Connects them all; each says something, every third something large, and waits
 * for the answer. Stays until the pipe is closed. */
static void be_clients(const char *address, unsigned n, int until)
{
    dw_writer small, large;
    char end;
    dw_writer_init(&small, NULL, 0, dw_heap);
    dw_writer_init(&large, NULL, 0, dw_heap);
    write_ballast(&large, LARGE);
    for (unsigned i = 0; i < n; i++) {
        dw_conn *c;
        dw_message m;
        expect_code(dw_connect(&c, address, 0, DW_TIMEOUT_DEFAULT), 0);
        if (i % 3 == 0)
            expect_code(dw_send(c, &large, NULL), 0);
        write_call(&small, "Ask", i);
        expect_code(dw_call(c, &small, &m, DW_TIMEOUT_DEFAULT), 0);
        assert_int_equal(value_of(&m), i);
    }
    _exit(read(until, &end, 1) == 0 ? 0 : 1);
}

/* -- The server ------------------------------------------------------------------------ */

typedef struct server {
    int epoll;
    dw_listener *listener;
    dw_conn *conn[PEERS];
    unsigned n, calls, large;
} server;

static void watch(server *s, int fd, uint32_t index)
{
    struct epoll_event e = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.u32 = index};
    assert_int_equal(epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &e), 0);
}

static void hear(server *s, dw_conn *c)
{
    dw_message m;
    int r;
    while ((r = dw_receive(c, &m, 0)) > 0) {
        if (m.type == DW_METHOD_CALL) {
            answer_call(c, &m, value_of(&m));
            s->calls++;
        } else {
            assert_int_equal(m.body_len, LARGE + 4);
            s->large++;
        }
    }
    expect_code(r, 0);
}

static void accept_all(server *s)
{
    dw_conn *c;
    while (dw_accept(s->listener, &c, 0) > 0) {
        assert_true(s->n < PEERS);
        s->conn[s->n] = c;
        watch(s, dw_conn_fd(c), s->n++);
    }
}

static void serve(server *s, unsigned n)
{
    struct epoll_event events[64];
    while (s->calls < n) {
        int found = epoll_wait(s->epoll, events, 64, -1);
        for (int i = 0; i < found; i++) {
            if (events[i].data.u32 == PEERS)
                accept_all(s);
            else
                hear(s, s->conn[events[i].data.u32]);
        }
    }
}

static void silent_peers_take_little(void **state)
{
    (void)state;
    static server s;
    heap h = {0, 0};
    dw_allocator counting = {count, &h};
    char folder[] = "/tmp/dwire-idle-XXXXXX", address[64];
    int until[2], status;
    unsigned n = affordable();
    assert_non_null(mkdtemp(folder));
    snprintf(address, sizeof address, "unix:path=%s/s", folder);
    expect_code(dw_listen(&s.listener, address, &(dw_options){.allocator = &counting}), 0);
    assert_int_equal(pipe(until), 0);
    pid_t pid = fork();
    if (pid == 0) {
        close(until[1]);
        be_clients(address, n, until[0]);
    }
    size_t alone = h.bytes + h.blocks * OVERHEAD;
    s.epoll = epoll_create1(EPOLL_CLOEXEC);
    watch(&s, dw_listener_fd(s.listener), PEERS);
    serve(&s, n);
    assert_int_equal(s.large, (n + 2) / 3);
    /* What the loop does when a timeout is up: those that have one get a call. */
    for (unsigned i = 0; i < n; i++)
        if (dw_conn_timeout(s.conn[i]) >= 0)
            hear(&s, s.conn[i]);
    size_t each = (h.bytes + h.blocks * OVERHEAD - alone) / n;
    print_message("%u peers, %zu bytes each\n", n, each);
    assert_in_range(each, 1, 1024);
    for (unsigned i = 0; i < n; i++) {
        assert_int_equal(dw_conn_timeout(s.conn[i]), -1);
        dw_conn_close(s.conn[i]);
    }
    close(until[1]);
    close(until[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    dw_listener_close(s.listener);
    assert_int_equal(h.bytes + h.blocks, 0);
    close(s.epoll);
    assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(silent_peers_take_little),
    };
    return cmocka_run_group_tests_name("idle", tests, NULL, NULL);
}
