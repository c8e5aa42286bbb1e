/* test_reader.c - what dw_reader reads, and how it is walked. What it refuses is
 * in test_reader_errors.c. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "dwire/reader.h"
#include "dwire/signature.h"
#include "support/text.h"

/* READS(signature, little, big, calls): these calls on the reader r read these
 * bytes to their end, in a block of the exact size at any alignment. */

static block start(dw_reader *r, const char *signature, const char *hex, bool big, size_t shift)
{
    text bytes = {0};
    assert_true(text_from_hex(&bytes, hex, strlen(hex)));
    block b = block_copy(bytes.p, bytes.n, shift);
    dw_reader_init_body(r, signature, b.p, bytes.n, big ? DW_BIG : DW_LITTLE);
    text_free(&bytes);
    return b;
}

#define READS(signature, little, big, ...)                                                         \
    for (size_t form = 0; form < 16; form++) {                                                     \
        dw_reader reader, *r = &reader;                                                            \
        block b = start(r, signature, form % 2 ? (big) : (little), form % 2, form / 2);            \
        __VA_ARGS__;                                                                               \
        assert_string_equal(dw_error_name(dw_reader_fault(r).code), "DW_OK");                      \
        assert_false(dw_more(r));                                                                  \
        assert_int_equal(dw_next_code(r), '\0');                                                   \
        assert_int_equal(dw_reader_finish(r), 0);                                                  \
        block_free(&b);                                                                            \
    }

#define SAME(signature, bytes, ...) READS(signature, bytes, bytes, __VA_ARGS__)

#define INT(expected, call)    assert_int_equal(call, expected)
#define STRING(expected, call) assert_view(call, expected)

static void assert_view(dw_string came, const char *expected)
{
    assert_int_equal(came.n, strlen(expected));
    assert_string_equal(came.p, expected);
}

static uint64_t bits(double d)
{
    uint64_t u;
    memcpy(&u, &d, sizeof u);
    return u;
}

static void reads_fixed_types(void **state)
{
    (void)state;
    SAME("", "", (void)0);
    SAME("y", "ff", INT(255, dw_get_byte(r)));
    READS("b", "00000000", "00000000", INT(false, dw_get_boolean(r)));
    READS("b", "01000000", "00000001", INT(true, dw_get_boolean(r)));
    READS("n", "feff", "fffe", INT(-2, dw_get_int16(r)));
    READS("q", "0201", "0102", INT(0x0102, dw_get_uint16(r)));
    READS("i", "00000080", "80000000", INT(INT32_MIN, dw_get_int32(r)));
    READS("u", "04030201", "01020304", INT(0x01020304, dw_get_uint32(r)));
    READS("x", "feffffffffffffff", "fffffffffffffffe", INT(-2, dw_get_int64(r)));
    READS("t", "0807060504030201", "0102030405060708", INT(0x0102030405060708, dw_get_uint64(r)));
    READS("d", "000000000000f03f", "3ff0000000000000",
          INT(0x3ff0000000000000, bits(dw_get_double(r))));
    READS("d", "efbe0000addef07f", "7ff0dead0000beef",
          INT(0x7ff0dead0000beef, bits(dw_get_double(r))));
    READS("h", "04030201", "01020304", INT(0x01020304, dw_get_unix_fd(r)));
}

static void reads_strings(void **state)
{
    (void)state;
    READS("s", "00000000 00", "00000000 00", STRING("", dw_get_string(r)));
    READS("s", "03000000 666f6f 00", "00000003 666f6f 00", STRING("foo", dw_get_string(r)));
    READS("s", "02000000 c3a9 00", "00000002 c3a9 00", STRING("\xc3\xa9", dw_get_string(r)));
    READS("o", "01000000 2f 00", "00000001 2f 00", STRING("/", dw_get_object_path(r)));
    READS("o", "02000000 2f61 00", "00000002 2f61 00", STRING("/a", dw_get_object_path(r)));
    SAME("g", "00 00", STRING("", dw_get_signature(r)));
    SAME("g", "05 617b73767d 00", STRING("a{sv}", dw_get_signature(r)));
}

/* Strings are views: no byte of them is anywhere else. */
static void strings_are_views(void **state)
{
    (void)state;
    READS("sog", "01000000 61 00 0000 01000000 2f 00 01 79 00",
          "00000001 61 00 0000 00000001 2f 00 01 79 00",
          assert_ptr_equal(dw_get_string(r).p, b.p + 4);
          assert_ptr_equal(dw_get_object_path(r).p, b.p + 12);
          assert_ptr_equal(dw_get_signature(r).p, b.p + 15));
}

