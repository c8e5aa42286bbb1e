/* auth.c - target: SASL. The input is a byte that says which end and with what
 * flags, one that says how the bytes are cut, and the bytes of the peer. The
 * outcome must not depend on the cuts, nor on how fast the answers leave. */

#include <string.h>

#include "dwire/auth.h"
#include "fuzz.h"

#define UID 1000

static const char guid[] = "0123456789abcdef0123456789abcdef";

enum choice { SERVER = 1, ANONYMOUS = 2, LOCKSTEP = 4, NO_FDS = 8, OTHER = 16, REFUSE = 32 };

/* How an exchange came out, and what was said in it. */
typedef struct outcome {
    text said;
    size_t used;
    int code;
    bool begun, fds, anonymous;
    char guid[DW_AUTH_GUID + 1];
} outcome;

/* How the bytes come in and the answers leave. */
typedef struct pace {
    uint32_t state; /* 0: all at once */
    bool single;    /* byte by byte */
} pace;

static size_t part_of(pace *p, size_t n)
{
    if (p->single)
        return n < 1 ? n : 1;
    if (!p->state)
        return n;
    p->state = p->state * 1103515245u + 12345u;
    size_t part = (p->state >> 16) % 40;
    return part < n ? part : n;
}

static bool admit(void *context, int64_t uid)
{
    const uint8_t *choices = context;
    fuzz_check(uid == UID || (*choices & OTHER), "only who is there is asked for");
    return !(*choices & REFUSE);
}

static void start(dw_auth *a, uint8_t *choices)
{
    unsigned flags = (*choices & ANONYMOUS ? (unsigned)DW_AUTH_ANONYMOUS : 0) |
                     (*choices & LOCKSTEP ? (unsigned)DW_AUTH_LOCKSTEP : 0) |
                     (*choices & NO_FDS ? (unsigned)DW_AUTH_NO_FDS : 0);
    if (*choices & SERVER)
        dw_auth_server_init(a, flags, guid, *choices & OTHER ? DW_NO_UID : UID, admit, choices);
    else
        dw_auth_client_init(a, flags, *choices & OTHER ? guid : NULL);
}

/* Sends some of the output, or all of it. */
static void drain(dw_auth *a, pace *p, bool all, outcome *o)
{
    size_t n;
    const char *out = dw_auth_output(a, &n);
    size_t part = all ? n : part_of(p, n);
    text_add(&o->said, out, part);
    dw_auth_sent(a, part);
}

static void run(outcome *o, uint8_t choices, feed bytes, pace p)
{
    dw_auth a;
    *o = (outcome){.code = 0};
    start(&a, &choices);
    drain(&a, &p, false, o);
    while (bytes.n && !o->code) {
        feed part = {bytes.p, part_of(&p, bytes.n)};
        block b = block_copy(part.p, part.n, 0);
        size_t used;
        o->code = dw_auth_take(&a, b.p, part.n, &used);
        block_free(&b);
        fuzz_check(used <= part.n, "%zu of %zu", used, part.n);
        drain(&a, &p, used < part.n && !o->code, o);
        feed_part(&bytes, used);
        o->used += used;
    }
    drain(&a, &p, true, o);
    if (o->code < 0) {
        size_t used = 1;
        fuzz_check(dw_auth_take(&a, "\r\n", 2, &used) == o->code && !used, "it sticks");
    }
    fuzz_check(o->code != 1 || dw_auth_begun(&a), "through, and nothing begun");
    o->begun = dw_auth_begun(&a);
    o->fds = dw_auth_fds(&a);
    o->anonymous = dw_auth_anonymous(&a);
    memcpy(o->guid, dw_auth_guid(&a), strlen(dw_auth_guid(&a)));
}

static void compare(const outcome *a, const outcome *b, const char *how)
{
    fuzz_check(a->code == b->code, "%s: %s, not %s", how, dw_error_name(b->code),
               dw_error_name(a->code));
    fuzz_check(a->used == b->used, "%s: %zu bytes used, not %zu", how, b->used, a->used);
    fuzz_check(text_equal(&a->said, &b->said), "%s: \"%s\", not \"%s\"", how, text_string(&b->said),
               text_string(&a->said));
    fuzz_check(a->begun == b->begun && a->fds == b->fds && a->anonymous == b->anonymous &&
                   strcmp(a->guid, b->guid) == 0,
               "%s: it comes out otherwise", how);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    feed f = {data, size};
    outcome whole, cut, single;
    uint8_t choices = feed_byte(&f), seed = feed_byte(&f);
    run(&whole, choices, f, (pace){.state = 0});
    run(&cut, choices, f, (pace){.state = seed + 1u});
    run(&single, choices, f, (pace){.single = true});
    compare(&whole, &cut, "cut");
    compare(&whole, &single, "byte by byte");
    if (choices & SERVER && whole.code == 1) {
        fuzz_check(!(choices & REFUSE) || whole.anonymous, "let in who is refused");
        fuzz_check(!whole.anonymous || choices & ANONYMOUS, "let in as nobody");
        fuzz_check(!whole.fds || !(choices & NO_FDS), "agreed to what is refused");
    }
    text_free(&whole.said);
    text_free(&cut.said);
    text_free(&single.said);
    return 0;
}
