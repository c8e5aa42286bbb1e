/* copy.c - a value from a reader to a writer. See dw_copy in dwire/reader.h. */

#include "wire.h"

static void copy_value(dw_reader *r, dw_writer *w);

/* Copies until the container of the reader ends. */
static void copy_rest(dw_reader *r, dw_writer *w)
{
    while (dw_more(r) && !dw_writer_failed(w))
        copy_value(r, w);
}

static void copy_fixed(dw_reader *r, dw_writer *w, char code)
{
    uint64_t value = 0;
    if (code == 'b')
        dw_put_boolean(w, dw_get_boolean(r));
    else if (code == 'h')
        dw_put_unix_fd(w, dw_get_unix_fd(r));
    else {
        size_t size = dw_traits(code)->size;
        dw_get_fixed_slow(r, code, &value, size);
        dw_put_fixed_slow(w, code, &value, size);
    }
}

static void copy_array(dw_reader *r, dw_writer *w)
{
    char code = r->type[1];
    size_t size = dw_traits(code)->size, n;
    if (!size || code == 'h') { /* each index is held against the writer's descriptors */
        dw_enter_array(r);
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
    case 's':
        s = dw_get_string(r);
        dw_put_string_n(w, s.p, s.n);
        break;
    case 'o':
        s = dw_get_object_path(r);
        dw_put_object_path_n(w, s.p, s.n);
        break;
    case 'g':
        s = dw_get_signature(r);
        dw_put_signature_n(w, s.p, s.n);
        break;
    case 'a': copy_array(r, w); break;
    case '(':
        dw_enter_struct(r);
        dw_open_struct(w);
        copy_rest(r, w);
        dw_leave_struct(r);
        dw_close_struct(w);
        break;
    case '{':
        dw_enter_entry(r);
        dw_open_entry(w);
        copy_rest(r, w);
        dw_leave_entry(r);
        dw_close_entry(w);
        break;
    case 'v':
        s = dw_enter_variant(r);
        dw_open_variant(w, s.p);
        copy_rest(r, w);
        dw_leave_variant(r);
        dw_close_variant(w);
        break;
    default: copy_fixed(r, w, code); break;
    }
    if (r->fault.code)
        dw_writer_fail(w, r->fault.code, 0);
}

int dw_copy(dw_reader *r, dw_writer *w)
{
    size_t at = r->at;
    dw_string from = dw_next_type(r->type), to = dw_next_type(w->type);
    if (r->fault.code || dw_writer_failed(w)) {
        /* told below */
    } else if (!from.n || from.n != to.n || memcmp(from.p, to.p, to.n) != 0) {
        dw_reader_fail(r, DW_E_TYPE, at);
    } else {
        copy_value(r, w);
    }
    if (r->fault.code)
        dw_writer_fail(w, r->fault.code, 0);
    else if (dw_writer_failed(w))
        dw_reader_fail(r, w->fault.code, at);
    return r->fault.code;
}
