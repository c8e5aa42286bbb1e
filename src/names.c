/* names.c - object paths and names. See dwire/names.h. */

#include "dwire/names.h"
#include "wire.h"

/* What a byte may be in a name. One that is none of these is in no name. */
enum { LETTER = 1, DIGIT = 2, HYPHEN = 4, DOT = 8, SLASH = 16 };

#define L13                                                                                        \
    LETTER, LETTER, LETTER, LETTER, LETTER, LETTER, LETTER, LETTER, LETTER, LETTER, LETTER,        \
        LETTER, LETTER

static const uint8_t class_of[256] = {
    ['-'] = HYPHEN, ['.'] = DOT, ['/'] = SLASH, ['0'] = DIGIT,  DIGIT,       DIGIT,
    DIGIT,          DIGIT,       DIGIT,         DIGIT,          DIGIT,       DIGIT,
    DIGIT,          ['A'] = L13, L13,           ['_'] = LETTER, ['a'] = L13, L13,
};

/* Elements of one or more bytes with separators between them. */
struct rule {
    char prefix;         /* before the first element, 0 for none */
    uint8_t least;       /* so many elements at least */
    uint8_t first, rest; /* classes of an element's bytes */
    uint8_t separator;   /* likewise */
};

#define WORD        (LETTER | DIGIT)
#define HYPHEN_WORD (LETTER | DIGIT | HYPHEN)

static const struct rule path = {'/', 1, WORD, WORD, SLASH};
static const struct rule interface = {0, 2, LETTER, WORD, DOT};
static const struct rule member = {0, 1, LETTER, WORD, 0};
static const struct rule unique = {':', 2, HYPHEN_WORD, HYPHEN_WORD, DOT};
static const struct rule well_known = {0, 2, LETTER | HYPHEN, HYPHEN_WORD, DOT};
static const struct rule unique_namespace = {':', 1, HYPHEN_WORD, HYPHEN_WORD, DOT};
static const struct rule well_known_namespace = {0, 1, LETTER | HYPHEN, HYPHEN_WORD, DOT};

/* Where the bytes stop to follow the rule; n, with *whole told, where they do not. */
static size_t follow(const struct rule *rule, const char *p, size_t n, bool *whole)
{
    const uint8_t *u = (const uint8_t *)p;
    size_t at = 0;
    *whole = false;
    if (rule->prefix && (n == 0 || p[at++] != rule->prefix))
        return 0;
    for (unsigned elements = 1; at < n && class_of[u[at]] & rule->first; elements++) {
        do
            at++;
        while (at < n && class_of[u[at]] & rule->rest);
        if (at == n)
            *whole = elements >= rule->least;
        if (at == n || !(class_of[u[at]] & rule->separator))
            break;
        at++;
    }
    return at;
}

static int check_name(const struct rule *rule, const char *p, size_t n, size_t *error_at)
{
    bool whole, fits = n <= DW_MAX_NAME;
    size_t at = follow(rule, p, fits ? n : DW_MAX_NAME, &whole);
    if (DW_LIKELY(whole && fits))
        return 0;
    if (error_at)
        *error_at = at;
    return DW_E_NAME;
}

int dw_check_path(const char *p, size_t n, size_t *error_at)
{
    if (n == 1 && *p == '/')
        return 0;
    bool whole;
    size_t at = follow(&path, p, n, &whole);
    if (DW_LIKELY(whole))
        return 0;
    if (error_at)
        *error_at = at;
    return DW_E_PATH;
}

bool dw_path_valid(const char *p, size_t n) { return dw_check_path(p, n, NULL) == 0; }

int dw_check_interface(const char *p, size_t n, size_t *error_at)
{
    return check_name(&interface, p, n, error_at);
}

int dw_check_error_name(const char *p, size_t n, size_t *error_at)
{
    return check_name(&interface, p, n, error_at);
}

int dw_check_member(const char *p, size_t n, size_t *error_at)
{
    return check_name(&member, p, n, error_at);
}

int dw_check_bus_name(const char *p, size_t n, size_t *error_at)
{
    return check_name(n && *p == ':' ? &unique : &well_known, p, n, error_at);
}

int dw_check_unique_name(const char *p, size_t n, size_t *error_at)
{
    return check_name(&unique, p, n, error_at);
}

int dw_check_well_known_name(const char *p, size_t n, size_t *error_at)
{
    return check_name(&well_known, p, n, error_at);
}

int dw_check_namespace(const char *p, size_t n, size_t *error_at)
{
    return check_name(n && *p == ':' ? &unique_namespace : &well_known_namespace, p, n, error_at);
}
