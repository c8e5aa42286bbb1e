/* signature.c - signatures. See dwire/signature.h. */

#include "dwire/signature.h"

#include "wire.h"

const dw_type_traits dw_types[256] = {
    ['y'] = {1, 1, true, true},   ['b'] = {4, 4, true, true},   ['n'] = {2, 2, true, true},
    ['q'] = {2, 2, true, true},   ['i'] = {4, 4, true, true},   ['u'] = {4, 4, true, true},
    ['x'] = {8, 8, true, true},   ['t'] = {8, 8, true, true},   ['d'] = {8, 8, true, true},
    ['h'] = {4, 4, true, true},   ['s'] = {4, 0, true, true},   ['o'] = {4, 0, true, true},
    ['g'] = {1, 0, true, true},   ['v'] = {1, 0, false, true},  ['a'] = {4, 0, false, false},
    ['('] = {8, 0, false, false}, ['{'] = {8, 0, false, false},
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
    return dw_traits(code)->basic;
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
 * end, or NULL. Goes as deep as the type, which those limits bound. What is a
 * complete type by itself, as most are, is passed over without a call. */
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
        p++;
        do { /* one or more complete types */
            p = dw_traits(*p)->simple ? p + 1 : pass(p, arrays, structs, wrong);
        } while (p && *p != ')');
        return p ? p + 1 : NULL;
    }
    if (p == start || *p != '{')
        return stop(wrong, p, DW_E_SIGNATURE);
    p++;
    if (!dw_traits(*p)->basic)
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
    while (p && p < end)
        p = dw_traits(*p)->simple ? p + 1 : pass(p, 0, 0, &wrong);
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
    if (*p == '(' || *p == '{') {
        size_t open = 1;
        while (open && *++p)
            open += (size_t)((*p == '(' || *p == '{') - (*p == ')' || *p == '}'));
    } else if (*p == ')' || *p == '}') {
        return (dw_string){signature, 0};
    }
    return (dw_string){signature, (size_t)(p - signature) + (*p != 0)};
}
