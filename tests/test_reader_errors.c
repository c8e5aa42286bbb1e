/* test_reader_errors.c - what dw_reader refuses: each error and its offset. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "dwire/reader.h"
#include "support/inspect.h"
#include "support/text.h"

/* -- Wrong bytes ------------------------------------------------------------ */

/* The body is refused with this error at this offset, whichever way it is read,
 * at every alignment of the block. */
static void refuses(const char *signature, int code, size_t at, const char *hex, char order)
{
    text bytes = {0}, came = {0}, wanted = {0};
    assert_true(text_from_hex(&bytes, hex, strlen(hex)));
    for (size_t shift = 0; shift < 8; shift++) {
        block b = block_copy(bytes.p, bytes.n, shift);
        finding f;
        inspect_body(&f, signature, b.p, bytes.n, order);
        came.n = wanted.n = 0;
        text_printf(&came, "%s %s: %s at %u %s", signature, hex, dw_error_name(f.fault.code),
                    (unsigned)f.fault.at, text_string(&f.wrong));
        text_printf(&wanted, "%s %s: %s at %zu ", signature, hex, dw_error_name(code), at);
        assert_string_equal(text_string(&came), text_string(&wanted));
        finding_free(&f);
        block_free(&b);
    }
    text_free(&bytes);
    text_free(&came);
    text_free(&wanted);
}

static void wrong(const char *signature, int code, size_t at, const char *little, const char *big)
{
    refuses(signature, code, at, little, DW_LITTLE);
    refuses(signature, code, at, big, DW_BIG);
}

static void same(const char *signature, int code, size_t at, const char *hex)
{
    wrong(signature, code, at, hex, hex);
}

static void refuses_missing_bytes(void **state)
{
    (void)state;
    for (const char *code = "ybnqiuxtdhsogv"; *code; code++)
        same((char[]){*code, '\0'}, DW_E_BOUNDS, 0, "");
    same("ay", DW_E_BOUNDS, 0, "");
    same("(y)", DW_E_BOUNDS, 0, "");
    same("n", DW_E_BOUNDS, 0, "00");
    same("u", DW_E_BOUNDS, 0, "000000");
    same("t", DW_E_BOUNDS, 0, "{00*7}");
    same("yn", DW_E_BOUNDS, 1, "0100");
    same("yn", DW_E_BOUNDS, 1, "010000");
    same("yt", DW_E_BOUNDS, 1, "01{00*14}");
    same("y(y)", DW_E_BOUNDS, 1, "01{00*6}");
    same("(yy)", DW_E_BOUNDS, 1, "01");
    same("at", DW_E_BOUNDS, 4, "00000000");
    same("a{sv}", DW_E_BOUNDS, 4, "00000000");
    same("v", DW_E_BOUNDS, 3, "017900");
    wrong("s", DW_E_BOUNDS, 4, "01000000", "00000001");
    wrong("s", DW_E_BOUNDS, 4, "01000000 61", "00000001 61");
    same("s", DW_E_BOUNDS, 4, "00000000");
    same("s", DW_E_BOUNDS, 4, "ffffffff 00");
    wrong("s", DW_E_BOUNDS, 4, "feffffff 00", "fffffffe 00");
    same("g", DW_E_BOUNDS, 1, "00");
    same("g", DW_E_BOUNDS, 1, "01 79");
    same("g", DW_E_BOUNDS, 1, "ff 79 00");
}

/* The same where there is no block at all. */
static void refuses_no_bytes(void **state)
{
    (void)state;
    static const char *const signatures[] = {"y", "s", "g", "v", "at", "(y)", "((t))"};
    dw_reader r;
    for (size_t i = 0; i < sizeof signatures / sizeof *signatures; i++) {
        dw_reader_init_body(&r, signatures[i], NULL, 0, 0);
        assert_int_equal(dw_reader_finish(&r), DW_E_BOUNDS);
    }
    dw_reader_init_body(&r, "(y)", NULL, 0, 0);
    dw_enter_struct(&r);
    assert_int_equal(dw_get_byte(&r), 0);
    dw_leave_struct(&r);
    assert_int_equal(dw_reader_finish(&r), DW_E_BOUNDS);
    dw_reader_init_body(&r, "", NULL, 0, 0);
    assert_int_equal(dw_reader_finish(&r), 0);
    dw_reader_init_body(&r, "y", NULL, 1, 0);
    assert_int_equal(dw_reader_finish(&r), DW_E_ARGUMENT);
}

