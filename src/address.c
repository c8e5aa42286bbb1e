/* address.c - server addresses. See dwire/address.h. */

#define _POSIX_C_SOURCE 200809L

#include "dwire/address.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__linux__)
#include <sys/auxv.h>
#endif

#include "wire.h"

#include "wire.h"

/* Text that grows into a buffer of a fixed size and is counted on when that is full. */
struct sink {
    char *out;
    size_t size, len;
};

static void put(struct sink *s, char c)
{
    if (s->len < s->size)
        s->out[s->len] = c;
    s->len++;
}

static void put_text(struct sink *s, const char *text)
{
    for (; *text; text++)
        put(s, *text);
}

/* Ends the text where it is or where it was cut. Whether it is whole. */
static bool terminate(struct sink *s)
{
    if (s->size)
        s->out[s->len < s->size ? s->len : s->size - 1] = '\0';
    return s->len < s->size;
}

/* -- Escapes -------------------------------------------------------------- */

static bool optionally_escaped(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("-_/.\\*", c));
}

static void put_escaped(struct sink *s, const char *p, size_t n)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < n; i++) {
        if (optionally_escaped(p[i])) {
            put(s, p[i]);
            continue;
        }
        put(s, '%');
        put(s, digits[(unsigned char)p[i] >> 4]);
        put(s, digits[(unsigned char)p[i] & 15]);
    }
}

/* Undoes the escapes from p to end. Returns where they are wrong, or NULL. */
static const char *put_unescaped(struct sink *s, const char *p, const char *end)
{
    while (p < end) {
        if (*p != '%') {
            if (!optionally_escaped(*p))
                return p;
            put(s, *p++);
            continue;
        }
        /* What ends a value is no digit, so this does not look behind it. */
        int high = dw_hex_digit(p[1]), low = high < 0 ? high : dw_hex_digit(p[2]);
        if (low < 0)
            return p;
        put(s, (char)(high << 4 | low));
        p += 3;
    }
    return NULL;
}

size_t dw_address_escape(const void *p, size_t n, char *out, size_t size)
{
    struct sink s = {out, size, 0};
    put_escaped(&s, p, n);
    terminate(&s);
    return s.len;
}

/* -- The grammar ---------------------------------------------------------- */

static int refuse(dw_address *a, const char *at)
{
    a->error_at = (size_t)(at - a->text);
    return DW_E_ADDRESS;
}

/* The first c between p and end, or end. */
static const char *find(const char *p, const char *end, char c)
{
    const char *found = memchr(p, c, (size_t)(end - p));
    return found ? found : end;
}

void dw_address_init(dw_address *a, const char *text)
{
    *a = (dw_address){.text = text, .keys = text, .end = text, .next = text};
}

int dw_address_next(dw_address *a)
{
    const char *entry = a->next;
    if (!*entry && entry != a->text)
        return 0;
    const char *end = entry + strcspn(entry, ";"), *colon = find(entry, end, ':');
    if (colon == entry || colon == end)
        return refuse(a, colon);
    a->transport = (dw_string){entry, (size_t)(colon - entry)};
    a->keys = colon + 1;
    a->end = end;
    a->next = *end ? end + 1 : end;
    return 1;
}

/* The next key; its value goes to s. Returns the end of both, or NULL after an error. */
static const char *parse_key(dw_address *a, dw_string *key, struct sink *s)
{
    const char *end = find(a->keys, a->end, ','), *equals = find(a->keys, end, '=');
    const char *wrong = NULL;
    if (equals == a->keys || equals == end)
        wrong = equals;
    else if (equals + 1 == end)
        wrong = end;
    else
        wrong = put_unescaped(s, equals + 1, end);
    if (wrong) {
        refuse(a, wrong);
        return NULL;
    }
    *key = (dw_string){a->keys, (size_t)(equals - a->keys)};
    return end;
}

/* Goes over a key that ends there, and over the comma behind it. */
static void pass_key(dw_address *a, const char *end)
{
    a->keys = end < a->end ? end + 1 : end;
}

int dw_address_key(dw_address *a, dw_string *key, char *value, size_t size, size_t *len)
{
    if (a->keys == a->end)
        return 0;
    struct sink s = {value, size, 0};
    const char *end = parse_key(a, key, &s);
    if (!end)
        return DW_E_ADDRESS;
    *len = s.len;
    if (!terminate(&s))
        return DW_E_NO_ROOM;
    pass_key(a, end);
    return 1;
}

int dw_address_find(const dw_address *a, const char *name, char *value, size_t size, size_t *len)
{
    dw_address at = *a;
    dw_string key;
    while (at.keys < at.end) {
        struct sink nowhere = {NULL, 0, 0}, s = {value, size, 0};
        const char *end = parse_key(&at, &key, &nowhere);
        if (!end)
            return DW_E_ADDRESS;
        if (dw_string_is(key, name)) {
            put_unescaped(&s, key.p + key.n + 1, end);
            *len = s.len;
            return terminate(&s) ? 1 : DW_E_NO_ROOM;
        }
        pass_key(&at, end);
    }
    return 0;
}

static int check_keys(dw_address *a)
{
    dw_string key;
    while (a->keys < a->end) {
        struct sink nowhere = {NULL, 0, 0};
        const char *end = parse_key(a, &key, &nowhere);
        if (!end)
            return DW_E_ADDRESS;
        pass_key(a, end);
    }
    return 0;
}

int dw_check_address(const char *text, size_t *error_at)
{
    dw_address a;
    int r;
    dw_address_init(&a, text);
    while ((r = dw_address_next(&a)) > 0 && (r = check_keys(&a)) == 0)
        continue;
    if (r && error_at)
        *error_at = a.error_at;
    return r;
}

/* -- The buses ------------------------------------------------------------ */

/* Whether the program has more rights than who runs it, so that what the environment
 * says is not to be believed. */
static bool privileged(void)
{
#if defined(__linux__)
    if (getauxval(AT_SECURE))
        return true;
#endif
    return getuid() != geteuid() || getgid() != getegid();
}

static const char *variable(const char *name)
{
    const char *value = privileged() ? NULL : getenv(name);
    return value && *value ? value : NULL;
}

int dw_bus_address(dw_bus which, char *out, size_t size)
{
    bool session = which == DW_BUS_SESSION;
    const char *address =
        variable(session ? "DBUS_SESSION_BUS_ADDRESS" : "DBUS_SYSTEM_BUS_ADDRESS");
    const char *folder = session && !address ? variable("XDG_RUNTIME_DIR") : NULL;
    struct sink s = {out, size, 0};
    if (address) {
        put_text(&s, address);
    } else if (folder) {
        put_text(&s, "unix:path=");
        put_escaped(&s, folder, strlen(folder));
        put_text(&s, "/bus");
    } else if (session) {
        return DW_E_UNSUPPORTED;
    } else {
        put_text(&s, "unix:path=/var/run/dbus/system_bus_socket");
    }
    return terminate(&s) ? 0 : DW_E_NO_ROOM;
}
