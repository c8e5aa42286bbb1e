/* writer.c - C values into bytes: the buffer and the basic types. See
 * dwire/writer.h. Containers are in writer_container.c. */

#include "wire.h"

#include "dwire/signature.h"

enum { IDLE, OPEN, DONE };

/* The smallest block worth asking an allocator for. */
#define SMALLEST 512

void dw_writer_init(dw_writer *w, void *buffer, size_t size, const dw_allocator *allocator)
{
    w->type = "";
    w->at = w->fast = w->step = w->room = 0;
    w->depth = 0;
    w->frame[0] = (dw_writer_frame){w->type, 0, 0, 0};
    w->state = IDLE;
    w->swap = w->full = false;
    w->fault = (dw_fault){0, 0, 0};
    w->buffer = w->own = NULL;
    w->own_size = 0;
    w->given = buffer;
    w->given_size = buffer ? size : 0;
    w->allocator = allocator;
    w->fds = NULL;
    w->n_fds = 0;
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
    w->fault = (dw_fault){code, field, (uint32_t)w->at};
    w->full = false;
    w->type = "";
    w->step = w->fast = w->room = 0;
}

/* Counting is not failing: the signature is still being followed. */
bool dw_writer_failed(const dw_writer *w) { return w->fault.code && !w->full; }

bool dw_writer_begun(const dw_writer *w) { return w->state == OPEN; }

dw_fault dw_writer_fault(const dw_writer *w) { return w->fault; }

/* -- Room ----------------------------------------------------------------- */

/* Takes over a block of so many bytes. More than a message may have are not
 * looked at, so that the test for room is also the test for that limit. */
static void use(dw_writer *w, uint8_t *block, size_t size)
{
    w->buffer = block;
    w->room = size < DW_MAX_MESSAGE ? size : DW_MAX_MESSAGE;
    w->fast = w->swap ? 0 : w->room;
}

/* Makes room for need bytes in all, which the caller has found to be missing.
 * Without an allocator counting begins. */
