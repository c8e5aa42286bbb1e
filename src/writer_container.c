/* writer_container.c - C values into bytes: containers, and whole arrays in one
 * call. See dwire/writer.h. */

#include "wire.h"

static DW_NOINLINE bool may_not_open(dw_writer *w, char code)
{
    if (dw_writer_expect(w, code))
        dw_writer_fail(w, DW_E_DEPTH, 0);
    return false;
}

/* Whether a container with this type code may be opened now. */
DW_INLINE bool may_open(dw_writer *w, char code)
{
    return DW_LIKELY(*w->type == code && w->depth < DW_MAX_DEPTH) || may_not_open(w, code);
}

/* Whether the innermost open container is of this kind and complete: so it is
 * if type, in the signature, stands at its end. */
static bool may_close(dw_writer *w, char kind, bool at_end)
{
    if (dw_writer_failed(w))
        return false;
    bool innermost = w->frames[w->level].kind == kind && w->frames[w->level].depth == w->depth;
    if (!innermost || !at_end)
        dw_writer_fail(w, innermost ? DW_E_TYPE : DW_E_STATE, 0);
    return innermost && at_end;
}

/* Opens an array or variant. What may come next starts at type and, in an array,
 * again whenever it has come to wrap; resume is where the signature goes on. */
static void push(dw_writer *w, char kind, const char *type, const char *wrap, const char *resume)
{
    dw_writer_frame *f = &w->frames[++w->level];
    f->element = w->element;
    f->wrap = w->wrap;
    f->resume = resume;
    f->start = (uint32_t)w->at;
    f->apart = w->apart;
    f->depth = (uint8_t)++w->depth;
    f->kind = kind;
    w->type = type;
    w->element = wrap ? type : NULL;
    w->wrap = wrap;
}

static void pop(dw_writer *w)
{
    const dw_writer_frame *f = &w->frames[w->level--];
    w->depth--;
    w->element = f->element;
    w->wrap = f->wrap;
    w->type = f->resume == w->wrap ? w->element : f->resume;
}

/* -- Arrays --------------------------------------------------------------- */

/* Writes the length of an array, and the padding before the first element, whose
 * number of bytes, 0 or 4, it returns. */
DW_INLINE uint8_t array_head(dw_writer *w, size_t align, uint32_t len)
{
    const size_t start = w->at, at = dw_align(start, 4), first = dw_align(at + 4, align);
    if (DW_LIKELY(first + 8 <= w->room)) {
        dw_store32(w->buffer + start, 0);
        dw_store32_order(w->buffer + at, len, w->swap);
        dw_store32(w->buffer + at + 4, 0);
        w->at = first;
    } else {
        uint8_t *p = dw_writer_claim_slow(w, 4, 4);
        if (p)
            dw_store32_order(p, len, w->swap);
        dw_writer_claim_slow(w, align, 0);
    }
    return (uint8_t)(first - at - 4);
}

void dw_open_array(dw_writer *w)
{
    if (!may_open(w, 'a'))
        return;
    const char *element = w->type + 1, *end = dw_type_end(element);
    uint8_t pad = array_head(w, dw_traits(*element)->align, 0);
    if (DW_UNLIKELY(dw_writer_failed(w)))
        return;
    push(w, 'a', element, end, end);
    w->frames[w->level].pad = pad;
}

void dw_close_array(dw_writer *w)
{
    if (!may_close(w, 'a', w->type == w->element))
        return;
    const dw_writer_frame *f = &w->frames[w->level];
    size_t len = w->at - f->start + w->apart - f->apart;
    if (len > DW_MAX_ARRAY) {
        dw_writer_fail(w, DW_E_LIMIT, 0);
        return;
    }
    if (!w->full)
        dw_store32_order(w->buffer + f->start - f->pad - 4, (uint32_t)len, w->swap);
    pop(w);
}

/* Whether an array of n elements of this type may come now, in one call. */
DW_INLINE bool may_put_array(dw_writer *w, char code, size_t n)
{
    const size_t size = dw_traits(code)->size;
    if (!may_open(w, 'a'))
        return false;
    if (DW_LIKELY(w->type[1] == code && size && n <= DW_MAX_ARRAY / size))
        return true;
    dw_writer_fail(w, !size ? DW_E_ARGUMENT : w->type[1] != code ? DW_E_TYPE : DW_E_LIMIT, 0);
    return false;
}

DW_INLINE uint8_t *claim_array(dw_writer *w, char code, size_t n)
{
    const size_t size = dw_traits(code)->size;
    if (!may_put_array(w, code, n))
        return NULL;
    array_head(w, size, (uint32_t)(n * size));
    uint8_t *p = dw_writer_claim(w, 1, n * size);
    if (DW_LIKELY(!dw_writer_failed(w))) {
        w->type++;
        dw_writer_step(w);
    }
    return p;
}

uint8_t *dw_writer_claim_array(dw_writer *w, char code, size_t n)
{
    return claim_array(w, code, n);
}

