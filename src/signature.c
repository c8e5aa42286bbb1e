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

/* Whether a code that is a complete type by itself is there. Most are, so they
 * are passed over in loops of their own. */
DW_INLINE bool at_simple(const char *p, const char *end)
{
    return p < end && types[(unsigned char)*p].simple;
}

/* Where and how a signature is wrong. */
struct wrong {
    const char *at;
    int error;
};

static const char *stop(struct wrong *wrong, const char *at, int error)
{
    *wrong = (struct wrong){at, error};
    return NULL;
}

/* Passes over one complete type inside so many arrays and structs. Returns its
 * end, or NULL. Goes as deep as the type, which those limits bound. */
static const char *pass(const char *p, const char *end, unsigned arrays, unsigned structs,
                        struct wrong *wrong)
{
    bool array = false;
    for (; p < end && *p == 'a'; p++) {
        array = true;
        if (++arrays > DW_MAX_ARRAYS)
            return stop(wrong, p, DW_E_DEPTH);
    }
    if (at_simple(p, end))
        return p + 1;
    if (p < end && *p == '(') {
        if (++structs > DW_MAX_STRUCTS)
            return stop(wrong, p, DW_E_DEPTH);
        p++;
        do { /* one or more complete types */
            p = at_simple(p, end) ? p + 1 : pass(p, end, arrays, structs, wrong);
        } while (p && !(p < end && *p == ')'));
        return p ? p + 1 : NULL;
    }
    if (!array || p == end || *p != '{')
        return stop(wrong, p, DW_E_SIGNATURE);
    p++;
    if (!at_simple(p, end) || *p == 'v')
        return stop(wrong, p, DW_E_SIGNATURE); /* a key is basic */
    p++;
    p = at_simple(p, end) ? p + 1 : pass(p, end, arrays, structs, wrong);
    if (p && (p == end || *p != '}'))
        return stop(wrong, p, DW_E_SIGNATURE);
    return p ? p + 1 : NULL;
}

int dw_check_signature(const char *signature, size_t n, size_t *error_at)
{
    const size_t max = n < DW_MAX_SIGNATURE ? n : DW_MAX_SIGNATURE;
    const char *p = signature, *end = signature + max;
    struct wrong wrong = {end, n > max ? DW_E_LIMIT : 0};
    while (p && p < end)
        p = at_simple(p, end) ? p + 1 : pass(p, end, 0, 0, &wrong);
    if (wrong.at == end && n > max)
        wrong.error = DW_E_LIMIT; /* what is missing may stand behind the limit */
    if (wrong.error && error_at)
        *error_at = (size_t)(wrong.at - signature);
    return wrong.error;
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
    if (types[(unsigned char)*p].simple)
        return (dw_string){signature, 1};
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
