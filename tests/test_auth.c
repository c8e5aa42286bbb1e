/* test_auth.c - the SASL exchange, both ends: every row of the state tables of
 * "Authentication state diagrams", the limits, and the two ends against each
 * other. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "dwire/auth.h"
#include "support/text.h"

#define GUID "0123456789abcdef0123456789abcdef"
#define UID  1234

static bool admit_1234(void *context, int64_t uid)
{
    ++*(int *)context;
    return uid == UID;
}

static void add_output(dw_auth *a, text *out)
{
    size_t len;
    const char *p = dw_auth_output(a, &len);
    text_add(out, p, len);
    dw_auth_sent(a, len);
}

/* Hands bytes in, step at a time; adds what comes out; says what came of it.
 * The rest that was not used is what is left after *used. */
static int feed(dw_auth *a, const char *p, size_t len, size_t step, text *out, size_t *used)
{
    int r = 0;
    size_t at = 0, n = 0;
    add_output(a, out);
    while (r == 0 && at < len) {
        r = dw_auth_take(a, p + at, len - at < step ? len - at : step, &n);
        at += n;
        add_output(a, out);
    }
    *used = at;
    return r;
}

/* -- Tables ----------------------------------------------------------------
 *
 * A dialogue: what the peer says in all, what is answered to it in all, what
 * the last call returns, whether fd passing is on then. */

typedef struct dialogue {
    unsigned flags;
    const char *in, *out;
    int code;
    bool fds;
} dialogue;

#define OK_LINE  "OK " GUID "\r\n"
#define REJECTED "REJECTED EXTERNAL\r\n"
#define UNKNOWN  "ERROR \"Unknown command\"\r\n"
#define NOT_YET  "ERROR \"Need to authenticate first\"\r\n"
#define NO_TALK  "ERROR \"Not in an auth conversation\"\r\n"
#define ANOTHER  "ERROR \"Another AUTH is in progress\"\r\n"
#define BAD_HEX  "ERROR \"Invalid hex encoding\"\r\n"

#define TO_DATA  "AUTH EXTERNAL\r\n"
#define TO_BEGIN "AUTH EXTERNAL 31323334\r\n"

