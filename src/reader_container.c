/* reader_container.c - bytes into C values: containers, skipping, and whole
 * arrays in one call. See dwire/reader.h. */

#include "wire.h"

#include "dwire/signature.h"

/* Whether a container with this type code comes next and may be entered. */
static bool may_enter(dw_reader *r, char code)
{
    if (*r->type != code)
        dw_reader_fail(r, DW_E_TYPE, r->at);
    else if (r->depth == DW_MAX_DEPTH)
        dw_reader_fail(r, DW_E_DEPTH, r->at);
    else
        return true;
    return false;
}

static bool may_leave(dw_reader *r, char kind)
{
    if (r->frame[r->depth].kind != kind)
        dw_reader_fail(r, DW_E_STATE, r->at);
    return r->fault.code == 0;
}

/* Sets where what may be read ends. */
static void set_end(dw_reader *r, size_t end)
{
    r->end = end;
    r->fast = r->swap ? 0 : end;
}

/* After a container whose type ends before next: in an array the element type
 * comes once more. */
static void go_on(dw_reader *r, const char *next)
{
    const dw_reader_frame *f = &r->frame[r->depth];
    r->type = f->kind == 'a' ? f->type : next;
    r->step = 1;
}

/* -- Arrays --------------------------------------------------------------- */

/* Takes an array's length and the padding after it; 0 after an error. */
static size_t array_head(dw_reader *r, char element)
{
    size_t len_at = dw_align(r->at, 4);
    size_t len = dw_reader_uint32(r);
    size_t size = dw_type_size(element);
    if (len > DW_MAX_ARRAY)
        dw_reader_fail(r, DW_E_LIMIT, len_at);
    dw_reader_take(r, dw_type_align(element), 0);
    if (!r->fault.code && (len > r->end - r->at || (size && len & (size - 1))))
        dw_reader_fail(r, DW_E_BOUNDS, len_at);
    return r->fault.code ? 0 : len;
}

size_t dw_enter_array(dw_reader *r)
{
    if (!may_enter(r, 'a'))
        return 0;
    const char *element = r->type + 1;
    size_t len = array_head(r, *element);
    if (r->fault.code)
        return 0;
    r->frame[++r->depth] = (dw_reader_frame){element, (uint32_t)r->end, 'a'};
    set_end(r, r->at + len);
    r->type = element;
    r->step = !dw_type_basic(*element);
    return len;
}

void dw_leave_array(dw_reader *r)
{
    if (!may_leave(r, 'a'))
        return;
    while (r->at < r->end)
        dw_skip(r);
    if (r->fault.code)
        return;
    const dw_reader_frame *f = &r->frame[r->depth--];
    set_end(r, f->end);
    dw_string element = dw_next_type(f->type);
    go_on(r, element.p + element.n);
}

/* Checks those fixed types that not every bit pattern fits. */
static void check_elements(dw_reader *r, char code, const uint8_t *p, size_t n)
{
    if (code != 'b' && code != 'h')
        return;
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
    size_t size = dw_type_size(code);
    *n = 0;
    if (!may_enter(r, 'a'))
        return NULL;
    if (!size || r->type[1] != code) {
        dw_reader_fail(r, size ? DW_E_TYPE : DW_E_ARGUMENT, r->at);
        return NULL;
    }
    size_t len = array_head(r, code);
    const uint8_t *p = dw_reader_take(r, 1, len);
    if (p)
        check_elements(r, code, p, len / size);
    if (r->fault.code)
        return NULL;
    *n = len / size;
    go_on(r, r->type + 2);
    return p;
}

const void *dw_get_array(dw_reader *r, char code, size_t *n)
{
    static const uint64_t none[1];
    size_t at = r->at;
    const uint8_t *p = dw_reader_take_array(r, code, n);
    if (!p)
        return NULL;
    if (!*n)
        return none;
    size_t size = dw_type_size(code);
    if ((r->swap && size > 1) || ((uintptr_t)p & (size - 1))) {
        dw_reader_fail(r, DW_E_VIEW, at);
        *n = 0;
        return NULL;
    }
    return p;
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
        dw_swap_copy(out, p, n, dw_type_size(code));
    else
        memcpy(out, p, n * dw_type_size(code));
    return n;
}

/* -- Structs, entries, variants ------------------------------------------- */

static void enter_group(dw_reader *r, char code)
{
    if (!may_enter(r, code) || !dw_reader_take(r, 8, 0))
        return;
    r->frame[++r->depth] = (dw_reader_frame){r->type, 0, code};
    r->type++;
    r->step = 1;
}

/* Skips what is left in a struct, entry or variant. */
static void leave_group(dw_reader *r, char code)
{
    if (!may_leave(r, code))
        return;
    while (dw_more(r))
        dw_skip(r);
    if (r->fault.code)
        return;
    const char *place = r->frame[r->depth--].type;
    go_on(r, code == 'v' ? place + 1 : r->type + 1);
}

void dw_enter_struct(dw_reader *r) { enter_group(r, '('); }
void dw_leave_struct(dw_reader *r) { leave_group(r, '('); }
void dw_enter_entry(dw_reader *r) { enter_group(r, '{'); }
void dw_leave_entry(dw_reader *r) { leave_group(r, '{'); }

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
    r->frame[++r->depth] = (dw_reader_frame){r->type, 0, 'v'};
    r->type = s.p;
    r->step = 1;
    return s;
}

void dw_leave_variant(dw_reader *r) { leave_group(r, 'v'); }

/* -- Skipping ------------------------------------------------------------- */

/* Goes as deep as the value, which is at most DW_MAX_DEPTH. */
void dw_skip(dw_reader *r)
{
    char code = dw_next_code(r);
    switch (code) {
    case 'b':
        dw_get_boolean(r);
        break;
    case 'h':
        dw_get_unix_fd(r);
        break;
    case 's':
        dw_get_string(r);
        break;
    case 'o':
        dw_get_object_path(r);
        break;
    case 'g':
        dw_get_signature(r);
        break;
    case '(':
    case '{':
        enter_group(r, code);
        leave_group(r, code);
        break;
    case 'v':
        dw_enter_variant(r);
        dw_leave_variant(r);
        break;
    case 'a':
        if (dw_type_size(r->type[1])) {
            size_t n;
            dw_reader_take_array(r, r->type[1], &n);
        } else {
            dw_enter_array(r);
            dw_leave_array(r);
        }
        break;
    default: {
        uint64_t value;
        size_t size = dw_type_size(code);
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
        if (r->frame[r->depth].kind == 'a')
            dw_leave_array(r);
        else
            leave_group(r, r->frame[r->depth].kind);
    }
    while (dw_more(r))
        dw_skip(r);
    if (!r->fault.code && r->at != r->end)
        dw_reader_fail(r, DW_E_BOUNDS, r->at);
    return r->fault.code;
}