static void skips_padding(void **state)
{
    (void)state;
    READS("yn", "01 00 0200", "01 00 0002", INT(1, dw_get_byte(r)); INT(2, dw_get_int16(r)));
    READS("yb", "01 000000 01000000", "01 000000 00000001", INT(1, dw_get_byte(r));
          INT(true, dw_get_boolean(r)));
    READS("yu", "01 000000 02000000", "01 000000 00000002", INT(1, dw_get_byte(r));
          INT(2, dw_get_uint32(r)));
    READS("yt", "01 {00*7} 02{00*7}", "01 {00*7} {00*7}02", INT(1, dw_get_byte(r));
          INT(2, dw_get_uint64(r)));
    READS("ynt", "01 00 0200 00000000 03{00*7}", "01 00 0002 00000000 {00*7}03",
          INT(1, dw_get_byte(r));
          INT(2, dw_get_int16(r)); INT(3, dw_get_uint64(r)));
    READS("ys", "01 000000 01000000 61 00", "01 000000 00000001 61 00", INT(1, dw_get_byte(r));
          STRING("a", dw_get_string(r)));
    SAME("yg", "01 01 79 00", INT(1, dw_get_byte(r)); STRING("y", dw_get_signature(r)));
    SAME("y(y)", "01 {00*7} 02", INT(1, dw_get_byte(r)); dw_enter_struct(r); INT(2, dw_get_byte(r));
         dw_leave_struct(r));
}

static void reads_containers(void **state)
{
    (void)state;
    READS("auu", "04000000 01000000 02000000", "00000004 00000001 00000002",
          INT(4, dw_enter_array(r));
          INT(1, dw_get_uint32(r)); INT(false, dw_more(r)); dw_leave_array(r);
          INT(2, dw_get_uint32(r)));
    SAME("aty", "00000000 00000000 07", INT(0, dw_enter_array(r)); INT('t', dw_next_code(r));
         INT(false, dw_more(r)); dw_leave_array(r); INT(7, dw_get_byte(r)));
    READS("(yu)", "01 000000 02000000", "01 000000 00000002", dw_enter_struct(r);
          INT(1, dw_get_byte(r)); INT(true, dw_more(r)); INT(2, dw_get_uint32(r));
          INT(false, dw_more(r)); INT('\0', dw_next_code(r)); dw_leave_struct(r));
    READS("a{ys}", "0a000000 00000000 01 000000 01000000 61 00",
          "0000000a 00000000 01 000000 00000001 61 00", INT(10, dw_enter_array(r));
          INT('{', dw_next_code(r)); dw_enter_entry(r); INT(1, dw_get_byte(r));
          STRING("a", dw_get_string(r)); INT(false, dw_more(r)); dw_leave_entry(r);
          INT(false, dw_more(r)); dw_leave_array(r));
    READS("vy", "01 74 00 {00*5} 05{00*7} 09", "01 74 00 {00*5} {00*7}05 09",
          STRING("t", dw_enter_variant(r));
          INT('t', dw_next_code(r)); INT(5, dw_get_uint64(r)); INT(false, dw_more(r));
          dw_leave_variant(r); INT(9, dw_get_byte(r)));
    READS("av", "09000000 0179 00 01 0167 00 0000", "00000009 0179 00 01 0167 00 0000",
          INT(9, dw_enter_array(r));
          STRING("y", dw_enter_variant(r)); INT(1, dw_get_byte(r)); dw_leave_variant(r);
          STRING("g", dw_enter_variant(r)); STRING("", dw_get_signature(r)); dw_leave_variant(r);
          INT(false, dw_more(r)); dw_leave_array(r));
}