static void refuses_bytes_left(void **state)
{
    (void)state;
    same("", DW_E_BOUNDS, 0, "00");
    same("y", DW_E_BOUNDS, 1, "0100");
    same("as", DW_E_BOUNDS, 4, "00000000 00000000");
    wrong("s", DW_E_BOUNDS, 6, "01000000 61 00 00", "00000001 61 00 00");
}

static void refuses_wrong_array_lengths(void **state)
{
    (void)state;
    wrong("ay", DW_E_BOUNDS, 0, "01000000", "00000001");
    wrong("yay", DW_E_BOUNDS, 4, "01 000000 02000000 01", "01 000000 00000002 01");
    wrong("au", DW_E_BOUNDS, 0, "03000000 000000", "00000003 000000");
    wrong("auu", DW_E_BOUNDS, 0, "06000000 {00*8}", "00000006 {00*8}");
    wrong("at", DW_E_BOUNDS, 0, "08000000 {00*11}", "00000008 {00*11}");
    wrong("ab", DW_E_BOUNDS, 0, "08000000 01000000", "00000008 00000001");
    /* an element that goes on behind the end of its array */
    wrong("as", DW_E_BOUNDS, 8, "05000000 01000000 61 00", "00000005 00000001 61 00");
    wrong("aay", DW_E_BOUNDS, 4, "04000000 01000000 01", "00000004 00000001 01");
    wrong("a(uu)u", DW_E_BOUNDS, 12, "04000000 {00*4} {00*12}", "00000004 {00*4} {00*12}");
    wrong("av", DW_E_BOUNDS, 7, "03000000 0179 00 01", "00000003 0179 00 01");
    /* over the limit, whether there or not */
    wrong("ay", DW_E_LIMIT, 0, "01000004", "04000001");
    same("ay", DW_E_LIMIT, 0, "ffffffff");
    wrong("yau", DW_E_LIMIT, 4, "01 000000 00000080", "01 000000 80000000");
}

static void refuses_padding(void **state)
{
    (void)state;
    wrong("yn", DW_E_PADDING, 1, "01 01 0200", "01 01 0002");
    wrong("yu", DW_E_PADDING, 1, "01 ff0000 02000000", "01 ff0000 00000002");
    wrong("yu", DW_E_PADDING, 3, "01 0000ff 02000000", "01 0000ff 00000002");
    for (size_t at = 1; at < 8; at++) {
        char hex[] = "01 00000000000000 0000000000000000";
        hex[3 + 2 * (at - 1)] = '8';
        same("yt", DW_E_PADDING, at, hex);
        same("yx", DW_E_PADDING, at, hex);
        same("yd", DW_E_PADDING, at, hex);
        same("y(t)", DW_E_PADDING, at, hex);
    }
    wrong("ys", DW_E_PADDING, 2, "01 000100 01000000 61 00", "01 000100 00000001 61 00");
    wrong("yas", DW_E_PADDING, 2, "01 000100 00000000", "01 000100 00000000");
    same("at", DW_E_PADDING, 4, "00000000 01000000");
    wrong("at", DW_E_PADDING, 7, "08000000 00000001 {00*8}", "00000008 00000001 {00*8}");
    wrong("a(y)", DW_E_PADDING, 15, "09000000 {00*4} 01 {00*6} 01 02",
          "00000009 {00*4} 01 {00*6} 01 02");
    wrong("as", DW_E_PADDING, 10, "0d000000 01000000 6100 0100 00000000 00",
          "0000000d 00000001 6100 0100 00000000 00");
    same("v", DW_E_PADDING, 3, "0175 00 01 00000000");
}

