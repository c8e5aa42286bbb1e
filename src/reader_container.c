/* reader_container.c - bytes into C values: containers, skipping, and whole
 * arrays in one call. See dwire/reader.h. */

#include "wire.h"

static DW_NOINLINE bool may_not_enter(dw_reader *r, char code)
{
    if (dw_reader_expect(r, code))
        dw_reader_fail(r, DW_E_DEPTH, r->at);
    return false;
}

/* Whether a container with this type code comes next and may be entered. */
DW_INLINE bool may_enter(dw_reader *r, char code)
{
    return DW_LIKELY(*r->type == code && r->depth < DW_MAX_DEPTH) || may_not_enter(r, code);
}

/* Enters an array or variant. What comes next starts at type and, in an array,
 * again whenever it has come to wrap; resume is where the signature goes on. */
DW_INLINE void push(dw_reader *r, char kind, const char *type, const char *wrap, const char *resume)
{
    dw_reader_frame *f = &r->frames[++r->level];
    f->element = r->element;
    f->wrap = r->wrap;
    f->resume = resume;
    f->end = (uint32_t)r->end;
    f->depth = (uint8_t)++r->depth;
    f->kind = kind;
    r->type = type;
    r->element = wrap ? type : NULL;
    r->wrap = wrap;
}

/* Sets where what may be read ends. */
DW_INLINE void set_end(dw_reader *r, size_t end)
{
    r->end = end;
    r->fast = r->swap ? 0 : end;
}

DW_INLINE void pop(dw_reader *r)
{
    const dw_reader_frame *f = &r->frames[r->level--];
    r->depth--;
    r->element = f->element;
    r->wrap = f->wrap;
    r->type = f->resume == r->wrap ? r->element : f->resume;
    set_end(r, f->end);
}

/* Leaves the innermost array or variant, if it is of this kind and nothing in it
 * is still open, skipping what is left of it. */
static DW_NOINLINE void leave(dw_reader *r, char kind)
{
    const dw_reader_frame *f = &r->frames[r->level];
    if (f->kind != kind || f->depth != r->depth)
        dw_reader_fail(r, DW_E_STATE, r->at);
    while (dw_more(r))
        dw_skip(r);
    if (!r->fault.code)
        pop(r);
}

/* -- Arrays --------------------------------------------------------------- */

/* Whether an array whose element has this code comes next, may be entered, and
 * starts well; and then where its elements start and the bytes that they take. The
 * padding after the length is 0 or 4 bytes. Nothing is taken yet: what is wrong, if
 * something is, the slow paths find out step by step. */
DW_INLINE bool good_array(const dw_reader *r, char code, size_t *first, size_t *len)
{
    const dw_type_traits *element = dw_traits(code);
    const size_t at = dw_align(r->at, 4);
    *first = dw_align(at + 4, element->align);
    if (DW_UNLIKELY(*r->type != 'a' || r->depth == DW_MAX_DEPTH || *first > r->end))
        return false;
    *len = dw_load32_order(r->bytes + at, r->swap);
    const uint32_t padding = dw_load32(r->bytes + *first - 4); /* or the length again */
    const size_t rest = element->size ? *len & (element->size - 1u) : 0;
    return DW_LIKELY(*len <= r->end - *first && *len <= DW_MAX_ARRAY && rest == 0 &&
                     (*first == at + 4 || padding == 0) &&
                     !dw_padding_bad(r->bytes + r->at, at - r->at, 4));
}

/* Takes an array's length and the padding after it. Returns 0 after an error. */
static size_t array_head(dw_reader *r, char code)
{
    const dw_type_traits *element = dw_traits(code);
    size_t len_at = dw_align(r->at, 4);
    size_t len = dw_reader_uint32(r);
    if (len > DW_MAX_ARRAY)
        dw_reader_fail(r, DW_E_LIMIT, len_at);
    dw_reader_take(r, element->align, 0);
    if (!r->fault.code && (len > r->end - r->at || (element->size && len % element->size)))
        dw_reader_fail(r, DW_E_BOUNDS, len_at);
    return r->fault.code ? 0 : len;
}

/* The array's length and padding have been taken. */
DW_INLINE size_t enter(dw_reader *r, size_t len)
{
    const char *element = r->type + 1, *end = dw_type_end(element);
    push(r, 'a', element, end, end);
    set_end(r, r->at + len);
    return len;
}

static DW_NOINLINE size_t enter_array_slow(dw_reader *r)
{
    size_t len = may_enter(r, 'a') ? array_head(r, r->type[1]) : 0;
    return r->fault.code ? 0 : enter(r, len);
}

size_t dw_enter_array(dw_reader *r)
{
    size_t first, len;
    if (DW_UNLIKELY(!*r->type || !good_array(r, r->type[1], &first, &len)))
        return enter_array_slow(r);
    r->at = first;
    return enter(r, len);
}

/* Where type is that of an element, only the array itself is open. */
void dw_leave_array(dw_reader *r)
{
    if (DW_LIKELY(r->type == r->element && r->at == r->end))
        pop(r);
    else
        leave(r, 'a');
}

/* Checks those fixed types that not every bit pattern fits. */
static void check_elements(dw_reader *r, char code, const uint8_t *p, size_t n)
{
    uint32_t limit = code == 'b' ? 2 : r->n_fds;
    if (limit == UINT32_MAX)
        return;
    for (size_t i = 0; i < n; i++) {
        if (dw_load32_order(p + 4 * i, r->swap) >= limit) {
            dw_reader_fail(r, code == 'b' ? DW_E_BOOLEAN : DW_E_FDS,
                           (size_t)(p - r->bytes) + 4 * i);
            return;
        }
    }
}

