/* signature.c - signatures. See dwire/signature.h. */

#include "dwire/signature.h"

#include "wire.h"

const dw_type_traits dw_types[256] = {
    ['y'] = {1, 1, 2, 0},  ['b'] = {4, 4, 2, 0}, ['n'] = {2, 2, 2, 0},  ['q'] = {2, 2, 2, 0},
    ['i'] = {4, 4, 2, 0},  ['u'] = {4, 4, 2, 0}, ['x'] = {8, 8, 2, 0},  ['t'] = {8, 8, 2, 0},
    ['d'] = {8, 8, 2, 0},  ['h'] = {4, 4, 2, 0}, ['s'] = {4, 0, 2, 0},  ['o'] = {4, 0, 2, 0},
    ['g'] = {1, 0, 2, 0},  ['v'] = {1, 0, 1, 0}, ['a'] = {4, 0, 0, 0},  ['('] = {8, 0, 0, 1},
    [')'] = {0, 0, 0, -1}, ['{'] = {8, 0, 0, 1}, ['}'] = {0, 0, 0, -1},
};

size_t dw_type_align(char code)
{
    return dw_traits(code)->align;
}

size_t dw_type_size(char code)
{
    return dw_traits(code)->size;
}

bool dw_type_basic(char code)
{
    return dw_traits(code)->simple == 2;
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

/* Passes over complete types that are simple, structs of such, and arrays of one or
 * of an entry of two: most types are, and need no call. */
DW_INLINE const char *pass_simple(const char *p, unsigned arrays, unsigned structs)
{
    for (;;) {
        if (dw_traits(*p)->simple) {
            p++;
        } else if (*p == 'a' && arrays < DW_MAX_ARRAYS) {
            if (dw_traits(p[1])->simple)
                p += 2;
            else if (p[1] == '{' && dw_traits(p[2])->simple == 2 && dw_traits(p[3])->simple &&
                     p[4] == '}')
                p += 5;
            else
                return p;
        } else if (*p == '(' && structs < DW_MAX_STRUCTS && dw_traits(p[1])->simple) {
            const char *end = p + 2;
            while (dw_traits(*end)->simple)
                end++;
            if (*end != ')')
                return p;
            p = end + 1;
        } else {
            return p;
        }
    }
}

/* Passes over one complete type inside so many arrays and structs. Returns its
 * end, or NULL. Goes as deep as the type, which those limits bound. */
static const char *pass(const char *p, unsigned arrays, unsigned structs, struct wrong *wrong)
{
    const char *start = p;
    for (; *p == 'a'; p++)
        if (++arrays > DW_MAX_ARRAYS)
            return stop(wrong, p, DW_E_DEPTH);
    if (dw_traits(*p)->simple)
        return p + 1;
    if (*p == '(') {
        if (++structs > DW_MAX_STRUCTS)
            return stop(wrong, p, DW_E_DEPTH);
        const char *first = ++p;
        for (;;) {
            p = pass_simple(p, arrays, structs);
            if (*p == ')' && p > first)
                return p + 1;
            p = pass(p, arrays, structs, wrong);
            if (!p)
                return NULL;
        }
    }
    if (p == start || *p != '{')
        return stop(wrong, p, DW_E_SIGNATURE);
    p++;
    if (dw_traits(*p)->simple != 2)
        return stop(wrong, p, DW_E_SIGNATURE); /* a key is basic */
    p++;
    p = dw_traits(*p)->simple ? p + 1 : pass(p, arrays, structs, wrong);
    if (p && *p != '}')
        return stop(wrong, p, DW_E_SIGNATURE);
    return p ? p + 1 : NULL;
}

/* A copy with a NUL behind it stops every loop at its end. */
int dw_check_signature(const char *signature, size_t n, size_t *error_at)
{
    char text[DW_MAX_SIGNATURE + 1];
    const size_t max = n < DW_MAX_SIGNATURE ? n : DW_MAX_SIGNATURE;
    (void)dw_ascii((uint8_t *)text, signature, max); /* faster than memcpy for this few */
    text[max] = '\0';
    const char *p = text, *end = text + max;
    struct wrong wrong = {end, 0};
    for (p = pass_simple(p, 0, 0); p < end; p = pass_simple(p, 0, 0)) {
        p = pass(p, 0, 0, &wrong);
        if (!p)
            break;
    }
    if (wrong.at == end && n > max)
        wrong.error = DW_E_LIMIT; /* what is missing may stand behind the limit */
    if (wrong.error && error_at)
        *error_at = (size_t)(wrong.at - text);
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
    while (*p == 'a')
        p++;
    int open = 0;
    do
        open += dw_traits(*p)->nest;
    while (open > 0 && *++p);
    const bool none = *p == 0 || open < 0;
    return (dw_string){signature, (size_t)(p - signature) + !none};
}
