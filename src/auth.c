/* auth.c - SASL, client and server: the state tables of the specification's
 * section "Authentication state diagrams", and the lines they work on. */

#define _POSIX_C_SOURCE 200809L

#include <string.h>
#include <unistd.h>

#include "dwire/auth.h"
#include "wire.h"

/* The states of both tables. Those from ENDED on have no way out. */
enum state {
    WAITING_FOR_DATA,
    WAITING_FOR_OK,
    WAITING_FOR_REJECT,
    WAITING_FOR_AGREE_UNIX_FD,
    PIPELINED, /* client that has said all: the answers are only counted off */
    WAITING_FOR_AUTH,
    WAITING_FOR_BEGIN,
    ENDED,
    FAILED
};

enum mechanism { NO_MECHANISM, EXTERNAL, ANONYMOUS };

enum command {
    UNKNOWN,
    AUTH,
    CANCEL,
    BEGIN,
    DATA,
    ERROR,
    NEGOTIATE_UNIX_FD,
    REJECTED,
    OK,
    AGREE_UNIX_FD
};

static const char *const command_names[] = {
    [UNKNOWN] = "",
    [AUTH] = "AUTH",
    [CANCEL] = "CANCEL",
    [BEGIN] = "BEGIN",
    [DATA] = "DATA",
    [ERROR] = "ERROR",
    [REJECTED] = "REJECTED",
    [NEGOTIATE_UNIX_FD] = "NEGOTIATE_UNIX_FD",
    [OK] = "OK",
    [AGREE_UNIX_FD] = "AGREE_UNIX_FD",
};

/* No single answer is longer. */
#define MAX_ANSWER 80u

/* -- Lines ---------------------------------------------------------------- */

static void say(dw_auth *a, const char *line)
{
    size_t n = strlen(line);
    memcpy(a->out + a->out_end, line, n);
    memcpy(a->out + a->out_end + n, "\r\n", 2);
    a->out_end += n + 2;
}

static void fail(dw_auth *a, int code)
{
    a->state = FAILED;
    a->code = code;
}

/* Cuts the word before the next blank off s. Several blanks count as one, as
 * they do in the reference implementation. */
static dw_string next_word(dw_string *s)
{
    dw_string word = {s->p, 0};
    while (word.n < s->n && word.p[word.n] != ' ')
        word.n++;
    size_t blanks = word.n;
    while (blanks < s->n && s->p[blanks] == ' ')
        blanks++;
    s->p += blanks;
    s->n -= blanks;
    return word;
}

/* The command that a line starts with; args receives what follows it. A line
 * with bytes that are not ASCII is no command. */
static enum command parse_line(dw_string line, dw_string *args)
{
    *args = line;
    for (size_t i = 0; i < line.n; i++)
        if (line.p[i] == 0 || (line.p[i] & 0x80) != 0)
            return UNKNOWN;
    dw_string name = next_word(args);
    for (int c = AUTH; c <= AGREE_UNIX_FD; c++)
        if (dw_string_is(name, command_names[c]))
            return (enum command)c;
    return UNKNOWN;
}

