/* test_message.c - headers as they are written and parsed, frames, copies. What
 * is refused is in test_message_errors.c. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "dwire/message.h"
#include "support/craft.h"
#include "support/text.h"

/* -- Golden bytes ----------------------------------------------------------- */

/* WRITES(header, little, big): a message of that header and no body. */
static void writes(dw_header header, const char *little, const char *big)
{
    for (int order = 0; order < 2; order++) {
        text expected = {0}, came = {0}, wanted = {0};
        dw_writer w;
        size_t len;
        const char *hex = order ? big : little;
        assert_true(text_from_hex(&expected, hex, strlen(hex)));
        header.order = order ? DW_BIG : DW_LITTLE;
        dw_writer_init(&w, NULL, 0, dw_heap);
        dw_begin(&w, &header);
        assert_string_equal(dw_error_name(dw_finish(&w)), "DW_OK");
        const uint8_t *p = dw_writer_bytes(&w, &len);
        text_hex(&came, p, len);
        text_hex(&wanted, expected.p, expected.n);
        assert_string_equal(text_string(&came), text_string(&wanted));
        assert_int_equal(len, expected.n);
        assert_memory_equal(p, expected.p, len);
        dw_writer_free(&w);
        text_free(&expected);
        text_free(&came);
        text_free(&wanted);
    }
}

#define WRITES(little, big, ...) writes((dw_header){__VA_ARGS__}, little, big)

#define PATH_L      "01 016f00 02000000 2f61 00 {00*5}"
#define PATH_B      "01 016f00 00000002 2f61 00 {00*5}"
#define INTERFACE_L "02 017300 03000000 612e62 00 {00*4}"
#define INTERFACE_B "02 017300 00000003 612e62 00 {00*4}"
#define MEMBER_L    "03 017300 01000000 4d 00 {00*6}"
#define MEMBER_B    "03 017300 00000001 4d 00 {00*6}"

static void writes_the_four_types(void **state)
{
    (void)state;
    WRITES("6c 01 00 01 00000000 01000000 1a000000" PATH_L MEMBER_L,
           "42 01 00 01 00000000 00000001 0000001a" PATH_B MEMBER_B, .type = DW_METHOD_CALL,
           .path = "/a", .member = "M");
    WRITES("6c 02 00 01 00000000 01000000 08000000 05 017500 07000000",
           "42 02 00 01 00000000 00000001 00000008 05 017500 00000007", .type = DW_METHOD_RETURN,
           .reply_serial = 7);
    WRITES("6c 03 00 01 00000000 01000000 18000000 04 017300 03000000 612e62 00 {00*4}"
           "05 017500 07000000",
           "42 03 00 01 00000000 00000001 00000018 04 017300 00000003 612e62 00 {00*4}"
           "05 017500 00000007",
           .type = DW_ERROR, .error_name = "a.b", .reply_serial = 7);
    WRITES("6c 04 00 01 00000000 01000000 2a000000" PATH_L INTERFACE_L MEMBER_L,
           "42 04 00 01 00000000 00000001 0000002a" PATH_B INTERFACE_B MEMBER_B, .type = DW_SIGNAL,
           .path = "/a", .interface = "a.b", .member = "M");
}