static const dialogue server_dialogues[] = {
    /* WaitingForAuth */
    {0, "AUTH\r\n", REJECTED, 0, false},
    {0, "AUTH KERBEROS_V4\r\n", REJECTED, 0, false},
    {0, "AUTH external\r\n", REJECTED, 0, false},
    {0, "AUTH EXTERNALX 31323334\r\n", REJECTED, 0, false},
    {0, "AUTH ANONYMOUS\r\n", REJECTED, 0, false},
    {DW_AUTH_ANONYMOUS, "AUTH\r\n", "REJECTED EXTERNAL ANONYMOUS\r\n", 0, false},
    {DW_AUTH_ANONYMOUS, "AUTH ANONYMOUS 78\r\nBEGIN\r\n", OK_LINE, 1, false},
    {DW_AUTH_ANONYMOUS, "AUTH ANONYMOUS\r\nBEGIN\r\n", OK_LINE, 1, false},
    {0, TO_BEGIN, OK_LINE, 0, false},
    {0, "AUTH EXTERNAL 30303031323334\r\n", OK_LINE, 0, false},
    {0, "AUTH EXTERNAL 31323335\r\n", REJECTED, 0, false},
    {0, "AUTH EXTERNAL 726f6f74\r\n", REJECTED, 0, false},
    {0, "AUTH EXTERNAL 34323934393637323935\r\n", REJECTED, 0, false},
    {0, "AUTH EXTERNAL 34323934393638353330\r\n", REJECTED, 0, false},
    {0, "AUTH EXTERNAL 2b31323334\r\n", REJECTED, 0, false},
    {0, "AUTH EXTERNAL 31323334 30\r\n", BAD_HEX, 0, false},
    {0, "AUTH EXTERNAL 3132333\r\n", BAD_HEX, 0, false},
    {0, "AUTH EXTERNAL 3132333g\r\n" TO_BEGIN, BAD_HEX OK_LINE, 0, false},
    {0, "BEGIN\r\n", "", DW_E_PROTOCOL, false},
    {0, "ERROR\r\n", REJECTED, 0, false},
    {0, "ERROR \"why\"\r\n", REJECTED, 0, false},
    {0, "CANCEL\r\n", NO_TALK, 0, false},
    {0, "DATA\r\n", NO_TALK, 0, false},
    {0, "NEGOTIATE_UNIX_FD\r\n", NOT_YET, 0, false},
    {0, "FOOBAR\r\n" TO_BEGIN, UNKNOWN OK_LINE, 0, false},
    {0, "OK\r\nREJECTED\r\nAGREE_UNIX_FD\r\n", UNKNOWN UNKNOWN UNKNOWN, 0, false},
    {0, "\r\n", UNKNOWN, 0, false},
    {0, "AUTH EXTERNAL\n31323334\r\n", REJECTED, 0, false},
    {0, "AUTH EXTERNAL 31323334\r", "", 0, false},
    {0, "AUTH \xc3\xa9\r\n", UNKNOWN, 0, false},
    /* WaitingForData */
    {0, TO_DATA "DATA\r\n", "DATA\r\n" OK_LINE, 0, false},
    {0, TO_DATA "DATA 31323334\r\n", "DATA\r\n" OK_LINE, 0, false},
    {0, TO_DATA "DATA 31323335\r\nDATA\r\n", "DATA\r\n" REJECTED NO_TALK, 0, false},
    {0, TO_DATA "DATA x\r\nDATA\r\n", "DATA\r\n" BAD_HEX OK_LINE, 0, false},
    {0, TO_DATA "BEGIN\r\n", "DATA\r\n", DW_E_PROTOCOL, false},
    {0, TO_DATA "CANCEL\r\nDATA\r\n", "DATA\r\n" REJECTED NO_TALK, 0, false},
    {0, TO_DATA "ERROR\r\nDATA\r\n", "DATA\r\n" REJECTED NO_TALK, 0, false},
    {0, TO_DATA "AUTH\r\nDATA\r\n", "DATA\r\n" ANOTHER OK_LINE, 0, false},
    {0, TO_DATA "NEGOTIATE_UNIX_FD\r\nDATA\r\n", "DATA\r\n" NOT_YET OK_LINE, 0, false},
    {0, TO_DATA "FOOBAR\r\nDATA\r\n", "DATA\r\n" UNKNOWN OK_LINE, 0, false},
    /* WaitingForBegin */
    {0, TO_BEGIN "BEGIN\r\n", OK_LINE, 1, false},
    {0, TO_BEGIN "NEGOTIATE_UNIX_FD\r\nBEGIN\r\n", OK_LINE "AGREE_UNIX_FD\r\n", 1, true},
    {DW_AUTH_NO_FDS, TO_BEGIN "NEGOTIATE_UNIX_FD\r\nBEGIN\r\n",
     OK_LINE "ERROR \"File descriptors are not passed here\"\r\n", 1, false},
    {0, TO_BEGIN "CANCEL\r\nBEGIN\r\n", OK_LINE REJECTED, DW_E_PROTOCOL, false},
    {0, TO_BEGIN "ERROR\r\nBEGIN\r\n", OK_LINE REJECTED, DW_E_PROTOCOL, false},
    {0, TO_BEGIN "AUTH EXTERNAL\r\nBEGIN\r\n", OK_LINE ANOTHER, 1, false},
    {0, TO_BEGIN "DATA\r\nBEGIN\r\n", OK_LINE NO_TALK, 1, false},
    {0, TO_BEGIN "FOOBAR\r\nBEGIN\r\n", OK_LINE UNKNOWN, 1, false},
    /* What was agreed before a CANCEL counts no more. */
    {0, TO_BEGIN "NEGOTIATE_UNIX_FD\r\nCANCEL\r\n" TO_BEGIN "BEGIN\r\n",
     OK_LINE "AGREE_UNIX_FD\r\n" REJECTED OK_LINE, 1, false},
    /* The sixth refusal is the last. */
    {0, "AUTH\r\nAUTH\r\nAUTH\r\nAUTH\r\nAUTH\r\nAUTH\r\n" TO_BEGIN,
     REJECTED REJECTED REJECTED REJECTED REJECTED REJECTED, DW_E_AUTH, false},
    {0, "AUTH\r\nAUTH\r\nAUTH\r\nAUTH\r\nAUTH\r\n" TO_BEGIN,
     REJECTED REJECTED REJECTED REJECTED REJECTED OK_LINE, 0, false},
};

