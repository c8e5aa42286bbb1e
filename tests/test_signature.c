/* test_signature.c - signatures: what is one, what is not and where; walking them; the
 * size and alignment of each type. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "dwire/signature.h"
#include "support/text.h"

typedef int check(const char *signature, size_t n, size_t *error_at);

/* One question, with the bytes in a block of their exact size. */
static void ask(check *rule, const char *p, size_t n, int code, size_t at)
{
    block b = block_copy(p, n, 0);
    size_t came_at = SIZE_MAX, wanted_at = code ? at : SIZE_MAX;
    int came = rule((const char *)b.p, n, &came_at);
    if (came != code || came_at != wanted_at || rule((const char *)b.p, n, NULL) != code) {
        text shown = {0};
        text_escape(&shown, p, n);
        fail_msg("\"%s\": %s at %zd, wanted %s at %zd", text_string(&shown), dw_error_name(came),
                 (ptrdiff_t)came_at, dw_error_name(code), (ptrdiff_t)wanted_at);
    }
    block_free(&b);
}

/* -- Checks ----------------------------------------------------------------- */

/* Section "Valid Signatures". */
static void accepts_signatures(void **state)
{
    static const char *const rows[] = {
        "",
        "ybnqiuxtdhsogv",
        "as",
        "aaaay",
        "(y)",
        "(yy)(y)",
        "((y)y(yv))",
        "a(y)",
        "a{sv}",
        "aa{sv}",
        "a{oa{sa{sv}}}",
        "a{s(a{sv})}",
        "a{saas}",
        "a{yv}a{bv}a{nv}a{qv}a{iv}a{uv}a{xv}a{tv}a{dv}a{hv}a{sv}a{ov}a{gv}",
        "a(sa(us))",
        "sssusa(uuubbba(uu)uuuu)a{u(uuuvas)}",
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ask(dw_check_signature, rows[i], strlen(rows[i]), 0, 0);
}

static void refuses_what_is_no_signature(void **state)
{
    static const struct {
        const char *p;
        size_t at;
    } rows[] = {
        {"a", 1}, /* an array without its element */
        {"aaaa", 4},     {"ya", 2},      {"ii(ii)a", 7},
        {"(a)", 2},      {"a{sa}", 4},   {"(", 1}, /* not closed */
        {"((y)", 4},     {"(ai", 3},     {")", 0}, /* not opened */
        {"y)", 1},       {"(y))", 3},    {"}", 0},
        {"y}", 1},       {"()", 1},                   /* an empty struct */
        {"a()", 2},      {"(y())", 3},   {"{sv}", 0}, /* an entry that is no element of an array */
        {"y{sv}", 1},    {"({sv})", 1},  {"a({sv})", 2},
        {"a{s{sv}}", 3}, {"a{}", 2},                   /* an entry of none, one, or three types */
        {"a{s}", 3},     {"a{svs}", 4},  {"a{vs}", 2}, /* a key that is no basic type */
        {"a{ays}", 2},   {"a{(y)s}", 2}, {"a{{ss}s}", 2},
        {"a{", 2}, /* an entry that is cut */
        {"a{s", 3},      {"a{sv", 4},    {"a{sa", 4},
        {"a{sv)", 4}, /* brackets that do not match */
        {"(a{s)}", 4},   {"(a{sv)}", 5}, {"a{s(s}", 5},
        {"(y}", 2},      {"r", 0}, /* codes that are reserved or none */
        {"e", 0},        {"ym", 1},      {"(s*)", 2},
        {"a?", 1},       {"a{s@}", 3},   {"a&s", 1},
        {"^as", 0},      {"Y", 0},       {"ss ", 2},
        {"ss\n", 2},     {"ss\x80", 2},  {"\xff", 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ask(dw_check_signature, rows[i].p, strlen(rows[i].p), DW_E_SIGNATURE, rows[i].at);
    ask(dw_check_signature, "\0", 1, DW_E_SIGNATURE, 0);
    ask(dw_check_signature, "y\0y", 3, DW_E_SIGNATURE, 1);
}

static void takes_no_other_code(void **state)
{
    (void)state;
    for (int byte = 0; byte < 256; byte++) {
        char p[] = {'y', (char)byte};
        bool good = byte && strchr("ybnqiuxtdhsogv", byte);
        bool open = byte == 'a' || byte == '(';
        ask(dw_check_signature, p, 2, good ? 0 : DW_E_SIGNATURE, open ? 2 : 1);
    }
}

/* -- Limits ----------------------------------------------------------------- */

static void add(text *t, const char *part, size_t times)
{
    for (size_t i = 0; i < times; i++)
        text_put(t, part);
}

/* Arrays and structs open at once, each at its limit of 32 and one above. What is next to
 * another counts once, what is inside another counts on. */
static void limits_depth(void **state)
{
    static const struct {
        const char *first, *then; /* each so often as it is told */
        size_t n_first, n_then;
        const char *middle, *last; /* last as often as then */
        size_t at;                 /* too deep; 0: not at all */
    } rows[] = {
        {"", "a", 0, 32, "y", "", 0},      {"", "a", 0, 33, "y", "", 32},
        {"", "(", 0, 32, "y", ")", 0},     {"", "(", 0, 33, "y", ")", 32},
        {"a", "(", 32, 32, "y", ")", 0},   {"a", "(", 33, 32, "y", ")", 32},
        {"a", "(", 32, 33, "y", ")", 64},  {"", "a(", 0, 32, "y", ")", 0},
        {"", "a(", 0, 33, "y", ")", 64},   {"", "(a", 0, 33, "y", ")", 64},
        {"", "a{y", 0, 32, "y", "}", 0},   {"", "a{y", 0, 33, "y", "}", 96},
        {"", "a{y(", 0, 32, "y", ")}", 0}, {"", "a{y(", 0, 33, "y", ")}", 128},
        {"", "aa(", 0, 16, "y", ")", 0},   {"", "aa(", 0, 17, "y", ")", 48},
        {"", "aa{y", 0, 17, "y", "}", 64}, {"(y)", "(", 33, 32, "y", ")", 0},
        {"ay", "a", 33, 32, "y", "", 0},   {"a(y)", "a(", 33, 32, "y", ")", 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        text t = {0};
        add(&t, rows[i].first, rows[i].n_first);
        add(&t, rows[i].then, rows[i].n_then);
        text_put(&t, rows[i].middle);
        add(&t, rows[i].last, rows[i].n_then);
        ask(dw_check_signature, t.p, t.n, rows[i].at ? DW_E_DEPTH : 0, rows[i].at);
        text_free(&t);
    }
}

static void limits_length(void **state)
{
    char p[1000];
    (void)state;
    memset(p, 'y', sizeof p);
    ask(dw_check_signature, p, 255, 0, 0);
    ask(dw_check_signature, p, 256, DW_E_LIMIT, 255);
    ask(dw_check_signature, p, sizeof p, DW_E_LIMIT, 255);
    p[254] = 'a';
    ask(dw_check_signature, p, 255, DW_E_SIGNATURE, 255);
    ask(dw_check_signature, p, 256, DW_E_LIMIT, 255);
    p[100] = 'z';
    ask(dw_check_signature, p, 256, DW_E_SIGNATURE, 100);
}

/* -- Every short signature -------------------------------------------------- */

/* The grammar as a stack of what is to come: '*' types to the end, 'M' types to the
 * bracket, 'T' a type, 'E' an element, 'B' a basic type, '}' itself. */
static bool follows(char *stack, size_t *n, char c)
{
    char top = stack[--*n];
    if (top == '*' || (top == 'M' && c != ')'))
        stack[(*n)++] = top;
    else if (top == 'M')
        return true;
    else if (top == '}')
        return c == '}';
    if (c == 'y')
        return true;
    if (top == 'B')
        return false;
    const char *to_come = NULL;
    if (top == 'E' && c == '{')
        to_come = "}TB";
    else if (c == '(')
        to_come = "MT";
    else if (c == 'a')
        to_come = "E";
    if (!to_come)
        return c == 'v';
    for (; *to_come; to_come++)
        stack[(*n)++] = *to_come;
    return true;
}

static void judges_every_short_signature(void **state)
{
    static const char codes[] = "yva(){}";
    enum { CODES = sizeof codes - 1, LONGEST = 6 };
    (void)state;
    for (size_t n = 1, all = CODES; n <= LONGEST; n++, all *= CODES)
        for (size_t number = 0; number < all; number++) {
            char p[LONGEST], stack[4 * LONGEST] = "*";
            size_t rest = number, depth = 1, at = 0;
            for (size_t i = 0; i < n; i++, rest /= CODES)
                p[i] = codes[rest % CODES];
            while (at < n && follows(stack, &depth, p[at]))
                at++;
            ask(dw_check_signature, p, n, at == n && depth == 1 ? 0 : DW_E_SIGNATURE, at);
        }
}

/* -- Single complete types -------------------------------------------------- */

static void judges_single_types(void **state)
{
    static const struct {
        const char *p;
        int code;
        size_t at;
    } rows[] = {
        {"y", 0, 0},
        {"s", 0, 0},
        {"v", 0, 0},
        {"as", 0, 0},
        {"a{sv}", 0, 0},
        {"(yy)", 0, 0},
        {"aa(sv)", 0, 0},
        {"", DW_E_SIGNATURE, 0},
        {"yy", DW_E_SIGNATURE, 1},
        {"ayy", DW_E_SIGNATURE, 2},
        {"(y)(y)", DW_E_SIGNATURE, 3},
        {"a{sv}v", DW_E_SIGNATURE, 5},
        {"vv", DW_E_SIGNATURE, 1},
        {"{sv}", DW_E_SIGNATURE, 0},
        {"a", DW_E_SIGNATURE, 1},
        {"(y", DW_E_SIGNATURE, 2},
        {"z", DW_E_SIGNATURE, 0},
        {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaay", DW_E_DEPTH, 32},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ask(dw_check_single, rows[i].p, strlen(rows[i].p), rows[i].code, rows[i].at);
}

/* -- Walking ---------------------------------------------------------------- */

static void walks_complete_types(void **state)
{
    static const struct {
        const char *signature, *types;
    } rows[] = {
        {"", ""},
        {"y", "y "},
        {"sua{sv}", "s u a{sv} "},
        {"aas(i(ii))v", "aas (i(ii)) v "},
        {"a(a{sv}ay)a{s(y)}x", "a(a{sv}ay) a{s(y)} x "},
        {"yv)s", "y v "}, /* the inside of a struct, to its end */
        {"sa{sv}}s", "s a{sv} "},
        {")", ""},
        {"}", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        text came = {0};
        for (dw_string t = dw_next_type(rows[i].signature); t.n; t = dw_next_type(t.p + t.n))
            text_printf(&came, "%.*s ", (int)t.n, t.p);
        assert_string_equal(text_string(&came), rows[i].types);
        text_free(&came);
    }
}

/* -- Types ------------------------------------------------------------------ */

/* Section "Summary of D-Bus marshalling". */
static void knows_size_and_alignment(void **state)
{
    static const struct {
        char code;
        size_t align, size;
        bool basic;
    } rows[] = {
        {'y', 1, 1, true},  {'b', 4, 4, true},  {'n', 2, 2, true},  {'q', 2, 2, true},
        {'i', 4, 4, true},  {'u', 4, 4, true},  {'x', 8, 8, true},  {'t', 8, 8, true},
        {'d', 8, 8, true},  {'h', 4, 4, true},  {'s', 4, 0, true},  {'o', 4, 0, true},
        {'g', 1, 0, true},  {'v', 1, 0, false}, {'a', 4, 0, false}, {'(', 8, 0, false},
        {'{', 8, 0, false},
    };
    (void)state;
    for (int byte = 0; byte < 256; byte++) {
        size_t i = 0, n = sizeof rows / sizeof *rows;
        char code = (char)byte;
        while (i < n && rows[i].code != code)
            i++;
        assert_int_equal(dw_type_align(code), i < n ? rows[i].align : 0);
        assert_int_equal(dw_type_size(code), i < n ? rows[i].size : 0);
        assert_int_equal(dw_type_basic(code), i < n && rows[i].basic);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accepts_signatures),
        cmocka_unit_test(refuses_what_is_no_signature),
        cmocka_unit_test(takes_no_other_code),
        cmocka_unit_test(limits_depth),
        cmocka_unit_test(limits_length),
        cmocka_unit_test(judges_every_short_signature),
        cmocka_unit_test(judges_single_types),
        cmocka_unit_test(walks_complete_types),
        cmocka_unit_test(knows_size_and_alignment),
    };
    return cmocka_run_group_tests_name("signature", tests, NULL, NULL);
}