static void writes_all_fields(void **state)
{
    (void)state;
    const int fds[2] = {3, 4};
    WRITES("6c 03 07 01 00000000 ffffffff 70000000" PATH_L INTERFACE_L MEMBER_L
           "04 017300 03000000 612e63 00 {00*4} 05 017500 04030201"
           "06 017300 04000000 3a312e31 00 {00*3} 07 017300 04000000 3a312e32 00 {00*3}"
           "09 017500 02000000",
           "42 03 07 01 00000000 ffffffff 00000070" PATH_B INTERFACE_B MEMBER_B
           "04 017300 00000003 612e63 00 {00*4} 05 017500 01020304"
           "06 017300 00000004 3a312e31 00 {00*3} 07 017300 00000004 3a312e32 00 {00*3}"
           "09 017500 00000002",
           .type = DW_ERROR, .flags = 7, .serial = UINT32_MAX, .reply_serial = 0x01020304,
           .path = "/a", .interface = "a.b", .member = "M", .error_name = "a.c",
           .destination = ":1.1", .sender = ":1.2", .signature = "", .fds = fds, .n_fds = 2);
    for (uint8_t flags = 0; flags < 8; flags++) {
        char little[64] = "6c 02 00 01 00000000 01000000 08000000 05 017500 07000000";
        char big[64] = "42 02 00 01 00000000 00000001 00000008 05 017500 00000007";
        little[7] = big[7] = (char)('0' + flags);
        WRITES(little, big, .type = DW_METHOD_RETURN, .reply_serial = 7, .flags = flags);
    }
}

/* The length of the body comes into the header when it is known; the padding
 * before it does not count. */
static void writes_the_body(void **state)
{
    (void)state;
    for (int order = 0; order < 2; order++) {
        dw_writer w;
        text expected = {0};
        const char *hex =
            order ? "42 02 00 01 00000009 00000001 00000010 05 017500 00000007 08 016700 02 7573 00"
                    "00000005 00000000 00"
                  : "6c 02 00 01 09000000 01000000 10000000 05 017500 07000000 08 016700 02 7573 00"
                    "05000000 00000000 00";
        assert_true(text_from_hex(&expected, hex, strlen(hex)));
        dw_writer_init(&w, NULL, 0, dw_heap);
        dw_begin(&w, &(dw_header){.type = DW_METHOD_RETURN,
                                  .order = order ? DW_BIG : DW_LITTLE,
                                  .reply_serial = 7,
                                  .signature = "us"});
        dw_put_uint32(&w, 5);
        dw_put_string(&w, "");
        size_t len;
        assert_int_equal(dw_finish(&w), 0);
        const uint8_t *p = dw_writer_bytes(&w, &len);
        assert_int_equal(len, expected.n);
        assert_memory_equal(p, expected.p, len);
        dw_writer_free(&w);
        text_free(&expected);
    }
}

/* -- Written and parsed ------------------------------------------------------ */

typedef struct parsed {
    dw_writer w;
    dw_message m;
} parsed;

static void finish_and_parse(parsed *p, uint32_t n_fds)
{
    size_t len, whole;
    assert_string_equal(dw_error_name(dw_finish(&p->w)), "DW_OK");
    const uint8_t *bytes = dw_writer_bytes(&p->w, &len);
    assert_int_equal(dw_message_frame(bytes, len, &whole), 1);
    assert_int_equal(whole, len);
    assert_int_equal(dw_message_parse(&p->m, bytes, len, n_fds), 0);
    assert_int_equal(p->m.fault.code, 0);
    assert_ptr_equal(p->m.bytes, bytes);
    assert_int_equal(p->m.len, len);
    assert_int_equal(dw_message_check(&p->m, NULL), 0);
}

static void assert_view(dw_string came, const char *expected)
{
    assert_int_equal(came.n, strlen(expected));
    assert_string_equal(came.p, expected);
}