#define HELLO     "AUTH EXTERNAL\r\n"
#define NEGOTIATE "NEGOTIATE_UNIX_FD\r\n"
#define ANON      "AUTH ANONYMOUS 6477697265\r\n"
#define NO_CHALL  "ERROR \"EXTERNAL has no challenge\"\r\n"
#define WHOLE     HELLO "DATA\r\n" NEGOTIATE "BEGIN\r\n"
#define STEP      DW_AUTH_LOCKSTEP

static const dialogue client_dialogues[] = {
    /* WaitingForData */
    {STEP, "DATA\r\n", HELLO "DATA\r\n", 0, false},
    {STEP, "DATA 30\r\nDATA\r\n", HELLO NO_CHALL "DATA\r\n", 0, false},
    {STEP, "OK 1234deadbeef\r\n", HELLO NEGOTIATE, 0, false},
    {STEP | DW_AUTH_NO_FDS, OK_LINE, HELLO "BEGIN\r\n", 1, false},
    {STEP, "OK\r\n", HELLO, DW_E_PROTOCOL, false},
    {STEP, "OK xyz\r\n", HELLO, DW_E_PROTOCOL, false},
    {STEP, "OK " GUID "0\r\n", HELLO, DW_E_PROTOCOL, false},
    {STEP, "REJECTED EXTERNAL\r\n", HELLO, DW_E_AUTH, false},
    {STEP, "REJECTED EXTERNAL ANONYMOUS\r\n", HELLO, DW_E_AUTH, false},
    {STEP, "ERROR\r\nREJECTED\r\n", HELLO "CANCEL\r\n", DW_E_AUTH, false},
    {STEP, "FOOBAR\r\n" OK_LINE, HELLO UNKNOWN NEGOTIATE, 0, false},
    {STEP, "AGREE_UNIX_FD\r\n" OK_LINE, HELLO UNKNOWN NEGOTIATE, 0, false},
    {STEP, "BEGIN\r\n" OK_LINE, HELLO UNKNOWN NEGOTIATE, 0, false},
    /* WaitingForOK */
    {STEP, "DATA\r\n" OK_LINE, HELLO "DATA\r\n" NEGOTIATE, 0, false},
    {STEP, "DATA\r\nDATA\r\n", HELLO "DATA\r\nCANCEL\r\n", 0, false},
    {STEP, "DATA\r\nERROR\r\n", HELLO "DATA\r\nCANCEL\r\n", 0, false},
    {STEP, "DATA\r\nREJECTED\r\n", HELLO "DATA\r\n", DW_E_AUTH, false},
    {STEP, "DATA\r\nFOOBAR\r\n" OK_LINE, HELLO "DATA\r\n" UNKNOWN NEGOTIATE, 0, false},
    /* WaitingForReject */
    {STEP, "ERROR\r\nDATA\r\n", HELLO "CANCEL\r\n", DW_E_PROTOCOL, false},
    {STEP, "ERROR\r\n" OK_LINE, HELLO "CANCEL\r\n", DW_E_PROTOCOL, false},
    /* WaitingForAgreeUnixFD */
    {STEP, OK_LINE "AGREE_UNIX_FD\r\n", HELLO NEGOTIATE "BEGIN\r\n", 1, true},
    {STEP, OK_LINE "ERROR\r\n", HELLO NEGOTIATE "BEGIN\r\n", 1, false},
    {STEP, OK_LINE "REJECTED\r\n", HELLO NEGOTIATE, DW_E_PROTOCOL, false},
    {STEP, OK_LINE OK_LINE, HELLO NEGOTIATE, DW_E_PROTOCOL, false},
    /* ANONYMOUS comes second, where it is offered. */
    {DW_AUTH_ANONYMOUS, "REJECTED EXTERNAL ANONYMOUS\r\n", HELLO ANON, 0, false},
    {DW_AUTH_ANONYMOUS, "REJECTED\r\n" OK_LINE, HELLO ANON NEGOTIATE, 0, false},
    {DW_AUTH_ANONYMOUS, "REJECTED\r\nREJECTED\r\n", HELLO ANON, DW_E_AUTH, false},
    {DW_AUTH_ANONYMOUS, "REJECTED EXTERNAL ANONYMOUSLY\r\n", HELLO, DW_E_AUTH, false},
    {DW_AUTH_ANONYMOUS, "ERROR\r\nREJECTED\r\n" OK_LINE, HELLO "CANCEL\r\n" ANON NEGOTIATE, 0,
     false},
    /* All in one go. */
    {0, "DATA\r\n" OK_LINE "AGREE_UNIX_FD\r\n", WHOLE, 1, true},
    {0, "DATA\r\n" OK_LINE "ERROR no\r\n", WHOLE, 1, false},
    {0, OK_LINE "ERROR what data\r\nAGREE_UNIX_FD\r\n", WHOLE, 1, true},
    {DW_AUTH_NO_FDS, "DATA\r\n" OK_LINE, HELLO "DATA\r\nBEGIN\r\n", 1, false},
    {0, "REJECTED EXTERNAL\r\n", WHOLE, DW_E_AUTH, false},
    {0, "DATA\r\nREJECTED EXTERNAL\r\n", WHOLE, DW_E_AUTH, false},
    {0, "ERROR\r\n", WHOLE, DW_E_PROTOCOL, false},
    {0, "DATA 30\r\n", WHOLE, DW_E_PROTOCOL, false},
    {0, "DATA\r\nDATA\r\n", WHOLE, DW_E_PROTOCOL, false},
    {0, "DATA\r\nERROR\r\n", WHOLE, DW_E_PROTOCOL, false},
    {0, "DATA\r\nOK zz\r\n", WHOLE, DW_E_PROTOCOL, false},
    {0, OK_LINE OK_LINE, WHOLE, DW_E_PROTOCOL, false},
    {0, "DATA\r\n" OK_LINE "OK\r\n", WHOLE, DW_E_PROTOCOL, false},
    {0, "FOOBAR\r\n", WHOLE, DW_E_PROTOCOL, false},
    {0, "\r\n", WHOLE, DW_E_PROTOCOL, false},
};

