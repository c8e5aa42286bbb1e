/* scenarios.c - dwire and another library, in both roles and over both buses:
 * values, descriptors, errors, large messages, ends. */

#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "dwire/bus.h"
#include "exchange.h"
#include "meeting.h"
#include "support/dice.h"
#include "support/ends.h"
#include "support/table.h"

enum { ROUNDS = 150, MANY = 1000, KIB = 1024, MIB = 1024 * KIB };

/* Meets, ready for signals. */
static void meet_all(unsigned flags)
{
    meet(flags);
    if (the.role == PEER_JOINS)
        expect_code(dw_add_match(the.c, "type='signal',interface='" PEER_INTERFACE "'",
                                 DW_TIMEOUT_DEFAULT, NULL),
                    0);
}

/* -- Values ------------------------------------------------------------------------- */

static bool pass_row(const vector *v, bool utf8)
{
    text bytes = {0};
    dw_writer w;
    assert_true(text_from_hex(&bytes, v->input, strlen(v->input)));
    sample s = {.id = v->id, .signature = v->signature, .len = bytes.n, .order = *v->endian};
    s.bytes = text_string(&bytes);
    dw_writer_init(&w, NULL, 0, dw_heap);
    if (utf8) {
        dw_begin_body(&w, s.signature = "s", s.order = DW_NATIVE);
        dw_put_string_n(&w, text_string(&bytes), bytes.n);
        expect_code(dw_finish(&w), 0);
        s.bytes = dw_writer_bytes(&w, &s.len);
    }
    bool good = s.len < MIB && exchange(&s);
    dw_writer_free(&w);
    text_free(&bytes);
    return good;
}

/* The rows that the library takes, in both byte orders. The largest are left to
 * another test: libdbus reads nothing while it holds 63 MiB. */
static void passes_the_vectors(void **state)
{
    (void)state;
    table t;
    vector v;
    unsigned n = 0;
    meet_all(0);
    assert_true(table_open(&t, VECTORS_FILE));
    while (table_next(&t, &v)) {
        bool body = strcmp(v.kind, "body") == 0, utf8 = strcmp(v.kind, "utf8") == 0;
        if (!(body || utf8) || strcmp(v.expected, "valid") != 0 ||
            strcmp(v.others[peer_column], "valid") != 0)
            continue;
        n += pass_row(&v, utf8);
    }
    assert_true(table_close(&t));
    assert_true(n > 100);
    part();
}

static void passes_random_values(void **state)
{
    (void)state;
    char signature[256], id[32];
    meet_all(0);
    unsigned n = 0;
    for (unsigned seed = 0; seed < 2 * ROUNDS; seed++) {
        dice d = {seed / 2};
        dw_writer w;
        dice_signature(&d, signature);
        snprintf(id, sizeof id, "seed %u", seed / 2);
        sample s = {.id = id, .signature = signature, .order = seed % 2 ? DW_BIG : DW_LITTLE};
        dw_writer_init(&w, NULL, 0, dw_heap);
        dw_begin_body(&w, signature, s.order);
        dice_put(&d, &w, signature);
        expect_code(dw_finish(&w), 0);
        s.bytes = dw_writer_bytes(&w, &s.len);
        n += exchange(&s);
        dw_writer_free(&w);
    }
    assert_true(n > ROUNDS / 4);
    part();
}

static void passes_every_type_at_once(void **state)
{
    (void)state;
    static const char types[] = "ybnqiuxtdsogava{sv}a(iay)aasaaaxa{ya{ot}}(v(vs))ad";
    dw_writer w;
    dw_writer_init(&w, NULL, 0, dw_heap);
    unsigned n = 0;
    meet_all(0);
    for (unsigned seed = 0; n < 20; seed++) {
        dice d = {seed};
        sample s = {.id = "every type", .signature = types, .order = DW_NATIVE};
        dw_begin_body(&w, types, s.order);
        dice_put(&d, &w, types);
        expect_code(dw_finish(&w), 0);
        s.bytes = dw_writer_bytes(&w, &s.len);
        n += exchange(&s);
    }
    dw_writer_free(&w);
    part();
}

/* -- Large messages -------------------------------------------------------------------- */

