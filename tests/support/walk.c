/* walk.c - the walk over values of any type. */

#include "walk.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dwire/signature.h"

void text_fixed(text *out, char code, const void *value)
{
    union {
        uint8_t y;
        int16_t n;
        uint16_t q;
        int32_t i;
        uint32_t u;
        int64_t x;
        uint64_t t;
    } v;
    memcpy(&v, value, dw_type_size(code));
    switch (code) {
    case 'y': text_printf(out, "%" PRIu8, v.y); break;
    case 'b': text_put(out, v.u == 0 ? "false" : v.u == 1 ? "true" : "neither"); break;
    case 'n': text_printf(out, "%" PRId16, v.n); break;
    case 'q': text_printf(out, "%" PRIu16, v.q); break;
    case 'i': text_printf(out, "%" PRId32, v.i); break;
    case 'u':
    case 'h': text_printf(out, "%" PRIu32, v.u); break;
    case 'x': text_printf(out, "%" PRId64, v.x); break;
    case 't': text_printf(out, "%" PRIu64, v.t); break;
    default: text_printf(out, "0x%016" PRIx64, v.t); break;
    }
}

/* One case of the switches below: read it, write it, print it. */
#define FIXED(code, type, name)                                                                    \
    case code: {                                                                                   \
        type value = dw_get_##name(k->r);                                                          \
        if (k->w)                                                                                  \
            dw_put_##name(k->w, value);                                                            \
        if (k->out)                                                                                \
            text_fixed(k->out, code, &value);                                                      \
        break;                                                                                     \
    }

#define STRING(code, name)                                                                         \
    case code: {                                                                                   \
        dw_string value = dw_get_##name(k->r);                                                     \
        if (k->w)                                                                                  \
            dw_put_##name##_n(k->w, value.p, value.n);                                             \
        if (k->out) {                                                                              \
            text_put(k->out, "\"");                                                                \
            text_escape(k->out, value.p, value.n);                                                 \
            text_put(k->out, "\"");                                                                \
        }                                                                                          \
        break;                                                                                     \
    }

static void walk_boolean(const walk *k)
{
    bool value = dw_get_boolean(k->r);
    uint32_t wire = value;
    if (k->w)
        dw_put_boolean(k->w, value);
    if (k->out)
        text_fixed(k->out, 'b', &wire);
}

static void put(const walk *k, const char *s)
{
    if (k->out)
        text_put(k->out, s);
}

/* A whole array of fixed-size elements in one call. */
static void walk_whole(const walk *k, char code, size_t len)
{
    size_t size = dw_type_size(code), max = len / size;
    uint8_t *values = malloc(max * size + 1); /* never NULL, so that 0 elements have a place */
    size_t n = dw_copy_array(k->r, code, values, max);
    if (k->w)
        dw_put_array(k->w, code, values, n);
    for (size_t i = 0; k->out && i < n; i++) {
        put(k, i ? "," : "");
        text_fixed(k->out, code, values + i * size);
    }
    free(values);
}

static void walk_value(const walk *k);

static void walk_array(const walk *k)
{
    dw_reader ahead =
        *k->r; /* a bookmark: what the array holds is not known before it is entered */
    size_t len = dw_enter_array(&ahead);
    char element = dw_next_code(&ahead);
    put(k, element == '{' ? "{" : "[");
    if (k->whole && dw_type_size(element)) {
        walk_whole(k, element, len);
    } else {
        dw_enter_array(k->r);
        if (k->w)
            dw_open_array(k->w);
        for (size_t i = 0; dw_more(k->r); i++) {
            put(k, i ? "," : "");
            walk_value(k);
        }
        dw_leave_array(k->r);
        if (k->w)
            dw_close_array(k->w);
    }
    put(k, element == '{' ? "}" : "]");
}

static void walk_struct(const walk *k)
{
    dw_enter_struct(k->r);
    if (k->w)
        dw_open_struct(k->w);
    put(k, "(");
    for (size_t i = 0; dw_more(k->r); i++) {
        put(k, i ? "," : "");
        walk_value(k);
    }
    put(k, ")");
    dw_leave_struct(k->r);
    if (k->w)
        dw_close_struct(k->w);
}

static void walk_entry(const walk *k)
{
    dw_enter_entry(k->r);
    if (k->w)
        dw_open_entry(k->w);
    walk_value(k);
    put(k, ":");
    walk_value(k);
    dw_leave_entry(k->r);
    if (k->w)
        dw_close_entry(k->w);
}

static void walk_variant(const walk *k)
{
    dw_string type = dw_enter_variant(k->r);
    if (k->w)
        dw_open_variant(k->w, type.p);
    put(k, "<");
    put(k, type.p);
    put(k, " ");
    walk_value(k);
    put(k, ">");
    dw_leave_variant(k->r);
    if (k->w)
        dw_close_variant(k->w);
}

static void walk_value(const walk *k)
{
    switch (dw_next_code(k->r)) {
        FIXED('y', uint8_t, byte)
        FIXED('n', int16_t, int16)
        FIXED('q', uint16_t, uint16)
        FIXED('i', int32_t, int32)
        FIXED('u', uint32_t, uint32)
        FIXED('x', int64_t, int64)
        FIXED('t', uint64_t, uint64)
        FIXED('d', double, double)
        FIXED('h', uint32_t, unix_fd)
        STRING('s', string)
        STRING('o', object_path)
        STRING('g', signature)
    case 'b': walk_boolean(k); break;
    case 'a': walk_array(k); break;
    case '(': walk_struct(k); break;
    case '{': walk_entry(k); break;
    case 'v': walk_variant(k); break;
    default: break; /* an error, or no value left: nothing to walk */
    }
}

void walk_values(const walk *k)
{
    for (size_t i = 0; dw_more(k->r); i++) {
        put(k, i ? " " : "");
        walk_value(k);
    }
}

void copy_values(dw_reader *r, dw_writer *w)
{
    while (dw_more(r))
        dw_copy(r, w);
}