/* What is left of a container when it is left, of a body when it is finished. */
static void leaving_skips(void **state)
{
    (void)state;
    READS("auy", "08000000 01000000 02000000 07", "00000008 00000001 00000002 07",
          dw_enter_array(r);
          dw_leave_array(r); INT(7, dw_get_byte(r)));
    READS("auy", "08000000 01000000 02000000 07", "00000008 00000001 00000002 07",
          dw_enter_array(r);
          INT(1, dw_get_uint32(r)); dw_leave_array(r); INT(7, dw_get_byte(r)));
    SAME("((yy)y)y", "01 02 03 04", dw_enter_struct(r); dw_enter_struct(r); INT(1, dw_get_byte(r));
         dw_leave_struct(r); dw_leave_struct(r); INT(4, dw_get_byte(r)));
    SAME("vy", "01 76 00 01 79 00 01 02", dw_enter_variant(r); dw_enter_variant(r);
         dw_leave_variant(r); dw_leave_variant(r); INT(2, dw_get_byte(r)));
    READS("a{yv}s", "05000000 00000000 01 0179 00 02 000000 01000000 61 00",
          "00000005 00000000 01 0179 00 02 000000 00000001 61 00", dw_enter_array(r);
          dw_enter_entry(r); INT(1, dw_get_byte(r)); dw_leave_entry(r); dw_leave_array(r);
          STRING("a", dw_get_string(r)));
}

static void finish_skips(void **state)
{
    (void)state;
    text bytes = {0};
    dw_reader r;
    const char *hex = "01 {00*7} 02 01 73 00 01000000 61 00 0000 02000000 0304";
    assert_true(text_from_hex(&bytes, hex, strlen(hex)));
    for (int steps = 0; steps < 6; steps++) {
        dw_reader_init_body(&r, "y(yv)ay", bytes.p, bytes.n, DW_LITTLE);
        if (steps > 0)
            dw_get_byte(&r);
        if (steps > 1)
            dw_enter_struct(&r);
        if (steps > 2)
            dw_get_byte(&r);
        if (steps > 3)
            dw_enter_variant(&r);
        if (steps > 4)
            dw_get_string(&r);
        assert_int_equal(dw_reader_finish(&r), 0);
        assert_int_equal(dw_reader_finish(&r), 0);
    }
    /* what is skipped is checked */
    bytes.p[16] = (char)0xff;
    for (int steps = 0; steps < 3; steps++) {
        dw_reader_init_body(&r, "y(yv)ay", bytes.p, bytes.n, DW_LITTLE);
        if (steps > 0)
            dw_get_byte(&r);
        if (steps > 1)
            dw_enter_struct(&r);
        assert_int_equal(dw_reader_finish(&r), DW_E_UTF8);
        assert_int_equal(dw_reader_fault(&r).at, 16);
    }
    text_free(&bytes);
}

static void skips_any_type(void **state)
{
    (void)state;
    READS("ayauasa(y)a{yv}v(yv)sogbd(t)y",
          "02000000 0102 0000 04000000 01000000 06000000 01000000 6100 0000 01000000 07"
          "000000 05000000 01 0179 00 02" /* an entry */
          "0179 00 03"
          "{00*7} 04 0179 00 05 000000 01000000 62 00 0000 01000000 2f 00 01 79 00"
          "000000 01000000 {00*8} {00*8} 09",
          "00000002 0102 0000 00000004 00000001 00000006 00000001 6100 0000 00000001 07"
          "000000 00000005 01 0179 00 02"
          "0179 00 03"
          "{00*7} 04 0179 00 05 000000 00000001 62 00 0000 00000001 2f 00 01 79 00"
          "000000 00000001 {00*8} {00*8} 09",
          for (int i = 0; i < 12; i++) dw_skip(r);
          INT('(', dw_next_code(r)); dw_skip(r); INT('y', dw_next_code(r)); dw_skip(r));
}

/* A copy of a reader is a bookmark. */
static void copies_are_bookmarks(void **state)
{
    (void)state;
    SAME("yay(yy)", "01 {00*7} 02 03", dw_reader mark; INT(1, dw_get_byte(r)); dw_skip(r);
         mark = *r; dw_enter_struct(&mark); INT(2, dw_get_byte(&mark)); dw_leave_struct(&mark);
         INT(0, dw_reader_finish(&mark)); dw_enter_struct(r); INT(2, dw_get_byte(r));
         INT(3, dw_get_byte(r)); dw_leave_struct(r));
}

/* -- Arrays in one call ---------------------------------------------------- */

/* As views where the bytes are aligned and of the own byte order, and as copies
 * always; both are the elements, and what follows is in place. */
