/* test_writer.c - what dw_writer writes, byte by byte. What it refuses is
 * in test_writer_errors.c. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "dwire/signature.h"
#include "dwire/writer.h"
#include "support/text.h"

/* -- Golden bytes ----------------------------------------------------------
 *
 * GOLDEN(signature, little, big, calls): these calls on the writer w give these
 * bytes, in a buffer that grows and in one of the exact size, at an odd address. */

enum { GROWING, EXACT, MEMORIES };

static void start(dw_writer *w, int memory, block *room, const text *expected, bool big,
                  const char *signature)
{
    *room = block_copy(NULL, 0, expected->n + 1);
    if (memory == GROWING)
        dw_writer_init(w, NULL, 0, dw_heap);
    else
        dw_writer_init(w, room->base + 1, expected->n, NULL);
    dw_begin_body(w, signature, big ? DW_BIG : DW_LITTLE);
}

static void compare(dw_writer *w, block *room, const text *expected, const char *calls)
{
    text came = {0}, wanted = {0};
    size_t len;
    int code = dw_finish(w);
    const uint8_t *p = dw_writer_bytes(w, &len);
    text_printf(&came, "%s: %s ", calls, dw_error_name(code));
    text_hex(&came, p, len);
    text_printf(&wanted, "%s: %s ", calls, dw_error_name(0));
    text_hex(&wanted, expected->p, expected->n);
    assert_string_equal(text_string(&came), text_string(&wanted));
    assert_int_equal(dw_writer_size(w), expected->n);
    assert_memory_equal(p, expected->p, expected->n);
    dw_writer_free(w);
    block_free(room);
    text_free(&came);
    text_free(&wanted);
}

