/* format.c - how marshalling and unmarshalling are measured. */

#include "measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dwire/message.h"
#include "verify.h"

/* Whether the strict reader has nothing to object to either. */
static bool strict(const uint8_t *bytes, size_t len, char *why, size_t why_size)
{
    dw_message m;
    dw_fault fault = {0};
    int r = dw_message_parse(&m, bytes, len, 0);
    if (r == 0)
        r = dw_message_check(&m, &fault);
    if (r != 0)
        snprintf(why, why_size, "byte %u: %s", r == 0 ? fault.at : m.fault.at, dw_error_text(r));
    return r == 0;
}

static bool marshal_right(bench *b, task *t)
{
    char why[200] = "it could not build the message";
    size_t len = 0;
    const marshaller *m = &t->lib->marshal;
    const uint8_t *bytes = m->run(t->state) ? m->bytes(t->state, &len) : NULL;
    t->bytes = len;
    if (bytes && verify_signal(t->w->body, bytes, len, why, sizeof why) &&
        strict(bytes, len, why, sizeof why))
        return true;
    complain(b, t, why);
    return false;
}

static void marshal_close(task *t)
{
    t->lib->marshal.close(t->state);
}

/* Verified twice, so that what is left from one run in the state is seen to
 * do no harm to the next. */
static bool marshal_open(bench *b, task *t)
{
    t->state = t->lib->marshal.open(t->w->body);
    if (!t->state) {
        complain(b, t, "cannot be set up");
        return false;
    }
    if (marshal_right(b, t) && marshal_right(b, t))
        return true;
    marshal_close(t);
    return false;
}

static double marshal_run(task *t, uint64_t iterations, size_t sample)
{
    (void)sample;
    double start = now_ns();
    while (iterations--)
        if (!t->lib->marshal.run(t->state))
            return -1;
    return now_ns() - start;
}

const kind marshal_kind = {marshal_open, marshal_run, marshal_close, false};

/* What a library is to read, and what must come out. */
typedef struct reading {
    uint8_t *bytes; /* those that limit builds, verified */
    size_t len;
    digest want;
} reading;

static bool reference(const body *b, reading *r)
{
    const marshaller *m = &library_find("limit")->marshal;
    void *state = m->open(b);
    char why[200];
    if (state && m->run(state)) {
        const uint8_t *bytes = m->bytes(state, &r->len);
        if (verify_signal(b, bytes, r->len, why, sizeof why))
            r->bytes = malloc(r->len);
        if (r->bytes)
            memcpy(r->bytes, bytes, r->len);
    }
    if (state)
        m->close(state);
    return r->bytes != NULL;
}

static void unmarshal_close(task *t)
{
    reading *r = t->extra;
    if (t->state)
        t->lib->unmarshal.close(t->state);
    if (r)
        free(r->bytes);
    free(r);
}

static bool unmarshal_open(bench *b, task *t)
{
    digest got = {0};
    reading *r = t->extra = calloc(1, sizeof *r);
    if (r && reference(t->w->body, r)) {
        r->want = body_digest(t->w->body);
        t->bytes = r->len;
        t->state = t->lib->unmarshal.open(t->w->body, r->bytes, r->len);
    }
    if (!t->state)
        complain(b, t, "cannot be set up");
    else if (!t->lib->unmarshal.run(t->state, &got))
        complain(b, t, "refuses a valid message");
    else if (got.integers != r->want.integers || got.lengths != r->want.lengths)
        complain(b, t, "reads other values than were written");
    else
        return true;
    unmarshal_close(t);
    return false;
}

static double unmarshal_run(task *t, uint64_t iterations, size_t sample)
{
    (void)sample;
    const reading *r = t->extra;
    digest d = {0};
    double start = now_ns();
    for (uint64_t i = 0; i < iterations; i++)
        if (!t->lib->unmarshal.run(t->state, &d))
            return -1;
    double took = now_ns() - start;
    bool right =
        d.integers == r->want.integers * iterations && d.lengths == r->want.lengths * iterations;
    return right ? took : -1;
}

const kind unmarshal_kind = {unmarshal_open, unmarshal_run, unmarshal_close, false};
