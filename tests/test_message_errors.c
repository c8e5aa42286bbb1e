/* test_message_errors.c - headers that are refused, on writing and on parsing:
 * the error, and the field that it names. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "dwire/message.h"
#include "support/craft.h"
#include "support/text.h"

/* -- On writing --------------------------------------------------------------- */

static void begin_refused(const dw_header *header, int code, uint8_t field)
{
    for (int memory = 0; memory < 2; memory++) {
        dw_writer w;
        size_t len;
        dw_writer_init(&w, NULL, 0, memory ? dw_heap : NULL);
        dw_begin(&w, header);
        dw_put_byte(&w, 1);
        dw_open_array(&w);
        assert_string_equal(dw_error_name(dw_finish(&w)), dw_error_name(code));
        assert_int_equal(dw_writer_fault(&w).field, field);
        assert_null(dw_writer_bytes(&w, &len));
        assert_int_equal(dw_writer_size(&w), 0);
        dw_writer_free(&w);
    }
}

/* BAD(code, field, changes to a sound header of a signal with all fields). */
#define SOUND                                                                                      \
    .type = DW_SIGNAL, .path = "/a", .interface = "a.b", .member = "M", .error_name = "e.r",       \
    .reply_serial = 1, .destination = "d.e", .sender = ":1.1", .signature = "ay"

#if defined(__clang__)
#pragma clang diagnostic ignored "-Winitializer-overrides"
#elif defined(__GNUC__)
#pragma GCC diagnostic ignored "-Woverride-init"
#endif

#define BAD(code, field, ...) begin_refused(&(dw_header){SOUND, __VA_ARGS__}, code, field)