static void refuses_values(void **state)
{
    (void)state;
    wrong("b", DW_E_BOOLEAN, 0, "02000000", "00000002");
    wrong("yb", DW_E_BOOLEAN, 4, "01 000000 00010000", "01 000000 00000100");
    same("b", DW_E_BOOLEAN, 0, "ffffffff");
    wrong("b", DW_E_BOOLEAN, 0, "00000001", "01000000");
    wrong("ab", DW_E_BOOLEAN, 8, "08000000 01000000 02000000", "00000008 00000001 00000002");
    wrong("s", DW_E_UTF8, 5, "03000000 61ff61 00", "00000003 61ff61 00");
    wrong("s", DW_E_UTF8, 5, "03000000 610061 00", "00000003 610061 00");
    wrong("s", DW_E_UTF8, 5, "01000000 61 01", "00000001 61 01");
    wrong("as", DW_E_UTF8, 8, "06000000 01000000 ff00", "00000006 00000001 ff00");
    wrong("o", DW_E_PATH, 4, "00000000 00", "00000000 00");
    wrong("o", DW_E_PATH, 7, "03000000 2f612f 00", "00000003 2f612f 00");
    wrong("o", DW_E_PATH, 4, "01000000 61 00", "00000001 61 00");
    wrong("o", DW_E_UTF8, 5, "01000000 2f 2f", "00000001 2f 2f");
    same("g", DW_E_SIGNATURE, 2, "01 61 00");
    same("g", DW_E_SIGNATURE, 1, "01 00 00");
    same("g", DW_E_SIGNATURE, 2, "02 797a 00");
    same("g", DW_E_SIGNATURE, 2, "01 79 79");
    same("v", DW_E_SIGNATURE, 1, "00 00");
    same("v", DW_E_SIGNATURE, 2, "02 7979 00 01 02");
    same("v", DW_E_SIGNATURE, 1, "01 72 00 01");
}

static void refuses_depth(void **state)
{
    (void)state;
    same("v", DW_E_DEPTH, 192, "{017600*64} 0179 00 01");
    same("v", DW_E_DEPTH, 192, "{017600*100000} 0179 00 01");
    same("g", DW_E_DEPTH, 33, "22 {61*33} 79 00");
    same("g", DW_E_DEPTH, 33, "43 {28*33} 79 {29*33} 00");
}

static void refuses_signatures(void **state)
{
    (void)state;
    char long_one[257] = {0};
    memset(long_one, 'y', 256);
    same("a", DW_E_SIGNATURE, 0, "00000000");
    same("()", DW_E_SIGNATURE, 0, "");
    same("{yy}", DW_E_SIGNATURE, 0, "0102");
    same("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaay", DW_E_DEPTH, 0, "00000000");
    same(long_one, DW_E_LIMIT, 0, "{01*256}");
    dw_reader r;
    dw_reader_init_body(&r, NULL, "", 0, 0);
    assert_int_equal(dw_reader_finish(&r), DW_E_ARGUMENT);
    dw_reader_init_body(&r, "y", NULL, 1, 0);
    assert_int_equal(dw_reader_finish(&r), DW_E_ARGUMENT);
    dw_reader_init_body(&r, "y", "a", 1, 'x');
    assert_int_equal(dw_reader_finish(&r), DW_E_ARGUMENT);
    dw_reader_init_body(&r, "", NULL, 0, 0);
    assert_int_equal(dw_reader_finish(&r), 0);
}

/* -- Misuse ------------------------------------------------------------------- */

static void get_one(dw_reader *r, char code)
{
    size_t n;
    switch (code) {
    case 'y': assert_int_equal(dw_get_byte(r), 0); break;
    case 'b': assert_false(dw_get_boolean(r)); break;
    case 'n': assert_int_equal(dw_get_int16(r), 0); break;
    case 'q': assert_int_equal(dw_get_uint16(r), 0); break;
    case 'i': assert_int_equal(dw_get_int32(r), 0); break;
    case 'u': assert_int_equal(dw_get_uint32(r), 0); break;
    case 'x': assert_int_equal(dw_get_int64(r), 0); break;
    case 't': assert_int_equal(dw_get_uint64(r), 0); break;
    case 'd': assert_true(dw_get_double(r) == 0); break;
    case 'h': assert_int_equal(dw_get_unix_fd(r), 0); break;
    case 's': assert_string_equal(dw_get_string(r).p, ""); break;
    case 'o': assert_string_equal(dw_get_object_path(r).p, ""); break;
    case 'g': assert_string_equal(dw_get_signature(r).p, ""); break;
    case 'a': assert_int_equal(dw_enter_array(r), 0); break;
    case 'A':
        assert_null(dw_get_array(r, 'y', &n));
        assert_int_equal(n, 0);
        break;
    case 'C': assert_int_equal(dw_copy_array(r, 'y', &n, 1), 0); break;
    case 'v': assert_string_equal(dw_enter_variant(r).p, ""); break;
    case '{': dw_enter_entry(r); break;
    default: dw_enter_struct(r); break;
    }
}

