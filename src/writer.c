/* writer.c - C values into bytes: the buffer and the basic types. See
 * dwire/writer.h. Containers are in writer_container.c. */

#include "wire.h"

enum { IDLE, OPEN, DONE };

/* The smallest block worth asking an allocator for. */
#define SMALLEST 512

void dw_writer_init(dw_writer *w, void *buffer, size_t size, const dw_allocator *allocator)
{
    w->own = NULL;
    w->own_size = 0;
    w->given = buffer;
    w->given_size = buffer ? size : 0;
    w->allocator = allocator;
    w->checked_len = 0;
    dw_writer_reset(w, 0);
    w->state = IDLE;
}

void dw_writer_free(dw_writer *w)
{
    if (w->own)
        w->allocator->resize(w->allocator->context, w->own, w->own_size, 0);
    dw_writer_init(w, w->given, w->given_size, w->allocator);
}

/* -- Errors --------------------------------------------------------------- */

/* From an error on, no type matches and no room is left, so that the fast paths
 * need not ask whether there was one. */
void dw_writer_fail(dw_writer *w, int code, uint8_t field)
{
    if (w->fault.code && !w->full)
        return;
    w->fault = (dw_fault){code, field, (uint32_t)w->at + w->apart};
    w->full = false;
    w->type = "";
    w->fast = w->room = 0;
}

bool dw_writer_expect(dw_writer *w, char code)
{
    if (DW_LIKELY(*w->type == code))
        return true;
    dw_writer_fail(w, w->state == OPEN ? DW_E_TYPE : DW_E_STATE, 0);
    return false;
}

dw_fault dw_writer_fault(const dw_writer *w)
{
    return w->fault;
}

/* -- Room ----------------------------------------------------------------- */

/* Takes over a block of so many bytes. More than the message may have in it are
 * not looked at, so that the test for room is also the test for that limit. */
static void use(dw_writer *w, uint8_t *block, size_t size)
{
    w->buffer = block;
    w->room = size < dw_writer_limit(w) ? size : dw_writer_limit(w);
    w->fast = w->swap ? 0 : w->room;
}

/* Makes room for need bytes in all, which the caller has found to be missing.
 * Without an allocator counting begins. */
static DW_NOINLINE bool make_room(dw_writer *w, size_t need)
{
    if (w->full)
        return false;
    if (!w->allocator) { /* not by dw_writer_fail: the signature is still followed */
        w->fault = (dw_fault){DW_E_NO_ROOM, 0, (uint32_t)w->at + w->apart};
        w->full = true;
        w->fast = w->room = 0;
        return false;
    }
    size_t size = w->room < SMALLEST / 2 ? SMALLEST : 2 * w->room;
    if (size > DW_MAX_MESSAGE)
        size = DW_MAX_MESSAGE;
    if (size < need)
        size = need;
    uint8_t *block = w->allocator->resize(w->allocator->context, w->own, w->own_size, size);
    if (!block) {
        dw_writer_fail(w, DW_E_NO_MEMORY, 0);
        return false;
    }
    if (!w->own && w->at)
        memcpy(block, w->buffer, w->at);
    w->own = block;
    w->own_size = size;
    use(w, block, size);
    return true;
}

DW_NOINLINE uint8_t *dw_writer_claim_slow(dw_writer *w, size_t align, size_t len)
{
    if (dw_writer_failed(w))
        return NULL;
    size_t at = dw_align(w->at, align);
    if (DW_UNLIKELY(at > dw_writer_limit(w) || len > dw_writer_limit(w) - at)) {
        dw_writer_fail(w, DW_E_LIMIT, 0);
        return NULL;
    }
    if (DW_UNLIKELY(at + len > w->room) && !make_room(w, at + len)) {
        w->at = w->full ? at + len : w->at;
        return NULL;
    }
    for (size_t i = w->at; i < at; i++)
        w->buffer[i] = 0;
    w->at = at + len;
    return w->room ? w->buffer + at : NULL; /* there may be no buffer for no bytes */
}

/* -- From begin to finish ------------------------------------------------- */