static void parses_what_was_written(void **state)
{
    (void)state;
    for (int order = 0; order < 2; order++) {
        parsed p;
        dw_writer_init(&p.w, NULL, 0, dw_heap);
        dw_begin(&p.w, &(dw_header){.type = DW_SIGNAL,
                                    .flags = DW_NO_AUTO_START,
                                    .order = order ? DW_BIG : DW_LITTLE,
                                    .serial = 0x01020304,
                                    .reply_serial = 0x05060708,
                                    .path = "/a/b",
                                    .interface = "a.b.c",
                                    .member = "Member",
                                    .error_name = "e.r",
                                    .destination = "d.e-s.t",
                                    .sender = ":1.7",
                                    .signature = "ay"});
        dw_put_byte_array(&p.w, (const uint8_t[]){1, 2}, 2);
        finish_and_parse(&p, 0);
        assert_int_equal(p.m.type, DW_SIGNAL);
        assert_int_equal(p.m.flags, DW_NO_AUTO_START);
        assert_int_equal(p.m.order, order ? DW_BIG : DW_LITTLE);
        assert_int_equal(p.m.serial, 0x01020304);
        assert_int_equal(p.m.reply_serial, 0x05060708);
        assert_int_equal(p.m.unix_fds, 0);
        assert_view(p.m.path, "/a/b");
        assert_view(p.m.interface, "a.b.c");
        assert_view(p.m.member, "Member");
        assert_view(p.m.error_name, "e.r");
        assert_view(p.m.destination, "d.e-s.t");
        assert_view(p.m.sender, ":1.7");
        assert_view(p.m.signature, "ay");
        assert_int_equal(p.m.body_len, 6);
        assert_ptr_equal(p.m.body, p.m.bytes + p.m.len - 6);
        assert_null(p.m.fds);
        dw_writer_free(&p.w);
    }
}

static void parses_what_is_left_out(void **state)
{
    (void)state;
    parsed p;
    dw_writer_init(&p.w, NULL, 0, dw_heap);
    dw_begin(&p.w, &(dw_header){.type = DW_METHOD_RETURN, .reply_serial = 1});
    finish_and_parse(&p, 0);
    assert_int_equal(p.m.serial, 1);
    assert_view(p.m.path, "");
    assert_view(p.m.interface, "");
    assert_view(p.m.member, "");
    assert_view(p.m.error_name, "");
    assert_view(p.m.destination, "");
    assert_view(p.m.sender, "");
    assert_view(p.m.signature, "");
    assert_int_equal(p.m.body_len, 0);
    dw_writer_free(&p.w);
}

static void shorthands_are_headers(void **state)
{
    (void)state;
    parsed p, answer;
    dw_writer_init(&p.w, NULL, 0, dw_heap);
    dw_writer_init(&answer.w, NULL, 0, dw_heap);
    dw_begin_signal(&p.w, "/a", "a.b", "S", NULL);
    finish_and_parse(&p, 0);
    assert_int_equal(p.m.type, DW_SIGNAL);
    assert_view(p.m.path, "/a");
    assert_view(p.m.interface, "a.b");
    assert_view(p.m.member, "S");
    assert_view(p.m.destination, "");

    dw_begin_call(&p.w, NULL, "/a", NULL, "M", NULL);
    finish_and_parse(&p, 0);
    assert_view(p.m.destination, "");
    assert_view(p.m.interface, "");
    dw_begin_reply(&answer.w, &p.m, NULL);
    finish_and_parse(&answer, 0);
    assert_view(answer.m.destination, "");

    dw_begin(
        &p.w,
        &(dw_header){
            .type = DW_METHOD_CALL, .serial = 77, .sender = ":1.5", .path = "/a", .member = "M"});
    finish_and_parse(&p, 0);
    dw_begin_reply(&answer.w, &p.m, "y");
    dw_put_byte(&answer.w, 1);
    finish_and_parse(&answer, 0);
    assert_int_equal(answer.m.type, DW_METHOD_RETURN);
    assert_int_equal(answer.m.reply_serial, 77);
    assert_view(answer.m.destination, ":1.5");
    assert_view(answer.m.signature, "y");

    dw_begin_error(&answer.w, &p.m, "e.r", "s");
    dw_put_string(&answer.w, "what happened");
    finish_and_parse(&answer, 0);
    assert_int_equal(answer.m.type, DW_ERROR);
    assert_view(answer.m.error_name, "e.r");
    assert_int_equal(answer.m.reply_serial, 77);
    assert_view(answer.m.destination, ":1.5");

    dw_begin_call(&p.w, "d.e", "/a", "a.b", "M", "u");
    dw_put_uint32(&p.w, 9);
    finish_and_parse(&p, 0);
    assert_int_equal(p.m.type, DW_METHOD_CALL);
    assert_view(p.m.destination, "d.e");
    assert_view(p.m.interface, "a.b");
    dw_writer_free(&p.w);
    dw_writer_free(&answer.w);
}

