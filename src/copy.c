/* copy.c - a value from a reader to a writer. See dw_copy in dwire/reader.h. */

#include "wire.h"

static void copy_value(dw_reader *r, dw_writer *w);

/* An error of the one becomes the other's, before that goes on and finds one of its
 * own. Whether there is none. */
static bool agree(dw_reader *r, dw_writer *w)
{
    if (DW_UNLIKELY(r->fault.code))
        dw_writer_fail(w, r->fault.code, 0);
    else if (DW_UNLIKELY(dw_writer_failed(w)))
        dw_reader_fail(r, w->fault.code, r->at);
    return !r->fault.code;
}

/* Copies until the container of the reader, which has one open in the writer too,
 * ends. */
static void copy_rest(dw_reader *r, dw_writer *w)
{
    agree(r, w);
    while (dw_more(r))
        copy_value(r, w);
}

static void copy_fixed(dw_reader *r, dw_writer *w, char code)
{
    const size_t size = dw_traits(code)->size;
    uint64_t value = 0;
    dw_get_fixed_slow(r, code, &value, size);
    if (agree(r, w))
        dw_put_fixed_slow(w, code, &value, size);
}

static void copy_group(dw_reader *r, dw_writer *w, char opening, char closing)
{
    dw_enter_group(r, opening);
    agree(r, w);
    dw_open_group(w, opening);
    copy_rest(r, w);
    dw_leave_group(r, closing);
    dw_close_group(w, closing);
}

static void copy_array(dw_reader *r, dw_writer *w)
{
    char code = r->type[1];
    size_t size = dw_traits(code)->size, n;
    if (!size || code == 'h') { /* each index is held against the writer's descriptors */
        dw_enter_array(r);
        agree(r, w);
        dw_open_array(w);
        copy_rest(r, w);
        dw_leave_array(r);
        dw_close_array(w);
        return;
    }
    const uint8_t *from = dw_reader_take_array(r, code, &n);
    if (!from)
        return;
    uint8_t *to = dw_writer_claim_array(w, code, n);
    if (!to)
        return;
    if (r->swap != w->swap)
        dw_swap_copy(to, from, n, size);
    else if (n)
        memcpy(to, from, n * size);
}

static void copy_value(dw_reader *r, dw_writer *w)
{
    char code = dw_next_code(r);
    dw_string s;
    switch (code) {
    case 'b': {
        bool value = dw_get_boolean(r);
        if (agree(r, w))
            dw_put_boolean(w, value);
        break;
    }
    case 'h': {
        uint32_t index = dw_get_unix_fd(r);
        if (agree(r, w))
            dw_put_unix_fd(w, index);
        break;
    }
    case 's':
        s = dw_get_string(r);
        if (agree(r, w))
            dw_put_string_n(w, s.p, s.n);
        break;
    case 'o':
        s = dw_get_object_path(r);
        if (agree(r, w))
            dw_put_object_path_n(w, s.p, s.n);
        break;
    case 'g':
        s = dw_get_signature(r);
        if (agree(r, w))
            dw_put_signature_n(w, s.p, s.n);
        break;
    case 'a': copy_array(r, w); break;
    case '(': copy_group(r, w, '(', ')'); break;
    case '{': copy_group(r, w, '{', '}'); break;
    case 'v':
        s = dw_enter_variant(r);
        agree(r, w);
        dw_open_variant(w, s.p);
        copy_rest(r, w);
        dw_leave_variant(r);
        dw_close_variant(w);
        break;
    default: copy_fixed(r, w, code); break;
    }
    agree(r, w);
}

int dw_copy(dw_reader *r, dw_writer *w)
{
    if (!agree(r, w))
        return r->fault.code;
    dw_string from = dw_next_type(r->type), to = dw_next_type(w->type);
    if (from.n && from.n == to.n && memcmp(from.p, to.p, to.n) == 0)
        copy_value(r, w);
    else if (!from.n || dw_writer_expect(w, *from.p)) /* or DW_E_STATE: nothing begun */
        dw_reader_fail(r, DW_E_TYPE, r->at);
    agree(r, w);
    return r->fault.code;
}