static void reads_whole_arrays(void **state)
{
    (void)state;
    for (const char *code = "ybnqiuxtdh"; *code; code++) {
        char signature[] = {'a', *code, 'y', '\0'};
        size_t size = dw_type_size(*code), head = size == 8 ? 8 : 4;
        for (uint32_t n = 0; n < 40; n++) {
            for (int order = 0; order < 2; order++) {
                bool native = (order ? DW_BIG : DW_LITTLE) == DW_NATIVE;
                uint32_t len = n * (uint32_t)size;
                uint8_t bytes[8 + 40 * 8 + 1] = {0}, out[40 * 8 + 1], *elements = bytes + head;
                for (unsigned i = 0; i < 4; i++)
                    bytes[order ? 3 - i : i] = (uint8_t)(len >> 8 * i);
                for (uint32_t i = 0; i < len; i++)
                    elements[i] = *code == 'b' ? i % 8 == (order ? 3 : 0) : (uint8_t)(i * 37 + 1);
                elements[len] = 9;
                for (size_t shift = 0; shift < 8; shift++) {
                    block b = block_copy(bytes, head + len + 1, shift);
                    bool aligned = ((uintptr_t)(b.p + head) & (size - 1)) == 0;
                    dw_reader r, copier, one;
                    dw_reader_init_body(&r, signature, b.p, head + len + 1,
                                        order ? DW_BIG : DW_LITTLE);
                    copier = one = r;
                    size_t count = 99;
                    const void *view = dw_get_array(&r, *code, &count);
                    if (n == 0 || (aligned && (native || size == 1))) {
                        assert_non_null(view);
                        assert_int_equal(count, n);
                        if (n)
                            assert_ptr_equal(view, b.p + head);
                        assert_int_equal(dw_get_byte(&r), 9);
                        assert_int_equal(dw_reader_finish(&r), 0);
                    } else {
                        assert_null(view);
                        assert_int_equal(count, 0);
                        assert_int_equal(dw_reader_finish(&r), DW_E_VIEW);
                    }
                    memset(out, 0xee, sizeof out);
                    assert_int_equal(dw_copy_array(&copier, *code, out, n), n);
                    assert_int_equal(dw_get_byte(&copier), 9);
                    assert_int_equal(dw_reader_finish(&copier), 0);
                    assert_int_equal(out[len], 0xee);
                    dw_enter_array(&one);
                    for (uint32_t i = 0; i < n; i++) {
                        uint64_t value;
                        dw_get_fixed(&one, *code, &value, size);
                        assert_memory_equal(&value, out + i * size, size);
                    }
                    dw_leave_array(&one);
                    assert_int_equal(dw_reader_finish(&one), 0);
                    block_free(&b);
                }
            }
        }
    }
}

static void array_functions_name_their_type(void **state)
{
    (void)state;
    static const uint64_t aligned[3];
    dw_reader r;
    size_t n;
#define VIEWED(type, name, code)                                                                   \
    {                                                                                              \
        const type *view;                                                                          \
        type out[1];                                                                               \
        dw_reader_init_body(&r, "a" code, aligned, sizeof(type) == 8 ? 8 : 4, 0);                  \
        view = dw_get_##name##_array(&r, &n);                                                      \
        assert_non_null(view);                                                                     \
        assert_int_equal(dw_reader_finish(&r), 0);                                                 \
        dw_reader_init_body(&r, "a" code, aligned, sizeof(type) == 8 ? 8 : 4, 0);                  \
        assert_int_equal(dw_copy_##name##_array(&r, out, 1), 0);                                   \
        assert_int_equal(dw_reader_finish(&r), 0);                                                 \
    }
    VIEWED(uint8_t, byte, "y")
    VIEWED(uint32_t, boolean, "b")
    VIEWED(int16_t, int16, "n")
    VIEWED(uint16_t, uint16, "q")
    VIEWED(int32_t, int32, "i")
    VIEWED(uint32_t, uint32, "u")
    VIEWED(int64_t, int64, "x")
    VIEWED(uint64_t, uint64, "t")
    VIEWED(double, double, "d")
    VIEWED(uint32_t, unix_fd, "h")
#undef VIEWED
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_fixed_types),
        cmocka_unit_test(reads_strings),
        cmocka_unit_test(strings_are_views),
        cmocka_unit_test(skips_padding),
        cmocka_unit_test(reads_containers),
        cmocka_unit_test(leaving_skips),
        cmocka_unit_test(finish_skips),
        cmocka_unit_test(skips_any_type),
        cmocka_unit_test(copies_are_bookmarks),
        cmocka_unit_test(reads_whole_arrays),
        cmocka_unit_test(array_functions_name_their_type),
    };
    return cmocka_run_group_tests_name("reader", tests, NULL, NULL);
}
