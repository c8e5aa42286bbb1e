/* test_writer_errors.c - what dw_writer refuses: each error and its offset. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "dwire/signature.h"
#include "dwire/writer.h"
#include "support/text.h"

/* REFUSED(signature, code, at, calls): the first error is this one, at this
 * offset, in a growing buffer and in one without any room; it sticks, and there
 * are no bytes. */

static void refused(dw_writer *w, int code, size_t at, const char *calls)
{
    text came = {0}, wanted = {0};
    size_t len = 7;
    int finished = dw_finish(w);
    dw_fault fault = dw_writer_fault(w);
    text_printf(&came, "%s: %s at %u", calls, dw_error_name(finished), (unsigned)fault.at);
    text_printf(&wanted, "%s: %s at %zu", calls, dw_error_name(code), at);
    assert_string_equal(text_string(&came), text_string(&wanted));
    assert_int_equal(fault.code, code);
    assert_int_equal(fault.field, 0);
    assert_int_equal(dw_finish(w), code);
    assert_null(dw_writer_bytes(w, &len));
    assert_int_equal(len, 0);
    assert_int_equal(dw_writer_size(w), 0);
    dw_writer_free(w);
    text_free(&came);
    text_free(&wanted);
}

#define REFUSED(signature, code, at, ...)                                                          \
    for (int form = 0; form < 4; form++) {                                                         \
        dw_writer writer, *w = &writer;                                                            \
        dw_writer_init(w, NULL, 0, form / 2 ? dw_heap : NULL);                                     \
        dw_begin_body(w, signature, form % 2 ? DW_BIG : DW_LITTLE);                                \
        __VA_ARGS__;                                                                               \
        refused(w, code, at, #__VA_ARGS__);                                                        \
    }

static void put_one(dw_writer *w, char code)
{
    switch (code) {
    case 'y': dw_put_byte(w, 1); break;
    case 'b': dw_put_boolean(w, true); break;
    case 'n': dw_put_int16(w, 1); break;
    case 'q': dw_put_uint16(w, 1); break;
    case 'i': dw_put_int32(w, 1); break;
    case 'u': dw_put_uint32(w, 1); break;
    case 'x': dw_put_int64(w, 1); break;
    case 't': dw_put_uint64(w, 1); break;
    case 'd': dw_put_double(w, 1); break;
    case 'h': dw_put_unix_fd(w, 1); break;
    case 's': dw_put_string(w, "/"); break;
    case 'o': dw_put_object_path(w, "/"); break;
    case 'g': dw_put_signature(w, "y"); break;
    case 'a': dw_put_byte_array(w, NULL, 0); break;
    case 'v':
        dw_open_variant(w, "y");
        dw_put_byte(w, 1);
        dw_close_variant(w);
        break;
    default:
        dw_open_struct(w);
        dw_put_byte(w, 1);
        dw_close_struct(w);
        break;
    }
}

/* Every type put where every other one is asked for. */
static void refuses_other_types(void **state)
{
    (void)state;
    static const char *const types[] = {"y", "b", "n", "q", "i", "u", "x",  "t",
                                        "d", "h", "s", "o", "g", "v", "ay", "(y)"};
    const size_t n = sizeof types / sizeof *types;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            char signature[8] = "y";
            strcat(signature, types[i]);
            dw_writer w;
            dw_writer_init(&w, NULL, 0, dw_heap);
            dw_begin_body(&w, signature, 0);
            dw_put_byte(&w, 1);
            put_one(&w, *types[j]);
            if (i == j) {
                assert_int_equal(dw_finish(&w), 0);
                dw_writer_free(&w);
            } else {
                refused(&w, DW_E_TYPE, 1, signature);
            }
        }
    }
}

/* In an array too, where the type stays the same from element to element. */
static void refuses_other_elements(void **state)
{
    (void)state;
    REFUSED("au", DW_E_TYPE, 4, dw_open_array(w), dw_put_int32(w, 1), dw_close_array(w));
    REFUSED("au", DW_E_TYPE, 8, dw_open_array(w), dw_put_uint32(w, 1), dw_put_string(w, "a"));
    REFUSED("a(y)", DW_E_TYPE, 8, dw_open_array(w), dw_put_byte(w, 1));
    REFUSED("a{yy}", DW_E_TYPE, 8, dw_open_array(w), dw_open_struct(w));
    REFUSED("au", DW_E_TYPE, 0, dw_put_int32_array(w, (const int32_t[]){1}, 1));
    REFUSED("ab", DW_E_TYPE, 0, dw_put_uint32_array(w, (const uint32_t[]){1}, 1));
    REFUSED("ao", DW_E_TYPE, 0, dw_put_string_array(w, (const char *const[]){"/"}, 1));
    REFUSED("ay", DW_E_ARGUMENT, 0, dw_put_array(w, 's', "", 1));
    REFUSED("ay", DW_E_ARGUMENT, 0, dw_put_array(w, '\0', "", 1));
}

