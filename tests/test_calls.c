/* test_calls.c - calls: blocking ones, those in flight, and those that dwire
 * answers itself. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../src/conn.h" /* to wind the serials on */
#include "dwire/connection.h"
#include "support/ends.h"
#include "support/failing.h"

/* -- Blocking calls --------------------------------------------------------------- */

/* The answer lies in the socket already when the call is made: its serial is known. */
static void answer_ahead(dw_conn *server, uint32_t serial, uint32_t value)
{
    answer_call(server, &(dw_message){.type = DW_METHOD_CALL, .serial = serial}, value);
}

static void keeps_what_else_comes(void **state)
{
    (void)state;
    ends e;
    dw_message m;
    uint8_t room[256];
    dw_writer w;
    ends_open(&e, NULL, NULL);
    ends_ready(&e);
    dw_writer_init(&w, room, sizeof room, NULL);
    for (uint32_t i = 0; i < 10; i++)
        expect_code(send_signal(e.server, i), 0);
    answer_ahead(e.server, 1, 77);
    for (uint32_t i = 10; i < 20; i++)
        expect_code(send_signal(e.server, i), 0);
    refuse_call(e.server, &(dw_message){.type = DW_METHOD_CALL, .serial = 2});
    write_call(&w, "Ask", 1);
    expect_code(dw_call(e.client, &w, &m, 0), 0);
    assert_int_equal(value_of(&m), 77);
    assert_int_equal(dw_conn_timeout(e.client), 0);
    expect_signal(e.client, 0);
    expect_code(dw_call(e.client, &w, &m, 0), DW_E_REPLY);
    assert_string_equal(m.error_name.p, "org.example.Refused");
    expect_code(send_signal(e.server, 20), 0);
    for (uint32_t i = 1; i <= 20; i++)
        expect_signal(e.client, i);
    ends_close(&e);
}

static void only_calls_are_called(void **state)
{
    (void)state;
    ends e;
    dw_message m;
    uint8_t room[256];
    dw_writer w;
    ends_open(&e, NULL, NULL);
    dw_writer_init(&w, room, sizeof room, NULL);
    write_signal(&w, 1);
    expect_code(dw_call(e.client, &w, &m, 0), DW_E_ARGUMENT);
    dw_begin(
        &w, &(dw_header){
                .type = DW_METHOD_CALL, .flags = DW_NO_REPLY_EXPECTED, .path = "/", .member = "A"});
    expect_code(dw_finish(&w), 0);
    expect_code(dw_call(e.client, &w, &m, 0), DW_E_ARGUMENT);
    dw_begin_call(&w, NULL, "/", NULL, "A", "u");
    expect_code(dw_call(e.client, &w, &m, 0), DW_E_STATE);
    assert_int_equal(dw_conn_queued(e.client), 0);
    ends_close(&e);
}

static void late_answers_are_dropped(void **state)
{
    (void)state;
    ends e;
    dw_message m, call;
    uint8_t room[256];
    dw_writer w;
    ends_open(&e, NULL, NULL);
    ends_ready(&e);
    dw_writer_init(&w, room, sizeof room, NULL);
    for (uint32_t i = 0; i < 50; i++) {
        write_call(&w, "Ask", i);
        expect_code(dw_call(e.client, &w, &m, i == 0 ? 1 : 0), DW_E_TIMEOUT);
    }
    for (uint32_t i = 0; i < 50; i++) {
        expect_code(dw_receive(e.server, &call, 0), 1);
        answer_call(e.server, &call, i);
    }
    expect_code(send_signal(e.server, 5), 0);
    expect_signal(e.client, 5);
    ends_close(&e);
}

static void kept_messages_have_a_limit(void **state)
{
    (void)state;
    ends e;
    dw_message m;
    uint8_t room[256];
    dw_writer w;
    uint32_t seen = 0;
    ends_open(&e, NULL, NULL);
    ends_ready(&e);
    dw_conn_limits(e.client, 0, 1000);
    dw_writer_init(&w, room, sizeof room, NULL);
    for (uint32_t i = 0; i < 30; i++)
        expect_code(send_signal(e.server, i), 0);
    write_call(&w, "Ask", 1);
    expect_code(dw_call(e.client, &w, &m, 0), DW_E_QUEUE);
    /* None of them is lost, and none comes twice. */
    while (dw_receive(e.client, &m, 0) > 0)
        assert_int_equal(value_of(&m), seen++);
    assert_int_equal(seen, 30);
    ends_close(&e);
}

/* -- Calls in flight ---------------------------------------------------------------- */

