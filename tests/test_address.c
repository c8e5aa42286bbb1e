/* test_address.c - the grammar of addresses, escapes, and where the buses live. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dwire/address.h"
#include "support/text.h"

/* -- The grammar ------------------------------------------------------------ */

/* What a list parses to, "transport[key=value,...];..."; stops at an error. */
static int parse(const char *list, text *out, size_t *error_at)
{
    dw_address a;
    dw_string key;
    char value[100];
    size_t len;
    int r;
    dw_address_init(&a, list);
    while ((r = dw_address_next(&a)) > 0) {
        text_printf(out, "%s%.*s[", out->n ? ";" : "", (int)a.transport.n, a.transport.p);
        for (size_t i = 0; (r = dw_address_key(&a, &key, value, sizeof value, &len)) > 0; i++) {
            text_printf(out, "%s%.*s=", i ? "," : "", (int)key.n, key.p);
            text_escape(out, value, len);
            assert_int_equal(value[len], '\0');
        }
        if (r < 0)
            break;
        text_put(out, "]");
    }
    *error_at = a.error_at;
    return r;
}

/* Section "Server Addresses". Where it leaves something open, dwire does as libdbus. */
static void parses_addresses(void **state)
{
    static const struct {
        const char *list, *parsed;
    } rows[] = {
        {"unix:path=/tmp/dbus-test", "unix[path=/tmp/dbus-test]"},
        {"unix:path=/run/bus,guid=817e9ffcfb383869ad17ea8360e7428a",
         "unix[path=/run/bus,guid=817e9ffcfb383869ad17ea8360e7428a]"},
        {"unix:abstract=/a;unix:path=/b;tcp:host=127.0.0.1,port=1",
         "unix[abstract=/a];unix[path=/b];tcp[host=127.0.0.1,port=1]"},
        {"unix:path=-_/.\\*azAZ09", "unix[path=-_/.\\\\*azAZ09]"},
        {"unix:path=%41%7a%2f", "unix[path=Az/]"},
        {"unix:path=%3b%2C%25%3d%3A", "unix[path=;,%=:]"},
        {"unix:path=/%c3%B6%00%fF%0a%A0", "unix[path=/\\xc3\\xb6\\x00\\xff\\x0a\\xa0]"},
        {"autolaunch:", "autolaunch[]"},
        {"systemd:;unix:runtime=yes", "systemd[];unix[runtime=yes]"},
        {"x-unknown:a=b;unix:path=/x", "x-unknown[a=b];unix[path=/x]"},
        /* open: an entry without keys, the same key twice, a comma or a semicolon at the end,
         * any transport and any key (what they mean is judged by who uses them) */
        {"unix:", "unix[]"},
        {"unix:path=/a,path=/b", "unix[path=/a,path=/b]"},
        {"unix:path=/x,", "unix[path=/x]"},
        {"unix:path=/x;", "unix[path=/x]"},
        {"Unix:path=/x", "Unix[path=/x]"},
        {"unix:path =/x", "unix[path =/x]"},
        {"a b:c:d%41=e", "a b[c:d%41=e]"},
        {"unix:path=/x,guid=zz", "unix[path=/x,guid=zz]"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        text parsed = {0};
        size_t at = SIZE_MAX;
        assert_int_equal(dw_check_address(rows[i].list, &at), 0);
        assert_int_equal(at, SIZE_MAX);
        assert_int_equal(parse(rows[i].list, &parsed, &at), 0);
        assert_string_equal(text_string(&parsed), rows[i].parsed);
        text_free(&parsed);
    }
}

static void refuses_addresses(void **state)
{
    static const struct {
        const char *list;
        size_t at;
    } rows[] = {
        {"", 0},
        {"foo", 3},
        {"foo:bar", 7},
        {"foo:bar,baz", 7},
        {"foo:bar,baz=1", 7},
        {"foo:a=b,bar", 11},
        {"foo:bar=foo;baz", 15},
        {"foo:bar=foo;baz;a:", 15},
        {"foo:=foo", 4},
        {"foo:a=b,=foo", 8},
        {"foo:,a=b", 4},
        {"foo:a=b,,c=d", 8},
        {"foo:a=b=c", 7},
        {"foo:a=b:c", 7},
        {"foo:a=b c", 7},
        {"foo:a=$", 6},
        {"foo:a=b~", 7},
        {"foo:a=b@c,d=e", 7},
        {"foo:a=\xc3\xb6", 6},
        {"foo:a=b\x7f", 7},
        {"foo:a=b\n", 7},
        {"foo:a=%", 6},
        {"foo:a=b%0", 7},
        {"foo:a=b%zz", 7},
        {"foo:a=b%0g", 7},
        {"foo:a=b%0G", 7},
        {"foo:a=b%/0", 7},
        {"foo:a=b%:0", 7},
        {"foo:a=b%@0", 7},
        {"foo:a=b%`0", 7},
        {"foo:a=b% 1", 7},
        {"foo:a=b%-1", 7},
        {"foo:a=b%0xff", 7},
        {"foo:a=b%4,c=1", 7},
        {"foo:a=b%4;c:", 7},
        {"a:b=c;foo:a=b%;d:", 13},
        /* open: a value may not be empty, nor an entry, nor a transport's name */
        {"unix:path=", 10},
        {"unix:path=,guid=1", 10},
        {"unix:path=;unix:", 10},
        {";unix:path=/x", 0},
        {"unix:path=/x;;unix:path=/y", 13},
        {"unix:path=/x;;", 13},
        {";", 0},
        {":", 0},
        {":path=/x", 0},
        {"unix:path=/x;:", 13},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        text parsed = {0};
        size_t at = SIZE_MAX;
        if (dw_check_address(rows[i].list, &at) != DW_E_ADDRESS || at != rows[i].at)
            fail_msg("\"%s\": at %zu, wanted %zu", rows[i].list, at, rows[i].at);
        assert_int_equal(dw_check_address(rows[i].list, NULL), DW_E_ADDRESS);
        assert_int_equal(parse(rows[i].list, &parsed, &at), DW_E_ADDRESS);
        assert_int_equal(at, rows[i].at);
        text_free(&parsed);
    }
}

/* The value and its NUL into every size: an error that tells the length until they fit,
 * after which the key is still to be had. */
static void fits_values_into_what_there_is(void **state)
{
    static const char list[] = "unix:path=/a%20b,guid=1";
    dw_address a;
    dw_string key;
    size_t len;
    (void)state;
    dw_address_init(&a, list);
    assert_int_equal(dw_address_next(&a), 1);
    for (size_t size = 0; size < 5; size++) {
        block room = block_copy(NULL, 0, size);
        len = 0;
        assert_int_equal(dw_address_key(&a, &key, (char *)room.base, size, &len), DW_E_NO_ROOM);
        assert_int_equal(len, 4);
        if (size)
            assert_int_equal(room.base[size - 1], '\0');
        block_free(&room);
    }
    block room = block_copy(NULL, 0, 5);
    assert_int_equal(dw_address_key(&a, &key, (char *)room.base, 5, &len), 1);
    assert_int_equal(len, 4);
    assert_string_equal((char *)room.base, "/a b");
    assert_int_equal(key.n, 4);
    assert_ptr_equal(key.p, list + 5);
    assert_int_equal(dw_address_key(&a, &key, (char *)room.base, 5, &len), 1);
    assert_string_equal((char *)room.base, "1");
    assert_int_equal(dw_address_key(&a, &key, (char *)room.base, 5, &len), 0);
    assert_int_equal(dw_address_key(&a, &key, (char *)room.base, 5, &len), 0);
    block_free(&room);
}

/* Keys that nobody asks for are passed over; the end stays the end, an error an error. */
static void finds_keys_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *text, *key, *value;
        int r;
    } rows[] = {
        {"unix:path=/a%20b,x=1", "path", "/a b", 1},
        {"unix:path=/a%20b,x=1", "x", "1", 1},
        {"unix:x=1,x=2", "x", "1", 1},
        {"unix:xy=1,x=2", "x", "2", 1},
        {"unix:x=1", "y", "?", 0},
        {"unix:", "x", "?", 0},
        {"unix:y=1;unix:x=1", "x", "?", 0},
        {"unix:long=xxxxxxxxxxxxxxxx,x=1", "x", "1", 1},
        {"unix:x=xxxxxxxx", "x", "xxxxxxx", DW_E_NO_ROOM},
        {"unix:y,x=1", "x", "?", DW_E_ADDRESS},
        {"unix:y=%1,x=1", "x", "?", DW_E_ADDRESS},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dw_address a;
        char value[8] = "?";
        size_t len = 99;
        dw_address_init(&a, rows[i].text);
        assert_int_equal(dw_address_next(&a), 1);
        assert_int_equal(dw_address_find(&a, rows[i].key, value, sizeof value, &len), rows[i].r);
        assert_string_equal(value, rows[i].value);
        assert_int_equal(len, rows[i].r == DW_E_NO_ROOM ? 8 : rows[i].r > 0 ? strlen(value) : 99);
    }
}

