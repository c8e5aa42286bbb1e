/* test_bus.c - through a bus of our own: dbus-daemon, and dbus-broker, each where
 * it is here. */

#define _GNU_SOURCE 1

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../bench/bus.h"
#include "dwire/bus.h"
#include "support/ends.h"

static char folder[64];
static bus the_bus;

static int start(const char *program)
{
    strcpy(folder, "/tmp/dwire-bus-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    if (bus_start(&the_bus, program, folder))
        return 0;
    print_message("skipped: %s is not here\n", program);
    return 0;
}

static int start_daemon(void **state)
{
    (void)state;
    return start("dbus-daemon");
}

static int start_broker(void **state)
{
    (void)state;
    return start("dbus-broker");
}

static int stop(void **state)
{
    (void)state;
    bus_stop(&the_bus);
    return rmdir(folder);
}

static dw_conn *join(unsigned flags)
{
    dw_conn *c;
    if (the_bus.pid == 0)
        skip();
    expect_code(dw_connect(&c, the_bus.address, DW_CONN_BUS | flags, DW_TIMEOUT_DEFAULT), 0);
    return c;
}

/* The next message that is none of the bus's own. */
static void next(dw_conn *c, dw_message *m)
{
    do
        expect_code(dw_receive(c, m, DW_TIMEOUT_DEFAULT), 1);
    while (strcmp(m->interface.p, DW_BUS_INTERFACE) == 0);
}

static void says_hello(void **state)
{
    (void)state;
    static const unsigned ways[] = {0, DW_CONN_LOCKSTEP, DW_CONN_NO_FDS, DW_CONN_ANONYMOUS};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        dw_conn *c = join(ways[i]);
        dw_message m;
        assert_string_equal(dw_conn_name(c), "");
        expect_code(dw_flush(c, DW_TIMEOUT_DEFAULT), 0);
        assert_true(dw_conn_ready(c));
        assert_int_equal(dw_conn_name(c)[0], ':');
        assert_int_equal(strlen(dw_conn_guid(c)), 32);
        assert_int_equal(dw_conn_can_pass_fds(c), ways[i] != DW_CONN_NO_FDS);
        expect_code(dw_receive(c, &m, DW_TIMEOUT_DEFAULT), 1);
        assert_string_equal(m.member.p, "NameAcquired");
        dw_conn_close(c);
    }
}

/* By way of the variable, with a guid that is right, and one that is wrong. */
static void finds_the_session_bus(void **state)
{
    (void)state;
    dw_conn *c = join(0);
    char address[256];
    expect_code(dw_flush(c, DW_TIMEOUT_DEFAULT), 0);
    snprintf(address, sizeof address, "%s,guid=%s", the_bus.address, dw_conn_guid(c));
    dw_conn_close(c);
    setenv("DBUS_SESSION_BUS_ADDRESS", address, 1);
    expect_code(dw_connect_bus(&c, DW_BUS_SESSION, DW_TIMEOUT_DEFAULT), 0);
    expect_code(dw_flush(c, DW_TIMEOUT_DEFAULT), 0);
    dw_conn_close(c);
    snprintf(address, sizeof address, "%s,guid=%032d", the_bus.address, 0);
    setenv("DBUS_SESSION_BUS_ADDRESS", address, 1);
    expect_code(dw_connect_bus(&c, DW_BUS_SESSION, DW_TIMEOUT_DEFAULT), 0);
    expect_code(dw_flush(c, DW_TIMEOUT_DEFAULT), DW_E_GUID);
    dw_conn_close(c);
    unsetenv("DBUS_SESSION_BUS_ADDRESS");
}