/* A realloc of AddressSanitizer always copies, and sd-bus calls it for each piece
 * that it reads. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(SANITIZED)
enum { LARGEST = 8 * MIB };
#else
enum { LARGEST = DW_MAX_ARRAY };
#endif

static void echo_large(dw_writer *w, const uint8_t *p, size_t len)
{
    dw_message reply;
    dw_reader r;
    size_t n;
    begin_call(w, PEER_INTERFACE, "Echo", "ay");
    dw_put_array_ref(w, 'y', p, len);
    expect_code(dw_finish(w), 0);
    int code = dw_call(the.c, w, &reply, DW_TIMEOUT_DEFAULT);
    if (code != 0)
        fail_msg("%zu bytes: %s %s", len, dw_error_name(code),
                 code == DW_E_REPLY ? reply.error_name.p : "");
    dw_reader_init(&r, &reply);
    const uint8_t *came = dw_get_byte_array(&r, &n);
    expect_code(dw_reader_finish(&r), 0);
    assert_true(n == len && memcmp(came, p, n) == 0);
}

static void passes_large_messages(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 4096, 65535, 300 * KIB, 5 * MIB, LARGEST - 128, LARGEST};
    uint8_t *p = malloc(LARGEST);
    dw_writer w;
    assert_non_null(p);
    for (size_t i = 0; i < LARGEST; i++)
        p[i] = (uint8_t)(i * 13 + (i >> 8));
    dw_writer_init(&w, NULL, 0, dw_heap);
    meet(0);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        echo_large(&w, p, sizes[i]);
    dw_writer_free(&w);
    free(p);
    part();
}

/* Calls are in flight many at a time. */
static void answers_many_calls(void **state)
{
    (void)state;
    heard h = {0};
    dw_writer w;
    char expected[16];
    meet(0);
    dw_writer_init(&w, NULL, 0, dw_heap);
    for (int i = 0; i < MANY; i++) {
        begin_call(&w, PEER_INTERFACE, i % 2 ? "Ask" : "Echo", "u");
        dw_put_uint32(&w, (uint32_t)i);
        start_call(&w, &h);
    }
    while (h.n_ended < MANY) {
        expect_code(turn(&h), 0);
        expect_code(h.code, 0);
    }
    snprintf(expected, sizeof expected, "%d", MANY - 1);
    assert_string_equal(text_string(&h.answer), expected);
    assert_int_equal(h.n_asked, MANY / 2);
    dw_writer_free(&w);
    heard_free(&h);
    part();
}

/* -- Descriptors ------------------------------------------------------------------------- */

/* There and back as answers, as calls and as signals, and none is left over. */
static void passes_descriptors(void **state)
{
    (void)state;
    int fds[3];
    static const uint32_t indexes[] = {0, 1, 2};
    dw_writer w;
    dw_message m;
    meet_all(0);
    assert_true(dw_conn_can_pass_fds(the.c));
    /* sd-bus ends a connection if descriptors come together with the lines before. */
    expect_code(call_peer(PEER_INTERFACE, "Echo", &m), 0);
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    fds[2] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    dw_writer_init(&w, NULL, 0, dw_heap);
    dw_begin_body(&w, "a{sv}sah", 0);
    dw_open_array(&w);
    dw_open_entry(&w);
    dw_put_string(&w, "first");
    dw_open_variant(&w, "(hs)");
    dw_open_struct(&w);
    dw_put_unix_fd(&w, 0);
    dw_put_string(&w, "a pipe");
    dw_close_struct(&w);
    dw_close_variant(&w);
    dw_close_entry(&w);
    dw_close_array(&w);
    dw_put_string(&w, "others");
    dw_put_unix_fd_array(&w, indexes + 1, 2);
    expect_code(dw_finish(&w), 0);
    sample s = {.id = "descriptors", .signature = "a{sv}sah", .fds = fds, .n_fds = 3};
    s.order = DW_NATIVE;
    s.bytes = dw_writer_bytes(&w, &s.len);
    unsigned before = count_descriptors();
    for (int i = 0; i < 50; i++)
        assert_true(exchange(&s));
    expect_code(call_peer(PEER_INTERFACE, "Give", &m), 0);
    int fd = dw_take_fd(&m, 0);
    assert_true(fd >= 0 && (fcntl(fd, F_GETFD) & FD_CLOEXEC));
    close(fd);
    expect_code(dw_receive(the.c, &m, 0), 0);
    assert_int_equal(count_descriptors(), before);
    for (int i = 0; i < 3; i++)
        close(fds[i]);
    dw_writer_free(&w);
    part();
}