/* Every getter on every other type: an error, a value of 0 and "", and so from
 * then on for every other getter, which changes nothing. */
static void refuses_other_types(void **state)
{
    (void)state;
    static const char *const types[] = {"y", "b", "n", "q", "i", "u",  "x",   "t",
                                        "d", "h", "s", "o", "g", "as", "(s)", "v"};
    static const char getters[] = "ybnqiuxtdhsogaAC({v";
    const uint8_t ones[24] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        for (const char *getter = getters; *getter; getter++) {
            dw_reader r;
            char signature[8] = "y";
            if (*getter == *types[i])
                continue;
            strcat(signature, types[i]);
            dw_reader_init_body(&r, signature, ones, sizeof ones, 0);
            assert_int_equal(dw_get_byte(&r), 1);
            get_one(&r, *getter);
            for (const char *other = getters; *other; other++) {
                assert_false(dw_more(&r));
                assert_int_equal(dw_next_code(&r), '\0');
                get_one(&r, *other);
                dw_skip(&r);
                dw_leave_array(&r);
                dw_leave_struct(&r);
                dw_leave_entry(&r);
                dw_leave_variant(&r);
                assert_int_equal(dw_reader_fault(&r).code, DW_E_TYPE);
                assert_int_equal(dw_reader_fault(&r).at, 1);
            }
            assert_int_equal(dw_reader_finish(&r), DW_E_TYPE);
            assert_int_equal(dw_reader_finish(&r), DW_E_TYPE);
        }
    }
}

/* MISUSE(signature, code, at, calls): these calls on a body of zeros. */
#define MISUSE(signature, error, place, ...)                                                       \
    {                                                                                              \
        static const uint64_t zeros[8];                                                            \
        dw_reader reader, *r = &reader;                                                            \
        dw_reader_init_body(r, signature, zeros, sizeof zeros, 0);                                 \
        __VA_ARGS__;                                                                               \
        assert_string_equal(dw_error_name(dw_reader_fault(r).code), dw_error_name(error));         \
        assert_int_equal(dw_reader_fault(r).at, place);                                            \
        assert_int_equal(dw_reader_finish(r), error);                                              \
    }

static void refuses_misuse(void **state)
{
    (void)state;
    uint64_t room[2];
    size_t n;
    MISUSE("y", DW_E_STATE, 0, dw_leave_array(r));
    MISUSE("y", DW_E_STATE, 0, dw_leave_struct(r));
    MISUSE("y", DW_E_STATE, 0, dw_leave_entry(r));
    MISUSE("y", DW_E_STATE, 0, dw_leave_variant(r));
    MISUSE("(y)", DW_E_STATE, 0, dw_enter_struct(r), dw_leave_array(r));
    MISUSE("ay", DW_E_STATE, 4, dw_enter_array(r), dw_leave_struct(r));
    MISUSE("(ay)", DW_E_STATE, 4, dw_enter_struct(r), dw_enter_array(r), dw_leave_struct(r));
    MISUSE("a(y)", DW_E_STATE, 8, dw_enter_array(r), dw_leave_struct(r));
    MISUSE("a(y)", DW_E_STATE, 8, dw_enter_array(r), dw_enter_struct(r), dw_leave_array(r));
    MISUSE("((y)y)", DW_E_STATE, 1, dw_enter_struct(r), dw_enter_struct(r), dw_leave_entry(r));
    MISUSE("((y)y)", DW_E_STATE, 2, dw_enter_struct(r), dw_leave_struct(r), dw_leave_struct(r));
    MISUSE("y", DW_E_TYPE, 1, dw_get_byte(r), dw_get_byte(r));
    MISUSE("y", DW_E_TYPE, 1, dw_get_byte(r), dw_skip(r));
    MISUSE("(y)", DW_E_TYPE, 1, dw_enter_struct(r), dw_get_byte(r), dw_get_byte(r));
    MISUSE("(y)", DW_E_TYPE, 1, dw_enter_struct(r), dw_get_byte(r), dw_skip(r));
    MISUSE("ay", DW_E_BOUNDS, 4, dw_enter_array(r), dw_get_byte(r));
    MISUSE("as", DW_E_BOUNDS, 4, dw_enter_array(r), dw_get_string(r));
    MISUSE("a(y)", DW_E_BOUNDS, 8, dw_enter_array(r), dw_enter_struct(r), dw_get_byte(r));
    MISUSE("ay", DW_E_ARGUMENT, 0, dw_get_array(r, 's', &n));
    MISUSE("ay", DW_E_ARGUMENT, 0, dw_copy_array(r, '\0', room, 1));
    MISUSE("as", DW_E_TYPE, 0, dw_get_byte_array(r, &n));
    MISUSE("ai", DW_E_TYPE, 0, dw_copy_uint32_array(r, (uint32_t *)room, 1));
}