static DW_NOINLINE bool make_room(dw_writer *w, size_t need)
{
    if (w->full)
        return false;
    if (!w->allocator) {
        dw_writer_fail(w, DW_E_NO_ROOM, 0);
        w->full = true;
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

uint8_t *dw_writer_claim(dw_writer *w, size_t align, size_t len)
{
    if (dw_writer_failed(w))
        return NULL;
    size_t at = dw_align(w->at, align);
    if (DW_UNLIKELY(at > DW_MAX_MESSAGE || len > DW_MAX_MESSAGE - at)) {
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
    return w->buffer + at;
}

/* -- From begin to finish ------------------------------------------------- */

bool dw_writer_reset(dw_writer *w, char order)
{
    bool known = order == 0 || order == DW_LITTLE || order == DW_BIG;
    w->type = "";
    w->at = w->step = 0;
    w->depth = 0;
    w->frame[0] = (dw_writer_frame){w->type, 0, 0, 0};
    w->state = OPEN;
    w->swap = known && order && order != DW_NATIVE;
    w->full = false;
    w->fault = (dw_fault){0, 0, 0};
    w->body_at = 0;
    w->fds = NULL;
    w->n_fds = 0;
    if (w->own)
        use(w, w->own, w->own_size);
    else
        use(w, w->given, w->given_size);
    return known;
}

void dw_writer_start_body(dw_writer *w, const char *signature)
{
    if (dw_writer_failed(w))
        return;
    w->body_at = (uint32_t)w->at;
    w->type = signature;
    w->step = 1;
}

void dw_begin_body(dw_writer *w, const char *signature, char order)
{
    bool known = dw_writer_reset(w, order);
    w->n_fds = UINT32_MAX;
    int r = !known || !signature ? DW_E_ARGUMENT
                                 : dw_check_signature(signature, strlen(signature), NULL);
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
        dw_store32_order(w->buffer + 4, (uint32_t)w->at - w->body_at, w->swap);
    w->type = "";
    w->step = w->fast = 0;
    return w->fault.code;
}

const uint8_t *dw_writer_bytes(const dw_writer *w, size_t *len)
{
    static const uint8_t none[1];
    bool done = w->state == DONE && !w->fault.code;
    if (len)
        *len = done ? w->at : 0;
    if (!done)
        return NULL;
    return w->at ? w->buffer : none;
}

size_t dw_writer_size(const dw_writer *w)
{
    return w->state == DONE && !dw_writer_failed(w) ? w->at : 0;
}

/* -- Basic types ---------------------------------------------------------- */

/* Whether a value of this type may come now; if not, that is the error. */
static bool expect(dw_writer *w, char code)
{
    if (DW_LIKELY(*w->type == code))
        return true;
    dw_writer_fail(w, w->state == OPEN ? DW_E_TYPE : DW_E_STATE, 0);
    return false;
}

void dw_put_fixed_slow(dw_writer *w, char code, const void *value, size_t size)
{
    if (!expect(w, code))
        return;
    uint8_t *p = dw_writer_claim(w, size, size);
    if (p && w->swap)
        dw_swap_copy(p, value, 1, size);
    else if (p)
        memcpy(p, value, size);
    w->type += w->step;
}

/* Copies n bytes and tells whether all of them are ASCII but not NUL. Moves of
 * 16, 8 and 4 bytes that overlap cover any length without a loop over bytes. */
static bool copy_ascii(uint8_t *to, const char *from, size_t n)
{
    uint64_t odd = 0;
    if (n >= 8) {
        for (size_t i = 0; i + 8 < n; i += 8) {
            uint64_t v = dw_load64(from + i);
            odd |= dw_word_odd(v);
            dw_store64(to + i, v);
        }
        uint64_t v = dw_load64(from + n - 8);
        odd |= dw_word_odd(v);
        dw_store64(to + n - 8, v);
    } else if (n >= 4) {
        uint32_t a = dw_load32(from), b = dw_load32(from + n - 4);
        odd = dw_word_odd((uint64_t)a << 32 | b);
        dw_store32(to, a);
        dw_store32(to + n - 4, b);
    } else {
        for (size_t i = 0; i < n; i++) {
            odd |= dw_word_odd((uint8_t)from[i] | DW_ONES << 8);
            to[i] = (uint8_t)from[i];
        }
    }
    return odd == 0;
}

void dw_writer_string(dw_writer *w, const char *p, size_t n)
{
    if (n > DW_MAX_MESSAGE) {
        dw_writer_fail(w, DW_E_LIMIT, 0);
        return;
    }
    uint8_t *to = dw_writer_claim(w, 4, 4 + n + 1);
    if (!to)
        return;
    dw_store32_order(to, (uint32_t)n, w->swap);
    memcpy(to + 4, p, n);
    to[4 + n] = 0;
}

void dw_put_string(dw_writer *w, const char *s) { dw_put_string_n(w, s, s ? strlen(s) : 0); }

void dw_put_string_n(dw_writer *w, const char *p, size_t n)
{
    if (!expect(w, 's'))
        return;
    if (!p) {
        dw_writer_fail(w, DW_E_ARGUMENT, 0);
        return;
    }
    size_t start = w->at;
    uint8_t *to = n > DW_MAX_MESSAGE ? NULL : dw_writer_claim(w, 4, 4 + n + 1);
    bool ascii = false;
    if (to) {
        dw_store32_order(to, (uint32_t)n, w->swap);
        ascii = copy_ascii(to + 4, p, n);
        to[4 + n] = 0;
    } else if (n > DW_MAX_MESSAGE) {
        dw_writer_fail(w, DW_E_LIMIT, 0);
    }
    if (DW_UNLIKELY(!ascii) && !dw_writer_failed(w) && !dw_utf8_valid(p, n)) {
        w->at = start;
        dw_writer_fail(w, DW_E_UTF8, 0);
    }
    w->type += w->step;
}

void dw_put_object_path(dw_writer *w, const char *s)
{
    dw_put_object_path_n(w, s, s ? strlen(s) : 0);
}

void dw_put_object_path_n(dw_writer *w, const char *p, size_t n)
{
    if (!expect(w, 'o'))
        return;
    if (!p || !dw_path_valid(p, n))
        dw_writer_fail(w, p ? DW_E_PATH : DW_E_ARGUMENT, 0);
    else
        dw_writer_string(w, p, n);
    w->type += w->step;
}

void dw_put_signature(dw_writer *w, const char *s) { dw_put_signature_n(w, s, s ? strlen(s) : 0); }

void dw_put_signature_n(dw_writer *w, const char *p, size_t n)
{
    if (!expect(w, 'g'))
        return;
    int r = p ? dw_check_signature(p, n, NULL) : DW_E_ARGUMENT;
    if (r)
        dw_writer_fail(w, r, 0);
    else
        dw_writer_signature(w, p, n);
    w->type += w->step;
}

void dw_writer_signature(dw_writer *w, const char *p, size_t n)
{
    uint8_t *to = dw_writer_claim(w, 1, 1 + n + 1);
    if (!to)
        return;
    to[0] = (uint8_t)n;
    memcpy(to + 1, p, n);
    to[1 + n] = 0;
}

void dw_put_unix_fd(dw_writer *w, uint32_t index)
{
    if (*w->type == 'h' && index >= w->n_fds && w->n_fds != UINT32_MAX)
        dw_writer_fail(w, DW_E_FDS, 0);
    dw_put_fixed(w, 'h', &index, sizeof index);
}