typedef struct outcome {
    int told; /* how often */
    int code;
    uint32_t value;
    dw_conn *close; /* to be closed when told */
} outcome;

static void note(void *context, int code, dw_message *reply)
{
    outcome *o = context;
    o->told++;
    o->code = code;
    if (code == 0)
        o->value = value_of(reply);
    else
        assert_int_equal(reply != NULL, code == DW_E_REPLY);
    dw_conn_close(o->close);
}

static void start_call(dw_conn *c, uint32_t value, int timeout_ms, outcome *o, uint32_t *serial)
{
    uint8_t room[256];
    dw_writer w;
    dw_writer_init(&w, room, sizeof room, NULL);
    write_call(&w, "Ask", value);
    expect_code(dw_start_call(c, &w, timeout_ms, note, o, serial), 0);
}

enum { MANY = 1000 };

/* Calls answered in an order of their own, some refused, and signals between. */
static void answers_come_in_any_order(void **state)
{
    (void)state;
    static outcome o[MANY];
    static dw_message calls[MANY];
    ends e;
    dw_message m;
    memset(o, 0, sizeof o);
    ends_open(&e, NULL, NULL);
    ends_ready(&e);
    for (uint32_t i = 0; i < MANY; i++)
        start_call(e.client, i, i % 2 ? DW_TIMEOUT_NONE : 100000 - (int)i, &o[i], NULL);
    for (uint32_t i = 0; i < MANY; i++) {
        expect_code(dw_receive(e.server, &m, 0), 1);
        assert_int_equal(value_of(&m), i);
        calls[i] = (dw_message){.type = DW_METHOD_CALL, .serial = m.serial};
        dw_flush(e.client, 0);
    }
    assert_in_range(dw_conn_timeout(e.client), 1, 100000 - MANY + 2);
    for (uint32_t i = 0; i < MANY; i++) {
        uint32_t k = i * 7919 % MANY;
        if (k % 3 == 0)
            refuse_call(e.server, &calls[k]);
        else
            answer_call(e.server, &calls[k], k);
        if (i % 100 == 0)
            expect_code(send_signal(e.server, i), 0);
        if (i % 100 == 0)
            expect_signal(e.client, i);
    }
    expect_code(dw_receive(e.client, &m, 0), 0);
    for (uint32_t i = 0; i < MANY; i++) {
        assert_int_equal(o[i].told, 1);
        expect_code(o[i].code, i % 3 == 0 ? DW_E_REPLY : 0);
        if (i % 3 != 0)
            assert_int_equal(o[i].value, i);
    }
    ends_close(&e);
}

static void each_call_has_its_timeout(void **state)
{
    (void)state;
    outcome o[4] = {{0}};
    ends e;
    dw_message m, call;
    ends_open(&e, NULL, NULL);
    ends_ready(&e);
    static const int timeouts[4] = {DW_TIMEOUT_NONE, 3, 1, DW_TIMEOUT_DEFAULT};
    for (uint32_t i = 0; i < 4; i++)
        start_call(e.client, i, timeouts[i], &o[i], NULL);
    while (o[1].told == 0)
        expect_code(dw_receive(e.client, &m, 1), 0);
    assert_int_equal(o[2].told, 1);
    expect_code(o[1].code, DW_E_TIMEOUT);
    expect_code(o[2].code, DW_E_TIMEOUT);
    assert_int_equal(o[0].told + o[3].told, 0);
    /* Late answers are dropped, the others told. */
    for (uint32_t i = 0; i < 4; i++) {
        expect_code(dw_receive(e.server, &call, 0), 1);
        answer_call(e.server, &call, i);
    }
    expect_code(dw_receive(e.client, &m, 0), 0);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(o[i].told, 1);
    expect_code(o[0].code, 0);
    expect_code(o[3].code, 0);
    ends_close(&e);
}

/* So many calls run out of time that not all of them are remembered. */
static void forgets_the_oldest_late_calls(void **state)
{
    (void)state;
    enum { LATE = 1100, REMEMBERED = 1024 };
    ends e;
    dw_message m;
    outcome o = {0};
    uint32_t serial, first = 0, unclaimed = 0;
    ends_open(&e, NULL, NULL);
    ends_ready(&e);
    for (uint32_t i = 0; i < LATE; i++) {
        start_call(e.client, i, 0, &o, &serial);
        if (i == 0)
            first = serial;
        while (o.told <= (int)i)
            expect_code(dw_receive(e.client, &m, 0), 0);
        expect_code(dw_receive(e.server, &m, 0), 1);
    }
    for (uint32_t i = 0; i < LATE; i++) {
        answer_ahead(e.server, first + i, i);
        int r = dw_receive(e.client, &m, 0);
        unclaimed += (uint32_t)r;
        assert_int_equal(r, i < LATE - REMEMBERED);
    }
    assert_int_equal(unclaimed, LATE - REMEMBERED);
    assert_int_equal(o.told, LATE);
    ends_close(&e);
}