static void start(dw_auth *a, bool server, unsigned flags, int *asked)
{
    if (server)
        dw_auth_server_init(a, flags, GUID, UID, admit_1234, asked);
    else
        dw_auth_client_init(a, flags, NULL);
}

/* What the bytes at the end of a dialogue mean to a machine that is through. */
#define TAIL "l\1\0\1"

static void run_dialogue(const dialogue *d, bool server, size_t step)
{
    dw_auth a;
    int asked = 0;
    size_t used;
    text in = {0}, out = {0}, wanted = {0};
    start(&a, server, d->flags, &asked);
    text_add(server ? &in : &wanted, "", 1);
    text_put(&in, d->in);
    text_put(&wanted, d->out);
    size_t len = in.n;
    if (d->code == 1)
        text_add(&in, TAIL, 4);
    int r = feed(&a, in.p, in.n, step, &out, &used);
    if (r != d->code || !text_equal(&out, &wanted))
        fail_msg("%s: %d, answers %s", d->in, r, text_string(&out) + !server);
    assert_int_equal(dw_auth_fds(&a), d->fds);
    if (r >= 0)
        assert_int_equal(used, len);
    if (r == 1)
        assert_true(dw_auth_begun(&a));
    if (r < 0) {
        assert_false(dw_auth_begun(&a));
        assert_int_equal(dw_auth_take(&a, "BEGIN\r\n", 7, &used), r);
        assert_int_equal(used, 0);
    }
    text_free(&in);
    text_free(&out);
    text_free(&wanted);
}

static void server_follows_its_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof server_dialogues / sizeof *server_dialogues; i++)
        for (size_t step = 1; step < 100000; step *= 17)
            run_dialogue(&server_dialogues[i], true, step);
}

static void client_follows_its_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof client_dialogues / sizeof *client_dialogues; i++)
        for (size_t step = 1; step < 100000; step *= 17)
            run_dialogue(&client_dialogues[i], false, step);
}

/* -- Limits ---------------------------------------------------------------- */

static int feed_repeated(dw_auth *a, const char *first, const char *piece, size_t times)
{
    text in = {0}, out = {0};
    size_t used;
    text_add(&in, first, strlen(first) + (*first == '\0'));
    for (size_t i = 0; i < times; i++)
        text_put(&in, piece);
    int r = feed(a, in.p, in.n, in.n, &out, &used);
    text_free(&in);
    text_free(&out);
    return r;
}

static void lines_are_bounded(void **state)
{
    (void)state;
    static const char *const starts[2] = {"X", ""};
    for (int server = 0; server < 2; server++) {
        dw_auth a;
        int asked = 0;
        const char *first = starts[server];
        start(&a, server, STEP, &asked);
        assert_int_equal(feed_repeated(&a, first, "A", 20000), DW_E_LIMIT);
        start(&a, server, STEP, &asked);
        assert_int_equal(feed_repeated(&a, first, "FOOBAR\r\n", DW_AUTH_MAX_LINES), 0);
        start(&a, server, STEP, &asked);
        assert_int_equal(feed_repeated(&a, first, "FOOBAR\r\n", DW_AUTH_MAX_LINES + 1), DW_E_LIMIT);
    }
}