/* Where it was not agreed on neither side passes any, and says so. */
static void refuses_descriptors(void **state)
{
    (void)state;
    dw_message m;
    dw_writer w;
    int fd = STDIN_FILENO;
    meet(DW_CONN_NO_FDS);
    assert_false(dw_conn_can_pass_fds(the.c));
    dw_writer_init(&w, NULL, 0, dw_heap);
    dw_begin(&w, &(dw_header){.type = DW_METHOD_CALL,
                              .destination = the.destination,
                              .path = PEER_PATH,
                              .interface = PEER_INTERFACE,
                              .member = "Echo",
                              .signature = "h",
                              .fds = &fd,
                              .n_fds = 1});
    dw_put_unix_fd(&w, 0);
    expect_code(dw_finish(&w), 0);
    expect_code(dw_send(the.c, &w, NULL), DW_E_UNSUPPORTED);
    if (the.role != PEER_JOINS) { /* there the peer can pass it to the bus, which answers */
        expect_code(call_peer(PEER_INTERFACE, "Give", &m), DW_E_REPLY);
        assert_string_equal(m.error_name.p, PEER_ERROR);
    }
    expect_code(call_peer(PEER_INTERFACE, "Echo", &m), 0);
    dw_writer_free(&w);
    part();
}

/* -- Errors -------------------------------------------------------------------------------- */

static void passes_errors(void **state)
{
    (void)state;
    dw_message m;
    dw_reader r;
    dw_writer w;
    heard h = {.refuse = true};
    meet(0);
    expect_code(call_peer(PEER_INTERFACE, "Fail", &m), DW_E_REPLY);
    assert_string_equal(m.error_name.p, PEER_ERROR);
    dw_reader_init(&r, &m);
    assert_string_equal(dw_get_string(&r).p, PEER_ERROR_TEXT);
    expect_code(dw_reader_finish(&r), 0);
    /* and from dwire to the peer, which passes it on */
    dw_writer_init(&w, NULL, 0, dw_heap);
    begin_call(&w, PEER_INTERFACE, "Ask", NULL);
    start_call(&w, &h);
    while (h.n_ended == 0)
        expect_code(turn(&h), 0);
    expect_code(h.code, DW_E_REPLY);
    assert_string_equal(text_string(&h.error_name), PEER_ERROR);
    text expected = {0};
    text_put(&expected, "\"");
    text_escape(&expected, PEER_ERROR_TEXT, strlen(PEER_ERROR_TEXT));
    text_put(&expected, "\"");
    assert_string_equal(text_string(&h.answer), text_string(&expected));
    text_free(&expected);
    heard_free(&h);
    dw_writer_free(&w);
    part();
}

/* Each answers the other's org.freedesktop.DBus.Peer. */
static void answers_peer(void **state)
{
    (void)state;
    static const char interface[] = "org.freedesktop.DBus.Peer";
    static const char *const members[] = {"Ping", "GetMachineId"};
    dw_message m;
    dw_writer w;
    meet(0);
    heard theirs = {0}, ours = {0};
    expect_code(call_peer(interface, "Ping", &m), 0);
    dw_writer_init(&w, NULL, 0, dw_heap);
    begin_call(&w, interface, "GetMachineId", NULL);
    start_call(&w, &theirs);
    while (theirs.n_ended == 0)
        expect_code(turn(&theirs), 0);
    for (int i = 0; i < 2; i++) {
        begin_call(&w, PEER_INTERFACE, members[i], NULL);
        start_call(&w, &ours);
        while (ours.n_ended == i)
            expect_code(turn(&ours), 0);
        if (i == 0)
            expect_code(ours.code, 0);
    }
    expect_code(ours.code, theirs.code);
    if (ours.code == 0)
        assert_string_equal(text_string(&ours.answer), text_string(&theirs.answer));
    heard_free(&ours);
    heard_free(&theirs);
    dw_writer_free(&w);
    part();
}

/* -- Handshakes ------------------------------------------------------------------------------ */

static void shakes_hands(void **state)
{
    (void)state;
    static const unsigned ways[] = {0, DW_CONN_LOCKSTEP, DW_CONN_ANONYMOUS};
    dw_message m;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        meet(ways[i]);
        assert_int_equal(strlen(dw_conn_guid(the.c)), 32);
        assert_false(dw_conn_anonymous(the.c));
        expect_code(call_peer(PEER_INTERFACE, "Echo", &m), 0);
        part();
    }
}

/* -- Ends -------------------------------------------------------------------------------------- */

/* The peer goes without an answer. */
static void ends_without_an_answer(void **state)
{
    (void)state;
    dw_message m;
    meet(0);
    if (the.role == PEER_JOINS) {
        expect_code(call_peer(PEER_INTERFACE, "Leave", &m), DW_E_REPLY);
        assert_string_equal(m.error_name.p, "org.freedesktop.DBus.Error.NoReply");
    } else {
        expect_code(call_peer(PEER_INTERFACE, "Leave", &m), DW_E_CLOSED);
        expect_code(dw_conn_error(the.c), DW_E_CLOSED);
    }
    expect_peer_ended();
    dw_conn_close(the.c);
    the.c = NULL;
}