static void refuses_bad_strings(void **state)
{
    (void)state;
    REFUSED("ys", DW_E_ARGUMENT, 1, dw_put_byte(w, 1), dw_put_string(w, NULL));
    REFUSED("ys", DW_E_ARGUMENT, 1, dw_put_byte(w, 1), dw_put_string_n(w, NULL, 3));
    REFUSED("yo", DW_E_ARGUMENT, 1, dw_put_byte(w, 1), dw_put_object_path(w, NULL));
    REFUSED("yg", DW_E_ARGUMENT, 1, dw_put_byte(w, 1), dw_put_signature(w, NULL));
    REFUSED("yv", DW_E_ARGUMENT, 1, dw_put_byte(w, 1), dw_open_variant(w, NULL));
    REFUSED("as", DW_E_ARGUMENT, 4, dw_put_string_array(w, (const char *const[]){NULL}, 1));
    REFUSED("as", DW_E_ARGUMENT, 0, dw_put_string_array(w, NULL, 1));
    REFUSED("ay", DW_E_ARGUMENT, 0, dw_put_byte_array(w, NULL, 1));
    REFUSED("s", DW_E_UTF8, 0, dw_put_string(w, "\xff"));
    REFUSED("s", DW_E_UTF8, 0, dw_put_string(w, "\xc3"));
    REFUSED("s", DW_E_UTF8, 0, dw_put_string(w, "\xed\xa0\x80"));
    REFUSED("s", DW_E_UTF8, 0, dw_put_string(w, "\xc0\x80"));
    REFUSED("s", DW_E_UTF8, 0, dw_put_string(w, "\xf4\x90\x80\x80"));
    REFUSED("s", DW_E_UTF8, 0, dw_put_string_n(w, "a\0b", 3));
    REFUSED("s", DW_E_UTF8, 0, dw_put_string_n(w, "abcdefgh\0ijklmnop", 17));
    REFUSED("s", DW_E_UTF8, 0, dw_put_string_n(w, "", 1));
    REFUSED("o", DW_E_PATH, 0, dw_put_object_path(w, ""));
    REFUSED("o", DW_E_PATH, 0, dw_put_object_path(w, "a"));
    REFUSED("o", DW_E_PATH, 0, dw_put_object_path(w, "/a/"));
    REFUSED("o", DW_E_PATH, 0, dw_put_object_path_n(w, "/a\0b", 4));
    REFUSED("g", DW_E_SIGNATURE, 0, dw_put_signature(w, "a"));
    REFUSED("g", DW_E_SIGNATURE, 0, dw_put_signature_n(w, "y\0y", 3));
    REFUSED("g", DW_E_DEPTH, 0,
            dw_put_signature(w, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                                "y"));
    REFUSED("v", DW_E_SIGNATURE, 0, dw_open_variant(w, ""));
    REFUSED("v", DW_E_SIGNATURE, 0, dw_open_variant(w, "yy"));
    REFUSED("v", DW_E_SIGNATURE, 0, dw_open_variant(w, "{yy}"));
    REFUSED("ab", DW_E_BOOLEAN, 0, dw_put_boolean_array(w, (const uint32_t[]){1, 2}, 2));
}

static void refuses_bad_signatures(void **state)
{
    (void)state;
    char long_one[257] = {0};
    memset(long_one, 'y', 256);
    REFUSED("a", DW_E_SIGNATURE, 0, dw_open_array(w));
    REFUSED("{yy}", DW_E_SIGNATURE, 0, dw_open_entry(w));
    REFUSED("()", DW_E_SIGNATURE, 0, dw_open_struct(w));
    REFUSED("r", DW_E_SIGNATURE, 0, (void)0);
    REFUSED("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaay", DW_E_DEPTH, 0, dw_open_array(w));
    REFUSED(long_one, DW_E_LIMIT, 0, dw_put_byte(w, 1));
    REFUSED(NULL, DW_E_ARGUMENT, 0, (void)0);
    dw_writer w;
    dw_writer_init(&w, NULL, 0, dw_heap);
    dw_begin_body(&w, "y", 'x');
    refused(&w, DW_E_ARGUMENT, 0, "a byte order that is none");
}