static void owns_names(void **state)
{
    (void)state;
    dw_conn *a = join(0), *b = join(0);
    dw_message error;
    static const char name[] = "org.example.Name";
    expect_code(dw_request_name(a, name, 0, DW_TIMEOUT_DEFAULT, NULL), DW_NAME_OWNER);
    expect_code(dw_request_name(a, name, 0, DW_TIMEOUT_DEFAULT, NULL), DW_NAME_OURS);
    expect_code(dw_request_name(b, name, DW_NAME_DO_NOT_QUEUE, DW_TIMEOUT_DEFAULT, NULL),
                DW_NAME_TAKEN);
    expect_code(dw_request_name(b, name, 0, DW_TIMEOUT_DEFAULT, NULL), DW_NAME_QUEUED);
    expect_code(dw_release_name(a, name, DW_TIMEOUT_DEFAULT, NULL), DW_NAME_RELEASED);
    expect_code(dw_release_name(a, name, DW_TIMEOUT_DEFAULT, NULL), DW_NAME_NOT_OURS);
    expect_code(dw_release_name(a, "org.example.None", DW_TIMEOUT_DEFAULT, NULL),
                DW_NAME_NOT_THERE);
    expect_code(dw_request_name(a, ":1.1", 0, DW_TIMEOUT_DEFAULT, &error), DW_E_REPLY);
    assert_string_equal(error.error_name.p, "org.freedesktop.DBus.Error.InvalidArgs");
    expect_code(dw_request_name(a, "not\xff", 0, DW_TIMEOUT_DEFAULT, NULL), DW_E_UTF8);
    dw_conn_close(a);
    dw_conn_close(b);
}

static void signals_come_by_match(void **state)
{
    (void)state;
    dw_conn *a = join(0), *b = join(0);
    dw_message m, error;
    static const char rule[] = "type='signal',interface='org.example.Test'";
    expect_code(dw_add_match(b, rule, DW_TIMEOUT_DEFAULT, NULL), 0);
    for (uint32_t i = 0; i < 100; i++)
        expect_code(send_signal(a, i), 0);
    expect_code(dw_flush(a, DW_TIMEOUT_DEFAULT), 0);
    for (uint32_t i = 0; i < 100; i++) {
        next(b, &m);
        assert_int_equal(value_of(&m), i);
        assert_string_equal(m.sender.p, dw_conn_name(a));
    }
    expect_code(dw_remove_match(b, rule, DW_TIMEOUT_DEFAULT, NULL), 0);
    expect_code(dw_remove_match(b, rule, DW_TIMEOUT_DEFAULT, &error), DW_E_REPLY);
    assert_string_equal(error.error_name.p, "org.freedesktop.DBus.Error.MatchRuleNotFound");
    dw_conn_close(a);
    dw_conn_close(b);
}

static void write_call_to(dw_writer *w, const char *destination, uint32_t value)
{
    dw_begin_call(w, destination, "/org/example", "org.example.Test", "Ask", "u");
    dw_put_uint32(w, value);
    expect_code(dw_finish(w), 0);
}

static void note(void *context, int code, dw_message *reply)
{
    *(int *)context = code == 0 ? (int)value_of(reply) : code;
}

static void calls_are_answered(void **state)
{
    (void)state;
    dw_conn *a = join(0), *b = join(0);
    dw_message m;
    dw_writer w;
    int results[20];
    dw_writer_init(&w, NULL, 0, dw_heap);
    expect_code(dw_flush(b, DW_TIMEOUT_DEFAULT), 0);
    for (uint32_t i = 0; i < 20; i++) {
        results[i] = 1;
        write_call_to(&w, dw_conn_name(b), i);
        expect_code(dw_start_call(a, &w, DW_TIMEOUT_DEFAULT, note, &results[i], NULL), 0);
    }
    for (uint32_t i = 0; i < 20; i++) {
        while (dw_receive(b, &m, 1) == 0)
            expect_code(dw_receive(a, &m, 0) >= 0, true);
        if (m.type != DW_METHOD_CALL) {
            i--;
            continue;
        }
        if (i % 2)
            answer_call(b, &m, value_of(&m) + 1000);
        else
            expect_code(dw_reply_error(b, &m, "org.example.No", "no"), 0);
    }
    while (results[19] == 1)
        expect_code(dw_receive(a, &m, 10) >= 0, true);
    for (int i = 0; i < 20; i++)
        expect_code(results[i], i % 2 ? i + 1000 : DW_E_REPLY);
    write_call_to(&w, "org.example.Nobody", 1);
    expect_code(dw_call(a, &w, &m, DW_TIMEOUT_DEFAULT), DW_E_REPLY);
    assert_string_equal(m.error_name.p, "org.freedesktop.DBus.Error.ServiceUnknown");
    dw_writer_free(&w);
    dw_conn_close(a);
    dw_conn_close(b);
}

