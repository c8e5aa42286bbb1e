/* What connections take of memory: nothing per message, little when idle, and
 * what happens when there is none. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "dwire/connection.h"
#include "support/ends.h"
#include "support/failing.h"

/* -- None left -------------------------------------------------------------------------- */

/* Every allocation fails by turns, once: the program sees the error, tries again,
 * and nothing is lost. The call that makes or breaks a connection may end it. */
static void exchange(ends *e, dw_writer *w, unsigned *errors)
{
    dw_message m;
    bool here = false, there = false;
    int r;
    for (int i = 0; i < 200 && !(here && there); i++) {
        if (!there && dw_send(e->client, w, NULL) == 0)
            there = true;
        r = dw_receive(e->server, &m, 0);
        *errors += r < 0;
        if (r > 0) {
            assert_int_equal(m.len, dw_writer_size(w));
            here = true;
        }
        r = dw_flush(e->client, 0);
        *errors += r == DW_E_NO_MEMORY;
    }
    assert_true(here && there);
}

static void memory_fails_by_turns(void **state)
{
    (void)state;
    dw_writer w;
    dw_writer_init(&w, NULL, 0, dw_heap);
    write_ballast(&w, 300000);
    for (unsigned fail_at = 1; fail_at < 100; fail_at++) {
        failing f;
        ends e;
        int fd[2];
        unsigned errors = 0;
        failing_init(&f, fail_at, false);
        dw_options o = {.allocator = &f.allocator, .flags = DW_CONN_SERVER};
        make_sockets(fd);
        int r;
        while ((r = dw_conn_from_fd_with(&e.server, fd[1], &o)) == DW_E_NO_MEMORY) {
            assert_null(e.server);
            errors++;
        }
        expect_code(r, 0);
        o.flags = 0;
        while ((r = dw_conn_from_fd_with(&e.client, fd[0], &o)) == DW_E_NO_MEMORY)
            errors++;
        expect_code(r, 0);
        exchange(&e, &w, &errors);
        bool failed = f.asked >= fail_at;
        ends_close(&e);
        assert_int_equal(f.live, 0);
        assert_int_equal(f.mistold, 0);
        if (!failed) {
            assert_true(fail_at > 5);
            dw_writer_free(&w);
            return;
        }
    }
    fail();
}

/* -- Steady state ------------------------------------------------------------------------ */

static void one_way_allocates_nothing(void **state)
{
    (void)state;
    failing f;
    ends e;
    dw_message m;
    dw_writer w;
    static const size_t sizes[] = {10, 1000, 4096, 100000};
    failing_init(&f, 0, false);
    dw_options o = {.allocator = &f.allocator};
    ends_open(&e, &o, &o);
    ends_ready(&e);
    dw_writer_init(&w, NULL, 0, dw_heap);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        write_ballast(&w, sizes[i]);
        unsigned asked = 0;
        for (int n = 0; n < 100; n++) {
            if (n == 10)
                asked = f.asked;
            expect_code(dw_send(e.client, &w, NULL), 0);
            while (dw_receive(e.server, &m, 0) == 0)
                dw_flush(e.client, 0);
            expect_code(dw_receive(e.server, &m, 0), 0);
        }
        assert_int_equal(f.asked, asked);
    }
    dw_writer_free(&w);
    ends_close(&e);
}

/* A message of each kind that the queue treats in its own way. */
typedef struct load {
    size_t len;
    bool apart; /* sent from where it lies */
    bool fd;    /* with a descriptor */
} load;

static void write_load(dw_writer *w, const load *l, bool call)
{
    static const uint8_t bytes[50000];
    static const int fd = STDERR_FILENO;
    dw_header header = {.type = call ? DW_METHOD_CALL : DW_METHOD_RETURN,
                        .path = call ? "/org/example" : NULL,
                        .member = call ? "Member" : NULL,
                        .reply_serial = call ? 0 : 1,
                        .signature = l->fd ? "ayh" : "ay",
                        .fds = &fd,
                        .n_fds = l->fd};
    dw_begin(w, &header);
    if (l->apart)
        dw_put_array_ref(w, 'y', bytes, l->len);
    else
        dw_put_byte_array(w, bytes, l->len);
    if (l->fd)
        dw_put_unix_fd(w, 0);
    expect_code(dw_finish(w), 0);
}