static void refuses_misuse(void **state)
{
    (void)state;
    REFUSED("y", DW_E_TYPE, 0, (void)0);
    REFUSED("yy", DW_E_TYPE, 1, dw_put_byte(w, 1));
    REFUSED("y", DW_E_TYPE, 1, dw_put_byte(w, 1), dw_put_byte(w, 2));
    REFUSED("", DW_E_TYPE, 0, dw_put_byte(w, 1));
    REFUSED("ay", DW_E_STATE, 4, dw_open_array(w));
    REFUSED("(y)", DW_E_STATE, 1, dw_open_struct(w), dw_put_byte(w, 1));
    REFUSED("v", DW_E_STATE, 4, dw_open_variant(w, "y"), dw_put_byte(w, 1));
    REFUSED("y", DW_E_STATE, 0, dw_close_array(w));
    REFUSED("y", DW_E_STATE, 0, dw_close_struct(w));
    REFUSED("y", DW_E_STATE, 0, dw_close_entry(w));
    REFUSED("y", DW_E_STATE, 0, dw_close_variant(w));
    REFUSED("ay", DW_E_STATE, 4, dw_open_array(w), dw_close_struct(w));
    REFUSED("(y)", DW_E_STATE, 1, dw_open_struct(w), dw_put_byte(w, 1), dw_close_array(w));
    REFUSED("(yy)", DW_E_TYPE, 1, dw_open_struct(w), dw_put_byte(w, 1), dw_close_struct(w));
    REFUSED("(y)", DW_E_TYPE, 1, dw_open_struct(w), dw_put_byte(w, 1), dw_put_byte(w, 2));
    REFUSED("a{yy}", DW_E_TYPE, 9, dw_open_array(w), dw_open_entry(w), dw_put_byte(w, 1),
            dw_close_entry(w));
    REFUSED("v", DW_E_TYPE, 3, dw_open_variant(w, "y"), dw_close_variant(w));
    REFUSED("v", DW_E_TYPE, 4, dw_open_variant(w, "y"), dw_put_byte(w, 1), dw_put_byte(w, 2));
    REFUSED("ayy", DW_E_TYPE, 4, dw_put_byte_array(w, NULL, 0), dw_open_array(w));
}

/* The first error stays, whatever comes after it. */
static void errors_stick(void **state)
{
    (void)state;
    REFUSED("yus", DW_E_TYPE, 1, dw_put_byte(w, 1), dw_put_int32(w, 1), dw_put_uint32(w, 1),
            dw_put_string(w, "\xff"), dw_put_string(w, NULL), dw_close_array(w));
    REFUSED("sy", DW_E_UTF8, 0, dw_put_string(w, "\xff"), dw_put_byte(w, 1), dw_open_array(w),
            dw_close_variant(w), dw_put_byte_array(w, NULL, 1), dw_put_unix_fd(w, 9),
            dw_put_string_array(w, NULL, 1), dw_put_signature(w, "!"), dw_open_variant(w, "!"));
}

static void refuses_before_and_after(void **state)
{
    (void)state;
    dw_writer w;
    dw_writer_init(&w, NULL, 0, dw_heap);
    assert_int_equal(dw_finish(&w), DW_E_STATE);
    dw_writer_init(&w, NULL, 0, dw_heap);
    dw_put_byte(&w, 1);
    refused(&w, DW_E_STATE, 0, "put before begin");
    dw_writer_init(&w, NULL, 0, dw_heap);
    dw_open_array(&w);
    refused(&w, DW_E_STATE, 0, "open before begin");
    dw_writer_init(&w, NULL, 0, dw_heap);
    dw_close_struct(&w);
    refused(&w, DW_E_STATE, 0, "close before begin");

    static void (*const calls[])(dw_writer *) = {dw_open_array, dw_close_array, dw_open_struct,
                                                 dw_close_struct};
    for (size_t i = 0; i < sizeof calls / sizeof *calls + 2; i++) {
        dw_writer_init(&w, NULL, 0, dw_heap);
        dw_begin_body(&w, "y", 0);
        dw_put_byte(&w, 1);
        assert_int_equal(dw_finish(&w), 0);
        assert_int_equal(dw_finish(&w), 0);
        if (i == 0)
            dw_put_byte(&w, 1);
        else if (i == 1)
            dw_put_string(&w, "a");
        else
            calls[i - 2](&w);
        refused(&w, DW_E_STATE, 1, "after finish");
    }
}

/* -- Limits ----------------------------------------------------------------- */

static int nested_variants(unsigned n)
{
    dw_writer w;
    dw_writer_init(&w, NULL, 0, dw_heap);
    dw_begin_body(&w, "v", 0);
    for (unsigned i = 1; i < n; i++)
        dw_open_variant(&w, "v");
    dw_open_variant(&w, "y");
    dw_put_byte(&w, 1);
    for (unsigned i = 0; i < n; i++)
        dw_close_variant(&w);
    int code = dw_finish(&w);
    assert_int_equal(dw_writer_fault(&w).at, code ? 3 * 64 : 0);
    dw_writer_free(&w);
    return code;
}

