/* names.c - object paths and names. See dwire/names.h. */

#include "dwire/names.h"
#include "wire.h"

/* What a byte may be in a name. One that is none of these is in no name. */
enum { LETTER = 1, DIGIT = 2, HYPHEN = 4, DOT = 8, SLASH = 16 };

#define C5(class)  class, class, class, class, class
#define C10(class) C5(class), C5(class)
#define C26(class) C10(class), C10(class), C5(class), class

static const uint8_t class_of[256] = {
    ['-'] = HYPHEN,     ['.'] = DOT,         ['/'] = SLASH,       ['_'] = LETTER,
    ['0'] = C10(DIGIT), ['A'] = C26(LETTER), ['a'] = C26(LETTER),
};

/* Elements of one or more bytes with separators between them. */
struct rule {
    size_t most;         /* bytes */
    int code;            /* of the error */
    char prefix;         /* before the first element, 0 for none */
    uint8_t least;       /* elements, 1 or 2 */
    uint8_t first, rest; /* classes of an element's bytes */
    uint8_t separator;   /* class, 0 for none */
};

#define WORD (LETTER | DIGIT)
#define NAME DW_MAX_NAME, DW_E_NAME
static const struct rule path = {SIZE_MAX, DW_E_PATH, '/', 1, WORD, WORD, SLASH};
static const struct rule interface = {NAME, 0, 2, LETTER, WORD, DOT};
static const struct rule member = {NAME, 0, 1, LETTER, WORD, 0};
static const struct rule unique = {NAME, ':', 2, WORD | HYPHEN, WORD | HYPHEN, DOT};
static const struct rule well_known = {NAME, 0, 2, LETTER | HYPHEN, WORD | HYPHEN, DOT};
static const struct rule unique_namespace = {NAME, ':', 1, WORD | HYPHEN, WORD | HYPHEN, DOT};
static const struct rule well_known_namespace = {NAME, 0, 1, LETTER | HYPHEN, WORD | HYPHEN, DOT};

/* Where the bytes stop following the rule, or n. whole: they follow it to the end. */
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

static DW_NOINLINE int judge(const struct rule *rule, const char *p, size_t n, size_t *error_at)
{
    bool whole;
    size_t at = follow(rule, p, n < rule->most ? n : rule->most, &whole);
    if (whole && n <= rule->most)
        return 0;
    if (error_at)
        *error_at = at;
    return rule->code;
}

#if DW_VECTOR
/* The bytes that are wrong where they stand, after the bytes before them: top bits. */
DW_INLINE dw_vector wrong(const struct rule *rule, dw_vector v, dw_vector before)
{
    dw_vector digit = (dw_vector)(v - '0' < 10);
    dw_vector good = digit | (dw_vector)((v | 0x20) - 'a' < 26) | (dw_vector)(v == '_');
    if (rule->rest & HYPHEN)
        good |= (dw_vector)(v == '-');
    if (!rule->separator)
        return ~good;
    uint8_t separator = rule->separator == DOT ? '.' : '/';
    dw_vector divides = (dw_vector)(v == separator);
    dw_vector not_first = rule->first & DIGIT ? divides : divides | digit;
    return ~(good | divides) | ((dw_vector)(before == separator) & not_first);
}

/* The n bytes at p, 4 to 16, some of them twice where they are fewer than 16. */
DW_INLINE dw_vector load_block(const char *p, size_t n)
{
    if (n == 16)
        return dw_load_vector(p);
    if (n >= 8)
        return dw_pair_vector(dw_load64(p), dw_load64(p + n - 8));
    uint64_t both = (uint64_t)dw_load32(p) << 32 | dw_load32(p + n - 4);
    return dw_pair_vector(both, both);
}

/* Whether n bytes, 4 or more, follow the rule, going on from the byte before them,
 * which is right and no separator. */
DW_INLINE bool blocks_follow(const struct rule *rule, const char *p, size_t n)
{
    const size_t len = n < 16 ? n : 16;
    const char *last = p + n - len;
    dw_vector v = load_block(last, len);
    dw_vector bad = wrong(rule, v, load_block(last - 1, len));
    dw_vector dots = (dw_vector)(v == '.');
    for (; p < last; p += 16) {
        v = dw_load_vector(p);
        bad |= wrong(rule, v, dw_load_vector(p - 1));
        dots |= (dw_vector)(v == '.');
    }
    return !dw_vector_tops(bad) && (rule->least < 2 || dw_vector_tops(dots)) &&
           class_of[(unsigned char)last[len - 1]] & rule->rest;
}
#endif

/* Blocks say quickly that a name is right, all but short ones; judge() says all else. */
DW_INLINE int check(const struct rule *rule, const char *p, size_t n, size_t *error_at)
{
#if DW_VECTOR
    size_t rest = rule->prefix ? 2 : 1;
    if (DW_LIKELY(n >= rest + 4 && n <= rule->most) && (!rule->prefix || *p == rule->prefix) &&
        class_of[(unsigned char)p[rest - 1]] & rule->first &&
        blocks_follow(rule, p + rest, n - rest))
        return 0;
#endif
    return judge(rule, p, n, error_at);
}

int dw_check_path(const char *p, size_t n, size_t *error_at)
{
    return n == 1 && *p == '/' ? 0 : check(&path, p, n, error_at);
}

bool dw_path_valid(const char *p, size_t n)
{
    return dw_check_path(p, n, NULL) == 0;
}

int dw_check_interface(const char *p, size_t n, size_t *error_at)
{
    return check(&interface, p, n, error_at);
}

int dw_check_error_name(const char *p, size_t n, size_t *error_at)
{
    return dw_check_interface(p, n, error_at);
}

int dw_check_member(const char *p, size_t n, size_t *error_at)
{
    return check(&member, p, n, error_at);
}

int dw_check_unique_name(const char *p, size_t n, size_t *error_at)
{
    return check(&unique, p, n, error_at);
}

int dw_check_well_known_name(const char *p, size_t n, size_t *error_at)
{
    return check(&well_known, p, n, error_at);
}

int dw_check_bus_name(const char *p, size_t n, size_t *error_at)
{
    return n && *p == ':' ? dw_check_unique_name(p, n, error_at)
                          : dw_check_well_known_name(p, n, error_at);
}

int dw_check_namespace(const char *p, size_t n, size_t *error_at)
{
    return judge(n && *p == ':' ? &unique_namespace : &well_known_namespace, p, n, error_at);
}