/* There and back, both ends reading as timeout_ms says: until nothing is left, or
 * just what has come. */
static void go_and_return(ends *e, dw_writer *w, const load *l, int timeout_ms)
{
    dw_message m;
    for (int back = 0; back < 2; back++) {
        dw_conn *from = back ? e->server : e->client, *to = back ? e->client : e->server;
        write_load(w, l, !back);
        expect_code(dw_send(from, w, NULL), 0);
        expect_code(dw_receive(to, &m, timeout_ms), 1);
        assert_int_equal(m.len, dw_writer_size(w));
        if (timeout_ms == 0)
            expect_code(dw_receive(to, &m, 0), 0);
    }
}

static void round_trips_allocate_nothing(void **state)
{
    (void)state;
    static const load loads[] = {
        {10, false, false},    {100, false, false}, {1000, false, false}, {10000, false, false},
        {50000, false, false}, {5000, true, false}, {100, false, true},   {5000, true, true},
    };
    dw_writer w;
    dw_writer_init(&w, NULL, 0, dw_heap);
    for (size_t i = 0; i < 2 * sizeof loads / sizeof *loads; i++) {
        const load *l = &loads[i / 2];
        failing f;
        ends e;
        failing_init(&f, 0, false);
        dw_options o = {.allocator = &f.allocator};
        ends_open(&e, &o, &o);
        ends_ready(&e);
        unsigned asked = 0;
        for (int n = 0; n < 100; n++) {
            if (n == 10)
                asked = f.asked;
            go_and_return(&e, &w, l, i % 2 == 0 ? 0 : DW_TIMEOUT_DEFAULT);
        }
        assert_int_equal(f.asked, asked);
        ends_close(&e);
    }
    dw_writer_free(&w);
}

static void note_answer(void *context, int code, dw_message *reply)
{
    assert_non_null(reply);
    expect_code(code, 0);
    *(unsigned *)context += 1;
}

/* Calls of both kinds, with messages kept meanwhile. */
static void calls_allocate_nothing(void **state)
{
    (void)state;
    failing f;
    ends e;
    dw_message m;
    dw_writer w;
    unsigned answered = 0, asked = 0;
    failing_init(&f, 0, false);
    dw_options o = {.allocator = &f.allocator};
    ends_open(&e, &o, &o);
    ends_ready(&e);
    dw_writer_init(&w, NULL, 0, dw_heap);
    for (uint32_t n = 1; n <= 100; n++) {
        if (n == 10)
            asked = f.asked;
        write_call(&w, "Started", n);
        expect_code(dw_start_call(e.client, &w, 1000, note_answer, &answered, NULL), 0);
        expect_code(dw_receive(e.server, &m, 0), 1);
        answer_call(e.server, &m, n);
        expect_code(send_signal(e.server, n), 0);
        m = (dw_message){.type = DW_METHOD_CALL, .serial = 2 * n};
        answer_call(e.server, &m, n); /* ahead of the call */
        write_call(&w, "Waited", n);
        expect_code(dw_call(e.client, &w, &m, DW_TIMEOUT_DEFAULT), 0);
        expect_signal(e.client, n);
        expect_code(dw_receive(e.server, &m, 0), 1);
        assert_int_equal(answered, n);
    }
    assert_int_equal(f.asked, asked);
    dw_writer_free(&w);
    ends_close(&e);
}

/* -- Silence ------------------------------------------------------------------------------- */