static void longest_line_passes(void **state)
{
    (void)state;
    for (size_t extra = 0; extra < 2; extra++) {
        dw_auth a;
        int asked = 0;
        size_t used;
        text in = {0}, out = {0};
        dw_auth_server_init(&a, 0, GUID, UID, admit_1234, &asked);
        text_add(&in, "", 1);
        memset(text_room(&in, DW_AUTH_MAX_LINE + extra), 'A', DW_AUTH_MAX_LINE + extra);
        in.n += DW_AUTH_MAX_LINE + extra;
        text_put(&in, "\r\n");
        assert_int_equal(feed(&a, in.p, in.n, in.n, &out, &used), extra ? DW_E_LIMIT : 0);
        text_free(&in);
        text_free(&out);
    }
}

/* A client that asks and never reads what is answered: the server stops
 * listening, instead of keeping answers without end. */
static void unread_answers_are_bounded(void **state)
{
    (void)state;
    dw_auth a;
    int asked = 0;
    char in[1 + 8 * 40] = "";
    size_t used, again, len;
    for (size_t i = 0; i < 40; i++)
        memcpy(in + 1 + 8 * i, "FOOBAR\r\n", 8);
    dw_auth_server_init(&a, 0, GUID, UID, admit_1234, &asked);
    assert_int_equal(dw_auth_take(&a, in, sizeof in, &used), 0);
    assert_true(used < sizeof in);
    assert_int_equal(dw_auth_take(&a, in + used, sizeof in - used, &again), 0);
    assert_int_equal(again, 0);
    dw_auth_output(&a, &len);
    dw_auth_sent(&a, len);
    assert_int_equal(dw_auth_take(&a, in + used, sizeof in - used, &again), 0);
    assert_true(again > 0);
}

static void first_byte_is_nul(void **state)
{
    (void)state;
    dw_auth a;
    size_t used;
    dw_auth_server_init(&a, 0, GUID, UID, NULL, NULL);
    assert_int_equal(dw_auth_take(&a, "AUTH\r\n", 6, &used), DW_E_PROTOCOL);
    /* Later NULs are no part of a command. */
    static const char in[] = "\0AU\0TH\r\n";
    text out = {0};
    dw_auth_server_init(&a, 0, GUID, UID, NULL, NULL);
    assert_int_equal(feed(&a, in, sizeof in - 1, 1, &out, &used), 0);
    assert_string_equal(text_string(&out), UNKNOWN);
    text_free(&out);
}

/* -- Who is let in --------------------------------------------------------- */

static int try_external(int64_t uid, dw_admit_uid *admit, void *context)
{
    static const char in[] = "\0AUTH EXTERNAL\r\nDATA\r\nBEGIN\r\n";
    dw_auth a;
    size_t used;
    text out = {0};
    dw_auth_server_init(&a, 0, GUID, uid, admit, context);
    int r = feed(&a, in, sizeof in - 1, sizeof in - 1, &out, &used);
    text_free(&out);
    return r;
}

static void default_admits_own_user_only(void **state)
{
    (void)state;
    int asked = 0;
    int64_t own = (int64_t)geteuid();
    assert_int_equal(try_external(own, NULL, NULL), 1);
    assert_int_equal(try_external(own + 1, NULL, NULL), DW_E_PROTOCOL);
    assert_int_equal(try_external(DW_NO_UID, NULL, NULL), DW_E_PROTOCOL);
    assert_int_equal(try_external(UID, admit_1234, &asked), 1);
    assert_int_equal(try_external(UID + 1, admit_1234, &asked), DW_E_PROTOCOL);
    assert_int_equal(asked, 2);
    /* Whom the kernel does not name nobody is asked about. */
    assert_int_equal(try_external(DW_NO_UID, admit_1234, &asked), DW_E_PROTOCOL);
    assert_int_equal(asked, 2);
}