static void refuses_to_begin(void **state)
{
    (void)state;
    char name[257] = "a.", path[] = "/org/freedesktop/DBus/Local";
    memset(name + 2, 'b', 254);

    BAD(DW_E_HEADER, 0, .type = 0);
    BAD(DW_E_HEADER, 0, .type = 5);
    BAD(DW_E_HEADER, 0, .type = 255);
    BAD(DW_E_HEADER, 0, .order = 'x');
    for (unsigned flag = 8; flag < 256; flag *= 2)
        BAD(DW_E_HEADER, 0, .flags = (uint8_t)flag);

    BAD(DW_E_PATH, DW_FIELD_PATH, .path = "");
    BAD(DW_E_PATH, DW_FIELD_PATH, .path = "a");
    BAD(DW_E_PATH, DW_FIELD_PATH, .path = "/a/");
    BAD(DW_E_NAME, DW_FIELD_INTERFACE, .interface = "");
    BAD(DW_E_NAME, DW_FIELD_INTERFACE, .interface = "a");
    BAD(DW_E_NAME, DW_FIELD_INTERFACE, .interface = "a.b-c");
    BAD(DW_E_NAME, DW_FIELD_INTERFACE, .interface = name);
    BAD(DW_E_NAME, DW_FIELD_MEMBER, .member = "");
    BAD(DW_E_NAME, DW_FIELD_MEMBER, .member = "a.b");
    BAD(DW_E_NAME, DW_FIELD_MEMBER, .member = "0a");
    BAD(DW_E_NAME, DW_FIELD_ERROR_NAME, .error_name = "");
    BAD(DW_E_NAME, DW_FIELD_ERROR_NAME, .error_name = "a");
    BAD(DW_E_NAME, DW_FIELD_DESTINATION, .destination = "");
    BAD(DW_E_NAME, DW_FIELD_DESTINATION, .destination = "a");
    BAD(DW_E_NAME, DW_FIELD_DESTINATION, .destination = name);
    BAD(DW_E_NAME, DW_FIELD_SENDER, .sender = "");
    BAD(DW_E_NAME, DW_FIELD_SENDER, .sender = ":");
    BAD(DW_E_SIGNATURE, DW_FIELD_SIGNATURE, .signature = "a");
    BAD(DW_E_SIGNATURE, DW_FIELD_SIGNATURE, .signature = "{yy}");
    BAD(DW_E_DEPTH, DW_FIELD_SIGNATURE, .signature = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaay");
    memset(name, 'y', 256);
    BAD(DW_E_LIMIT, DW_FIELD_SIGNATURE, .signature = name);

    BAD(DW_E_HEADER, DW_FIELD_PATH, .path = path);
    BAD(DW_E_HEADER, DW_FIELD_INTERFACE, .interface = "org.freedesktop.DBus.Local");
}

static void refuses_to_begin_without(void **state)
{
    (void)state;
    BAD(DW_E_HEADER, DW_FIELD_PATH, .path = NULL);
    BAD(DW_E_HEADER, DW_FIELD_INTERFACE, .interface = NULL);
    BAD(DW_E_HEADER, DW_FIELD_MEMBER, .member = NULL);
    BAD(DW_E_HEADER, DW_FIELD_PATH, .type = DW_METHOD_CALL, .path = NULL);
    BAD(DW_E_HEADER, DW_FIELD_MEMBER, .type = DW_METHOD_CALL, .member = NULL);
    BAD(DW_E_HEADER, DW_FIELD_REPLY_SERIAL, .type = DW_METHOD_RETURN, .reply_serial = 0);
    BAD(DW_E_HEADER, DW_FIELD_REPLY_SERIAL, .type = DW_ERROR, .reply_serial = 0);
    BAD(DW_E_HEADER, DW_FIELD_ERROR_NAME, .type = DW_ERROR, .error_name = NULL);
    dw_message unparsed;
    dw_writer w;
    dw_writer_init(&w, NULL, 0, dw_heap);
    assert_int_equal(dw_message_parse(&unparsed, "", 0, 0), DW_E_BOUNDS);
    dw_begin_reply(&w, &unparsed, NULL);
    assert_int_equal(dw_finish(&w), DW_E_HEADER);
    assert_int_equal(dw_writer_fault(&w).field, DW_FIELD_REPLY_SERIAL);
    dw_writer_free(&w);
}

/* What a frame's length could not say, is no header. */
static void refuses_to_begin_too_long(void **state)
{
    (void)state;
    char *path = malloc((size_t)DW_MAX_MESSAGE + 2);
    assert_non_null(path);
    memset(path, 'a', (size_t)DW_MAX_MESSAGE + 2);
    path[0] = '/';
    path[DW_MAX_ARRAY] = '\0';
    BAD(DW_E_LIMIT, DW_FIELD_PATH, .path = path);
    path[DW_MAX_ARRAY] = 'a';
    path[(size_t)DW_MAX_MESSAGE + 1] = '\0';
    BAD(DW_E_LIMIT, DW_FIELD_PATH, .path = path);
    free(path);
}

/* An index of a descriptor must be one of those that go with the message. */
static void refuses_descriptors_that_are_not_there(void **state)
{
    (void)state;
    const int fds[2] = {3, 4};
    for (uint32_t n = 0; n < 3; n++) {
        for (uint32_t index = 0; index < 4; index++) {
            for (int whole = 0; whole < 2; whole++) {
                dw_writer w;
                dw_writer_init(&w, NULL, 0, dw_heap);
                dw_begin(&w, &(dw_header){.type = DW_METHOD_RETURN,
                                          .reply_serial = 1,
                                          .signature = whole ? "ah" : "h",
                                          .fds = fds,
                                          .n_fds = n});
                if (whole)
                    dw_put_unix_fd_array(&w, &index, 1);
                else
                    dw_put_unix_fd(&w, index);
                assert_int_equal(dw_finish(&w), index < n ? 0 : DW_E_FDS);
                if (index < n) {
                    dw_message m;
                    size_t len;
                    const uint8_t *p = dw_writer_bytes(&w, &len);
                    assert_int_equal(dw_message_parse(&m, p, len, n), 0);
                    assert_int_equal(m.unix_fds, n);
                    assert_int_equal(dw_message_check(&m, NULL), 0);
                    assert_int_equal(dw_message_parse(&m, p, len, n - 1), DW_E_FDS);
                    assert_int_equal(m.fault.field, DW_FIELD_UNIX_FDS);
                }
                dw_writer_free(&w);
            }
        }
    }
}

/* -- On parsing ------------------------------------------------------------------ */

typedef struct crafted {
    dw_writer w;
    text bytes;
} crafted;

static void craft_start(crafted *c, uint8_t type, int order, uint32_t body_len)
{
    c->bytes = (text){0};
    dw_writer_init(&c->w, NULL, 0, dw_heap);
    craft_begin(&c->w, &(dw_header){.type = type, .order = order ? DW_BIG : DW_LITTLE}, body_len);
}

static void parse_refused(crafted *c, int code, uint8_t field, const char *calls)
{
    dw_message m;
    dw_reader r;
    text came = {0}, wanted = {0};
    craft_finish(&c->w, &c->bytes);
    block b = block_copy(c->bytes.p, c->bytes.n, 1);
    int parsed = dw_message_parse(&m, b.p, c->bytes.n, 0);
    text_printf(&came, "%s: %s, %s", calls, dw_error_name(parsed), dw_field_name(m.fault.field));
    text_printf(&wanted, "%s: %s, %s", calls, dw_error_name(code), dw_field_name(field));
    assert_string_equal(text_string(&came), text_string(&wanted));
    assert_int_equal(m.fault.code, code);
    assert_int_equal(m.fault.field, field);
    assert_in_range(m.fault.at, code ? 16 : 0, c->bytes.n);
    if (code) { /* nothing can be read of it */
        dw_reader_init(&r, &m);
        assert_false(dw_more(&r));
        assert_int_equal(dw_reader_finish(&r), code);
        assert_int_equal(dw_message_check(&m, NULL), code);
    }
    block_free(&b);
    dw_writer_free(&c->w);
    text_free(&c->bytes);
    text_free(&came);
    text_free(&wanted);
}

/* PARSE(code, field, type, calls): a header made by these calls on w. */
#define PARSE(code, field, type, ...)                                                              \
    for (int order = 0; order < 2; order++) {                                                      \
        crafted c;                                                                                 \
        dw_writer *w = &c.w;                                                                       \
        craft_start(&c, type, order, 0);                                                           \
        __VA_ARGS__;                                                                               \
        parse_refused(&c, code, field, #__VA_ARGS__);                                              \
    }

#define CALL  craft_string(w, DW_FIELD_PATH, "o", "/a"), craft_string(w, DW_FIELD_MEMBER, "s", "M")
#define REPLY craft_uint32(w, DW_FIELD_REPLY_SERIAL, 1)

static void refuses_missing_fields(void **state)
{
    (void)state;
    PARSE(DW_OK, 0, DW_METHOD_CALL, CALL);
    PARSE(DW_OK, 0, DW_METHOD_RETURN, REPLY);
    PARSE(DW_OK, 0, DW_ERROR, REPLY, craft_string(w, DW_FIELD_ERROR_NAME, "s", "a.b"));
    PARSE(DW_OK, 0, DW_SIGNAL, CALL, craft_string(w, DW_FIELD_INTERFACE, "s", "a.b"));
    PARSE(DW_OK, 0, 5, (void)w);
    PARSE(DW_E_HEADER, DW_FIELD_PATH, DW_METHOD_CALL, craft_string(w, DW_FIELD_MEMBER, "s", "M"));
    PARSE(DW_E_HEADER, DW_FIELD_MEMBER, DW_METHOD_CALL, craft_string(w, DW_FIELD_PATH, "o", "/a"));
    PARSE(DW_E_HEADER, DW_FIELD_REPLY_SERIAL, DW_METHOD_RETURN, CALL);
    PARSE(DW_E_HEADER, DW_FIELD_ERROR_NAME, DW_ERROR, REPLY);
    PARSE(DW_E_HEADER, DW_FIELD_REPLY_SERIAL, DW_ERROR,
          craft_string(w, DW_FIELD_ERROR_NAME, "s", "a.b"));
    PARSE(DW_E_HEADER, DW_FIELD_INTERFACE, DW_SIGNAL, CALL);
}

/* Each field with each wrong type, and each one twice. */
static void refuses_wrong_types(void **state)
{
    (void)state;
#define FIELD(code, name, type) {code, type},
    static const struct {
        uint8_t code;
        char type;
    } fields[] = {DW_FIELDS(FIELD)};
#undef FIELD
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        uint8_t code = fields[i].code;
        for (const char *type = "sogu"; *type; type++) {
            const char *value = *type == 's' ? "a.b" : *type == 'o' ? "/" : "y";
            const char *right = code == DW_FIELD_MEMBER ? "M" : value;
            const char signature[] = {*type, '\0'};
            if (*type != fields[i].type) {
                PARSE(DW_E_HEADER, code, 5,
                      *type == 'u' ? craft_uint32(w, code, 1)
                                   : craft_string(w, code, signature, value));
            } else if (*type == 'u') {
                PARSE(code == DW_FIELD_UNIX_FDS ? DW_E_FDS : DW_OK,
                      code == DW_FIELD_UNIX_FDS ? code : 0, 5, craft_uint32(w, code, 1));
                PARSE(DW_E_HEADER, code, 5, craft_uint32(w, code, 1), craft_uint32(w, code, 1));
            } else {
                PARSE(DW_OK, 0, 5, craft_string(w, code, signature, right));
                PARSE(DW_E_HEADER, code, 5, craft_string(w, code, signature, right),
                      craft_string(w, code, signature, right));
            }
        }
    }
    PARSE(DW_E_HEADER, 0, 5, craft_string(w, 0, "s", "a"));
}

static void refuses_wrong_values(void **state)
{
    (void)state;
    PARSE(DW_E_NAME, DW_FIELD_INTERFACE, 5, craft_string(w, DW_FIELD_INTERFACE, "s", ""));
    PARSE(DW_E_NAME, DW_FIELD_INTERFACE, 5, craft_string(w, DW_FIELD_INTERFACE, "s", "a"));
    PARSE(DW_E_NAME, DW_FIELD_MEMBER, 5, craft_string(w, DW_FIELD_MEMBER, "s", ""));
    PARSE(DW_E_NAME, DW_FIELD_MEMBER, 5, craft_string(w, DW_FIELD_MEMBER, "s", "a-b"));
    PARSE(DW_E_NAME, DW_FIELD_ERROR_NAME, 5, craft_string(w, DW_FIELD_ERROR_NAME, "s", "a"));
    PARSE(DW_E_NAME, DW_FIELD_DESTINATION, 5, craft_string(w, DW_FIELD_DESTINATION, "s", "a"));
    PARSE(DW_E_NAME, DW_FIELD_SENDER, 5, craft_string(w, DW_FIELD_SENDER, "s", ":1"));
    PARSE(DW_E_HEADER, DW_FIELD_REPLY_SERIAL, 5, craft_uint32(w, DW_FIELD_REPLY_SERIAL, 0));
    PARSE(DW_E_HEADER, DW_FIELD_PATH, 5,
          craft_string(w, DW_FIELD_PATH, "o", "/org/freedesktop/DBus/Local"));
    PARSE(DW_OK, 0, 5, craft_string(w, DW_FIELD_PATH, "o", "/org/freedesktop/DBus/Local/x"));
    PARSE(DW_OK, 0, 5, craft_string(w, DW_FIELD_PATH, "o", "/org/freedesktop/DBus"));
    PARSE(DW_E_HEADER, DW_FIELD_INTERFACE, 5,
          craft_string(w, DW_FIELD_INTERFACE, "s", "org.freedesktop.DBus.Local"));
    PARSE(DW_OK, 0, 5, craft_string(w, DW_FIELD_INTERFACE, "s", "org.freedesktop.DBus.Locals"));
    PARSE(DW_E_FDS, DW_FIELD_UNIX_FDS, 5, craft_uint32(w, DW_FIELD_UNIX_FDS, 1));
    PARSE(DW_OK, 0, 5, craft_uint32(w, DW_FIELD_UNIX_FDS, 0));
}

/* WHERE(code, field, at, hex): a little-endian header, or one with its body. */
static void where(int code, uint8_t field, uint32_t at, const char *hex)
{
    text bytes = {0}, came = {0}, wanted = {0};
    dw_message m;
    assert_true(text_from_hex(&bytes, hex, strlen(hex)));
    block b = block_copy(bytes.p, bytes.n, 3);
    dw_message_parse(&m, b.p, bytes.n, 0);
    dw_fault fault = m.fault;
    if (fault.code == 0)
        dw_message_check(&m, &fault);
    text_printf(&came, "%s at %u, field %u", dw_error_name(fault.code), (unsigned)fault.at,
                fault.field);
    text_printf(&wanted, "%s at %u, field %u", dw_error_name(code), (unsigned)at, field);
    assert_string_equal(text_string(&came), text_string(&wanted));
    block_free(&b);
    text_free(&bytes);
    text_free(&came);
    text_free(&wanted);
}

#define RETURN "6c 02 00 01 "

static void tells_where(void **state)
{
    (void)state;
    where(DW_OK, 0, 0, RETURN "00000000 01000000 08000000 05 017500 01000000");
    where(DW_E_HEADER, 5, 17, RETURN "00000000 01000000 08000000 05 016900 01000000");
    where(DW_E_HEADER, 5, 20, RETURN "00000000 01000000 08000000 05 017500 00000000");
    where(DW_E_BOUNDS, 5, 20, RETURN "00000000 01000000 05000000 05 017500 01000000");
    where(DW_E_HEADER, 0, 16, RETURN "00000000 01000000 08000000 00 017500 01000000");
    where(DW_E_NAME, 3, 25, RETURN "00000000 01000000 0b000000 03 017300 02000000 612d00 {00*5}");
    where(DW_E_UTF8, 3, 25, RETURN "00000000 01000000 0a000000 03 017300 01000000 6161 {00*6}");
    where(DW_E_SIGNATURE, 8, 22, RETURN "00000000 01000000 07000000 08 016700 0161 00 00");
    where(DW_E_BOOLEAN, 10, 20, RETURN "00000000 01000000 08000000 0a 016200 02000000");
    where(DW_E_SIGNATURE, 10, 18, RETURN "00000000 01000000 08000000 0a 017200 02000000");
    /* the array of fields and the struct of one count among the 64 containers */
    where(DW_OK, 0, 0,
          RETURN "00000000 01000000 c4000000 05 017500 01000000"
                 "0a {017600*61} 017900 01 00000000");
    where(DW_E_DEPTH, 10, 211,
          RETURN "00000000 01000000 c7000000 05 017500 01000000 0a {017600*62} 017900 01 00");
    where(DW_E_PADDING, 0, 36,
          RETURN "00000000 01000000 12000000 05 017500 01000000"
                 "03 017300 01000000 4d00 0000ff000000");
    where(DW_E_PADDING, 0, 23,
          RETURN "00000000 01000000 10000000 08 016700 00 00 00 ff"
                 "05 017500 01000000");
    where(DW_E_BOUNDS, 0, 16, RETURN "00000000 01000000 08000000");
    where(DW_E_BOUNDS, 0, 24, RETURN "00000000 01000000 08000000 05 017500 01000000 00");
    where(DW_E_HEADER, 8, 16, RETURN "01000000 01000000 08000000 05 017500 01000000 00");
    where(DW_E_BOOLEAN, 0, 32,
          RETURN "04000000 01000000 0f000000 05 017500 01000000 08 016700 01 62 00 00 02000000");
    where(DW_E_BOUNDS, 0, 33,
          RETURN "02000000 01000000 0f000000 05 017500 01000000 08 016700 01 79 00 00 0101");
    where(DW_E_BOUNDS, 0, 32,
          RETURN "00000000 01000000 0f000000 05 017500 01000000 08 016700 01 79 00 00");
}

/* In the body an index is held against the header's UNIX_FDS. */
static void refuses_descriptors_over_their_count(void **state)
{
    (void)state;
    for (uint32_t index = 0; index < 4; index++) {
        for (int whole = 0; whole < 2; whole++) {
            crafted c;
            dw_message m;
            dw_fault fault;
            craft_start(&c, DW_METHOD_RETURN, 0, whole ? 8 : 4);
            craft_uint32(&c.w, DW_FIELD_REPLY_SERIAL, 1);
            craft_string(&c.w, DW_FIELD_SIGNATURE, "g", whole ? "ah" : "h");
            craft_uint32(&c.w, DW_FIELD_UNIX_FDS, 2);
            craft_finish(&c.w, &c.bytes);
            size_t body_at = c.bytes.n;
            if (whole)
                text_add(&c.bytes, "\4\0\0", 4);
            text_add(&c.bytes, (const char[]){(char)index, 0, 0, 0}, 4);
            assert_int_equal(dw_message_parse(&m, c.bytes.p, c.bytes.n, 1), DW_E_FDS);
            assert_int_equal(dw_message_parse(&m, c.bytes.p, c.bytes.n, 2), 0);
            assert_int_equal(dw_message_check(&m, &fault), index < 2 ? 0 : DW_E_FDS);
            assert_int_equal(fault.at, index < 2 ? 0 : body_at + (whole ? 4 : 0));
            dw_reader r;
            dw_reader_init(&r, &m);
            uint32_t out = 9;
            if (whole)
                dw_copy_unix_fd_array(&r, &out, 1);
            else
                out = dw_get_unix_fd(&r);
            assert_int_equal(dw_reader_finish(&r), index < 2 ? 0 : DW_E_FDS);
            if (index < 2)
                assert_int_equal(out, index);
            dw_writer_free(&c.w);
            text_free(&c.bytes);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_to_begin),
        cmocka_unit_test(refuses_to_begin_without),
        cmocka_unit_test(refuses_to_begin_too_long),
        cmocka_unit_test(refuses_descriptors_that_are_not_there),
        cmocka_unit_test(refuses_missing_fields),
        cmocka_unit_test(refuses_wrong_types),
        cmocka_unit_test(refuses_wrong_values),
        cmocka_unit_test(tells_where),
        cmocka_unit_test(refuses_descriptors_over_their_count),
    };
    return cmocka_run_group_tests_name("message errors", tests, NULL, NULL);
}
