/* reader.c - bytes into C values: the bounds and the basic types. See
 * dwire/reader.h. Containers are in reader_container.c. */

#include "wire.h"

#include "dwire/message.h"
#include "dwire/names.h"

void dw_reader_start(dw_reader *r, const char *type, const void *bytes, size_t at, size_t len,
                     bool swap)
{
    r->type = type;
    r->wrap = r->element = NULL;
    r->bytes = bytes;
    r->at = at;
    r->end = r->size = at + len;
    r->fast = swap ? 0 : r->end;
    r->level = 0;
    r->frames[0].kind = 0;
    r->frames[0].depth = 0;
    r->n_fds = UINT32_MAX;
    r->depth = 0;
    r->swap = swap;
    r->fault = (dw_fault){0, 0, 0};
}

void dw_reader_init(dw_reader *r, const dw_message *m)
{
    size_t body_at = m->len - m->body_len;
    dw_reader_start(r, m->signature.p, m->bytes, body_at, m->body_len, m->order != DW_NATIVE);
    r->n_fds = m->unix_fds;
    if (m->fault.code) {
        dw_reader_fail(r, m->fault.code, m->fault.at);
        r->fault = m->fault;
    } else if (!m->bytes) {
        dw_reader_fail(r, DW_E_STATE, 0); /* none was parsed, or it has been freed */
    }
}

void dw_reader_init_body(dw_reader *r, const char *signature, const void *body, size_t len,
                         char order)
{
    bool known = order == 0 || order == DW_LITTLE || order == DW_BIG;
    /* An empty body may be NULL, to which not even 0 can be added. */
    dw_reader_start(r, signature, body ? body : "", 0, len, known && order && order != DW_NATIVE);
    int e = 0;
    if (!known || !signature || (!body && len))
        e = DW_E_ARGUMENT;
    else if (len > DW_MAX_MESSAGE)
        e = DW_E_LIMIT;
    else
        e = dw_check_signature(signature, strlen(signature), NULL);
    if (e)
        dw_reader_fail(r, e, 0);
}

/* -- Errors --------------------------------------------------------------- */

/* From an error on, no type matches and no bytes are left, so that the fast
 * paths and loops need not ask whether there was one. */
void dw_reader_fail(dw_reader *r, int code, size_t at)
{
    if (r->fault.code)
        return;
    r->fault = (dw_fault){code, 0, (uint32_t)at};
    r->type = "";
    r->element = NULL;
    r->fast = 0;
    r->end = r->at;
}

dw_fault dw_reader_fault(const dw_reader *r)
{
    return r->fault;
}

/* -- Bounds --------------------------------------------------------------- */

DW_NOINLINE const uint8_t *dw_reader_take_slow(dw_reader *r, size_t align, size_t len)
{
    size_t at = dw_align(r->at, align);
    if (DW_UNLIKELY(r->fault.code))
        return NULL;
    if (DW_UNLIKELY(at > r->end || len > r->end - at)) {
        dw_reader_fail(r, DW_E_BOUNDS, r->at);
        return NULL;
    }
    for (size_t i = r->at; i < at; i++) {
        if (DW_UNLIKELY(r->bytes[i])) {
            dw_reader_fail(r, DW_E_PADDING, i);
            return NULL;
        }
    }
    r->at = at + len;
    return r->bytes + at;
}

/* -- Basic types ---------------------------------------------------------- */

/* Whether a value of this type comes next; if not, that is the error. */
bool dw_reader_expect(dw_reader *r, char code)
{
    if (DW_LIKELY(*r->type == code))
        return true;
    dw_reader_fail(r, DW_E_TYPE, r->at);
    return false;
}

void dw_get_fixed_slow(dw_reader *r, char code, void *value, size_t size)
{
    const uint8_t *p = dw_reader_expect(r, code) ? dw_reader_take(r, size, size) : NULL;
    if (!p) {
        memset(value, 0, size);
        return;
    }
    if (r->swap)
        dw_swap_copy(value, p, 1, size);
    else
        memcpy(value, p, size);
    dw_reader_step(r);
}