/* However many calls run out of time at once, each is told. */
static void all_late_calls_are_told(void **state)
{
    (void)state;
    enum { LATE = 20000 };
    ends e;
    dw_message m;
    outcome o = {0};
    dw_options options = {.flags = DW_CONN_NO_AUTH};
    ends_open(&e, &options, &options);
    for (uint32_t i = 0; i < LATE; i++)
        start_call(e.client, i, 0, &o, NULL);
    expect_code(dw_receive(e.client, &m, 0), 0);
    assert_int_equal(o.told, LATE);
    expect_code(o.code, DW_E_TIMEOUT);
    ends_close(&e);
}

/* A serial that comes again after 2^32 messages, while calls of old wait. */
static void serials_in_flight_are_passed_over(void **state)
{
    (void)state;
    ends e;
    dw_message m;
    outcome o[3] = {{0}};
    uint32_t serial[3];
    ends_open(&e, NULL, NULL);
    ends_ready(&e);
    start_call(e.client, 10, DW_TIMEOUT_NONE, &o[0], &serial[0]);
    start_call(e.client, 20, 0, &o[1], &serial[1]);
    expect_code(dw_receive(e.client, &m, 0), 0);
    e.client->serial = serial[0] - 1;
    start_call(e.client, 30, DW_TIMEOUT_NONE, &o[2], &serial[2]);
    assert_int_equal(serial[2], serial[1] + 1);
    for (uint32_t i = 0; i < 3; i++) {
        expect_code(dw_receive(e.server, &m, 0), 1);
        assert_int_equal(m.serial, serial[i]);
        answer_call(e.server, &m, value_of(&m));
    }
    expect_code(dw_receive(e.client, &m, 0), 0);
    expect_code(o[1].code, DW_E_TIMEOUT);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(o[i].told, 1);
        assert_int_equal(o[i].value, i == 1 ? 0 : 10 * (i + 1));
    }
    ends_close(&e);
}

static void cancelled_calls_are_not_told(void **state)
{
    (void)state;
    outcome o[2] = {{0}};
    uint32_t serial[2];
    ends e;
    dw_message m, call;
    ends_open(&e, NULL, NULL);
    ends_ready(&e);
    for (uint32_t i = 0; i < 2; i++)
        start_call(e.client, i, 1000, &o[i], &serial[i]);
    expect_code(dw_cancel_call(e.client, serial[0]), 0);
    expect_code(dw_cancel_call(e.client, serial[0]), DW_E_ARGUMENT);
    expect_code(dw_cancel_call(e.client, 999), DW_E_ARGUMENT);
    for (uint32_t i = 0; i < 2; i++) {
        expect_code(dw_receive(e.server, &call, 0), 1);
        answer_call(e.server, &call, i);
    }
    expect_code(dw_receive(e.client, &m, 0), 0);
    assert_int_equal(o[0].told, 0);
    assert_int_equal(o[1].told, 1);
    ends_close(&e);
}

static void calls_end_with_the_connection(void **state)
{
    (void)state;
    static outcome o[MANY];
    for (int closed_here = 0; closed_here < 2; closed_here++) {
        ends e;
        dw_message m;
        memset(o, 0, sizeof o);
        ends_open(&e, NULL, NULL);
        ends_ready(&e);
        for (uint32_t i = 0; i < MANY; i++) {
            start_call(e.client, i, (int)i, &o[i], NULL);
            while (dw_receive(e.server, &m, 0) > 0)
                ;
        }
        dw_conn_close(e.server);
        if (!closed_here)
            expect_code(dw_receive(e.client, &m, DW_TIMEOUT_NONE), DW_E_CLOSED);
        dw_conn_close(e.client);
        for (uint32_t i = 0; i < MANY; i++) {
            assert_int_equal(o[i].told, 1);
            assert_true(o[i].code == DW_E_CLOSED || o[i].code == DW_E_TIMEOUT);
        }
    }
}

