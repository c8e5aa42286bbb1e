/* libdbus.c - dwire and libdbus: what the one marshals the other reads, with the
 * same values and the same header; what the one refuses the other does. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "convert.h"
#include "support/dice.h"
#include "support/inspect.h"
#include "support/table.h"

#define ROUNDS 800

/* The message that libdbus makes of exactly these bytes, or NULL. */
static DBusMessage *demarshal(const void *bytes, size_t len)
{
    int whole = dbus_message_demarshal_bytes_needed(bytes, (int)len);
    return whole == (int)len ? dbus_message_demarshal(bytes, (int)len, NULL) : NULL;
}

static void same_text(const char *what, const char *libdbus, dw_string dwire)
{
    if (strcmp(libdbus ? libdbus : "", dwire.p) != 0)
        fail_msg("%s: libdbus has \"%s\", dwire \"%s\"", what, libdbus ? libdbus : "", dwire.p);
}

/* The same header and values, whichever of the two is asked. */
static void same_message(DBusMessage *theirs, const dw_message *ours, const char *what)
{
    text a = {0}, b = {0};
    assert_int_equal(dbus_message_get_type(theirs), ours->type);
    assert_int_equal(dbus_message_get_serial(theirs), ours->serial);
    assert_int_equal(dbus_message_get_reply_serial(theirs), ours->reply_serial);
    assert_int_equal(dbus_message_get_no_reply(theirs), ours->flags & DW_NO_REPLY_EXPECTED);
    assert_int_equal(!dbus_message_get_auto_start(theirs), !!(ours->flags & DW_NO_AUTO_START));
    assert_int_equal(dbus_message_get_allow_interactive_authorization(theirs),
                     !!(ours->flags & DW_ALLOW_INTERACTIVE_AUTHORIZATION));
    same_text(what, dbus_message_get_path(theirs), ours->path);
    same_text(what, dbus_message_get_interface(theirs), ours->interface);
    same_text(what, dbus_message_get_member(theirs), ours->member);
    same_text(what, dbus_message_get_error_name(theirs), ours->error_name);
    same_text(what, dbus_message_get_destination(theirs), ours->destination);
    same_text(what, dbus_message_get_sender(theirs), ours->sender);
    same_text(what, dbus_message_get_signature(theirs), ours->signature);
    convert_text(&a, theirs);
    values_of_message(&b, ours);
    if (!text_equal(&a, &b))
        fail_msg("%s: libdbus reads %s, dwire %s", what, text_string(&a), text_string(&b));
    text_free(&a);
    text_free(&b);
}

/* -- Headers ------------------------------------------------------------------------ */

static const dw_header headers[] = {
    {.type = DW_METHOD_CALL, .path = "/", .member = "M"},
    {.type = DW_METHOD_CALL,
     .flags = DW_NO_REPLY_EXPECTED,
     .serial = 1,
     .path = "/a/b",
     .interface = "a.b",
     .member = "M",
     .destination = "d.e-f.g"},
    {.type = DW_METHOD_CALL,
     .flags = DW_NO_AUTO_START | DW_ALLOW_INTERACTIVE_AUTHORIZATION,
     .serial = UINT32_MAX,
     .path = "/a",
     .member = "M",
     .sender = ":1.2"},
    {.type = DW_METHOD_RETURN, .serial = 9, .reply_serial = 7, .destination = ":1.1"},
    {.type = DW_ERROR, .serial = 9, .reply_serial = UINT32_MAX, .error_name = "a.b.C"},
    {.type = DW_SIGNAL, .serial = 0x80000000, .path = "/a", .interface = "a.b", .member = "M"},
    {.type = DW_SIGNAL,
     .flags = 7,
     .serial = 2,
     .reply_serial = 3,
     .path = "/a",
     .interface = "a.b",
     .member = "M",
     .error_name = "e.f",
     .destination = ":1.1",
     .sender = ":1.2"},
};