static void walks_entries_without_their_keys(void **state)
{
    dw_address a;
    (void)state;
    dw_address_init(&a, "unix:path=/a,guid=1;tcp:port=2;bad");
    assert_int_equal(dw_address_next(&a), 1);
    assert_memory_equal(a.transport.p, "unix", a.transport.n);
    assert_int_equal(dw_address_next(&a), 1);
    assert_int_equal(a.transport.n, 3);
    assert_memory_equal(a.transport.p, "tcp", 3);
    assert_int_equal(dw_address_next(&a), DW_E_ADDRESS);
    assert_int_equal(dw_address_next(&a), DW_E_ADDRESS);
    dw_address_init(&a, "unix:");
    assert_int_equal(dw_address_next(&a), 1);
    assert_int_equal(dw_address_next(&a), 0);
    assert_int_equal(dw_address_next(&a), 0);
}

/* -- Escapes ---------------------------------------------------------------- */

static void escapes(void **state)
{
    static const struct {
        const char *p;
        size_t n;
        const char *escaped;
    } rows[] = {
        {"", 0, ""},
        {"abcde", 5, "abcde"},
        {"azAZ09-_/.\\*", 12, "azAZ09-_/.\\*"},
        {"abc$abc", 7, "abc%24abc"},
        {"a,b;c=d:%", 9, "a%2cb%3bc%3dd%3a%25"},
        {"\xc3\xb6\xff\x7f ", 5, "%c3%b6%ff%7f%20"},
        {"\0a\0", 3, "%00a%00"},
        {"@[`{!~\n", 7, "%40%5b%60%7b%21%7e%0a"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t len = strlen(rows[i].escaped);
        block in = block_copy(rows[i].p, rows[i].n, 0);
        assert_int_equal(dw_address_escape(in.p, rows[i].n, NULL, 0), len);
        for (size_t size = 1; size <= len + 1; size++) {
            block out = block_copy(NULL, 0, size);
            assert_int_equal(dw_address_escape(in.p, rows[i].n, (char *)out.base, size), len);
            assert_memory_equal(out.base, rows[i].escaped, size - 1);
            assert_int_equal(out.base[size - 1], '\0');
            block_free(&out);
        }
        block_free(&in);
    }
}

/* Each byte alone: those of [-0-9A-Za-z_/.\*] stay, all others become %xx; and back. */
static void escapes_every_byte(void **state)
{
    (void)state;
    for (int byte = 0; byte < 256; byte++) {
        unsigned char c = (unsigned char)byte;
        text list = {0}, wanted = {0};
        char escaped[4], value[2];
        dw_address a;
        dw_string key;
        size_t len;
        bool stays = c && strchr("-_/.\\*0123456789abcdefghijklmnopqrstuvwxyz"
                                 "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
                                 byte);
        text_printf(&wanted, stays ? "%c" : "%%%02x", byte);
        assert_int_equal(dw_address_escape(&c, 1, escaped, sizeof escaped), wanted.n);
        assert_string_equal(escaped, text_string(&wanted));

        text_printf(&list, "unix:path=%s", escaped);
        dw_address_init(&a, list.p);
        assert_int_equal(dw_address_next(&a), 1);
        assert_int_equal(dw_address_key(&a, &key, value, sizeof value, &len), 1);
        assert_int_equal(len, 1);
        assert_int_equal((unsigned char)value[0], c);
        text_free(&list);
        text_free(&wanted);
    }
}

/* -- The buses -------------------------------------------------------------- */

static void set(const char *name, const char *value)
{
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

/* Section "Well-known Message Bus Instances". */
static void finds_the_buses(void **state)
{
    static const struct {
        dw_bus bus;
        const char *session, *folder, *system; /* the three variables */
        int code;
        const char *address;
    } rows[] = {
        {DW_BUS_SESSION, "unix:path=/s", "/run/u", "unix:path=/y", 0, "unix:path=/s"},
        {DW_BUS_SESSION, NULL, "/run/u", NULL, 0, "unix:path=/run/u/bus"},
        {DW_BUS_SESSION, "", "/run/u", NULL, 0, "unix:path=/run/u/bus"},
        {DW_BUS_SESSION, NULL, "/r;u n", NULL, 0, "unix:path=/r%3bu%20n/bus"},
        {DW_BUS_SESSION, NULL, NULL, "unix:path=/y", DW_E_UNSUPPORTED, NULL},
        {DW_BUS_SESSION, "", "", NULL, DW_E_UNSUPPORTED, NULL},
        {DW_BUS_SYSTEM, "unix:path=/s", "/run/u", "unix:path=/y", 0, "unix:path=/y"},
        {DW_BUS_SYSTEM, "unix:path=/s", "/run/u", NULL, 0,
         "unix:path=/var/run/dbus/system_bus_socket"},
        {DW_BUS_SYSTEM, NULL, NULL, "", 0, "unix:path=/var/run/dbus/system_bus_socket"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t need = rows[i].address ? strlen(rows[i].address) + 1 : 100;
        set("DBUS_SESSION_BUS_ADDRESS", rows[i].session);
        set("XDG_RUNTIME_DIR", rows[i].folder);
        set("DBUS_SYSTEM_BUS_ADDRESS", rows[i].system);
        block out = block_copy(NULL, 0, need);
        assert_int_equal(dw_bus_address(rows[i].bus, (char *)out.base, need), rows[i].code);
        if (rows[i].address) {
            assert_string_equal((char *)out.base, rows[i].address);
            assert_int_equal(dw_check_address(rows[i].address, NULL), 0);
        }
        for (size_t size = 0; rows[i].address && size < need; size++)
            assert_int_equal(dw_bus_address(rows[i].bus, (char *)out.base, size), DW_E_NO_ROOM);
        block_free(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parses_addresses),
        cmocka_unit_test(refuses_addresses),
        cmocka_unit_test(fits_values_into_what_there_is),
        cmocka_unit_test(finds_keys_by_name),
        cmocka_unit_test(walks_entries_without_their_keys),
        cmocka_unit_test(escapes),
        cmocka_unit_test(escapes_every_byte),
        cmocka_unit_test(finds_the_buses),
    };
    return cmocka_run_group_tests_name("address", tests, NULL, NULL);
}