/* A callback that closes the connection it is called from. */
static void callbacks_may_close(void **state)
{
    (void)state;
    for (int how = 0; how < 3; how++) {
        outcome o[3] = {{0}};
        ends e;
        dw_message m, call;
        ends_open(&e, NULL, NULL);
        ends_ready(&e);
        o[0].close = e.client;
        for (uint32_t i = 0; i < 3; i++)
            start_call(e.client, i, how == 1 && i == 0 ? 1 : 10000, &o[i], NULL);
        expect_code(dw_receive(e.server, &call, 0), 1);
        if (how == 0)
            answer_call(e.server, &call, 1);
        if (how == 2)
            dw_conn_close(e.server);
        int r = 0;
        while (r == 0)
            r = dw_receive(e.client, &m, DW_TIMEOUT_NONE);
        expect_code(r, DW_E_CLOSED);
        for (int i = 0; i < 3; i++)
            assert_int_equal(o[i].told, 1);
        if (how != 2)
            dw_conn_close(e.server);
    }
}

static void call_again(void *context, int code, dw_message *reply)
{
    ends *e = context;
    dw_message m;
    uint8_t room[256];
    dw_writer w;
    (void)reply;
    expect_code(code, 0);
    expect_code(dw_receive(e->client, &m, 0), DW_E_STATE);
    expect_code(dw_flush(e->client, 0), DW_E_STATE);
    dw_writer_init(&w, room, sizeof room, NULL);
    write_call(&w, "Ask", 1);
    expect_code(dw_call(e->client, &w, &m, 0), DW_E_STATE);
    expect_code(send_signal(e->client, 9), 0);
}

static void callbacks_may_send_but_not_receive(void **state)
{
    (void)state;
    ends e;
    dw_message m;
    uint8_t room[256];
    dw_writer w;
    ends_open(&e, NULL, NULL);
    ends_ready(&e);
    dw_writer_init(&w, room, sizeof room, NULL);
    write_call(&w, "Ask", 1);
    expect_code(dw_start_call(e.client, &w, 1000, call_again, &e, NULL), 0);
    expect_code(dw_receive(e.server, &m, 0), 1);
    answer_call(e.server, &m, 1);
    expect_code(dw_receive(e.client, &m, 0), 0);
    expect_signal(e.server, 9);
    ends_close(&e);
}

static void starting_a_call_can_fail(void **state)
{
    (void)state;
    ends e;
    outcome o = {0};
    failing f;
    uint8_t room[256];
    dw_writer w;
    failing_init(&f, 3, false); /* after the connection and its handshake */
    dw_options client = {.allocator = &f.allocator};
    ends_open(&e, &client, NULL);
    ends_ready(&e);
    dw_writer_init(&w, room, sizeof room, NULL);
    write_signal(&w, 1);
    expect_code(dw_start_call(e.client, &w, 0, note, &o, NULL), DW_E_ARGUMENT);
    write_call(&w, "Ask", 1);
    expect_code(dw_start_call(e.client, &w, 0, NULL, &o, NULL), DW_E_ARGUMENT);
    expect_code(dw_start_call(e.client, &w, 0, note, &o, NULL), DW_E_NO_MEMORY);
    expect_code(dw_start_call(e.client, &w, 0, note, &o, NULL), 0);
    ends_close(&e);
    assert_int_equal(o.told, 1);
    assert_int_equal(f.live, 0);
    assert_int_equal(f.mistold, 0);
}

/* -- org.freedesktop.DBus.Peer --------------------------------------------------------- */

static void note_peer(void *context, int code, dw_message *reply)
{
    char *text = context;
    dw_reader r;
    if (code != 0 && code != DW_E_REPLY) {
        strcpy(text, dw_error_name(code));
        return;
    }
    dw_reader_init(&r, reply);
    strcpy(text, code == 0 ? "reply " : reply->error_name.p);
    if (code == 0 && dw_more(&r))
        strcat(text, dw_get_string(&r).p);
    dw_reader_finish(&r);
}

static void ask_peer(ends *e, const char *member, uint8_t flags, char *text)
{
    uint8_t room[256];
    dw_writer w;
    dw_message m;
    dw_writer_init(&w, room, sizeof room, NULL);
    dw_begin(&w, &(dw_header){.type = DW_METHOD_CALL,
                              .flags = flags,
                              .path = "/any/path",
                              .interface = "org.freedesktop.DBus.Peer",
                              .member = member});
    expect_code(dw_finish(&w), 0);
    text[0] = 0;
    if (flags & DW_NO_REPLY_EXPECTED)
        expect_code(dw_send(e->client, &w, NULL), 0);
    else
        expect_code(dw_start_call(e->client, &w, 1000, note_peer, text, NULL), 0);
    expect_code(dw_receive(e->server, &m, 0), 0);
    expect_code(dw_receive(e->client, &m, 0), 0);
}