static void idle_buffers_are_given_back(void **state)
{
    (void)state;
    failing f;
    ends e;
    dw_message m;
    dw_writer w;
    failing_init(&f, 0, false);
    dw_options o = {.allocator = &f.allocator};
    ends_open(&e, NULL, &o);
    ends_ready(&e);
    dw_writer_init(&w, NULL, 0, dw_heap);
    write_ballast(&w, 100000);
    expect_code(dw_send(e.client, &w, NULL), 0);
    expect_code(dw_send(e.server, &w, NULL), 0);
    while (dw_receive(e.server, &m, 0) == 0)
        dw_flush(e.client, 0);
    expect_code(dw_receive(e.server, &m, 0), 0);
    assert_true(f.live > 1);
    assert_in_range(dw_conn_timeout(e.server), 1, 1000);
    expect_code(dw_receive(e.server, &m, 0), 0);
    while (dw_receive(e.client, &m, 0) == 0)
        dw_flush(e.server, 0);
    expect_code(dw_receive(e.server, &m, 0), 0);
    expect_code(dw_receive(e.server, &m, 0), 0);
    assert_int_equal(f.live, 1);
    assert_int_equal(dw_conn_timeout(e.server), -1);
    dw_writer_free(&w);
    ends_close(&e);
}

/* One short message, which fits into the connection itself. */
static void one_message_leaves_nothing(void **state)
{
    (void)state;
    failing f;
    ends e;
    dw_message m;
    failing_init(&f, 0, false);
    dw_options o = {.allocator = &f.allocator};
    ends_open(&e, NULL, &o);
    ends_ready(&e);
    expect_code(send_signal(e.client, 1), 0);
    expect_signal(e.server, 1);
    for (int turns = 0; dw_conn_timeout(e.server) != -1; turns++) {
        assert_in_range(turns, 0, 3);
        expect_code(dw_receive(e.server, &m, 0), 0);
    }
    assert_int_equal(f.live, 1);
    ends_close(&e);
}

/* Not only buffers: what calls, kept messages and descriptors took is given back. */
static void idle_connections_are_small(void **state)
{
    (void)state;
    failing f;
    ends e;
    dw_message m;
    dw_writer w;
    unsigned answered = 0;
    failing_init(&f, 0, false);
    dw_options o = {.allocator = &f.allocator};
    ends_open(&e, &o, NULL);
    ends_ready(&e);
    dw_writer_init(&w, NULL, 0, dw_heap);
    for (uint32_t n = 1; n <= 50; n++) {
        write_call(&w, "Ask", n);
        expect_code(dw_start_call(e.client, &w, 1000, note_answer, &answered, NULL), 0);
        expect_code(dw_receive(e.server, &m, 0), 1);
        answer_call(e.server, &m, n);
    }
    write_load(&w, &(load){.len = 10, .fd = true}, true);
    expect_code(dw_send(e.client, &w, NULL), 0);
    expect_code(dw_send(e.server, &w, NULL), 0);
    m = (dw_message){.type = DW_METHOD_CALL, .serial = 52};
    answer_call(e.server, &m, 1); /* ahead of the call */
    write_call(&w, "Ask", 0);
    expect_code(dw_call(e.client, &w, &m, DW_TIMEOUT_DEFAULT), 0);
    while (dw_receive(e.client, &m, 0) > 0)
        ;
    assert_int_equal(answered, 50);
    assert_true(f.live > 1);
    for (int turns = 0; dw_conn_timeout(e.client) != -1; turns++) {
        assert_in_range(turns, 0, 3);
        assert_in_range(dw_conn_timeout(e.client), 1, 1000);
        expect_code(dw_receive(e.client, &m, 0), 0);
    }
    assert_int_equal(f.live, 1);
    dw_writer_free(&w);
    ends_close(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_fails_by_turns),
        cmocka_unit_test(one_way_allocates_nothing),
        cmocka_unit_test(round_trips_allocate_nothing),
        cmocka_unit_test(calls_allocate_nothing),
        cmocka_unit_test(idle_buffers_are_given_back),
        cmocka_unit_test(one_message_leaves_nothing),
        cmocka_unit_test(idle_connections_are_small),
    };
    return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