static void passes_descriptors(void **state)
{
    (void)state;
    dw_conn *a = join(0), *b = join(0);
    dw_message m;
    dw_writer w;
    struct stat sent, came;
    int fds[3];
    unsigned before = count_descriptors();
    expect_code(dw_flush(b, DW_TIMEOUT_DEFAULT), 0);
    for (int i = 0; i < 3; i++)
        fds[i] = open(i == 0 ? "/dev/null" : "/dev/zero", O_RDONLY | O_CLOEXEC);
    dw_writer_init(&w, NULL, 0, dw_heap);
    dw_begin(&w, &(dw_header){.type = DW_METHOD_CALL,
                              .flags = DW_NO_REPLY_EXPECTED,
                              .destination = dw_conn_name(b),
                              .path = "/a",
                              .member = "Take",
                              .signature = "hhh",
                              .fds = fds,
                              .n_fds = 3});
    for (uint32_t i = 0; i < 3; i++)
        dw_put_unix_fd(&w, i);
    expect_code(dw_finish(&w), 0);
    expect_code(dw_send(a, &w, NULL), 0); /* before it is known whether they may go */
    expect_code(dw_flush(a, DW_TIMEOUT_DEFAULT), 0);
    next(b, &m);
    assert_int_equal(m.unix_fds, 3);
    for (int i = 0; i < 3; i++) {
        fstat(fds[i], &sent);
        fstat(m.fds[i], &came);
        assert_int_equal(sent.st_rdev, came.st_rdev);
        close(fds[i]);
    }
    expect_code(dw_receive(b, &m, 0), 0);
    assert_int_equal(count_descriptors(), before);
    dw_writer_free(&w);
    dw_conn_close(a);
    dw_conn_close(b);
}

static void large_messages_pass(void **state)
{
    (void)state;
    dw_conn *a = join(0), *b = join(0);
    dw_message m;
    dw_writer w;
    dw_writer_init(&w, NULL, 0, dw_heap);
    expect_code(dw_add_match(b, "interface='org.example.Test'", DW_TIMEOUT_DEFAULT, NULL), 0);
    for (size_t size = 1000; size <= 10000000; size *= 100) {
        write_ballast(&w, size);
        expect_code(dw_send(a, &w, NULL), 0);
        expect_code(dw_flush(a, DW_TIMEOUT_DEFAULT), 0);
        next(b, &m);
        expect_code(dw_message_check(&m, NULL), 0);
        assert_true(m.body_len == size + 4);
    }
    dw_writer_free(&w);
    dw_conn_close(a);
    dw_conn_close(b);
}

/* The bus goes away: what had come is handed out, then that is said. */
static void the_bus_goes_away(void **state)
{
    (void)state;
    dw_conn *c = join(0);
    dw_message m;
    expect_code(dw_flush(c, DW_TIMEOUT_DEFAULT), 0);
    bus_stop(&the_bus);
    expect_code(dw_receive(c, &m, DW_TIMEOUT_DEFAULT), 1);
    assert_string_equal(m.member.p, "NameAcquired");
    expect_code(dw_receive(c, &m, DW_TIMEOUT_DEFAULT), DW_E_CLOSED);
    dw_conn_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_hello),          cmocka_unit_test(finds_the_session_bus),
        cmocka_unit_test(owns_names),          cmocka_unit_test(signals_come_by_match),
        cmocka_unit_test(calls_are_answered),  cmocka_unit_test(passes_descriptors),
        cmocka_unit_test(large_messages_pass), cmocka_unit_test(the_bus_goes_away),
    };
    return cmocka_run_group_tests_name("dbus-daemon", tests, start_daemon, stop) |
           cmocka_run_group_tests_name("dbus-broker", tests, start_broker, stop);
}