static void field_names(void **state)
{
    (void)state;
    assert_string_equal(dw_field_name(0), "");
    assert_string_equal(dw_field_name(DW_FIELD_PATH), "PATH");
    assert_string_equal(dw_field_name(DW_FIELD_REPLY_SERIAL), "REPLY_SERIAL");
    assert_string_equal(dw_field_name(DW_FIELD_UNIX_FDS), "UNIX_FDS");
    for (unsigned code = DW_FIELD_COUNT; code < 256; code++)
        assert_string_equal(dw_field_name((uint8_t)code), "");
}

/* -- What this version does not know ------------------------------------------ */

static void ignores_what_is_unknown(void **state)
{
    (void)state;
    for (unsigned code = DW_FIELD_COUNT; code < 256; code++) {
        dw_header header = {.type = (uint8_t)code, .flags = (uint8_t)~code, .reply_serial = 7};
        dw_writer w;
        dw_writer_init(&w, NULL, 0, dw_heap);
        text bytes = {0};
        craft_begin(&w, &header, 0);
        craft_string(&w, (uint8_t)code, "s", "one");
        craft_fields(&w, &header);
        craft_uint32(&w, (uint8_t)code, 2); /* twice: it means nothing here */
        craft_finish(&w, &bytes);
        dw_message m;
        assert_int_equal(dw_message_parse(&m, bytes.p, bytes.n, 0), 0);
        assert_int_equal(m.type, code);
        assert_int_equal(m.flags, (uint8_t)~code);
        assert_int_equal(m.reply_serial, 7);
        text_free(&bytes);
        dw_writer_free(&w);
    }
}

/* -- Frames --------------------------------------------------------------------- */

static int frame(const char *hex, size_t len, size_t *whole)
{
    text bytes = {0};
    assert_true(text_from_hex(&bytes, hex, strlen(hex)));
    block b = block_copy(bytes.p, len, 1);
    int code = dw_message_frame(b.p, len, whole);
    block_free(&b);
    text_free(&bytes);
    return code;
}

static void frames_a_stream(void **state)
{
    (void)state;
    size_t whole;
    const char *small = "6c 01 00 01 09000000 01000000 0a000000 {00*64}";
    for (size_t len = 0; len < 64; len++) {
        int expected = len >= 16 + 16 + 9;
        assert_int_equal(frame(small, len, &whole), expected);
        assert_int_equal(whole, len < 16 ? 16 : 16 + 16 + 9);
    }
    /* what is wrong is said as soon as 16 bytes are there, not before */
    assert_int_equal(frame("78 {00*15}", 15, &whole), 0);
    assert_int_equal(frame("78 01 00 01 00000000 01000000 00000000", 16, &whole), DW_E_HEADER);
    assert_int_equal(frame("6c 00 00 01 00000000 01000000 00000000", 16, &whole), DW_E_HEADER);
    assert_int_equal(frame("6c 01 00 02 00000000 01000000 00000000", 16, &whole), DW_E_HEADER);
    assert_int_equal(frame("6c 01 00 00 00000000 01000000 00000000", 16, &whole), DW_E_HEADER);
    assert_int_equal(frame("6c 01 00 01 00000000 00000000 00000000", 16, &whole), DW_E_HEADER);
    assert_int_equal(frame("6c 01 00 01 00000000 01000000 01000004", 16, &whole), DW_E_LIMIT);
    assert_int_equal(frame("42 01 00 01 00000000 00000001 04000001", 16, &whole), DW_E_LIMIT);
    assert_int_equal(frame("6c 01 00 01 f1ffff07 01000000 00000000", 16, &whole), DW_E_LIMIT);
    assert_int_equal(frame("6c 01 00 01 ffffffff 01000000 ffffffff", 16, &whole), DW_E_LIMIT);
    assert_int_equal(frame("6c 01 00 01 f0ffff07 01000000 00000000", 16, &whole), 0);
    assert_int_equal(whole, DW_MAX_MESSAGE);
}