bool dw_writer_reset(dw_writer *w, char order)
{
    bool known = order == 0 || order == DW_LITTLE || order == DW_BIG;
    w->type = "";
    w->wrap = w->element = NULL;
    w->at = w->known = 0;
    w->apart = w->n_refs = 0;
    w->level = 0;
    w->frames[0].kind = 0;
    w->frames[0].depth = 0;
    w->depth = 0;
    w->state = OPEN;
    w->swap = known && order && order != DW_NATIVE;
    w->full = false;
    w->fault = (dw_fault){0, 0, 0};
    w->body_at = 0;
    w->fds = NULL;
    w->n_fds = 0;
    use(w, w->own ? w->own : w->given, w->own ? w->own_size : w->given_size);
    return known;
}

void dw_writer_start_body(dw_writer *w, const char *signature)
{
    if (dw_writer_failed(w))
        return;
    w->body_at = (uint32_t)w->at;
    w->type = signature;
}

int dw_writer_check(dw_writer *w, const char *signature, size_t n)
{
    if (n == w->checked_len && memcmp(signature, w->checked, n) == 0)
        return 0;
    int r = dw_check_signature(signature, n, NULL);
    if (r == 0) {
        memcpy(w->checked, signature, n);
        w->checked_len = (uint8_t)n;
    }
    return r;
}

void dw_begin_body(dw_writer *w, const char *signature, char order)
{
    bool known = dw_writer_reset(w, order);
    w->n_fds = UINT32_MAX;
    int r = !known || !signature ? DW_E_ARGUMENT : dw_writer_check(w, signature, strlen(signature));
    if (r)
        dw_writer_fail(w, r, 0);
    dw_writer_start_body(w, signature);
}

int dw_finish(dw_writer *w)
{
    if (w->state == IDLE)
        dw_writer_fail(w, DW_E_STATE, 0);
    if (w->state != OPEN)
        return w->fault.code;
    w->state = DONE;
    if (dw_writer_failed(w))
        return w->fault.code;
    if (w->depth)
        dw_writer_fail(w, DW_E_STATE, 0);
    else if (*w->type)
        dw_writer_fail(w, DW_E_TYPE, 0);
    else if (w->body_at && !w->full)
        dw_store32_order(w->buffer + 4, (uint32_t)w->at + w->apart - w->body_at, w->swap);
    w->type = "";
    w->fast = 0;
    return w->fault.code;
}

const uint8_t *dw_writer_bytes(const dw_writer *w, size_t *len)
{
    static const uint8_t none[1];
    bool done = w->state == DONE && !w->fault.code && !w->n_refs;
    if (len)
        *len = done ? w->at : 0;
    if (!done)
        return NULL;
    return w->at ? w->buffer : none;
}

size_t dw_writer_size(const dw_writer *w)
{
    return w->state == DONE && !dw_writer_failed(w) ? w->at + w->apart : 0;
}

size_t dw_writer_parts(const dw_writer *w, dw_part parts[DW_MAX_PARTS])
{
    size_t n = 0, at = 0;
    if (w->state != DONE || w->fault.code)
        return 0;
    for (uint32_t i = 0; i < w->n_refs; i++) {
        const dw_writer_ref *ref = &w->refs[i];
        if (ref->at > at)
            parts[n++] = (dw_part){w->buffer + at, ref->at - at};
        parts[n++] = (dw_part){ref->p, ref->len};
        at = ref->at + ref->len % 8;
    }
    if (w->at > at || n == 0)
        parts[n++] = (dw_part){w->buffer ? w->buffer + at : NULL, w->at - at};
    return n;
}

/* -- Basic types of fixed size -------------------------------------------- */

void dw_put_fixed_slow(dw_writer *w, char code, const void *value, size_t size)
{
    if (!dw_writer_expect(w, code))
        return;
    uint8_t *p = dw_writer_claim(w, size, size);
    if (p && w->swap)
        dw_swap_copy(p, value, 1, size);
    else if (p)
        memcpy(p, value, size);
    if (!dw_writer_failed(w))
        dw_writer_step(w);
}

void dw_put_unix_fd(dw_writer *w, uint32_t index)
{
    if (*w->type == 'h' && index >= w->n_fds && w->n_fds != UINT32_MAX)
        dw_writer_fail(w, DW_E_FDS, 0);
    dw_put_fixed(w, 'h', &index, sizeof index);
}
