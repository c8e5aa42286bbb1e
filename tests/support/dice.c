/* dice.c - random signatures and values. */

#include "dice.h"

#include <string.h>

#include "dwire/signature.h"
#include "text.h"

/* Steele, Lea and Flood's SplitMix64: any seed is a good one. */
static uint64_t next(dice *d)
{
    uint64_t z = d->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

uint32_t dice_roll(dice *d, uint32_t n)
{
    return (uint32_t)((next(d) >> 32) * n >> 32);
}

/* -- Signatures --------------------------------------------------------------- */

static const char basic[] = "ybnqiuxtdhsog";

static char basic_code(dice *d)
{
    return basic[dice_roll(d, sizeof basic - 1)];
}

static void add(char out[256], size_t *n, char c)
{
    out[(*n)++] = c;
}

/* One complete type of at most room bytes, and containers at most depth deep. */
static void one_type(dice *d, char out[256], size_t *n, size_t room, unsigned depth)
{
    uint32_t kind = depth && room >= 5 ? dice_roll(d, 8) : 7;
    size_t limit = *n + room;
    switch (kind) {
    case 0:
    case 1:
        add(out, n, 'a');
        one_type(d, out, n, room - 1, depth - 1);
        break;
    case 2:
        add(out, n, 'a');
        add(out, n, '{');
        add(out, n, basic_code(d));
        one_type(d, out, n, room - 4, depth - 1);
        add(out, n, '}');
        break;
    case 3:
    case 4:
        add(out, n, '(');
        for (uint32_t left = 1 + dice_roll(d, 4); left && *n + 1 < limit; left--)
            one_type(d, out, n, limit - 1 - *n, depth - 1);
        add(out, n, ')');
        break;
    case 5: add(out, n, 'v'); break;
    default: add(out, n, basic_code(d)); break;
    }
}

static void types(dice *d, char out[256], size_t room, uint32_t count, unsigned depth)
{
    size_t n = 0;
    for (; count && n < room; count--)
        one_type(d, out, &n, room - n, depth);
    out[n] = '\0';
}

void dice_signature(dice *d, char out[256])
{
    uint32_t size = dice_roll(d, 16);
    types(d, out, size ? 40 : 255, size ? dice_roll(d, 6) : 100, 1 + dice_roll(d, 5));
}

/* -- Values ------------------------------------------------------------------- */

/* Small numbers and those at the edges more often than the rest. */
static uint64_t number(dice *d)
{
    switch (dice_roll(d, 4)) {
    case 0: return dice_roll(d, 3);
    case 1: return UINT64_MAX << dice_roll(d, 64);
    case 2: return UINT64_C(1) << dice_roll(d, 64);
    default: return next(d);
    }
}

/* A string of any length, in which any class of character may stand anywhere. */
static void random_string(dice *d, text *t)
{
    static const char *const characters[] = {
        "\x01",         "\x7f",         "\xc2\x80",     "\xdf\xbf",         "\xe0\xa0\x80",
        "\xed\x9f\xbf", "\xee\x80\x80", "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"};
    uint32_t n = dice_roll(d, dice_roll(d, 8) ? 24 : 300), rare = 1 + dice_roll(d, 40);
    for (uint32_t i = 0; i < n; i++) {
        char c = (char)(' ' + dice_roll(d, 95));
        if (dice_roll(d, rare))
            text_add(t, &c, 1);
        else
            text_put(t, characters[dice_roll(d, sizeof characters / sizeof *characters)]);
    }
}

static void random_path(dice *d, text *t)
{
    static const char letters[] = "azAZ09_";
    uint32_t elements = dice_roll(d, 5);
    for (uint32_t i = 0; i < elements; i++) {
        text_put(t, "/");
        for (uint32_t n = 1 + dice_roll(d, 9); n; n--)
            text_add(t, &letters[dice_roll(d, sizeof letters - 1)], 1);
    }
    if (!elements)
        text_put(t, "/");
}

static void put_text(dice *d, dw_writer *w, char code)
{
    text t = {0};
    char signature[256];
    if (code == 's') {
        random_string(d, &t);
        dw_put_string_n(w, text_string(&t), t.n);
    } else if (code == 'o') {
        random_path(d, &t);
        dw_put_object_path(w, text_string(&t));
    } else {
        dice_signature(d, signature);
        dw_put_signature(w, signature);
    }
    text_free(&t);
}

static void put_fixed(dice *d, dw_writer *w, char code)
{
    uint64_t v = number(d);
    double real;
    memcpy(&real, &v, sizeof real);
    switch (code) {
    case 'y': dw_put_byte(w, (uint8_t)v); break;
    case 'b': dw_put_boolean(w, v & 1); break;
    case 'n': dw_put_int16(w, (int16_t)v); break;
    case 'q': dw_put_uint16(w, (uint16_t)v); break;
    case 'i': dw_put_int32(w, (int32_t)v); break;
    case 'u': dw_put_uint32(w, (uint32_t)v); break;
    case 'h': dw_put_unix_fd(w, (uint32_t)v); break;
    case 'x': dw_put_int64(w, (int64_t)v); break;
    case 't': dw_put_uint64(w, v); break;
    default: dw_put_double(w, real); break;
    }
}

/* A whole array of elements in one call. */
static void put_whole(dice *d, dw_writer *w, char code, uint32_t n)
{
    uint8_t values[64 * 8];
    size_t size = dw_type_size(code);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t v = number(d);
        uint8_t y = (uint8_t)v;
        uint16_t q = (uint16_t)v;
        uint32_t u = code == 'b' ? v & 1 : (uint32_t)v;
        const void *from = size == 1   ? (const void *)&y
                           : size == 2 ? (const void *)&q
                           : size == 4 ? (const void *)&u
                                       : (const void *)&v;
        memcpy(values + i * size, from, size);
    }
    dw_put_array(w, code, values, n);
}