static void libdbus_reads_headers(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * sizeof headers / sizeof *headers; i++) {
        dw_header header = headers[i / 2];
        header.order = i % 2 ? DW_BIG : DW_LITTLE;
        header.signature = "s";
        dw_writer w;
        dw_message m;
        size_t len;
        dw_writer_init(&w, NULL, 0, dw_heap);
        dw_begin(&w, &header);
        dw_put_string(&w, "value");
        assert_int_equal(dw_finish(&w), 0);
        const uint8_t *p = dw_writer_bytes(&w, &len);
        assert_int_equal(dw_message_parse(&m, p, len, 0), 0);
        DBusMessage *theirs = demarshal(p, len);
        assert_non_null(theirs);
        same_message(theirs, &m, "a header");
        dbus_message_unref(theirs);
        dw_writer_free(&w);
    }
}

static DBusMessage *libdbus_message(const dw_header *h)
{
    DBusMessage *m = dbus_message_new(h->type);
    assert_non_null(m);
    dbus_message_set_serial(m, h->serial ? h->serial : 1);
    dbus_message_set_no_reply(m, h->flags & DW_NO_REPLY_EXPECTED);
    dbus_message_set_auto_start(m, !(h->flags & DW_NO_AUTO_START));
    dbus_message_set_allow_interactive_authorization(m, !!(h->flags & 4));
    if (h->reply_serial)
        dbus_message_set_reply_serial(m, h->reply_serial);
    if (!dbus_message_set_path(m, h->path) || !dbus_message_set_interface(m, h->interface) ||
        !dbus_message_set_member(m, h->member) || !dbus_message_set_error_name(m, h->error_name) ||
        !dbus_message_set_destination(m, h->destination) || !dbus_message_set_sender(m, h->sender))
        abort();
    return m;
}

/* What libdbus marshals dwire reads; the bytes of the body are those of dwire. */
static void read_theirs(DBusMessage *theirs, const uint8_t *body, size_t body_len, const char *what)
{
    char *bytes;
    int len;
    dw_message m;
    finding f;
    if (!dbus_message_marshal(theirs, &bytes, &len))
        abort();
    block b = block_copy(bytes, (size_t)len, 0);
    inspect_message(&f, b.p, (size_t)len, 0);
    if (f.fault.code || f.wrong.n)
        fail_msg("%s: libdbus marshals it, and dwire says %s at %u %s", what,
                 dw_error_name(f.fault.code), (unsigned)f.fault.at, text_string(&f.wrong));
    assert_int_equal(dw_message_parse(&m, b.p, (size_t)len, 0), 0);
    same_message(theirs, &m, what);
    if (m.body_len != body_len || (body_len && memcmp(m.body, body, body_len) != 0))
        fail_msg("%s: libdbus marshals another body", what);
    finding_free(&f);
    block_free(&b);
    dbus_free(bytes);
}

static void dwire_reads_headers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        DBusMessage *theirs = libdbus_message(&headers[i]);
        read_theirs(theirs, NULL, 0, "a header");
        dbus_message_unref(theirs);
    }
}

/* -- Values --------------------------------------------------------------------------- */

static void random_values(uint64_t seed)
{
    char signature[256], what[320];
    for (int big = 0; big < 2; big++) {
        dice d = {seed};
        dice_signature(&d, signature);
        snprintf(what, sizeof what, "seed %u, \"%s\"", (unsigned)seed, signature);
        dw_header header = headers[6];
        header.order = big ? DW_BIG : DW_LITTLE;
        header.signature = signature;
        dw_writer w;
        dw_message m;
        size_t len;
        dw_writer_init(&w, NULL, 0, dw_heap);
        dw_begin(&w, &header);
        dice_put(&d, &w, signature);
        if (dw_finish(&w) == DW_E_FDS) { /* indexes of descriptors, which have none here */
            dw_writer_free(&w);
            return;
        }
        const uint8_t *p = dw_writer_bytes(&w, &len);
        assert_int_equal(dw_message_parse(&m, p, len, 0), 0);
        DBusMessage *theirs = demarshal(p, len);
        if (!theirs)
            fail_msg("%s: libdbus refuses what dwire marshals", what);
        same_message(theirs, &m, what);
        dbus_message_unref(theirs);
        for (int whole = 0; m.order == DW_NATIVE && whole < 2; whole++) {
            DBusMessageIter i;
            dw_reader r;
            theirs = libdbus_message(&header);
            dbus_message_iter_init_append(theirs, &i);
            dw_reader_init(&r, &m);
            convert_values(&r, &i, signature, whole);
            assert_int_equal(dw_reader_finish(&r), 0);
            read_theirs(theirs, m.body, m.body_len, what);
            dbus_message_unref(theirs);
        }
        dw_writer_free(&w);
    }
}

