/* signature.c - signatures. See dwire/signature.h. */

#include "dwire/signature.h"

#include <string.h>

/* Per type code: alignment, and size where it is fixed. */
static const struct {
    uint8_t align, size;
    bool basic;
} types[128] = {
    ['y'] = {1, 1, true},  ['b'] = {4, 4, true},  ['n'] = {2, 2, true},  ['q'] = {2, 2, true},
    ['i'] = {4, 4, true},  ['u'] = {4, 4, true},  ['x'] = {8, 8, true},  ['t'] = {8, 8, true},
    ['d'] = {8, 8, true},  ['h'] = {4, 4, true},  ['s'] = {4, 0, true},  ['o'] = {4, 0, true},
    ['g'] = {1, 0, true},  ['v'] = {1, 0, false}, ['a'] = {4, 0, false}, ['('] = {8, 0, false},
    ['{'] = {8, 0, false},
};

size_t dw_type_align(char code)
{
    return (unsigned char)code < 128 ? types[(unsigned char)code].align : 0;
}

size_t dw_type_size(char code)
{
    return (unsigned char)code < 128 ? types[(unsigned char)code].size : 0;
}

bool dw_type_basic(char code)
{
    return (unsigned char)code < 128 && types[(unsigned char)code].basic;
}

/* An open bracket, or level 0 for the signature itself. */
struct level {
    char close;      /* the bracket that ends it */
    uint8_t members; /* complete types in it so far */
    uint8_t arrays;  /* array codes right before it */
};

struct walk {
    struct level level[DW_MAX_ARRAYS + DW_MAX_STRUCTS + 1]; /* entries: no more than arrays */
    struct level *top;
    unsigned arrays, structs; /* open now */
    uint8_t pending;          /* array codes that wait for their element */
};

/* A complete type has ended in the level at the top. */
static bool complete(struct walk *w, uint8_t arrays)
{
    w->arrays -= arrays;
    w->pending = 0;
    if (w->top->members < UINT8_MAX)
        w->top->members++;
    return w->top->close != '}' || w->top->members <= 2;
}

/* One byte of a signature. */
static int step(struct walk *w, char c)
{
    bool key = w->top->close == '}' && w->top->members == 0;
    if (key && !dw_type_basic(c))
        return DW_E_SIGNATURE;
    if (dw_type_basic(c) || c == 'v')
        return complete(w, w->pending) ? 0 : DW_E_SIGNATURE;
    switch (c) {
    case 'a':
        w->pending++;
        return ++w->arrays > DW_MAX_ARRAYS ? DW_E_DEPTH : 0;
    case '(':
        if (++w->structs > DW_MAX_STRUCTS)
            return DW_E_DEPTH;
        *++w->top = (struct level){')', 0, w->pending};
        w->pending = 0;
        return 0;
    case '{':
        if (w->pending == 0)
            return DW_E_SIGNATURE;
        *++w->top = (struct level){'}', 0, w->pending};
        w->pending = 0;
        return 0;
    case ')':
    case '}':
        if (c != w->top->close || w->pending || w->top->members < (c == ')' ? 1 : 2))
            return DW_E_SIGNATURE;
        w->structs -= c == ')';
        w->top--;
        return complete(w, w->top[1].arrays) ? 0 : DW_E_SIGNATURE;
    default:
        return DW_E_SIGNATURE;
    }
}

static int check(const char *signature, size_t n, bool single, size_t *error_at)
{
    struct walk w;
    w.level[0] = (struct level){'\0', 0, 0};
    w.top = w.level;
    w.arrays = w.structs = 0;
    w.pending = 0;

    int r = 0;
    size_t at = 0;
    for (; r == 0 && at < n; at++) {
        if (at == DW_MAX_SIGNATURE)
            r = DW_E_LIMIT;
        else if (single && w.top == w.level && w.top->members == 1)
            r = DW_E_SIGNATURE;
        else
            r = step(&w, signature[at]);
    }
    if (r)
        at--;
    else if (w.top != w.level || w.pending || (single && w.top->members != 1))
        r = DW_E_SIGNATURE;
    if (r && error_at)
        *error_at = at;
    return r;
}

int dw_check_signature(const char *signature, size_t n, size_t *error_at)
{
    return check(signature, n, false, error_at);
}

int dw_check_single(const char *signature, size_t n, size_t *error_at)
{
    if (n == 1 && (dw_type_basic(*signature) || *signature == 'v'))
        return 0;
    return check(signature, n, true, error_at);
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