/* Decodes s in place. */
static bool decode_hex(dw_string *s, char *out)
{
    if (s->n % 2 != 0)
        return false;
    for (size_t i = 0; i < s->n / 2; i++) {
        int high = dw_hex_digit(s->p[2 * i]), low = dw_hex_digit(s->p[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        out[i] = (char)(high << 4 | low);
    }
    s->p = out;
    s->n /= 2;
    return true;
}

/* -- Server --------------------------------------------------------------- */

static void say_rejected(dw_auth *a)
{
    say(a,
        (a->flags & DW_AUTH_ANONYMOUS) != 0 ? "REJECTED EXTERNAL ANONYMOUS" : "REJECTED EXTERNAL");
    a->state = WAITING_FOR_AUTH;
    a->mechanism = NO_MECHANISM;
    a->fds = a->anonymous = false;
    if (++a->rejects >= DW_AUTH_MAX_REJECTS)
        fail(a, DW_E_AUTH);
}

static void say_ok(dw_auth *a)
{
    char line[3 + DW_AUTH_GUID + 1] = "OK ";
    memcpy(line + 3, a->guid, sizeof a->guid);
    say(a, line);
    a->state = WAITING_FOR_BEGIN;
}

/* Whether the identity that a client claims, if any, is the one that the
 * kernel tells. Login names need not be understood. */
static bool identity_holds(const dw_auth *a, dw_string identity)
{
    uint64_t uid = 0;
    for (size_t i = 0; i < identity.n; i++) {
        if (identity.p[i] < '0' || identity.p[i] > '9')
            return false;
        uid = uid * 10 + (uint64_t)(identity.p[i] - '0');
        if (uid >= UINT32_MAX)
            return false;
    }
    return a->uid >= 0 && (identity.n == 0 || uid == (uint64_t)a->uid);
}

static bool admitted(const dw_auth *a)
{
    return a->admit != NULL ? a->admit(a->context, a->uid) : a->uid == (int64_t)geteuid();
}

/* MECH(RESP): the client's response, in hex, to the mechanism in progress. */
static void serve_response(dw_auth *a, dw_string response)
{
    if (!decode_hex(&response, a->line)) {
        say(a, "ERROR \"Invalid hex encoding\"");
    } else if (a->mechanism == ANONYMOUS) {
        a->anonymous = true;
        say_ok(a);
    } else if (identity_holds(a, response) && admitted(a)) {
        say_ok(a);
    } else {
        say_rejected(a);
    }
}

static void serve_auth(dw_auth *a, dw_string args)
{
    dw_string name = next_word(&args);
    if (dw_string_is(name, "EXTERNAL")) {
        a->mechanism = EXTERNAL;
    } else if (dw_string_is(name, "ANONYMOUS") && (a->flags & DW_AUTH_ANONYMOUS) != 0) {
        a->mechanism = ANONYMOUS;
    } else {
        say_rejected(a);
        return;
    }
    if (a->mechanism == EXTERNAL && args.n == 0) {
        say(a, "DATA");
        a->state = WAITING_FOR_DATA;
    } else {
        serve_response(a, args);
    }
}

static void serve_negotiate(dw_auth *a)
{
    a->fds = (a->flags & DW_AUTH_NO_FDS) == 0;
    say(a, a->fds ? "AGREE_UNIX_FD" : "ERROR \"File descriptors are not passed here\"");
}

/* A line that a state has no row for. */
static void serve_else(dw_auth *a, enum command command)
{
    switch (command) {
    case BEGIN: fail(a, DW_E_PROTOCOL); break;
    case ERROR: say_rejected(a); break;
    case NEGOTIATE_UNIX_FD: say(a, "ERROR \"Need to authenticate first\""); break;
    case AUTH: say(a, "ERROR \"Another AUTH is in progress\""); break;
    case DATA:
    case CANCEL: say(a, "ERROR \"Not in an auth conversation\""); break;
    default: say(a, "ERROR \"Unknown command\""); break;
    }
}

static void serve(dw_auth *a, enum command command, dw_string args)
{
    if (a->state == WAITING_FOR_AUTH && command == AUTH) {
        serve_auth(a, args);
    } else if (a->state == WAITING_FOR_DATA && command == DATA) {
        serve_response(a, args);
    } else if (a->state != WAITING_FOR_AUTH && command == CANCEL) {
        say_rejected(a);
    } else if (a->state == WAITING_FOR_BEGIN && command == NEGOTIATE_UNIX_FD) {
        serve_negotiate(a);
    } else if (a->state == WAITING_FOR_BEGIN && command == BEGIN) {
        a->begun = true;
        a->state = ENDED;
    } else {
        serve_else(a, command);
    }
}

/* -- Client --------------------------------------------------------------- */

static void begin(dw_auth *a)
{
    say(a, "BEGIN");
    a->begun = true;
    a->state = ENDED;
}

static bool same_digits(const char *a, const char *b)
{
    while (*a != 0 && *b != 0 && dw_hex_digit(*a) == dw_hex_digit(*b)) {
        a++;
        b++;
    }
    return *a == *b;
}

/* Keeps the GUID of an OK, of at most 32 digits: the specification's examples
 * have short ones. a->guid holds the one asked for until then. */
static bool take_guid(dw_auth *a, dw_string digits)
{
    char guid[sizeof a->guid] = "";
    bool good = digits.n > 0 && digits.n < sizeof guid;
    for (size_t i = 0; good && i < digits.n; i++) {
        good = dw_hex_digit(digits.p[i]) >= 0;
        guid[i] = digits.p[i];
    }
    if (!good) {
        fail(a, DW_E_PROTOCOL);
    } else if (a->guid[0] != 0 && !same_digits(a->guid, guid)) {
        fail(a, DW_E_GUID);
    } else {
        memcpy(a->guid, guid, sizeof guid);
        a->named = true;
    }
    return good && a->named;
}

static void client_ok(dw_auth *a, dw_string args)
{
    if (!take_guid(a, args))
        return;
    if ((a->flags & DW_AUTH_NO_FDS) != 0) {
        begin(a);
    } else {
        say(a, "NEGOTIATE_UNIX_FD");
        a->state = WAITING_FOR_AGREE_UNIX_FD;
    }
}

/* After a REJECTED: the next mechanism, if there is one that the server names;
 * it need not name any. */
static void client_rejected(dw_auth *a, dw_string mechanisms)
{
    bool offered = mechanisms.n == 0;
    while (mechanisms.n > 0)
        offered |= dw_string_is(next_word(&mechanisms), "ANONYMOUS");
    if (a->mechanism != EXTERNAL || (a->flags & DW_AUTH_ANONYMOUS) == 0 || !offered) {
        fail(a, DW_E_AUTH);
        return;
    }
    a->mechanism = ANONYMOUS;
    a->anonymous = true;
    a->state = WAITING_FOR_OK;
    say(a, "AUTH ANONYMOUS 6477697265"); /* the trace: "dwire" */
}

static void client_cancel(dw_auth *a)
{
    say(a, "CANCEL");
    a->state = WAITING_FOR_REJECT;
}

static void client_data(dw_auth *a, dw_string challenge)
{
    if (a->state == WAITING_FOR_OK) {
        client_cancel(a);
    } else if (challenge.n > 0) {
        say(a, "ERROR \"EXTERNAL has no challenge\"");
    } else {
        say(a, "DATA");
        a->state = WAITING_FOR_OK;
    }
}

/* The answers to what was sent in one go: to AUTH, DATA and NEGOTIATE_UNIX_FD,
 * in this order. A server that needs no DATA has nothing good to say to it. */
static void client_pipelined(dw_auth *a, enum command command, dw_string args)
{
    bool right;
    if (command == REJECTED) {
        fail(a, DW_E_AUTH);
        return;
    }
    if (a->lines == 1)
        right = command == OK || (command == DATA && args.n == 0);
    else if (a->lines == 2)
        right = command == (a->named ? ERROR : OK);
    else
        right = command == AGREE_UNIX_FD || command == ERROR;
    if (!right) {
        fail(a, DW_E_PROTOCOL);
        return;
    }
    if (command == OK && !take_guid(a, args))
        return;
    a->fds = command == AGREE_UNIX_FD;
    if (a->lines == ((a->flags & DW_AUTH_NO_FDS) != 0 ? 2 : 3))
        a->state = ENDED;
}

static void client_agree(dw_auth *a, enum command command)
{
    if (command != AGREE_UNIX_FD && command != ERROR) {
        fail(a, DW_E_PROTOCOL);
        return;
    }
    a->fds = command == AGREE_UNIX_FD;
    begin(a);
}

static void ask(dw_auth *a, enum command command, dw_string args)
{
    if (a->state == PIPELINED)
        client_pipelined(a, command, args);
    else if (a->state == WAITING_FOR_AGREE_UNIX_FD)
        client_agree(a, command);
    else if (command == REJECTED)
        client_rejected(a, args);
    else if (a->state == WAITING_FOR_REJECT)
        fail(a, DW_E_PROTOCOL);
    else if (command == OK)
        client_ok(a, args);
    else if (command == DATA)
        client_data(a, args);
    else if (command == ERROR)
        client_cancel(a);
    else
        say(a, "ERROR \"Unknown command\"");
}

/* -- Both ----------------------------------------------------------------- */

static void init(dw_auth *a, unsigned flags, const char *guid)
{
    memset(a, 0, sizeof *a);
    a->flags = (uint8_t)flags;
    for (size_t i = 0; guid != NULL && i < DW_AUTH_GUID && guid[i] != 0; i++)
        a->guid[i] = guid[i];
}

void dw_auth_client_init(dw_auth *a, unsigned flags, const char *guid)
{
    init(a, flags, guid);
    a->nul = true;
    a->mechanism = EXTERNAL;
    a->out[a->out_end++] = 0;
    say(a, "AUTH EXTERNAL");
    if ((flags & (DW_AUTH_LOCKSTEP | DW_AUTH_ANONYMOUS)) != 0) {
        a->state = WAITING_FOR_DATA;
        return;
    }
    say(a, "DATA");
    if ((flags & DW_AUTH_NO_FDS) == 0)
        say(a, "NEGOTIATE_UNIX_FD");
    begin(a);
    a->state = PIPELINED;
}

void dw_auth_server_init(dw_auth *a, unsigned flags, const char *guid, int64_t uid,
                         dw_admit_uid *admit, void *context)
{
    init(a, flags, guid);
    a->server = true;
    a->named = true;
    a->state = WAITING_FOR_AUTH;
    a->uid = uid;
    a->admit = admit;
    a->context = context;
}

static void take_line(dw_auth *a)
{
    dw_string args, line = {a->line, a->line_len};
    a->line_len = 0;
    if (++a->lines > DW_AUTH_MAX_LINES) {
        fail(a, DW_E_LIMIT);
        return;
    }
    enum command command = parse_line(line, &args);
    if (a->server)
        serve(a, command, args);
    else
        ask(a, command, args);
}

int dw_auth_take(dw_auth *a, const void *bytes, size_t len, size_t *used)
{
    const char *in = (const char *)bytes;
    size_t n = 0;
    while (n < len && a->state < ENDED && sizeof a->out - a->out_end >= MAX_ANSWER) {
        char c = in[n++];
        if (!a->nul) {
            a->nul = true;
            if (c != 0)
                fail(a, DW_E_PROTOCOL);
        } else if (c == '\n' && a->line_len > 0 && a->line[a->line_len - 1] == '\r') {
            a->line_len--;
            take_line(a);
        } else if (a->line_len == sizeof a->line) {
            fail(a, DW_E_LIMIT);
        } else {
            a->line[a->line_len++] = c;
        }
    }
    *used = n;
    return a->state == FAILED ? a->code : a->state == ENDED;
}

const char *dw_auth_output(const dw_auth *a, size_t *len)
{
    *len = a->out_end - a->out_at;
    return a->out + a->out_at;
}

void dw_auth_sent(dw_auth *a, size_t n)
{
    size_t left = a->out_end - a->out_at;
    a->out_at += n < left ? n : left;
    if (a->out_at == a->out_end)
        a->out_at = a->out_end = 0;
}

bool dw_auth_begun(const dw_auth *a)
{
    return a->begun && a->state != FAILED;
}

const char *dw_auth_guid(const dw_auth *a)
{
    return a->named ? a->guid : "";
}

bool dw_auth_fds(const dw_auth *a)
{
    return a->fds;
}

bool dw_auth_anonymous(const dw_auth *a)
{
    return a->anonymous;
}
