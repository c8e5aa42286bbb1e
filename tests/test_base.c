/* test_base.c - what the error codes say, the limits, the allocator. */

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "dwire/base.h"

static void says_what_a_code_means(void **state)
{
    static const struct {
        int code;
        const char *name, *text, *section;
    } rows[] = {
        {0, "DW_OK", "success", ""},
        {1, "DW_OK", "success", ""},
        {INT_MAX, "DW_OK", "success", ""},
        {DW_E_NO_ROOM, "DW_E_NO_ROOM", "the buffer is full", ""},
        {DW_E_BOUNDS, "DW_E_BOUNDS", "a length does not fit into what encloses it",
         "Marshaling (Wire Format)"},
        {DW_E_BOOLEAN, "DW_E_BOOLEAN", "a boolean is neither 0 nor 1", "Basic types"},
        {DW_E_PATH, "DW_E_PATH", "not a valid object path", "Valid Object Paths"},
        {DW_E_SYSTEM, "DW_E_SYSTEM", "a system call failed (errno tells why)", ""},
        {-DW_ERROR_COUNT - 1, "unknown error", "unknown error", ""},
        {INT_MIN, "unknown error", "unknown error", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_string_equal(dw_error_name(rows[i].code), rows[i].name);
        assert_string_equal(dw_error_text(rows[i].code), rows[i].text);
        assert_string_equal(dw_error_section(rows[i].code), rows[i].section);
    }
}

static void tells_codes_apart(void **state)
{
    (void)state;
    assert_int_equal(DW_E_NO_ROOM, -1);
    assert_int_equal(DW_E_SYSTEM, -DW_ERROR_COUNT);
    for (int a = -1; a >= -DW_ERROR_COUNT; a--) {
        assert_int_equal(strncmp(dw_error_name(a), "DW_E_", 5), 0);
        for (int b = 0; b > a; b--) {
            assert_string_not_equal(dw_error_name(a), dw_error_name(b));
            assert_string_not_equal(dw_error_text(a), dw_error_text(b));
        }
    }
}

/* The titles as they stand in the specification. */
static void names_real_sections(void **state)
{
    static const char *const titles[] = {
        "",
        "Type System",
        "Basic types",
        "Container types",
        "Marshaling (Wire Format)",
        "Message Format",
        "Header Fields",
        "Message Types",
        "Valid Object Paths",
        "Valid Signatures",
        "Valid Names",
        "Authentication Protocol",
        "Server Addresses",
        "Transports",
    };
    (void)state;
    for (int code = -1; code >= -DW_ERROR_COUNT; code--) {
        size_t i = 0;
        while (i < sizeof titles / sizeof *titles && strcmp(titles[i], dw_error_section(code)) != 0)
            i++;
        if (i == sizeof titles / sizeof *titles)
            fail_msg("%s: no section is called %s", dw_error_name(code), dw_error_section(code));
    }
}

/* Section "Message Format", "Valid Names", "Valid Signatures". */
static void has_the_limits_of_the_specification(void **state)
{
    (void)state;
    assert_int_equal(DW_MAX_MESSAGE, 128 * 1024 * 1024);
    assert_int_equal(DW_MAX_ARRAY, 64 * 1024 * 1024);
    assert_int_equal(DW_MAX_NAME, 255);
    assert_int_equal(DW_MAX_SIGNATURE, 255);
    assert_int_equal(DW_MAX_ARRAYS, 32);
    assert_int_equal(DW_MAX_STRUCTS, 32);
    assert_int_equal(DW_MAX_DEPTH, 64);
}

static void knows_its_byte_order(void **state)
{
    const uint16_t one = 1;
    (void)state;
    assert_int_equal(DW_NATIVE, *(const unsigned char *)&one ? DW_LITTLE : DW_BIG);
}

static void heap_gives_and_takes(void **state)
{
    const dw_allocator *a = dw_heap;
    (void)state;
    assert_null(a->resize(a->context, NULL, 0, 0));

    unsigned char *p = a->resize(a->context, NULL, 0, 10);
    assert_non_null(p);
    assert_int_equal((uintptr_t)p % _Alignof(max_align_t), 0);
    memset(p, 7, 10);
    p = a->resize(a->context, p, 10, 100000);
    assert_non_null(p);
    for (size_t i = 0; i < 10; i++)
        assert_int_equal(p[i], 7);
    memset(p, 8, 100000);
    p = a->resize(a->context, p, 100000, 3);
    assert_non_null(p);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(p[i], 8);
    assert_null(a->resize(a->context, p, 3, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_what_a_code_means),
        cmocka_unit_test(tells_codes_apart),
        cmocka_unit_test(names_real_sections),
        cmocka_unit_test(has_the_limits_of_the_specification),
        cmocka_unit_test(knows_its_byte_order),
        cmocka_unit_test(heap_gives_and_takes),
    };
    return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