static void anonymous_is_told_apart(void **state)
{
    (void)state;
    dw_auth a;
    size_t used;
    text out = {0};
    static const char in[] = "\0AUTH ANONYMOUS\r\nCANCEL\r\nAUTH EXTERNAL 31323334\r\nBEGIN\r\n";
    int asked = 0;
    dw_auth_server_init(&a, DW_AUTH_ANONYMOUS, GUID, UID, admit_1234, &asked);
    assert_int_equal(feed(&a, in, 17, 17, &out, &used), 0);
    assert_true(dw_auth_anonymous(&a));
    assert_int_equal(feed(&a, in + 17, sizeof in - 18, 99, &out, &used), 1);
    assert_false(dw_auth_anonymous(&a));
    text_free(&out);
}

/* -- GUID ------------------------------------------------------------------ */

static int try_guid(unsigned flags, const char *wanted, const char *said)
{
    dw_auth a;
    size_t used;
    text in = {0}, out = {0};
    dw_auth_client_init(&a, flags, wanted);
    assert_string_equal(dw_auth_guid(&a), "");
    text_printf(&in, "DATA\r\nOK %s\r\n", said);
    int r = feed(&a, in.p, in.n, in.n, &out, &used);
    if (r >= 0)
        assert_string_equal(dw_auth_guid(&a), said);
    else
        assert_string_equal(dw_auth_guid(&a), "");
    text_free(&in);
    text_free(&out);
    return r;
}

static void guid_is_compared(void **state)
{
    (void)state;
    static const char other[] = "0123456789abcdef0123456789abcdee";
    static const char upper[] = "0123456789ABCDEF0123456789ABCDEF";
    for (unsigned flags = 0; flags <= STEP; flags += STEP) {
        assert_int_equal(try_guid(flags, NULL, GUID), 0);
        assert_int_equal(try_guid(flags, GUID, GUID), 0);
        assert_int_equal(try_guid(flags, GUID, upper), 0);
        assert_int_equal(try_guid(flags, GUID, other), DW_E_GUID);
        assert_int_equal(try_guid(flags, GUID, "0123"), DW_E_GUID);
    }
}

/* -- Both ends ------------------------------------------------------------- */

/* Passes what from has to say, at most step bytes, to the other end. */
static int pass(dw_auth *from, dw_auth *to, size_t step)
{
    size_t len, used;
    const char *p = dw_auth_output(from, &len);
    int r = dw_auth_take(to, p, len < step ? len : step, &used);
    dw_auth_sent(from, used);
    return r;
}

static void meet(unsigned client_flags, unsigned server_flags, int64_t uid, int code)
{
    for (size_t step = 1; step < 200; step++) {
        dw_auth client, server;
        int asked = 0, c = 0, s = 0;
        dw_auth_client_init(&client, client_flags, GUID);
        dw_auth_server_init(&server, server_flags, GUID, uid, admit_1234, &asked);
        for (int turns = 0; turns < 1000 && c == 0; turns++) {
            s = pass(&client, &server, step);
            c = pass(&server, &client, step);
        }
        for (int turns = 0; turns < 1000 && s == 0; turns++)
            s = pass(&client, &server, step);
        assert_int_equal(c, code);
        if (code < 0)
            continue;
        assert_int_equal(s, 1);
        assert_int_equal(dw_auth_fds(&client), dw_auth_fds(&server));
        assert_int_equal(dw_auth_fds(&server),
                         ((client_flags | server_flags) & DW_AUTH_NO_FDS) == 0);
        assert_int_equal(dw_auth_anonymous(&client), dw_auth_anonymous(&server));
        assert_string_equal(dw_auth_guid(&client), GUID);
    }
}

static void both_ends_agree(void **state)
{
    (void)state;
    for (unsigned client = 0; client < 8; client++)
        for (unsigned server = 0; server < 8; server++) {
            bool anonymous = (client & server & DW_AUTH_ANONYMOUS) != 0;
            meet(client, server, UID, 1);
            meet(client, server, UID + 1, anonymous ? 1 : DW_E_AUTH);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(server_follows_its_table),
        cmocka_unit_test(client_follows_its_table),
        cmocka_unit_test(lines_are_bounded),
        cmocka_unit_test(longest_line_passes),
        cmocka_unit_test(unread_answers_are_bounded),
        cmocka_unit_test(first_byte_is_nul),
        cmocka_unit_test(default_admits_own_user_only),
        cmocka_unit_test(anonymous_is_told_apart),
        cmocka_unit_test(guid_is_compared),
        cmocka_unit_test(both_ends_agree),
    };
    return cmocka_run_group_tests_name("auth", tests, NULL, NULL);
}