/* depth counts the variants: what is in them is drawn anew and must come to an end. */
static void put_values(dice *d, dw_writer *w, const char *signature, unsigned depth);

static void put_variant(dice *d, dw_writer *w, unsigned depth)
{
    char inside[256];
    types(d, inside, 20, 1, depth < 4 ? 2 : 0);
    dw_open_variant(w, inside);
    put_values(d, w, inside, depth + 1);
    dw_close_variant(w);
}

static void put_array(dice *d, dw_writer *w, const char *element, unsigned depth)
{
    uint32_t n = dice_roll(d, dw_type_basic(*element) ? 64 : 4);
    if (dw_type_size(*element) && dice_roll(d, 2)) {
        put_whole(d, w, *element, n);
        return;
    }
    dw_string one = dw_next_type(element);
    char inside[256];
    memcpy(inside, one.p, one.n);
    inside[one.n] = '\0';
    dw_open_array(w);
    for (; n; n--) {
        if (*element == '{') {
            inside[one.n - 1] = '\0';
            dw_open_entry(w);
            put_values(d, w, inside + 1, depth);
            dw_close_entry(w);
        } else {
            put_values(d, w, inside, depth);
        }
    }
    dw_close_array(w);
}

static void put_values(dice *d, dw_writer *w, const char *signature, unsigned depth)
{
    for (dw_string t = dw_next_type(signature); t.n; t = dw_next_type(t.p + t.n)) {
        char inside[256];
        if (*t.p == 'a') {
            put_array(d, w, t.p + 1, depth);
        } else if (*t.p == '(') {
            memcpy(inside, t.p + 1, t.n - 2);
            inside[t.n - 2] = '\0';
            dw_open_struct(w);
            put_values(d, w, inside, depth);
            dw_close_struct(w);
        } else if (*t.p == 'v') {
            put_variant(d, w, depth);
        } else if (dw_type_size(*t.p)) {
            put_fixed(d, w, *t.p);
        } else {
            put_text(d, w, *t.p);
        }
    }
}

void dice_put(dice *d, dw_writer *w, const char *signature)
{
    put_values(d, w, signature, 0);
}