#define GOLDEN(signature, little, big, ...)                                                        \
    for (int form = 0; form < 2 * MEMORIES; form++) {                                              \
        const char *hex = form % 2 ? (big) : (little);                                             \
        text expected = {0};                                                                       \
        block room;                                                                                \
        dw_writer writer, *w = &writer;                                                            \
        assert_true(text_from_hex(&expected, hex, strlen(hex)));                                   \
        start(w, form / 2, &room, &expected, form % 2, signature);                                 \
        __VA_ARGS__;                                                                               \
        compare(w, &room, &expected, #__VA_ARGS__);                                                \
        text_free(&expected);                                                                      \
    }

/* The same bytes in both byte orders. */
#define SAME(signature, bytes, ...) GOLDEN(signature, bytes, bytes, __VA_ARGS__)

static void writes_fixed_types(void **state)
{
    (void)state;
    SAME("", "", (void)0);
    SAME("y", "00", dw_put_byte(w, 0));
    SAME("y", "ff", dw_put_byte(w, 255));
    GOLDEN("b", "00000000", "00000000", dw_put_boolean(w, false));
    GOLDEN("b", "01000000", "00000001", dw_put_boolean(w, true));
    GOLDEN("n", "0080", "8000", dw_put_int16(w, INT16_MIN));
    GOLDEN("n", "feff", "fffe", dw_put_int16(w, -2));
    GOLDEN("q", "0201", "0102", dw_put_uint16(w, 0x0102));
    GOLDEN("i", "00000080", "80000000", dw_put_int32(w, INT32_MIN));
    GOLDEN("u", "04030201", "01020304", dw_put_uint32(w, 0x01020304));
    GOLDEN("x", "feffffffffffffff", "fffffffffffffffe", dw_put_int64(w, -2));
    GOLDEN("t", "0807060504030201", "0102030405060708", dw_put_uint64(w, 0x0102030405060708));
    GOLDEN("d", "000000000000f03f", "3ff0000000000000", dw_put_double(w, 1.0));
    GOLDEN("d", "0000000000000080", "8000000000000000", dw_put_double(w, -0.0));
    GOLDEN("h", "04030201", "01020304", dw_put_unix_fd(w, 0x01020304));
}

/* A double is its bits: a signalling NaN stays one, and its payload. */
static void writes_doubles_bit_by_bit(void **state)
{
    (void)state;
    uint64_t bits = 0x7ff0dead0000beef;
    double nan;
    memcpy(&nan, &bits, sizeof nan);
    GOLDEN("d", "efbe0000addef07f", "7ff0dead0000beef", dw_put_double(w, nan));
    GOLDEN("ad", "08000000 00000000 efbe0000addef07f", "00000008 00000000 7ff0dead0000beef",
           dw_put_double_array(w, &nan, 1));
}

static void writes_strings(void **state)
{
    (void)state;
    GOLDEN("s", "00000000 00", "00000000 00", dw_put_string(w, ""));
    GOLDEN("s", "01000000 61 00", "00000001 61 00", dw_put_string(w, "a"));
    GOLDEN("s", "03000000 666f6f 00", "00000003 666f6f 00", dw_put_string(w, "foo"));
    GOLDEN("s", "02000000 666f 00", "00000002 666f 00", dw_put_string_n(w, "foo", 2));
    GOLDEN("s", "00000000 00", "00000000 00", dw_put_string_n(w, "foo", 0));
    GOLDEN("s", "02000000 c3a9 00", "00000002 c3a9 00", dw_put_string(w, "\xc3\xa9"));
    GOLDEN("s", "03000000 efbfbf 00", "00000003 efbfbf 00", dw_put_string(w, "\xef\xbf\xbf"));
    GOLDEN("o", "01000000 2f 00", "00000001 2f 00", dw_put_object_path(w, "/"));
    GOLDEN("o", "02000000 2f61 00", "00000002 2f61 00", dw_put_object_path_n(w, "/a/b", 2));
    SAME("g", "00 00", dw_put_signature(w, ""));
    SAME("g", "05 617b73767d 00", dw_put_signature(w, "a{sv}"));
    SAME("g", "01 79 00", dw_put_signature_n(w, "yu", 1));
}

/* Each type at its alignment, after a byte. */
static void pads(void **state)
{
    (void)state;
    SAME("yy", "01 02", dw_put_byte(w, 1), dw_put_byte(w, 2));
    GOLDEN("yn", "01 00 0200", "01 00 0002", dw_put_byte(w, 1), dw_put_int16(w, 2));
    GOLDEN("yq", "01 00 0200", "01 00 0002", dw_put_byte(w, 1), dw_put_uint16(w, 2));
    GOLDEN("yb", "01 000000 01000000", "01 000000 00000001", dw_put_byte(w, 1),
           dw_put_boolean(w, true));
    GOLDEN("yi", "01 000000 02000000", "01 000000 00000002", dw_put_byte(w, 1), dw_put_int32(w, 2));
    GOLDEN("yu", "01 000000 02000000", "01 000000 00000002", dw_put_byte(w, 1),
           dw_put_uint32(w, 2));
    GOLDEN("yh", "01 000000 02000000", "01 000000 00000002", dw_put_byte(w, 1),
           dw_put_unix_fd(w, 2));
    GOLDEN("yx", "01 {00*7} 02{00*7}", "01 {00*7} {00*7}02", dw_put_byte(w, 1), dw_put_int64(w, 2));
    GOLDEN("yt", "01 {00*7} 02{00*7}", "01 {00*7} {00*7}02", dw_put_byte(w, 1),
           dw_put_uint64(w, 2));
    GOLDEN("yd", "01 {00*7} {00*7}40", "01 {00*7} 40{00*7}", dw_put_byte(w, 1),
           dw_put_double(w, 2));
    GOLDEN("ys", "01 000000 01000000 61 00", "01 000000 00000001 61 00", dw_put_byte(w, 1),
           dw_put_string(w, "a"));
    GOLDEN("yo", "01 000000 01000000 2f 00", "01 000000 00000001 2f 00", dw_put_byte(w, 1),
           dw_put_object_path(w, "/"));
    SAME("yg", "01 01 79 00", dw_put_byte(w, 1), dw_put_signature(w, "y"));
    GOLDEN("yay", "01 000000 01000000 02", "01 000000 00000001 02", dw_put_byte(w, 1),
           dw_put_byte_array(w, (const uint8_t[]){2}, 1));
    SAME("y(y)", "01 {00*7} 02", dw_put_byte(w, 1), dw_open_struct(w), dw_put_byte(w, 2),
         dw_close_struct(w));
    SAME("yv", "01 01 79 00 02", dw_put_byte(w, 1), dw_open_variant(w, "y"), dw_put_byte(w, 2),
         dw_close_variant(w));
    GOLDEN("ynyt", "01 00 0200 03 000000 {00*8}", "01 00 0002 03 000000 {00*8}", dw_put_byte(w, 1),
           dw_put_int16(w, 2), dw_put_byte(w, 3), dw_put_uint64(w, 0));
}

static void writes_arrays(void **state)
{
    (void)state;
    SAME("ay", "00000000", dw_open_array(w), dw_close_array(w));
    SAME("at", "00000000 00000000", dw_open_array(w), dw_close_array(w));
    SAME("a(y)", "00000000 00000000", dw_open_array(w), dw_close_array(w));
    SAME("a{sv}", "00000000 00000000", dw_open_array(w), dw_close_array(w));
    SAME("av", "00000000", dw_open_array(w), dw_close_array(w));
    SAME("aat", "00000000", dw_open_array(w), dw_close_array(w));
    SAME("aty", "00000000 00000000 07", dw_open_array(w), dw_close_array(w), dw_put_byte(w, 7));
    GOLDEN("au", "08000000 01000000 02000000", "00000008 00000001 00000002", dw_open_array(w),
           dw_put_uint32(w, 1), dw_put_uint32(w, 2), dw_close_array(w));
    GOLDEN("auu", "04000000 01000000 02000000", "00000004 00000001 00000002", dw_open_array(w),
           dw_put_uint32(w, 1), dw_close_array(w), dw_put_uint32(w, 2));
    GOLDEN("at", "08000000 00000000 05{00*7}", "00000008 00000000 {00*7}05", dw_open_array(w),
           dw_put_uint64(w, 5), dw_close_array(w));
    GOLDEN("aay", "11000000 01000000 01 000000 00000000 01000000 02",
           "00000011 00000001 01 000000 00000000 00000001 02", dw_open_array(w), dw_open_array(w),
           dw_put_byte(w, 1), dw_close_array(w), dw_open_array(w), dw_close_array(w),
           dw_open_array(w), dw_put_byte(w, 2), dw_close_array(w), dw_close_array(w));
    GOLDEN("as", "0e000000 00000000 00 000000 01000000 61 00",
           "0000000e 00000000 00 000000 00000001 61 00", dw_open_array(w), dw_put_string(w, ""),
           dw_put_string(w, "a"), dw_close_array(w));
}

static void writes_containers(void **state)
{
    (void)state;
    GOLDEN("(yu)", "01 000000 02000000", "01 000000 00000002", dw_open_struct(w), dw_put_byte(w, 1),
           dw_put_uint32(w, 2), dw_close_struct(w));
    SAME("((y)y)", "01 02", dw_open_struct(w), dw_open_struct(w), dw_put_byte(w, 1),
         dw_close_struct(w), dw_put_byte(w, 2), dw_close_struct(w));
    GOLDEN("a(yy)", "0a000000 00000000 0102 {00*6} 0304", "0000000a 00000000 0102 {00*6} 0304",
           dw_open_array(w), dw_open_struct(w), dw_put_byte(w, 1), dw_put_byte(w, 2),
           dw_close_struct(w), dw_open_struct(w), dw_put_byte(w, 3), dw_put_byte(w, 4),
           dw_close_struct(w), dw_close_array(w));
    GOLDEN("a{ys}", "0a000000 00000000 01 000000 01000000 61 00",
           "0000000a 00000000 01 000000 00000001 61 00", dw_open_array(w), dw_open_entry(w),
           dw_put_byte(w, 1), dw_put_string(w, "a"), dw_close_entry(w), dw_close_array(w));
    GOLDEN("v", "01 74 00 {00*5} 05{00*7}", "01 74 00 {00*5} {00*7}05", dw_open_variant(w, "t"),
           dw_put_uint64(w, 5), dw_close_variant(w));
    SAME("vy", "01 76 00 01 79 00 07 08", dw_open_variant(w, "v"), dw_open_variant(w, "y"),
         dw_put_byte(w, 7), dw_close_variant(w), dw_close_variant(w), dw_put_byte(w, 8));
    SAME("v", "03 287929 00 000000 05", dw_open_variant(w, "(y)"), dw_open_struct(w),
         dw_put_byte(w, 5), dw_close_struct(w), dw_close_variant(w));
    GOLDEN("a{sv}", "10000000 00000000 01000000 6b00 01 75 00 000000 01000000",
           "00000010 00000000 00000001 6b00 01 75 00 000000 00000001", dw_open_array(w),
           dw_open_entry(w), dw_put_string(w, "k"), dw_open_variant(w, "u"), dw_put_uint32(w, 1),
           dw_close_variant(w), dw_close_entry(w), dw_close_array(w));
}

/* -- Arrays in one call ---------------------------------------------------- */

static void writes_whole_arrays(void **state)
{
    (void)state;
    SAME("ay", "00000000", dw_put_byte_array(w, NULL, 0));
    SAME("at", "00000000 00000000", dw_put_uint64_array(w, NULL, 0));
    SAME("aty", "00000000 00000000 07", dw_put_uint64_array(w, NULL, 0), dw_put_byte(w, 7));
    GOLDEN("ay", "03000000 010203", "00000003 010203",
           dw_put_byte_array(w, (const uint8_t[]){1, 2, 3}, 3));
    GOLDEN("ab", "08000000 01000000 00000000", "00000008 00000001 00000000",
           dw_put_boolean_array(w, (const uint32_t[]){1, 0}, 2));
    GOLDEN("an", "06000000 ffff 0200 fdff", "00000006 ffff 0002 fffd",
           dw_put_int16_array(w, (const int16_t[]){-1, 2, -3}, 3));
    GOLDEN("aq", "04000000 0102 ffff", "00000004 0201 ffff",
           dw_put_uint16_array(w, (const uint16_t[]){0x0201, 65535}, 2));
    GOLDEN("ai", "08000000 01000000 feffffff", "00000008 00000001 fffffffe",
           dw_put_int32_array(w, (const int32_t[]){1, -2}, 2));
    GOLDEN("au", "04000000 04030201", "00000004 01020304",
           dw_put_uint32_array(w, (const uint32_t[]){0x01020304}, 1));
    GOLDEN("ax", "08000000 00000000 {ff*8}", "00000008 00000000 {ff*8}",
           dw_put_int64_array(w, (const int64_t[]){-1}, 1));
    GOLDEN("yat", "01 000000 08000000 0807060504030201", "01 000000 00000008 0102030405060708",
           dw_put_byte(w, 1), dw_put_uint64_array(w, (const uint64_t[]){0x0102030405060708}, 1));
    GOLDEN("ad", "10000000 00000000 {00*6}f03f {00*8}", "00000010 00000000 3ff0{00*6} {00*8}",
           dw_put_double_array(w, (const double[]){1, 0}, 2));
    GOLDEN("ah", "04000000 07000000", "00000004 00000007",
           dw_put_unix_fd_array(w, (const uint32_t[]){7}, 1));
    SAME("as", "00000000", dw_put_string_array(w, NULL, 0));
    GOLDEN("asy", "0e000000 00000000 00 000000 01000000 61 00 08",
           "0000000e 00000000 00 000000 00000001 61 00 08",
           dw_put_string_array(w, (const char *const[]){"", "a"}, 2), dw_put_byte(w, 8));
    GOLDEN("aayu", "05000000 01000000 01 000000 02000000", "00000005 00000001 01 000000 00000002",
           dw_open_array(w), dw_put_byte_array(w, (const uint8_t[]){1}, 1), dw_close_array(w),
           dw_put_uint32(w, 2));
}

/* The array in one call and its elements one by one, of every length that a
 * vector may handle apart, with what follows in place. */
static void whole_arrays_are_their_elements(void **state)
{
    (void)state;
    for (const char *code = "ybnqiuxtdh"; *code; code++) {
        for (size_t n = 0; n < 70; n++) {
            uint64_t values[70];
            size_t size = dw_type_size(*code), len[2];
            uint8_t *bytes = (uint8_t *)values;
            for (size_t i = 0; i < n * size; i++)
                bytes[i] = *code == 'b' ? (i % 4 == 0) == (DW_NATIVE == DW_LITTLE) && i % 8 < 4
                                        : (uint8_t)(i * 37 + 1);
            char signature[] = {'y', 'a', *code, 'y', '\0'};
            dw_writer w[2];
            for (int order = 0; order < 2; order++) {
                for (int whole = 0; whole < 2; whole++) {
                    dw_writer_init(&w[whole], NULL, 0, dw_heap);
                    dw_begin_body(&w[whole], signature, order ? DW_BIG : DW_LITTLE);
                    dw_put_byte(&w[whole], 1);
                }
                dw_open_array(&w[0]);
                for (size_t i = 0; i < n; i++)
                    dw_put_fixed(&w[0], *code, bytes + i * size, size);
                dw_close_array(&w[0]);
                block exact = block_copy(values, n * size, 1);
                dw_put_array(&w[1], *code, exact.p, n);
                block_free(&exact);
                for (int whole = 0; whole < 2; whole++) {
                    dw_put_byte(&w[whole], 2);
                    assert_int_equal(dw_finish(&w[whole]), 0);
                }
                const uint8_t *one = dw_writer_bytes(&w[0], &len[0]);
                const uint8_t *all = dw_writer_bytes(&w[1], &len[1]);
                assert_int_equal(len[0], len[1]);
                assert_memory_equal(one, all, len[0]);
                dw_writer_free(&w[0]);
                dw_writer_free(&w[1]);
            }
        }
    }
}

/* A writer is used again, after errors too, and keeps its buffer. */
static void is_used_again(void **state)
{
    (void)state;
    dw_writer w;
    size_t len;
    dw_writer_init(&w, NULL, 0, dw_heap);
    assert_null(dw_writer_bytes(&w, &len));
    assert_int_equal(len, 0);
    dw_begin_body(&w, "u", 0);
    dw_put_string(&w, "a");
    assert_int_equal(dw_finish(&w), DW_E_TYPE);
    dw_begin_body(&w, "y", 0);
    dw_put_byte(&w, 5);
    assert_null(dw_writer_bytes(&w, NULL));
    assert_int_equal(dw_writer_size(&w), 0);
    assert_int_equal(dw_finish(&w), 0);
    assert_int_equal(*dw_writer_bytes(&w, &len), 5);
    assert_int_equal(len, 1);
    const uint8_t *before = dw_writer_bytes(&w, NULL);
    dw_begin_body(&w, "yy", 0);
    dw_put_byte(&w, 6);
    dw_begin_body(&w, "y", 0);
    dw_put_byte(&w, 7);
    assert_int_equal(dw_finish(&w), 0);
    assert_ptr_equal(dw_writer_bytes(&w, &len), before);
    assert_int_equal(len, 1);
    assert_int_equal(*before, 7);
    dw_writer_free(&w);
    assert_int_equal(dw_finish(&w), DW_E_STATE);
    dw_writer_free(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_fixed_types),  cmocka_unit_test(writes_doubles_bit_by_bit),
        cmocka_unit_test(writes_strings),      cmocka_unit_test(pads),
        cmocka_unit_test(writes_arrays),       cmocka_unit_test(writes_containers),
        cmocka_unit_test(writes_whole_arrays), cmocka_unit_test(whole_arrays_are_their_elements),
        cmocka_unit_test(is_used_again),
    };
    return cmocka_run_group_tests_name("writer", tests, NULL, NULL);
}