/* Booleans and unix fds are the fixed types that not every bit pattern fits. */
static int check_elements(const dw_writer *w, char code, const void *values, size_t n)
{
    const uint8_t *p = values;
    if ((code != 'b' && code != 'h') || *w->type != 'a' || w->type[1] != code)
        return 0;
    uint32_t limit = code == 'b' ? 2 : w->n_fds;
    if (limit == UINT32_MAX)
        return 0;
    for (size_t i = 0; i < n; i++)
        if (dw_load32(p + 4 * i) >= limit)
            return code == 'b' ? DW_E_BOOLEAN : DW_E_FDS;
    return 0;
}

void dw_put_array(dw_writer *w, char code, const void *values, size_t n)
{
    int r = n && !values ? DW_E_ARGUMENT : check_elements(w, code, values, n);
    if (DW_UNLIKELY(r))
        dw_writer_fail(w, r, 0);
    uint8_t *p = claim_array(w, code, n);
    if (!p || !n)
        return;
    if (DW_UNLIKELY(w->swap))
        dw_swap_copy(p, values, n, dw_traits(code)->size);
    else
        memcpy(p, values, n * dw_traits(code)->size);
}

/* What is less is copied faster than the kernel looks at one more part. */
#define WORTH_A_PART 512

void dw_put_array_ref(dw_writer *w, char code, const void *values, size_t n)
{
    const size_t size = dw_traits(code)->size;
    const size_t len = size && n <= DW_MAX_ARRAY / size ? n * size : 0, place = len % 8;
    if (len < WORTH_A_PART || !values || w->swap || w->full || w->n_refs == DW_MAX_REFS ||
        check_elements(w, code, values, n) != 0) {
        dw_put_array(w, code, values, n);
        return;
    }
    if (!may_put_array(w, code, n))
        return;
    array_head(w, size, (uint32_t)len);
    dw_writer_claim(w, 1, place);
    if (!dw_writer_failed(w) && len - place > dw_writer_limit(w) - w->at)
        dw_writer_fail(w, DW_E_LIMIT, 0);
    if (dw_writer_failed(w))
        return;
    w->refs[w->n_refs++] = (dw_writer_ref){values, (uint32_t)len, (uint32_t)(w->at - place)};
    w->apart += (uint32_t)(len - place);
    w->room = w->room < dw_writer_limit(w) ? w->room : dw_writer_limit(w);
    w->fast = w->fast < w->room ? w->fast : w->room;
    w->type++;
    dw_writer_step(w);
}

/* The array's type and the place in it are followed here, not by a frame. */
void dw_put_string_array(dw_writer *w, const char *const *strings, size_t n)
{
    if (!may_open(w, 'a'))
        return;
    if (w->type[1] != 's' || (n && !strings)) {
        dw_writer_fail(w, w->type[1] != 's' ? DW_E_TYPE : DW_E_ARGUMENT, 0);
        return;
    }
    const char *element = w->element, *wrap = w->wrap;
    array_head(w, 4, 0);
    const size_t start = w->at;
    if (dw_writer_failed(w))
        return;
    w->type = w->element = w->type + 1;
    w->wrap = w->type + 1;
    for (size_t i = 0; i < n; i++)
        dw_put_string(w, strings[i]);
    if (w->at - start > DW_MAX_ARRAY)
        dw_writer_fail(w, DW_E_LIMIT, 0);
    if (dw_writer_failed(w))
        return;
    if (!w->full)
        dw_store32_order(w->buffer + start - 4, (uint32_t)(w->at - start), w->swap);
    w->element = element;
    w->wrap = wrap;
    dw_writer_step(w);
}

/* -- Structs, entries, variants ------------------------------------------- */

void dw_open_slow(dw_writer *w, char code)
{
    if (!may_open(w, code))
        return;
    dw_writer_claim(w, 8, 0);
    if (dw_writer_failed(w))
        return;
    w->depth++;
    w->type++;
}

/* Only for what is wrong: the signature does not have the closing bracket here.
 * If a struct or entry is open, a value is missing in it, else there is none. */
void dw_close_slow(dw_writer *w)
{
    dw_writer_fail(w, w->depth > w->frames[w->level].depth ? DW_E_TYPE : DW_E_STATE, 0);
}

void dw_open_variant(dw_writer *w, const char *signature)
{
    if (!may_open(w, 'v'))
        return;
    size_t n = signature ? strlen(signature) : 0;
    int r = signature ? dw_check_single(signature, n, NULL) : DW_E_ARGUMENT;
    if (r) {
        dw_writer_fail(w, r, 0);
        return;
    }
    dw_writer_signature(w, signature, n);
    if (!dw_writer_failed(w))
        push(w, 'v', signature, NULL, w->type + 1);
}

void dw_close_variant(dw_writer *w)
{
    if (may_close(w, 'v', *w->type == 0))
        pop(w);
}