/* -- dw_copy ------------------------------------------------------------------ */

/* Copies the first value of a body into a writer that asks for another type, or
 * cannot take it; both must have the error afterwards. */
static void copy_refused(const char *from, const char *hex, const char *to, int code)
{
    text bytes = {0};
    dw_reader r;
    dw_writer w;
    assert_true(text_from_hex(&bytes, hex, strlen(hex)));
    dw_reader_init_body(&r, from, bytes.p, bytes.n, DW_LITTLE);
    dw_writer_init(&w, NULL, 0, dw_heap);
    dw_begin(&w, &(dw_header){.type = DW_METHOD_RETURN, .reply_serial = 1, .signature = to});
    assert_string_equal(dw_error_name(dw_copy(&r, &w)), dw_error_name(code));
    assert_int_equal(dw_copy(&r, &w), code);
    assert_int_equal(dw_reader_finish(&r), code);
    assert_int_equal(dw_finish(&w), code);
    dw_writer_free(&w);
    text_free(&bytes);
}

static void copying_fails_on_both_sides(void **state)
{
    (void)state;
    copy_refused("u", "01000000", "i", DW_E_TYPE);
    copy_refused("u", "01000000", "", DW_E_TYPE);
    copy_refused("", "", "u", DW_E_TYPE);
    copy_refused("ay", "00000000", "ab", DW_E_TYPE);
    copy_refused("ay", "00000000", "aay", DW_E_TYPE);
    copy_refused("(yy)", "0102", "(yyy)", DW_E_TYPE);
    copy_refused("(yyy)", "010203", "(yy)", DW_E_TYPE);
    copy_refused("a{yv}", "0000000000000000", "a(yv)", DW_E_TYPE);
    copy_refused("b", "02000000", "b", DW_E_BOOLEAN);
    copy_refused("ab", "04000000 02000000", "ab", DW_E_BOOLEAN);
    copy_refused("s", "01000000 ff 00", "s", DW_E_UTF8);
    copy_refused("as", "06000000 01000000 ff 00", "as", DW_E_UTF8);
    copy_refused("(yt)", "01 01000000000000 {00*8}", "(yt)", DW_E_PADDING);
    copy_refused("v", "01 75 00 00 01", "v", DW_E_BOUNDS);
    /* where what the reader returns after its error is no value for the writer */
    copy_refused("v", "01 75", "v", DW_E_BOUNDS);
    copy_refused("o", "01000000 2f", "o", DW_E_BOUNDS);
    copy_refused("o", "01000000 2f 2f", "o", DW_E_UTF8);
    copy_refused("(y(y))", "01 01 {00*6} 01", "(y(y))", DW_E_PADDING);
    copy_refused("(yh)", "01 01 0000 00000000", "(yh)", DW_E_PADDING);
    /* an index of a descriptor that the message written does not have */
    copy_refused("h", "00000000", "h", DW_E_FDS);
    copy_refused("ah", "04000000 00000000", "ah", DW_E_FDS);
    copy_refused("v", "01 68 00 00 00000000", "v", DW_E_FDS);
}