/* The peer is killed when only a part of its answer has come. */
static void ends_within_an_answer(void **state)
{
    (void)state;
    heard h = {0};
    dw_writer w;
    dw_message m;
    if (the.role == PEER_JOINS) /* from a bus messages come whole */
        skip();
    uint8_t *p = calloc(1, 24 * MIB);
    assert_non_null(p);
    meet(0);
    dw_writer_init(&w, NULL, 0, dw_heap);
    begin_call(&w, PEER_INTERFACE, "Echo", "ay");
    dw_put_byte_array(&w, p, 24 * MIB);
    start_call(&w, &h);
    expect_code(dw_flush(the.c, DW_TIMEOUT_DEFAULT), 0);
    struct pollfd one = {.fd = dw_conn_fd(the.c), .events = POLLIN};
    assert_int_equal(poll(&one, 1, 20000), 1);
    peer_kill();
    expect_code(dw_receive(the.c, &m, DW_TIMEOUT_DEFAULT), DW_E_CUT);
    assert_int_equal(h.n_ended, 1);
    expect_code(h.code, DW_E_CUT);
    expect_code(dw_receive(the.c, &m, 0), DW_E_CUT);
    dw_conn_close(the.c);
    the.c = NULL;
    dw_writer_free(&w);
    heard_free(&h);
    free(p);
}

/* dwire goes while the peer waits for its answer, and in the middle of a message
 * of its own; or what it says is no message. The peer takes each for an end. */
static void send_raw(const void *bytes, size_t len)
{
    assert_true(send(dw_conn_fd(the.c), bytes, len, MSG_NOSIGNAL) == (ssize_t)len);
}

static void leaves_the_peer(void **state)
{
    (void)state;
    heard h = {0};
    dw_message m;
    dw_writer w;
    size_t len;
    if (the.role == PEER_JOINS)
        skip();
    dw_writer_init(&w, NULL, 0, dw_heap);
    meet(0);
    begin_call(&w, PEER_INTERFACE, "Ask", NULL);
    start_call(&w, &h);
    expect_code(dw_receive(the.c, &m, DW_TIMEOUT_DEFAULT), 1);
    assert_string_equal(m.member.p, "Echo");
    part();
    expect_code(h.code, DW_E_CLOSED);
    meet(0);
    begin_call(&w, PEER_INTERFACE, "Echo", "s");
    dw_put_string(&w, "only a half of this");
    expect_code(dw_finish(&w), 0);
    const uint8_t *bytes = dw_writer_bytes(&w, &len);
    send_raw(bytes, len / 2);
    part();
    meet(0);
    send_raw("what is this? it is no message at all", 37);
    expect_code(dw_receive(the.c, &m, DW_TIMEOUT_DEFAULT), DW_E_CLOSED);
    part();
    dw_writer_free(&w);
    heard_free(&h);
}

/* -- Together ------------------------------------------------------------------------------------
 */

static int run(const char *how, role r, const char *bus)
{
#define SCENARIO(f) cmocka_unit_test_teardown(f, meeting_tear_down)
    const struct CMUnitTest tests[] = {
        SCENARIO(shakes_hands),           SCENARIO(passes_every_type_at_once),
        SCENARIO(passes_the_vectors),     SCENARIO(passes_random_values),
        SCENARIO(passes_large_messages),  SCENARIO(answers_many_calls),
        SCENARIO(passes_descriptors),     SCENARIO(refuses_descriptors),
        SCENARIO(passes_errors),          SCENARIO(answers_peer),
        SCENARIO(ends_without_an_answer), SCENARIO(ends_within_an_answer),
        SCENARIO(leaves_the_peer),
    };
    char name[100];
    snprintf(name, sizeof name, "%s %s", peer_name, how);
    meeting_prepare(r, bus);
    int failed = cmocka_run_group_tests_name(name, tests, NULL, NULL);
    meeting_end();
    return failed;
}

/* One argument: the pattern of the scenarios to run. */
int main(int argc, char **argv)
{
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return run("dials", PEER_DIALS, NULL) | run("listens", PEER_LISTENS, NULL) |
           run("on dbus-daemon", PEER_JOINS, "dbus-daemon") |
           run("on dbus-broker", PEER_JOINS, "dbus-broker");
}