static void limits_depth(void **state)
{
    (void)state;
    assert_int_equal(nested_variants(64), 0);
    assert_int_equal(nested_variants(65), DW_E_DEPTH);
    assert_int_equal(nested_variants(1000), DW_E_DEPTH);

    /* 32 structs around a variant of 32 structs: one more is too deep */
    dw_writer w;
    char structs[33 + 2 + 33] = {0};
    for (unsigned inner = 31; inner <= 32; inner++) {
        memset(structs, '(', 32);
        structs[32] = 'v';
        memset(structs + 33, ')', 32);
        dw_writer_init(&w, NULL, 0, dw_heap);
        dw_begin_body(&w, structs, 0);
        for (int i = 0; i < 32; i++)
            dw_open_struct(&w);
        char inside[33 + 33] = {0};
        memset(inside, '(', inner);
        inside[inner] = 'y';
        memset(inside + inner + 1, ')', inner);
        dw_open_variant(&w, inside);
        for (unsigned i = 0; i < inner; i++)
            dw_open_struct(&w);
        dw_put_byte(&w, 1);
        for (unsigned i = 0; i < inner; i++)
            dw_close_struct(&w);
        dw_close_variant(&w);
        for (int i = 0; i < 32; i++)
            dw_close_struct(&w);
        assert_int_equal(dw_finish(&w), inner == 31 ? 0 : DW_E_DEPTH);
        dw_writer_free(&w);
    }
}

/* 64 MiB an array, in one call, by elements and from strings; 128 MiB in all. */
static void limits_lengths(void **state)
{
    (void)state;
    uint8_t *zeros = calloc(DW_MAX_ARRAY + 8, 1);
    assert_non_null(zeros);
    dw_writer w;
    dw_writer_init(&w, NULL, 0, dw_heap);

    dw_begin_body(&w, "ay", 0);
    dw_put_byte_array(&w, zeros, DW_MAX_ARRAY);
    assert_int_equal(dw_finish(&w), 0);
    assert_int_equal(dw_writer_size(&w), 4 + DW_MAX_ARRAY);
    dw_begin_body(&w, "ay", 0);
    dw_put_byte_array(&w, zeros, DW_MAX_ARRAY + 1);
    assert_int_equal(dw_finish(&w), DW_E_LIMIT);
    dw_begin_body(&w, "at", 0);
    dw_put_array(&w, 't', zeros, DW_MAX_ARRAY / 8 + 1);
    assert_int_equal(dw_finish(&w), DW_E_LIMIT);
    dw_begin_body(&w, "at", 0);
    dw_put_array(&w, 't', zeros, SIZE_MAX / 8 + 2);
    assert_int_equal(dw_finish(&w), DW_E_LIMIT);

    for (uint32_t more = 0; more < 2; more++) {
        dw_begin_body(&w, "aay", 0);
        dw_open_array(&w);
        dw_put_byte_array(&w, zeros, DW_MAX_ARRAY / 2 - 4);
        dw_put_byte_array(&w, zeros, DW_MAX_ARRAY / 2 - 4 + more);
        dw_close_array(&w);
        assert_int_equal(dw_finish(&w), more ? DW_E_LIMIT : 0);

        dw_begin_body(&w, "ayay", 0);
        dw_put_byte_array(&w, zeros, DW_MAX_ARRAY);
        dw_put_byte_array(&w, zeros, DW_MAX_ARRAY - 8 + more);
        assert_int_equal(dw_finish(&w), more ? DW_E_LIMIT : 0);
    }

    memset(zeros, 'a', DW_MAX_ARRAY);
    for (uint32_t more = 0; more < 2; more++) {
        dw_begin_body(&w, "as", 0);
        dw_open_array(&w);
        dw_put_string_n(&w, (char *)zeros, DW_MAX_ARRAY - 5 + more);
        dw_close_array(&w);
        assert_int_equal(dw_finish(&w), more ? DW_E_LIMIT : 0);
    }
    dw_begin_body(&w, "s", 0);
    dw_put_string_n(&w, (char *)zeros, SIZE_MAX);
    assert_int_equal(dw_finish(&w), DW_E_LIMIT);
    dw_begin_body(&w, "s", 0);
    dw_put_string_n(&w, (char *)zeros, UINT32_MAX);
    assert_int_equal(dw_finish(&w), DW_E_LIMIT);
    dw_writer_free(&w);
    free(zeros);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_other_types),      cmocka_unit_test(refuses_other_elements),
        cmocka_unit_test(refuses_bad_strings),      cmocka_unit_test(refuses_bad_signatures),
        cmocka_unit_test(refuses_misuse),           cmocka_unit_test(errors_stick),
        cmocka_unit_test(refuses_before_and_after), cmocka_unit_test(limits_depth),
        cmocka_unit_test(limits_lengths),
    };
    return cmocka_run_group_tests_name("writer errors", tests, NULL, NULL);
}