/* What is wrong on both sides has the error of the side that came upon it first. */
static void copying_fails_with_the_first(void **state)
{
    (void)state;
    static const uint8_t bytes[] = {1, 'y', 0, 7, 1, 0, 0, 0, 0xff, 0};
    dw_reader r;
    dw_writer w;
    dw_reader_init_body(&r, "(vs)", bytes, sizeof bytes, DW_LITTLE);
    dw_writer_init(&w, NULL, 0, dw_heap);
    dw_begin_body(&w, "v", 0);
    for (unsigned i = 1; i < DW_MAX_DEPTH; i++)
        dw_open_variant(&w, i + 1 < DW_MAX_DEPTH ? "v" : "(vs)");
    assert_int_equal(dw_copy(&r, &w), DW_E_DEPTH); /* of the v, before the s */
    assert_int_equal(dw_reader_finish(&r), DW_E_DEPTH);
    assert_int_equal(dw_finish(&w), DW_E_DEPTH);
    dw_writer_free(&w);
    dw_reader_init_body(&r, "y", bytes, 1, 0);
    assert_int_equal(dw_copy(&r, &w), DW_E_STATE);
    assert_int_equal(dw_reader_finish(&r), DW_E_STATE);
}

static void refuses_arrays_over_max(void **state)
{
    (void)state;
    const uint64_t elements = 0x0706050403020100;
    uint64_t body[3] = {0, elements, 0};
    uint8_t out[16];
    dw_reader r;
    *(uint8_t *)body = 8;
    dw_reader_init_body(&r, "at", body, 16, DW_LITTLE);
    memset(out, 0xee, sizeof out);
    assert_int_equal(dw_copy_array(&r, 't', out, 0), 0);
    assert_int_equal(dw_reader_finish(&r), DW_E_NO_ROOM);
    assert_int_equal(dw_reader_fault(&r).at, 0);
    for (size_t i = 0; i < sizeof out; i++)
        assert_int_equal(out[i], 0xee);
    dw_reader_init_body(&r, "at", body, 16, DW_LITTLE);
    assert_int_equal(dw_copy_array(&r, 't', NULL, 1), 0);
    assert_int_equal(dw_reader_finish(&r), DW_E_ARGUMENT);
    dw_reader_init_body(&r, "at", body, 16, DW_BIG);
    size_t n;
    assert_null(dw_get_uint64_array(&r, &n));
    assert_int_equal(dw_reader_finish(&r), DW_E_LIMIT);
}

/* What is over 128 MiB is no body; what is not may be a string of 70 MiB, and
 * an array of 64 MiB, but not of one more. */
static void limits_lengths(void **state)
{
    (void)state;
    uint8_t *bytes = calloc((size_t)DW_MAX_MESSAGE + 16, 1);
    assert_non_null(bytes);
    dw_reader r;
    dw_reader_init_body(&r, "y", bytes, (size_t)DW_MAX_MESSAGE + 1, 0);
    assert_int_equal(dw_reader_finish(&r), DW_E_LIMIT);
    dw_reader_init_body(&r, "y", bytes, SIZE_MAX, 0);
    assert_int_equal(dw_reader_finish(&r), DW_E_LIMIT);
    for (uint32_t more = 0; more < 2; more++) {
        uint32_t len = DW_MAX_ARRAY + more;
        memcpy(bytes, &len, sizeof len);
        dw_reader_init_body(&r, "ay", bytes, 4 + len, 0);
        assert_int_equal(dw_reader_finish(&r), more ? DW_E_LIMIT : 0);
        dw_reader_init_body(&r, "ay", bytes, 4 + len, 0);
        dw_skip(&r);
        assert_int_equal(dw_reader_finish(&r), more ? DW_E_LIMIT : 0);
    }
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_missing_bytes),
        cmocka_unit_test(refuses_no_bytes),
        cmocka_unit_test(refuses_bytes_left),
        cmocka_unit_test(refuses_wrong_array_lengths),
        cmocka_unit_test(refuses_padding),
        cmocka_unit_test(refuses_values),
        cmocka_unit_test(refuses_depth),
        cmocka_unit_test(refuses_signatures),
        cmocka_unit_test(refuses_other_types),
        cmocka_unit_test(refuses_misuse),
        cmocka_unit_test(copying_fails_on_both_sides),
        cmocka_unit_test(copying_fails_with_the_first),
        cmocka_unit_test(refuses_arrays_over_max),
        cmocka_unit_test(limits_lengths),
    };
    return cmocka_run_group_tests_name("reader errors", tests, NULL, NULL);
}
