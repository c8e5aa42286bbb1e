/* test_waits.c - which system calls a wait takes: as few as there can be, and never
 * one after the other in vain. */

#define _GNU_SOURCE 1

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "dwire/connection.h"
#include "support/ends.h"
#include "support/kernel.h"

typedef struct server {
    dw_listener *listener;
    dw_conn *c;
    unsigned came;
} server;

/* Does what there is to do, with calls that are not counted. */
static void serve(void *context)
{
    server *s = context;
    dw_message m;
    kernel.on = false;
    if (s->c == NULL)
        dw_accept(s->listener, &s->c, 0);
    while (s->c != NULL && dw_receive(s->c, &m, 0) > 0)
        s->came++;
    kernel.on = true;
}

static unsigned all_calls(void)
{
    unsigned n = 0;
    for (size_t i = 0; i < N_SYSTEM_CALLS; i++)
        n += kernel.count[i];
    return n;
}

/* To connect, be admitted, say one thing and go: socket, connect, sendmsg, poll,
 * recvmsg, close; without a limit to the wait there is no need of the poll. */
static void saying_one_thing_takes_six_calls(void **state)
{
    (void)state;
    static const struct {
        int timeout_ms;
        unsigned calls;
    } rows[] = {{DW_TIMEOUT_DEFAULT, 6}, {DW_TIMEOUT_NONE, 5}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        server s = {0};
        dw_conn *c;
        char address[64];
        snprintf(address, sizeof address, "unix:abstract=dwire-waits-%ld", (long)getpid());
        expect_code(dw_listen(&s.listener, address, NULL), 0);
        kernel_start((fault){.at = 0}, serve, &s);
        expect_code(dw_connect(&c, address, 0, rows[i].timeout_ms), 0);
        expect_code(send_signal(c, 1), 0);
        expect_code(dw_flush(c, rows[i].timeout_ms), 0);
        dw_conn_close(c);
        kernel_stop();
        assert_int_equal(kernel.count[CALL_SENDMSG], 1);
        assert_int_equal(all_calls(), rows[i].calls);
        assert_int_equal(s.came, 1);
        dw_conn_close(s.c);
        dw_listener_close(s.listener);
    }
}

/* A peer that says something now and then. */
static void speak(void *context)
{
    server *s = context;
    kernel.on = false;
    if (++s->came % 3 == 0)
        expect_code(send_signal(s->c, s->came / 3), 0);
    kernel.on = true;
}

/* A connection that lives on: one read a message, after the first few. */
static void living_on_takes_one_call_a_message(void **state)
{
    (void)state;
    server s = {0};
    dw_conn *c;
    dw_message m;
    char address[64];
    snprintf(address, sizeof address, "unix:abstract=dwire-waits-%ld", (long)getpid());
    expect_code(dw_listen(&s.listener, address, NULL), 0);
    expect_code(dw_connect(&c, address, 0, DW_TIMEOUT_DEFAULT), 0);
    kernel_start((fault){.at = 0}, serve, &s);
    expect_code(dw_flush(c, DW_TIMEOUT_DEFAULT), 0);
    serve(&s);
    kernel.idle = speak;
    unsigned before = 0;
    for (uint32_t i = 1; i <= 10; i++) {
        if (i == 5)
            before = all_calls();
        expect_code(dw_receive(c, &m, DW_TIMEOUT_DEFAULT), 1);
        assert_int_equal(value_of(&m), i);
    }
    unsigned calls = all_calls() - before;
    kernel_stop();
    assert_int_equal(calls, 6);
    dw_conn_close(c);
    dw_conn_close(s.c);
    dw_listener_close(s.listener);
}

/* A socket that somebody makes non-blocking after it has been told a time. */
static void waits_in_vain_end(void **state)
{
    (void)state;
    static const int timeouts[] = {DW_TIMEOUT_DEFAULT, DW_TIMEOUT_NONE};
    for (size_t i = 0; i < 2; i++) {
        ends e;
        dw_message m;
        ends_open(&e, NULL, NULL);
        ends_ready(&e);
        server s = {.c = e.server};
        kernel_start((fault){.at = 0}, NULL, NULL);
        expect_code(dw_receive(e.client, &m, 1000), 0);
        kernel_stop();
        assert_int_equal(kernel.count[CALL_SETSOCKOPT], 1);
        fcntl(dw_conn_fd(e.client), F_SETFL, O_NONBLOCK);
        kernel_start((fault){.at = 0}, speak, &s);
        expect_code(dw_receive(e.client, &m, timeouts[i]), 1);
        kernel_stop();
        assert_in_range(all_calls(), 3, 4);
        ends_close(&e);
    }
}

/* A short wait does not make the longer ones after it wake up all the time. */
static void long_waits_last_long(void **state)
{
    (void)state;
    static const int timeouts[] = {DW_TIMEOUT_DEFAULT, DW_TIMEOUT_NONE};
    for (size_t i = 0; i < 2; i++) {
        ends e;
        dw_message m;
        ends_open(&e, NULL, NULL);
        ends_ready(&e);
        server s = {.c = e.server};
        kernel_start((fault){.at = 0}, NULL, NULL);
        expect_code(dw_receive(e.client, &m, 100), 0);
        assert_int_equal(kernel.timeout[dw_conn_fd(e.client)], 50000000);
        kernel.idle = speak;
        kernel.context = &s;
        expect_code(dw_receive(e.client, &m, timeouts[i]), 1);
        assert_int_equal(kernel.timeout[dw_conn_fd(e.client)], 12500000000);
        kernel_stop();
        ends_close(&e);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(saying_one_thing_takes_six_calls),
        cmocka_unit_test(living_on_takes_one_call_a_message),
        cmocka_unit_test(waits_in_vain_end),
        cmocka_unit_test(long_waits_last_long),
    };
    return cmocka_run_group_tests_name("waits", tests, NULL, NULL);
}
