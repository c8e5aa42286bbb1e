/* signature.c - signatures. See dwire/signature.h. */

#include "dwire/signature.h"

#include "wire.h"

/* Per type code: alignment; size where it is fixed; whether it is a basic type,
 * and whether it is a complete type by itself. */
static const struct {
    uint8_t align, size;
    bool basic, simple;
} types[256] = {
    ['y'] = {1, 1, true, true},   ['b'] = {4, 4, true, true},   ['n'] = {2, 2, true, true},
    ['q'] = {2, 2, true, true},   ['i'] = {4, 4, true, true},   ['u'] = {4, 4, true, true},
    ['x'] = {8, 8, true, true},   ['t'] = {8, 8, true, true},   ['d'] = {8, 8, true, true},
    ['h'] = {4, 4, true, true},   ['s'] = {4, 0, true, true},   ['o'] = {4, 0, true, true},
    ['g'] = {1, 0, true, true},   ['v'] = {1, 0, false, true},  ['a'] = {4, 0, false, false},
    ['('] = {8, 0, false, false}, ['{'] = {8, 0, false, false},
};

size_t dw_type_align(char code)
{
    return types[(unsigned char)code].align;
}

size_t dw_type_size(char code)
{
    return types[(unsigned char)code].size;
}

bool dw_type_basic(char code)
{
    return types[(unsigned char)code].basic;
}

/* A walk along a signature. */
struct walk {
    const char *p, *end;
    int error;
};

static bool stop(struct walk *w, int error)
{
    w->error = error;
    return false;
}

/* Whether there is a code that is a complete type by itself. Most are, so they
 * are passed over in loops of their own. */
DW_INLINE bool at_simple(const struct walk *w)
{
    return w->p < w->end && types[(unsigned char)*w->p].simple;
}

DW_INLINE bool at_code(const struct walk *w, char code)
{
    return w->p < w->end && *w->p == code;
}

/* Passes over one complete type that is no simple one, inside so many arrays and
 * structs. Goes as deep as the type, which those limits bound. */
static bool pass(struct walk *w, unsigned arrays, unsigned structs)
{
    const unsigned outer = arrays;
    for (; at_code(w, 'a'); w->p++)
        if (++arrays > DW_MAX_ARRAYS)
            return stop(w, DW_E_DEPTH);
    if (at_simple(w)) {
        w->p++;
    } else if (at_code(w, '(')) {
        if (++structs > DW_MAX_STRUCTS)
            return stop(w, DW_E_DEPTH);
        w->p++;
        do { /* one or more complete types */
            if (at_simple(w))
                w->p++;
            else if (!pass(w, arrays, structs))
                return false;
        } while (!at_code(w, ')'));
        w->p++;
    } else if (at_code(w, '{') && arrays > outer) {
        w->p++;
        if (!at_simple(w) || *w->p == 'v')
            return stop(w, DW_E_SIGNATURE); /* a key is basic */
        w->p++;
        if (at_simple(w))
            w->p++;
        else if (!pass(w, arrays, structs))
            return false;
        if (!at_code(w, '}'))
            return stop(w, DW_E_SIGNATURE);
        w->p++;
    } else {
        return stop(w, DW_E_SIGNATURE);
    }
    return true;
}

int dw_check_signature(const char *signature, size_t n, size_t *error_at)
{
    const size_t max = n < DW_MAX_SIGNATURE ? n : DW_MAX_SIGNATURE;
    struct walk w = {signature, signature + max, 0};
    while (w.p < w.end) {
        if (at_simple(&w))
            w.p++;
        else if (!pass(&w, 0, 0))
            break;
    }
    if (n > max && w.p == w.end)
        w.error = DW_E_LIMIT;
    if (w.error && error_at)
        *error_at = (size_t)(w.p - signature);
    return w.error;
}

int dw_check_single(const char *signature, size_t n, size_t *error_at)
{
    if (n == 1 && (dw_type_basic(*signature) || *signature == 'v'))
        return 0;
    int r = dw_check_signature(signature, n, error_at);
    if (r)
        return r;
    size_t first = n ? dw_next_type(signature).n : 0;
    if (n && first == n)
        return 0;
    if (error_at)
        *error_at = first;
    return DW_E_SIGNATURE;
}

dw_string dw_next_type(const char *signature)
{
    const char *p = signature;
    if (*p == ')' || *p == '}')
        return (dw_string){signature, 0};
    while (*p == 'a')
        p++;
    size_t open = 0;
    for (; *p; p++) {
        if (*p == '(' || *p == '{')
            open++;
        else if (*p == ')' || *p == '}')
            open--;
        if (open == 0)
            return (dw_string){signature, (size_t)(p + 1 - signature)};
    }
    return (dw_string){signature, (size_t)(p - signature)};
}