/* -- Copies ------------------------------------------------------------------------ */

/* A copy has the same in its own block, and nothing of the bytes it came from:
 * they are gone when it is read, those of an empty signature too. */
static void copies_stand_alone(void **state)
{
    (void)state;
    for (int with_body = 0; with_body < 2; with_body++) {
        dw_header header = {.type = DW_ERROR,
                            .serial = 5,
                            .reply_serial = 6,
                            .path = "/a",
                            .interface = "a.b",
                            .member = "M",
                            .error_name = "e.r",
                            .destination = ":1.1",
                            .sender = ":1.2",
                            .signature = with_body ? "s" : ""};
        text bytes = {0};
        craft_header(&bytes, &header);
        if (with_body) {
            text_from_hex(&bytes, DW_NATIVE == DW_LITTLE ? "010000006100" : "000000016100", 12);
            bytes.p[DW_NATIVE == DW_LITTLE ? 4 : 7] = 6;
        }
        dw_message m, copy;
        block b = block_copy(bytes.p, bytes.n, 0);
        assert_int_equal(dw_message_parse(&m, b.p, bytes.n, 0), 0);
        assert_int_equal(dw_message_copy(&copy, &m, dw_heap), 0);
        memset(b.p, 0xff, bytes.n);
        block_free(&b);
        memset(&m, 0xff, sizeof m);

        assert_int_equal((uintptr_t)copy.bytes % 8, 0);
        assert_int_equal(copy.len, bytes.n);
        assert_memory_equal(copy.bytes, bytes.p, bytes.n);
        assert_int_equal(copy.type, DW_ERROR);
        assert_int_equal(copy.serial, 5);
        assert_int_equal(copy.reply_serial, 6);
        assert_view(copy.path, "/a");
        assert_view(copy.interface, "a.b");
        assert_view(copy.member, "M");
        assert_view(copy.error_name, "e.r");
        assert_view(copy.destination, ":1.1");
        assert_view(copy.sender, ":1.2");
        assert_view(copy.signature, with_body ? "s" : "");
        assert_null(copy.fds);
        assert_int_equal(copy.fault.code, 0);
        assert_int_equal(dw_message_check(&copy, NULL), 0);
        dw_reader r;
        dw_reader_init(&r, &copy);
        if (with_body)
            assert_view(dw_get_string(&r), "a");
        assert_int_equal(dw_reader_finish(&r), 0);
        dw_message_free(&copy, dw_heap);
        assert_null(copy.bytes);
        dw_reader_init(&r, &copy);
        assert_int_equal(dw_get_string(&r).n, 0);
        assert_int_equal(dw_reader_finish(&r), DW_E_STATE);
        dw_message none;
        assert_int_equal(dw_message_copy(&none, &copy, dw_heap), DW_E_STATE);
        text_free(&bytes);
    }
}

static void takes_descriptors_once(void **state)
{
    (void)state;
    int fds[2] = {100, 101};
    dw_message m = {.fds = fds, .unix_fds = 2};
    assert_int_equal(dw_take_fd(&m, 2), DW_E_FDS);
    assert_int_equal(dw_take_fd(&m, UINT32_MAX), DW_E_FDS);
    assert_int_equal(dw_take_fd(&m, 1), 101);
    assert_int_equal(dw_take_fd(&m, 1), DW_E_FDS);
    assert_int_equal(dw_take_fd(&m, 0), 100);
    m.fds = NULL;
    assert_int_equal(dw_take_fd(&m, 0), DW_E_FDS);
}

/* -- One header after another ------------------------------------------------
 *
 * A writer keeps what it can of the last message's header. Whatever that was, the
 * next one is as from a new writer. */

