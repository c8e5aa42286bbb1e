/* test_names.c - the rules for strings and names, each with what breaks it and where. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "dwire/names.h"
#include "support/text.h"

typedef int check(const char *p, size_t n, size_t *error_at);

/* One question, with the bytes in a block of their exact size. at is where the fault is;
 * it is not looked at where there is none, nor written. */
static void ask(check *rule, const char *p, size_t n, size_t shift, int code, size_t at)
{
    block b = block_copy(p, n, shift);
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

/* A row: the bytes, and where they are wrong, -1 if they are not. */
struct row {
    const char *p;
    size_t n;
    int at;
};

#define ROW(bytes, at)                                                                             \
    {                                                                                              \
        bytes, sizeof(bytes) - 1, at                                                               \
    }
#define ASK_ALL(rule, rows, code) ask_all(rule, rows, sizeof(rows) / sizeof *(rows), code)

static void ask_all(check *rule, const struct row *rows, size_t n, int code)
{
    for (size_t i = 0; i < n; i++)
        for (size_t shift = 0; shift < 17; shift++)
            ask(rule, rows[i].p, rows[i].n, shift, rows[i].at < 0 ? 0 : code, (size_t)rows[i].at);
}

/* -- Names: each rule by example ------------------------------------------- */

/* Section "Valid Object Paths". */
static void judges_paths(void **state)
{
    static const struct row rows[] = {
        ROW("/", -1),
        ROW("/a", -1),
        ROW("/_", -1),
        ROW("/0", -1),
        ROW("/a/b/c", -1),
        ROW("/0/1/2", -1),
        ROW("/org/freedesktop/DBus", -1),
        ROW("/org/freedesktop/DBus/Local", -1),
        ROW("", 0),
        ROW("a", 0),
        ROW("a/b", 0),
        ROW(".", 0),
        ROW("//", 1),
        ROW("//a", 1),
        ROW("/a/", 3),
        ROW("/a//b", 3),
        ROW("/org/freedesktop/DBus/", 22),
        ROW("/org/freedesktop//DBus", 17),
        ROW("/a-b", 2),
        ROW("/a.b", 2),
        ROW("/a b", 2),
        ROW("/a:b", 2),
        ROW("/a\0", 2),
        ROW("/\xc3\xa9", 1),
        ROW("/org/freedesktop/D\xc3\xa9", 18),
    };
    (void)state;
    ASK_ALL(dw_check_path, rows, DW_E_PATH);
}

/* Sections "Interface names", "Error names". */
static void judges_interfaces_and_error_names(void **state)
{
    static const struct row rows[] = {
        ROW("a.b", -1),
        ROW("_._", -1),
        ROW("a0.b1.c2", -1),
        ROW("org.freedesktop.DBus", -1),
        ROW("org._7_zip.Plugin", -1),
        ROW("org.freedesktop.DBus.Local", -1),
        ROW("", 0),
        ROW("a", 1),
        ROW("organisation", 12),
        ROW("organisation_of_interfaces", 26),
        ROW("org_freedesktop_DBus_Properties_Changed_Again", 45),
        ROW(".", 0),
        ROW(".a", 0),
        ROW(".a.b", 0),
        ROW("a.", 2),
        ROW("a.b.", 4),
        ROW("org.freedesktop.DBus.", 21),
        ROW("a..b", 2),
        ROW("org..freedesktop.DBus", 4),
        ROW("0a.b", 0),
        ROW("a.0b", 2),
        ROW("org.freedesktop.7zip", 16),
        ROW("a-b.c", 1),
        ROW("org.freedesktop.D-Bus", 17),
        ROW("a/b.c", 1),
        ROW(":1.42", 0),
        ROW("a.b\0", 3),
        ROW("a.\xc3\xa4", 2),
        ROW("a.*", 2),
    };
    (void)state;
    ASK_ALL(dw_check_interface, rows, DW_E_NAME);
    ASK_ALL(dw_check_error_name, rows, DW_E_NAME);
}

/* Section "Member names". */
static void judges_members(void **state)
{
    static const struct row rows[] = {
        ROW("A", -1),
        ROW("_", -1),
        ROW("_1", -1),
        ROW("GetAll", -1),
        ROW("PropertiesChanged", -1),
        ROW("GetNameOwnersOfAllTheNamesThere", -1),
        ROW("", 0),
        ROW("0a", 0),
        ROW("0123456789abcdef", 0),
        ROW("a.b", 1),
        ROW(".a", 0),
        ROW("a.", 1),
        ROW("Properties.Changed", 10),
        ROW("a-b", 1),
        ROW("a b", 1),
        ROW("a/b", 1),
        ROW("a\0", 1),
        ROW("PropertiesChange\0", 16),
        ROW("a\xc2\xa9", 1),
    };
    (void)state;
    ASK_ALL(dw_check_member, rows, DW_E_NAME);
}

/* Section "Bus names". libdbus takes ":a", ":.a" and ":" too; the specification, which
 * wants a dot and no empty element of every bus name, is followed here. */
static const struct row unique_names[] = {
    ROW(":1.0", -1),
    ROW(":1.42", -1),
    ROW(":1.2.3.4.5", -1),
    ROW(":com.example", -1),
    ROW(":-.-", -1),
    ROW(":1.18446744073709551616", -1),
    ROW(":", 1),
    ROW(":a", 2),
    ROW(":1234567890123", 14),
    ROW(":12345678901234567890", 21),
    ROW(":.a", 1),
    ROW(":1.", 3),
    ROW(":1..0", 3),
    ROW(":1.0.", 5),
    ROW("::1.0", 1),
    ROW(":1.0:", 4),
    ROW(":1.0$", 4),
    ROW(":1.0/", 4),
    ROW(":1.\xc2\xa9", 3),
    ROW(":1.0\0", 4),
};

static const struct row well_known_names[] = {
    ROW("a.b", -1),
    ROW("_._", -1),
    ROW("-.-", -1),
    ROW("a-b.c-d", -1),
    ROW("com.example.a0", -1),
    ROW("org.freedesktop.DBus", -1),
    ROW("", 0),
    ROW("a", 1),
    ROW("organisation", 12),
    ROW("organisation_of_interfaces", 26),
    ROW("org_freedesktop_DBus_Properties_Changed_Again", 45),
    ROW(".a.b", 0),
    ROW("a.", 2),
    ROW("org.freedesktop.", 16),
    ROW("a..b", 2),
    ROW("0.b", 0),
    ROW("a.0", 2),
    ROW("org.freedesktop.0", 16),
    ROW("a.b$", 3),
    ROW("a.b/", 3),
    ROW("a.b:", 3),
    ROW("a.b\xc2\xa9", 3),
    ROW("a.b\0", 3),
};

static void judges_bus_names(void **state)
{
    (void)state;
    ASK_ALL(dw_check_unique_name, unique_names, DW_E_NAME);
    ASK_ALL(dw_check_well_known_name, well_known_names, DW_E_NAME);
    ASK_ALL(dw_check_bus_name, unique_names, DW_E_NAME);
    ASK_ALL(dw_check_bus_name, well_known_names, DW_E_NAME);
    ask(dw_check_unique_name, "a.b", 3, 0, DW_E_NAME, 0);
    ask(dw_check_unique_name, "org.freedesktop.DBus", 20, 0, DW_E_NAME, 0);
    ask(dw_check_well_known_name, ":1.0", 4, 0, DW_E_NAME, 0);
}

/* Section "Match Rules", arg0namespace: like a bus name, but it needs no dot. */
static void judges_namespaces(void **state)
{
    static const struct row rows[] = {
        ROW("a", -1),
        ROW("com", -1),
        ROW("com.example.backend1", -1),
        ROW("a-b", -1),
        ROW(":1", -1),
        ROW(":12-a.b_c", -1),
        ROW(":1.0", -1),
        ROW("", 0),
        ROW(".", 0),
        ROW("a.", 2),
        ROW("a..b", 2),
        ROW("0", 0),
        ROW("com.0", 4),
        ROW(":", 1),
        ROW(":.a", 1),
        ROW("com.example/", 11),
        ROW("com\0", 3),
        ROW("c\xc3", 1),
        ROW(":1:", 2),
    };
    (void)state;
    ASK_ALL(dw_check_namespace, rows, DW_E_NAME);
}

/* -- Names: each rule in every place ---------------------------------------- */

static const struct {
    check *rule;
    const char *start;         /* of a name of the kind */
    const char *first, *later; /* what an element may begin with, and go on with */
    char separator;            /* 0: none */
    bool limited;              /* to 255 bytes */
    int code;
} kinds[] = {
#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"
#define DIGITS  "0123456789"
    {dw_check_path, "/", LETTERS DIGITS, LETTERS DIGITS, '/', false, DW_E_PATH},
    {dw_check_interface, "a.", LETTERS, LETTERS DIGITS, '.', true, DW_E_NAME},
    {dw_check_error_name, "a.", LETTERS, LETTERS DIGITS, '.', true, DW_E_NAME},
    {dw_check_member, "", LETTERS, LETTERS DIGITS, 0, true, DW_E_NAME},
    {dw_check_unique_name, ":1.", LETTERS DIGITS "-", LETTERS DIGITS "-", '.', true, DW_E_NAME},
    {dw_check_well_known_name, "a.", LETTERS "-", LETTERS DIGITS "-", '.', true, DW_E_NAME},
    {dw_check_namespace, "a.", LETTERS "-", LETTERS DIGITS "-", '.', true, DW_E_NAME},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static bool among(int byte, const char *set)
{
    return byte != 0 && strchr(set, byte);
}

/* A name of the kind of n bytes, all of them 'a' behind the start. */
static size_t make(size_t kind, char *name, size_t n)
{
    size_t start = strlen(kinds[kind].start);
    memset(name, 'a', n);
    memcpy(name, kinds[kind].start, start);
    return start;
}

/* Every byte, in every place of names of all lengths up to some vectors. */
static void judges_every_byte_in_every_place(void **state)
{
    char name[40];
    (void)state;
    for (size_t kind = 0; kind < KINDS; kind++)
        for (size_t n = 5; n <= sizeof name; n += n < 20 ? 1 : 5)
            for (size_t at = strlen(kinds[kind].start); at < n; at++)
                for (int byte = 0; byte < 256; byte++) {
                    size_t start = make(kind, name, n);
                    bool first = at == start, last = at == n - 1;
                    name[at] = (char)byte;
                    if (among(byte, first ? kinds[kind].first : kinds[kind].later))
                        ask(kinds[kind].rule, name, n, 0, 0, 0);
                    else if (byte != kinds[kind].separator || byte == 0 || first)
                        ask(kinds[kind].rule, name, n, 0, kinds[kind].code, at);
                    else
                        ask(kinds[kind].rule, name, n, 0, last ? kinds[kind].code : 0, n);
                }
}

/* What may stand behind a separator, in every place. */
static void judges_every_start_of_an_element(void **state)
{
    char name[40];
    (void)state;
    for (size_t kind = 0; kind < KINDS; kind++)
        for (size_t n = 5; kinds[kind].separator && n <= sizeof name; n += n < 20 ? 1 : 5)
            for (size_t at = strlen(kinds[kind].start) + 2; at < n; at++)
                for (const char *byte = "Z_-05./"; *byte; byte++) {
                    make(kind, name, n);
                    name[at - 1] = kinds[kind].separator;
                    name[at] = *byte;
                    bool good = among(*byte, kinds[kind].first);
                    ask(kinds[kind].rule, name, n, 0, good ? 0 : kinds[kind].code, at);
                }
}

/* Section "Valid Names"; an object path has no limit. */
static void knows_the_limit(void **state)
{
    char name[70000];
    (void)state;
    for (size_t kind = 0; kind < KINDS; kind++) {
        int code = kinds[kind].limited ? kinds[kind].code : 0;
        make(kind, name, sizeof name);
        ask(kinds[kind].rule, name, 254, 0, 0, 0);
        ask(kinds[kind].rule, name, 255, 0, 0, 0);
        ask(kinds[kind].rule, name, 256, 0, code, 255);
        ask(kinds[kind].rule, name, sizeof name, 0, code, 255);
        name[200] = '$';
        ask(kinds[kind].rule, name, 256, 0, kinds[kind].code, 200);
    }
}

/* -- Strings ---------------------------------------------------------------- */

/* Section "Basic types", and what UTF-8 is: RFC 3629, Unicode's table 3-7. */
static const struct row strings[] = {
    ROW("", -1),
    ROW("\x01", -1),
    ROW("\x7f", -1),
    ROW("\xc2\x80", -1),
    ROW("\xdf\xbf", -1),
    ROW("\xe0\xa0\x80", -1),
    ROW("\xe1\x80\x80", -1),
    ROW("\xed\x9f\xbf", -1),
    ROW("\xee\x80\x80", -1),
    ROW("\xef\xb7\x90", -1), /* U+FDD0: noncharacters are allowed */
    ROW("\xef\xbf\xbe", -1), /* U+FFFE */
    ROW("\xef\xbf\xbf", -1), /* U+FFFF */
    ROW("\xf0\x90\x80\x80", -1),
    ROW("\xf0\x9f\xbf\xbe", -1), /* U+1FFFE */
    ROW("\xf3\xbf\xbf\xbf", -1),
    ROW("\xf4\x80\x80\x80", -1),
    ROW("\xf4\x8f\xbf\xbf", -1), /* U+10FFFF */
    ROW("\0", 0),                /* NUL */
    ROW("a\0", 1),
    ROW("\xc3\xa9\0", 2),
    ROW("\x80", 0), /* a continuation byte alone */
    ROW("\xbf", 0),
    ROW("a\x80", 1),
    ROW("\xc3\xa9\x80", 2),
    ROW("\xe4\xb8\x96\x80", 3),
    ROW("\xf0\x9f\x98\x80\x80", 4),
    ROW("\xc0\x80", 0), /* longer than needed */
    ROW("\xc1\xbf", 0),
    ROW("\xe0\x80\x80", 1),
    ROW("\xe0\x9f\xbf", 1),
    ROW("\xf0\x80\x80\x80", 1),
    ROW("\xf0\x8f\xbf\xbf", 1),
    ROW("\xed\xa0\x80", 1), /* surrogates */
    ROW("\xed\xbf\xbf", 1),
    ROW("\xf4\x90\x80\x80", 1), /* above U+10FFFF */
    ROW("\xf4\xbf\xbf\xbf", 1),
    ROW("\xf5\x80\x80\x80", 0),
    ROW("\xf8\x88\x80\x80\x80", 0),
    ROW("\xfc\x84\x80\x80\x80\x80", 0),
    ROW("\xfe", 0),
    ROW("\xff", 0),
    ROW("\xc3", 1), /* cut */
    ROW("\xe4", 1),
    ROW("\xe4\xb8", 2),
    ROW("\xf0", 1),
    ROW("\xf0\x9f", 2),
    ROW("\xf0\x9f\x98", 3),
    ROW("\xc3"
        "a",
        1), /* something else where it goes on */
    ROW("\xc3\xc3", 1),
    ROW("\xe4"
        "a\x96",
        1),
    ROW("\xe4\xb8"
        "a",
        2),
    ROW("\xe4\xb8\xe4", 2),
    ROW("\xf0"
        "a\x98\x80",
        1),
    ROW("\xf0\x9f"
        "a\x80",
        2),
    ROW("\xf0\x9f\x98"
        "a",
        3),
    ROW("\xf0\x9f\x98\xf0", 3),
    ROW("\xc3\0", 1),
    ROW("\xe4\xb8\0", 2),
    ROW("\xe0\xa0", 2), /* cut, with what was cut off behind other text */
    ROW("\xe0\xa0zzzzzzzz\x80", 2),
    ROW("aaaaaa\xe4\xb8zzzzzzzz\x96", 8),
    ROW("aaaaaaa\xc3zzzzzzzz\xa9", 8),
};

static void judges_strings(void **state)
{
    (void)state;
    ASK_ALL(dw_check_utf8, strings, DW_E_UTF8);
}

/* Behind and before other text, so that it meets every edge of every vector. What is cut
 * short by the end is, before other text, wrong where that begins: at the same offset. */
static void judges_strings_in_every_place(void **state)
{
    static const struct {
        const char *unit;
        size_t n;
    } texts[] = {{"a", 1}, {"\xc3\xa9", 2}, {"\xe4\xb8\x96", 3}, {"\xf0\x9f\x98\x80", 4}};
    (void)state;
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++)
        for (size_t t = 0; t < 4; t++)
            for (size_t before = 0; before <= 70; before += texts[t].n)
                for (size_t behind = 0; behind < 40; behind += 1 + behind / 3) {
                    char p[128];
                    for (size_t at = 0; at < before; at += texts[t].n)
                        memcpy(p + at, texts[t].unit, texts[t].n);
                    memcpy(p + before, strings[i].p, strings[i].n);
                    memset(p + before + strings[i].n, 'z', behind);
                    int code = strings[i].at < 0 ? 0 : DW_E_UTF8;
                    ask(dw_check_utf8, p, before + strings[i].n + behind, 0, code,
                        before + (size_t)strings[i].at);
                }
}

/* What may follow each first byte: the rows of Unicode's table 3-7. */
static const struct {
    int from, to;  /* first byte */
    int low, high; /* second byte; 0: there is none */
    size_t n;      /* bytes in all */
} well_formed[] = {
    {0x01, 0x7f, 0, 0, 1},       {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
    {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
    {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
};

/* Every pair of bytes, and what makes it whole; in a short text and in a long one. */
static void judges_every_first_and_second_byte(void **state)
{
    (void)state;
    for (int first = 0; first < 256; first++)
        for (int second = 0; second < 256; second++) {
            char p[2][48];
            size_t row = 0, start[] = {0, 17};
            memset(p, 'a', sizeof p);
            while (row < 9 && (first < well_formed[row].from || first > well_formed[row].to))
                row++;
            size_t n = row < 9 ? well_formed[row].n : 1;
            bool good = n == 1 ? second >= 0x01 && second <= 0x7f
                               : second >= well_formed[row].low && second <= well_formed[row].high;
            if (n == 1 && second >= 0xc2 && second <= 0xf4)
                continue; /* the start of another character */
            for (size_t i = 0; i < 2; i++) {
                char *q = p[i] + start[i];
                q[0] = (char)first;
                q[1] = (char)second;
                for (size_t k = 2; k < n; k++)
                    q[k] = '\x80';
                size_t len = i ? sizeof p[i] : (n < 2 ? 2 : n);
                ask(dw_check_utf8, p[i], len, 0, row < 9 && good ? 0 : DW_E_UTF8,
                    start[i] + (row < 9));
            }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(judges_paths),
        cmocka_unit_test(judges_interfaces_and_error_names),
        cmocka_unit_test(judges_members),
        cmocka_unit_test(judges_bus_names),
        cmocka_unit_test(judges_namespaces),
        cmocka_unit_test(judges_every_byte_in_every_place),
        cmocka_unit_test(judges_every_start_of_an_element),
        cmocka_unit_test(knows_the_limit),
        cmocka_unit_test(judges_strings),
        cmocka_unit_test(judges_strings_in_every_place),
        cmocka_unit_test(judges_every_first_and_second_byte),
    };
    return cmocka_run_group_tests_name("names", tests, NULL, NULL);
}