static void peer_is_answered(void **state)
{
    (void)state;
    ends e;
    char text[100];
    ends_open(&e, NULL, NULL);
    ends_ready(&e);
    ask_peer(&e, "Ping", 0, text);
    assert_string_equal(text, "reply ");
    ask_peer(&e, "Ping", DW_NO_REPLY_EXPECTED, text);
    assert_string_equal(text, "");
    ask_peer(&e, "GetMachineId", 0, text);
    assert_true(strlen(text) == strlen("reply ") + 32 ||
                strcmp(text, "org.freedesktop.DBus.Error.Failed") == 0);
    ask_peer(&e, "Pong", 0, text);
    assert_string_equal(text, "org.freedesktop.DBus.Error.UnknownMethod");
    ends_close(&e);
}

static void peer_can_be_switched_off(void **state)
{
    (void)state;
    ends e;
    dw_message m;
    dw_options server = {.flags = DW_CONN_NO_PEER};
    uint8_t room[256];
    dw_writer w;
    ends_open(&e, NULL, &server);
    ends_ready(&e);
    dw_writer_init(&w, room, sizeof room, NULL);
    dw_begin_call(&w, NULL, "/", "org.freedesktop.DBus.Peer", "Ping", NULL);
    expect_code(dw_finish(&w), 0);
    expect_code(dw_send(e.client, &w, NULL), 0);
    expect_code(dw_receive(e.server, &m, 0), 1);
    assert_string_equal(m.member.p, "Ping");
    ends_close(&e);
}

/* A peer that asks and never reads: what it can make us hold is bounded. */
static void unread_answers_are_bounded(void **state)
{
    (void)state;
    ends e;
    dw_message m;
    uint8_t room[256];
    dw_writer w;
    int r = 0;
    ends_open(&e, NULL, NULL);
    ends_ready(&e);
    dw_conn_limits(e.server, 5000, 0);
    dw_writer_init(&w, room, sizeof room, NULL);
    dw_begin_call(&w, NULL, "/", "org.freedesktop.DBus.Peer", "Ping", NULL);
    expect_code(dw_finish(&w), 0);
    for (int i = 0; i < 100000 && r == 0; i++) {
        expect_code(dw_send(e.client, &w, NULL), 0);
        r = dw_receive(e.server, &m, 0);
        assert_in_range(dw_conn_queued(e.server), 0, 5000);
    }
    expect_code(r, DW_E_QUEUE);
    ends_close(&e);
}

/* One that asks and reads, on and on: it gets its turn, and others theirs. */
static void peers_take_turns(void **state)
{
    (void)state;
    enum { ASKED = 2500 };
    ends e;
    dw_message m;
    uint8_t room[256];
    dw_writer w;
    ends_open(&e, NULL, NULL);
    ends_ready(&e);
    dw_writer_init(&w, room, sizeof room, NULL);
    for (unsigned i = 0; i < ASKED; i++) {
        dw_begin_call(&w, NULL, "/", "org.freedesktop.DBus.Peer", "Ping", NULL);
        expect_code(dw_finish(&w), 0);
        room[2] |= DW_NO_REPLY_EXPECTED;
        expect_code(dw_queue(e.client, &w, NULL), 0);
    }
    expect_code(send_signal(e.client, 1), 0);
    unsigned turns = 0;
    while (dw_receive(e.server, &m, 0) == 0) {
        turns += dw_conn_timeout(e.server) == 0;
        dw_flush(e.client, 0);
        assert_in_range(turns, 0, ASKED);
    }
    assert_in_range(turns, 1, ASKED / 1000);
    assert_int_equal(value_of(&m), 1);
    ends_close(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_what_else_comes),
        cmocka_unit_test(only_calls_are_called),
        cmocka_unit_test(late_answers_are_dropped),
        cmocka_unit_test(kept_messages_have_a_limit),
        cmocka_unit_test(answers_come_in_any_order),
        cmocka_unit_test(each_call_has_its_timeout),
        cmocka_unit_test(forgets_the_oldest_late_calls),
        cmocka_unit_test(all_late_calls_are_told),
        cmocka_unit_test(serials_in_flight_are_passed_over),
        cmocka_unit_test(cancelled_calls_are_not_told),
        cmocka_unit_test(calls_end_with_the_connection),
        cmocka_unit_test(callbacks_may_close),
        cmocka_unit_test(callbacks_may_send_but_not_receive),
        cmocka_unit_test(starting_a_call_can_fail),
        cmocka_unit_test(peer_is_answered),
        cmocka_unit_test(peer_can_be_switched_off),
        cmocka_unit_test(unread_answers_are_bounded),
        cmocka_unit_test(peers_take_turns),
    };
    return cmocka_run_group_tests_name("calls", tests, NULL, NULL);
}