static const dw_header successive[] = {
    {.type = DW_SIGNAL, .path = "/a", .interface = "a.b", .member = "M"},
    {.type = DW_SIGNAL, .path = "/a", .interface = "a.b", .member = "M", .signature = "u"},
    {.type = DW_SIGNAL, .path = "/a", .interface = "a.b", .member = "N", .signature = "s"},
    {.type = DW_SIGNAL, .path = "/ab", .interface = "a.b", .member = "M", .signature = "u"},
    {.type = DW_SIGNAL, .path = "/a", .interface = "a.b2", .member = "M", .sender = ":1.1"},
    {.type = DW_SIGNAL, .path = "/a", .interface = "a.b", .member = "M", .sender = ":1.1"},
    {.type = DW_METHOD_CALL, .path = "/a", .member = "M"},
    {.type = DW_METHOD_CALL, .path = "/a", .member = "M", .destination = "a.b"},
    {.type = DW_METHOD_CALL, .path = "/a", .interface = "a.b", .member = "M", .n_fds = 3},
    {.type = DW_METHOD_RETURN, .reply_serial = 7},
    {.type = DW_METHOD_RETURN, .reply_serial = 0x73000103, .destination = ":1.1"},
    {.type = DW_METHOD_RETURN, .reply_serial = 8, .destination = ":1.1"},
    {.type = DW_ERROR, .error_name = "a.b", .reply_serial = 8, .destination = ":1.1"},
    {.type = DW_ERROR, .error_name = "a.b", .reply_serial = 9, .destination = ":1.12"},
    {.type = DW_SIGNAL, .path = "/a", .interface = "a.b"},                /* no member */
    {.type = DW_SIGNAL, .path = "/a", .interface = "a.b", .member = "-"}, /* no good one */
};

static void write_successive(dw_writer *w, size_t i, char order)
{
    dw_header h = successive[i];
    h.order = order;
    dw_begin(w, &h);
    if (h.signature && *h.signature == 'u')
        dw_put_uint32(w, 0x01020304);
    if (h.signature && *h.signature == 's')
        dw_put_string(w, "a string that is longer than the header was");
    dw_finish(w);
}

static void headers_follow_each_other(void **state)
{
    const size_t n = sizeof successive / sizeof *successive;
    (void)state;
    for (size_t i = 0; i < n * n * 4; i++) {
        const char first = i / n / n % 2 ? DW_BIG : DW_LITTLE,
                   then = i / n / n / 2 ? DW_BIG : DW_LITTLE;
        dw_writer used, fresh;
        dw_writer_init(&used, NULL, 0, dw_heap);
        dw_writer_init(&fresh, NULL, 0, dw_heap);
        write_successive(&used, i % n, first);
        write_successive(&used, i / n % n, then);
        write_successive(&fresh, i / n % n, then);
        size_t len, expected;
        const uint8_t *came = dw_writer_bytes(&used, &len);
        const uint8_t *wanted = dw_writer_bytes(&fresh, &expected);
        assert_int_equal(len, expected);
        assert_int_equal(dw_finish(&used), dw_finish(&fresh));
        if (expected)
            assert_memory_equal(came, wanted, len);
        dw_writer_free(&used);
        dw_writer_free(&fresh);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_the_four_types),
        cmocka_unit_test(writes_all_fields),
        cmocka_unit_test(writes_the_body),
        cmocka_unit_test(parses_what_was_written),
        cmocka_unit_test(parses_what_is_left_out),
        cmocka_unit_test(shorthands_are_headers),
        cmocka_unit_test(field_names),
        cmocka_unit_test(ignores_what_is_unknown),
        cmocka_unit_test(frames_a_stream),
        cmocka_unit_test(copies_stand_alone),
        cmocka_unit_test(takes_descriptors_once),
        cmocka_unit_test(headers_follow_each_other),
    };
    return cmocka_run_group_tests_name("message", tests, NULL, NULL);
}