bool dw_refuse_boolean(dw_reader *r)
{
    dw_reader_fail(r, DW_E_BOOLEAN, r->at - 4);
    return false;
}

uint32_t dw_get_unix_fd(dw_reader *r)
{
    uint32_t index;
    dw_get_fixed(r, 'h', &index, sizeof index);
    if (r->fault.code || index < r->n_fds || r->n_fds == UINT32_MAX)
        return index;
    dw_reader_fail(r, DW_E_FDS, r->at - 4);
    return 0;
}

static const dw_string nothing = {"", 0};

/* Takes n bytes and the NUL behind them. */
static const char *take_text(dw_reader *r, size_t n, int error)
{
    size_t at = r->at;
    const uint8_t *p = n < DW_MAX_MESSAGE ? dw_reader_take(r, 1, n + 1) : NULL;
    if (!p)
        dw_reader_fail(r, DW_E_BOUNDS, at);
    else if (p[n])
        dw_reader_fail(r, error, at + n);
    return r->fault.code ? NULL : (const char *)p;
}

dw_string dw_reader_text(dw_reader *r)
{
    uint32_t n = dw_reader_uint32(r);
    const char *p = take_text(r, n, DW_E_UTF8);
    return p ? (dw_string){p, n} : nothing;
}

dw_string dw_reader_signature(dw_reader *r)
{
    const uint8_t *head = dw_reader_take(r, 1, 1);
    size_t at = r->at, bad = 0;
    const char *p = head ? take_text(r, *head, DW_E_SIGNATURE) : NULL;
    int e = p ? dw_check_signature(p, *head, &bad) : 0;
    if (e)
        dw_reader_fail(r, e, at + bad);
    return p && !e ? (dw_string){p, *head} : nothing;
}

/* Only on finding a bad string its place is looked for. */
static DW_NOINLINE dw_string bad_string(dw_reader *r, dw_string s, char code)
{
    size_t bad = 0;
    int e = code == 'o' ? dw_check_path(s.p, s.n, &bad) : dw_check_utf8(s.p, s.n, &bad);
    dw_reader_fail(r, e, r->at - 1 - s.n + bad);
    return nothing;
}

/* A string that is not plain ASCII, or that something is wrong with. */
static DW_NOINLINE dw_string get_odd_string(dw_reader *r)
{
    if (!dw_reader_expect(r, 's'))
        return nothing;
    dw_string s = dw_reader_text(r);
    if (!dw_utf8_valid(s.p, s.n))
        return bad_string(r, s, 's');
    if (!r->fault.code)
        dw_reader_step(r);
    return s;
}

dw_string dw_get_string_slow(dw_reader *r)
{
    const size_t at = dw_align(r->at, 4);
    if (DW_LIKELY(*r->type == 's' && at + 5 <= r->end)) {
        const uint8_t *p = r->bytes + at;
        const uint32_t n = dw_load32_order(p, r->swap);
        if (DW_LIKELY(n <= r->end - at - 5 && p[4 + n] == 0 &&
                      !dw_padding_odd(r->bytes + r->at, at - r->at, 4) &&
                      (n < 16 && r->size - at >= 4 + 16
                           ? dw_ascii_short(p + 4, n)
                           : dw_ascii(NULL, (const char *)p + 4, n)))) {
            r->at = at + 5 + n;
            dw_reader_step(r);
            return (dw_string){(const char *)p + 4, n};
        }
    }
    return get_odd_string(r);
}

dw_string dw_get_object_path(dw_reader *r)
{
    if (!dw_reader_expect(r, 'o'))
        return nothing;
    dw_string s = dw_reader_text(r);
    if (!dw_path_valid(s.p, s.n))
        return bad_string(r, s, 'o');
    if (!r->fault.code)
        dw_reader_step(r);
    return s;
}

dw_string dw_get_signature(dw_reader *r)
{
    if (!dw_reader_expect(r, 'g'))
        return nothing;
    dw_string s = dw_reader_signature(r);
    if (!r->fault.code)
        dw_reader_step(r);
    return s;
}