const uint8_t *dw_reader_take_array(dw_reader *r, char code, size_t *n)
{
    const size_t size = dw_traits(code)->size;
    *n = 0;
    if (!may_enter(r, 'a'))
        return NULL;
    if (!size || r->type[1] != code) {
        dw_reader_fail(r, size ? DW_E_TYPE : DW_E_ARGUMENT, r->at);
        return NULL;
    }
    const size_t len = array_head(r, code);
    if (len && (code == 'b' || code == 'h'))
        check_elements(r, code, r->bytes + r->at, len / size);
    if (r->fault.code)
        return NULL;
    const uint8_t *p = r->bytes + r->at;
    *n = len / size;
    r->at += len;
    r->type++;
    dw_reader_step(r);
    return p;
}

static DW_NOINLINE const void *get_array_slow(dw_reader *r, char code, size_t *n)
{
    static const uint64_t none[1];
    size_t at = r->at;
    const uint8_t *p = dw_reader_take_array(r, code, n);
    if (!p)
        return NULL;
    if (!*n)
        return none;
    size_t size = dw_traits(code)->size;
    if ((r->swap && size > 1) || ((uintptr_t)p & (size - 1))) {
        dw_reader_fail(r, DW_E_VIEW, at);
        *n = 0;
        return NULL;
    }
    return p;
}

const void *dw_get_array(dw_reader *r, char code, size_t *n)
{
    const size_t size = dw_traits(code)->size;
    size_t first, len;
    if (DW_UNLIKELY(!*r->type || r->type[1] != code || !size || code == 'b' || code == 'h' ||
                    r->swap || !good_array(r, code, &first, &len) || !len ||
                    ((uintptr_t)(r->bytes + first) & (size - 1))))
        return get_array_slow(r, code, n);
    *n = len >> ((size > 1) + (size > 2) + (size > 4)); /* no division */
    r->at = first + len;
    r->type++;
    dw_reader_step(r);
    return r->bytes + first;
}

size_t dw_copy_array(dw_reader *r, char code, void *out, size_t max)
{
    size_t n, at = r->at;
    const uint8_t *p = dw_reader_take_array(r, code, &n);
    if (!p || !n)
        return 0;
    if (n > max || !out) {
        dw_reader_fail(r, out ? DW_E_NO_ROOM : DW_E_ARGUMENT, at);
        return 0;
    }
    if (r->swap)
        dw_swap_copy(out, p, n, dw_traits(code)->size);
    else
        memcpy(out, p, n * dw_traits(code)->size);
    return n;
}

/* -- Structs, entries, variants ------------------------------------------- */

void dw_enter_slow(dw_reader *r, char code)
{
    if (!may_enter(r, code) || !dw_reader_take(r, 8, 0))
        return;
    r->depth++;
    r->type++;
}

/* What is not at its end yet, or not open at all. */
void dw_leave_slow(dw_reader *r, char code)
{
    if (r->depth == r->frames[r->level].depth)
        dw_reader_fail(r, DW_E_STATE, r->at);
    while (dw_more(r))
        dw_skip(r);
    if (*r->type == code)
        dw_leave_group(r, code);
    else
        dw_reader_fail(r, DW_E_STATE, r->at);
}

dw_string dw_enter_variant(dw_reader *r)
{
    const dw_string nothing = {"", 0};
    if (!may_enter(r, 'v'))
        return nothing;
    size_t at = r->at + 1, bad = 0;
    dw_string s = dw_reader_signature(r);
    if (!r->fault.code && dw_check_single(s.p, s.n, &bad))
        dw_reader_fail(r, DW_E_SIGNATURE, at + bad);
    if (r->fault.code)
        return nothing;
    push(r, 'v', s.p, NULL, r->type + 1);
    return s;
}

void dw_leave_variant(dw_reader *r)
{
    leave(r, 'v');
}

/* -- Skipping ------------------------------------------------------------- */

/* Goes as deep as the value, which is at most DW_MAX_DEPTH. */
void dw_skip(dw_reader *r)
{
    char code = dw_next_code(r);
    switch (code) {
    case 'b': dw_get_boolean(r); break;
    case 'h': dw_get_unix_fd(r); break;
    case 's': dw_get_string(r); break;
    case 'o': dw_get_object_path(r); break;
    case 'g': dw_get_signature(r); break;
    case '(':
        dw_enter_struct(r);
        dw_leave_struct(r);
        break;
    case '{':
        dw_enter_entry(r);
        dw_leave_entry(r);
        break;
    case 'v':
        dw_enter_variant(r);
        dw_leave_variant(r);
        break;
    case 'a':
        if (dw_traits(r->type[1])->size) {
            size_t n;
            dw_reader_take_array(r, r->type[1], &n);
        } else {
            dw_enter_array(r);
            dw_leave_array(r);
        }
        break;
    default: {
        uint64_t value;
        size_t size = dw_traits(code)->size;
        if (size)
            dw_get_fixed_slow(r, code, &value, size);
        else
            dw_reader_fail(r, DW_E_TYPE, r->at);
    }
    }
}

int dw_reader_finish(dw_reader *r)
{
    while (r->depth && !r->fault.code) {
        while (dw_more(r))
            dw_skip(r);
        if (r->fault.code)
            break;
        if (r->depth == r->frames[r->level].depth)
            pop(r);
        else
            dw_leave_group(r, *r->type);
    }
    while (dw_more(r))
        dw_skip(r);
    if (!r->fault.code && r->at != r->end)
        dw_reader_fail(r, DW_E_BOUNDS, r->at);
    return r->fault.code;
}