static void values_are_the_same(void **state)
{
    (void)state;
    const char *seed = getenv("SEED");
    if (seed)
        random_values(strtoull(seed, NULL, 10));
    for (uint64_t i = 0; !seed && i < ROUNDS; i++)
        random_values(i);
}

/* -- Verdicts --------------------------------------------------------------------------- */

static bool has_field_10(const uint8_t *bytes, size_t len)
{
    dw_reader r;
    bool found = false;
    dw_reader_init_body(&r, "yyyyuua(yv)", bytes, len, (char)bytes[0]);
    for (int i = 0; i < 6; i++)
        dw_skip(&r);
    dw_enter_array(&r);
    while (dw_more(&r)) {
        dw_enter_struct(&r);
        found = dw_get_byte(&r) == 10 || found;
        dw_leave_struct(&r);
    }
    return found;
}

/* Where libdbus departs from the specification, dwire does not follow:
 *   - it refuses the header field 10 if its type is not o; to the specification
 *     that is an unknown field
 *   - it takes unique names of one element, or of empty ones
 *   - it does not hold the indexes in a body against the header's UNIX_FDS */
static bool departs(const uint8_t *bytes, size_t len, const finding *ours, bool theirs)
{
    uint8_t field = ours->fault.field;
    if (theirs)
        return (ours->fault.code == DW_E_FDS && field == 0) ||
               (ours->fault.code == DW_E_NAME &&
                (field == DW_FIELD_DESTINATION || field == DW_FIELD_SENDER));
    return has_field_10(bytes, len);
}

static void compare_verdicts(const char *id, size_t at, const uint8_t *bytes, size_t len)
{
    size_t whole;
    finding f;
    /* libdbus cuts off what is too much before it looks */
    if (dw_message_frame(bytes, len, &whole) == 1 && whole != len)
        return;
    inspect_message(&f, bytes, len, 0);
    DBusMessage *m = demarshal(bytes, len);
    bool ours = f.fault.code == 0 && !f.incomplete;
    if (ours != (m != NULL) && !departs(bytes, len, &f, m != NULL))
        fail_msg("%s, byte %zu changed to %02x: dwire says %s at %u, libdbus %s", id, at, bytes[at],
                 dw_error_name(f.fault.code), (unsigned)f.fault.at, m ? "takes it" : "refuses it");
    if (m)
        dbus_message_unref(m);
    finding_free(&f);
}

/* Every bit of every valid message of the table flipped: both take it, or none. */
static void verdicts_are_the_same(void **state)
{
    (void)state;
    table t;
    vector v;
    assert_true(table_open(&t, VECTORS_FILE));
    while (table_next(&t, &v)) {
        text bytes = {0};
        if (strcmp(v.kind, "message") == 0 && strcmp(v.expected, "valid") == 0 &&
            text_from_hex(&bytes, v.input, strlen(v.input)) && bytes.n < 400) {
            uint8_t *p = (uint8_t *)bytes.p;
            for (size_t at = 0; at < bytes.n; at++) {
                uint8_t was = p[at];
                for (unsigned bit = 0; bit < 8; bit++) {
                    p[at] = (uint8_t)(was ^ 1u << bit);
                    compare_verdicts(v.id, at, p, bytes.n);
                }
                p[at] = was;
            }
        }
        text_free(&bytes);
    }
    assert_true(table_close(&t));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(libdbus_reads_headers),
        cmocka_unit_test(dwire_reads_headers),
        cmocka_unit_test(values_are_the_same),
        cmocka_unit_test(verdicts_are_the_same),
    };
    int failed = cmocka_run_group_tests_name("libdbus", tests, NULL, NULL);
    dbus_shutdown();
    return failed;
}
