/* vectors_auth.c - the judges of dialogues: rows of the kinds auth-server and
 * auth-client. Each turn is handed to the machine byte by byte as well as
 * whole; what it answers is put down as its commands, joined by '&'. */

#include "vectors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dwire/auth.h"

#define GUID "0123456789abcdef0123456789abcdef"

/* The piece of s up to the separator; s moves behind it, to NULL at the end. */
static dw_string cut(const char **s, const char *separator)
{
    const char *end = strstr(*s, separator);
    dw_string piece = {*s, end ? (size_t)(end - *s) : strlen(*s)};
    *s = end ? end + strlen(separator) : NULL;
    return piece;
}

static bool starts_with(dw_string s, const char *prefix)
{
    return s.n >= strlen(prefix) && memcmp(s.p, prefix, strlen(prefix)) == 0;
}

/* -- What the peer says ---------------------------------------------------- */

static void add_uid_hex(text *t, unsigned long uid)
{
    char digits[24];
    int n = snprintf(digits, sizeof digits, "%lu", uid);
    for (int i = 0; i < n; i++)
        text_printf(t, "%02x", (unsigned)digits[i]);
}

/* The bytes of a turn, its variables filled in. */
static void expand(text *t, dw_string turn)
{
    text plain = {0};
    while (turn.n > 0) {
        size_t step;
        int end = 0;
        char c;
        unsigned n;
        if (starts_with(turn, "$UIDHEX")) {
            add_uid_hex(&plain, geteuid());
            step = strlen("$UIDHEX");
        } else if (starts_with(turn, "$OTHERHEX")) {
            add_uid_hex(&plain, geteuid() + 1ul);
            step = strlen("$OTHERHEX");
        } else if (sscanf(turn.p, "$REP(%c,%u)%n", &c, &n, &end) == 2 && end > 0) {
            memset(text_room(&plain, n), c, n);
            plain.n += n;
            step = (size_t)end;
        } else {
            text_add(&plain, turn.p, 1);
            step = 1;
        }
        turn.p += step;
        turn.n -= step;
    }
    text_from_escaped(t, text_string(&plain), plain.n);
    text_free(&plain);
}

/* -- What the machine answers ---------------------------------------------- */

static void add_output(dw_auth *a, text *out)
{
    size_t len;
    const char *p = dw_auth_output(a, &len);
    text_add(out, p, len);
    dw_auth_sent(a, len);
}

static void add_commands(text *said, const text *out)
{
    const char *p = text_string(out), *end = p + out->n;
    if (p < end && *p == '\0')
        p++;
    while (p < end) {
        size_t n = strcspn(p, "\r");
        text_printf(said, "%s%.*s", said->n > 0 ? "&" : "", (int)n, p);
        p += n + 2;
    }
}

/* Hands a turn in, and puts down what comes of it. */
static void take_turn(dw_auth *a, const text *turn, size_t step, text *said)
{
    text out = {0};
    size_t at = 0, used = 0;
    int r = 0;
    add_output(a, &out);
    while (at < turn->n && r == 0) {
        size_t n = turn->n - at < step ? turn->n - at : step;
        r = dw_auth_take(a, text_string(turn) + at, n, &used);
        at += used;
        add_output(a, &out);
    }
    add_commands(said, &out);
    if (r < 0)
        text_put(said, said->n > 0 ? "&CLOSE" : "CLOSE");
    if (said->n == 0)
        text_put(said, "-");
    text_free(&out);
}

/* -- Verdicts --------------------------------------------------------------- */

/* Whether the lines are these: commands joined by '&' or " and ". Only as much
 * of a line counts as is expected of it; of one that goes on nothing more. */
static bool lines_match(dw_string lines, const char *said)
{
    text wanted = {0};
    text_add(&wanted, lines.p, lines.n);
    for (char *and; (and = strstr(wanted.p, " and ")) != NULL;) {
        *and = '&';
        memmove(and+1, and+5, strlen(and+5) + 1);
    }
    const char *rest = text_string(&wanted);
    bool match = true;
    while (rest && match) {
        dw_string line = cut(&rest, "&");
        if (starts_with(line, "OK [0-9a-f]{32}"))
            line = (dw_string){"OK " GUID, 3 + strlen(GUID)};
        if (starts_with(line, "AUTH...") || starts_with(line, "next mech"))
            line = (dw_string){"AUTH", 4};
        match = said != NULL && strncmp(said, line.p, line.n) == 0;
        said = said ? strchr(said, '&') : NULL;
        said = said ? said + 1 : NULL;
    }
    text_free(&wanted);
    return match && said == NULL;
}

static bool turn_matches(dw_string expected, const text *said)
{
    text one = {0};
    text_add(&one, expected.p, expected.n);
    const char *rest = text_string(&one);
    bool match = false;
    while (rest && !match)
        match = lines_match(cut(&rest, " or "), text_string(said));
    text_free(&one);
    return match;
}

/* The dialogue from where the machine stands. A client starts with a turn of
 * its own. CLOSE as a turn of the peer ends it. */
static outcome judge_dialogue(const vector *v, dw_auth *a, bool client, size_t step, text *got)
{
    const char *input = v->input, *expected = v->expected;
    outcome o = PASSED;
    bool first = client;
    while (expected && (input || first)) {
        text turn = {0}, said = {0};
        dw_string piece = first ? (dw_string){"", 0} : cut(&input, " | ");
        first = false;
        if (starts_with(piece, "CLOSE"))
            text_put(&said, "CLOSE");
        expand(&turn, piece);
        if (said.n == 0)
            take_turn(a, &turn, step, &said);
        if (!turn_matches(cut(&expected, " | "), &said))
            o = FAILED;
        text_printf(got, "%s%s", got->n > 0 ? " | " : "", text_string(&said));
        text_free(&turn);
        text_free(&said);
    }
    return expected ? FAILED : o;
}

static outcome judge_auth(const vector *v, bool client, text *got)
{
    outcome o = PASSED;
    for (size_t step = 1; step <= 4096 && o == PASSED; step *= 64) {
        dw_auth a;
        if (client)
            dw_auth_client_init(&a, DW_AUTH_LOCKSTEP, NULL);
        else
            dw_auth_server_init(&a, 0, GUID, (int64_t)geteuid(), NULL, NULL);
        got->n = 0;
        o = judge_dialogue(v, &a, client, step, got);
    }
    return o;
}

outcome judge_auth_server(const vector *v, text *got)
{
    return judge_auth(v, false, got);
}

outcome judge_auth_client(const vector *v, text *got)
{
    return judge_auth(v, true, got);
}
