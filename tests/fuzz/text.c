/* text.c - target: signatures, names and addresses. The input is one of them. */

#include <string.h>

#include "dwire/address.h"
#include "dwire/names.h"
#include "dwire/signature.h"
#include "fuzz.h"

typedef int check_function(const char *p, size_t n, size_t *error_at);

enum { UTF8, PATH, INTERFACE, ERROR_NAME, MEMBER, BUS, UNIQUE, WELL_KNOWN, NAMESPACE, TYPES, TYPE };

static const struct {
    check_function *check;
    int codes[3];
} checks[] = {
    [UTF8] = {dw_check_utf8, {DW_E_UTF8}},
    [PATH] = {dw_check_path, {DW_E_PATH}},
    [INTERFACE] = {dw_check_interface, {DW_E_NAME}},
    [ERROR_NAME] = {dw_check_error_name, {DW_E_NAME}},
    [MEMBER] = {dw_check_member, {DW_E_NAME}},
    [BUS] = {dw_check_bus_name, {DW_E_NAME}},
    [UNIQUE] = {dw_check_unique_name, {DW_E_NAME}},
    [WELL_KNOWN] = {dw_check_well_known_name, {DW_E_NAME}},
    [NAMESPACE] = {dw_check_namespace, {DW_E_NAME}},
    [TYPES] = {dw_check_signature, {DW_E_SIGNATURE, DW_E_LIMIT, DW_E_DEPTH}},
    [TYPE] = {dw_check_single, {DW_E_SIGNATURE, DW_E_LIMIT, DW_E_DEPTH}},
};

#define CHECKS (sizeof checks / sizeof *checks)

/* The verdict is the same wherever the bytes lie, and what is behind them; what
 * comes before the place of an error is not what is wrong. */
static int verdict(size_t i, const uint8_t *data, size_t n)
{
    size_t error_at = SIZE_MAX, again;
    int code = 0;
    for (size_t shift = 0; shift < 17; shift += 1 + shift) {
        block b = block_copy(data, n, shift);
        int r = checks[i].check((const char *)b.p, n, &again);
        if (shift == 0) {
            code = r;
            error_at = again;
        }
        fuzz_check(r == code, "check %zu at shift %zu", i, shift);
        fuzz_check(r == 0 || again == error_at, "check %zu at shift %zu", i, shift);
        fuzz_check(r == checks[i].check((const char *)b.p, n, NULL), "check %zu", i);
        block_free(&b);
    }
    const int *codes = checks[i].codes;
    fuzz_check(code == 0 || code == codes[0] || code == codes[1] || code == codes[2],
               "check %zu says %s", i, dw_error_name(code));
    fuzz_check(code == 0 || error_at <= n, "check %zu", i);
    if (code && error_at < n) { /* the byte there is in the way, whatever comes later */
        fuzz_check(checks[i].check((const char *)data, error_at + 1, NULL) != 0, "check %zu", i);
        if (i == UTF8) { /* but for the start of a character that is not finished there */
            size_t good = error_at;
            while (good && error_at - good < 3 && dw_check_utf8((const char *)data, good, NULL))
                good--;
            fuzz_check(dw_check_utf8((const char *)data, good, NULL) == 0, "before it");
        }
    }
    return code;
}

static void check_names(const uint8_t *data, size_t n)
{
    bool good[CHECKS];
    for (size_t i = 0; i < CHECKS; i++)
        good[i] = verdict(i, data, n) == 0;
    fuzz_check(good[INTERFACE] == good[ERROR_NAME], "one rule for both");
    fuzz_check(good[BUS] == (good[UNIQUE] || good[WELL_KNOWN]), "one of the two");
    fuzz_check(!(good[UNIQUE] && good[WELL_KNOWN]), "one of the two");
    fuzz_check(!good[INTERFACE] || good[WELL_KNOWN], "the rule for interfaces is narrower");
    fuzz_check(!good[BUS] || good[NAMESPACE], "the rule for bus names is narrower");
    fuzz_check(!good[MEMBER] || good[NAMESPACE], "a member is an element");
    fuzz_check(good[UTF8] || !(good[PATH] || good[NAMESPACE] || good[TYPES]), "names are ASCII");
    fuzz_check(!good[TYPE] || good[TYPES], "one type is a signature");
}

static void check_types(const char *signature, size_t n)
{
    size_t at = 0, types = 0;
    if (dw_check_signature(signature, n, NULL) != 0)
        return;
    for (dw_string t = dw_next_type(signature); t.n; t = dw_next_type(t.p + t.n)) {
        fuzz_check(t.p == signature + at, "the types lie side by side");
        fuzz_check(dw_check_single(t.p, t.n, NULL) == 0, "\"%s\" at %zu", signature, at);
        fuzz_check(dw_type_align(*t.p) != 0, "\"%s\" at %zu", signature, at);
        at += t.n;
        types++;
    }
    fuzz_check(at == n, "\"%s\" is walked to %zu of %zu", signature, at, n);
    fuzz_check((types == 1) == (dw_check_single(signature, n, NULL) == 0), "\"%s\"", signature);
}

/* A value that has been read is escaped and read again. */
static void check_value(const char *value, size_t len)
{
    dw_address a;
    dw_string key;
    text address = {0}, again = {0};
    size_t escaped = dw_address_escape(value, len, NULL, 0), n;
    text_put(&address, "t:k=");
    fuzz_check(dw_address_escape(value, len, text_room(&address, escaped), escaped + 1) == escaped,
               "the length is the same again");
    address.n += escaped;
    dw_address_init(&a, text_string(&address));
    fuzz_check(dw_address_next(&a) == 1, "%s", text_string(&address));
    int code = dw_address_key(&a, &key, text_room(&again, len), len + 1, &n);
    fuzz_check(code == 1 && n == len && memcmp(again.p, value, n) == 0, "%s is not what it was",
               text_string(&address));
    text_free(&address);
    text_free(&again);
}

static void check_address(const char *address)
{
    dw_address a;
    dw_string key;
    size_t error_at, len, n = strlen(address);
    int whole = dw_check_address(address, &error_at), entry, code = 0;
    text value = {0};
    text_room(&value, n + 1);
    dw_address_init(&a, address);
    while ((entry = dw_address_next(&a)) > 0) {
        for (;;) {
            dw_address before = a;
            code = dw_address_key(&a, &key, value.p, n + 1, &len);
            if (code <= 0)
                break;
            fuzz_check(len <= n && value.p[len] == '\0', "\"%s\"", address);
            block little = block_copy(value.p, len, 0); /* no place for the NUL */
            size_t need;
            fuzz_check(dw_address_key(&before, &key, (char *)little.p, len, &need) ==
                               DW_E_NO_ROOM &&
                           need == len,
                       "\"%s\"", address);
            fuzz_check(dw_address_key(&before, &key, value.p, len + 1, &need) == 1, "again");
            check_value(value.p, len);
            block_free(&little);
        }
        if (code < 0)
            break;
    }
    int walked = entry < 0 ? entry : code;
    fuzz_check(walked == whole, "\"%s\": the walk says %s, the check %s", address,
               dw_error_name(walked), dw_error_name(whole));
    fuzz_check(whole == 0 || whole == DW_E_ADDRESS, "\"%s\"", address);
    fuzz_check(whole == 0 || (error_at <= n && a.error_at == error_at), "\"%s\"", address);
    text_free(&value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    text string = {0};
    check_names(data, size);
    text_add(&string, data, size);
    check_types(string.p, string.n);
    check_address(string.p);
    text_free(&string);
    return 0;
}
