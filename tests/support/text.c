/* text.c - texts, hex, escapes and blocks of exact size. */

#include "text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *some_memory(void *p, size_t size)
{
    p = realloc(p, size ? size : 1);
    if (!p) {
        fprintf(stderr, "out of memory\n");
        exit(2);
    }
    return p;
}

char *text_room(text *t, size_t n)
{
    if (n + 1 > t->size - t->n) {
        size_t twice = t->size < 1048576 ? 2 * t->size : t->size;
        t->size = t->n + n + 1 > twice ? t->n + n + 1 : twice;
        t->p = some_memory(t->p, t->size);
        t->p[t->n] = '\0';
    }
    return t->p + t->n;
}

void text_add(text *t, const void *p, size_t n)
{
    char *to = text_room(t, n);
    if (n)
        memcpy(to, p, n);
    to[n] = '\0';
    t->n += n;
}

void text_put(text *t, const char *s)
{
    text_add(t, s, strlen(s));
}

void text_printf(text *t, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (n > 0) {
        vsnprintf(text_room(t, (size_t)n), (size_t)n + 1, format, again);
        t->n += (size_t)n;
    }
    va_end(again);
}

void text_escape(text *t, const void *p, size_t n)
{
    const unsigned char *c = p;
    for (size_t i = 0; i < n; i++) {
        if (c[i] < 0x20 || c[i] > 0x7e)
            text_printf(t, "\\x%02x", c[i]);
        else if (c[i] == '\\' || c[i] == '"')
            text_printf(t, "\\%c", c[i]);
        else
            text_add(t, c + i, 1);
    }
}

void text_hex(text *t, const void *p, size_t n)
{
    const unsigned char *c = p;
    for (size_t i = 0; i < n && i < 64; i++)
        text_printf(t, "%02x", c[i]);
    if (n > 64)
        text_printf(t, "... (%zu bytes)", n);
}

const char *text_string(const text *t)
{
    return t->p ? t->p : "";
}

bool text_equal(const text *a, const text *b)
{
    return a->n == b->n && (a->n == 0 || memcmp(a->p, b->p, a->n) == 0);
}

void text_free(text *t)
{
    free(t->p);
    *t = (text){0};
}

static int hex_digit(char c)
{
    const char *digits = "0123456789abcdef", *at;
    if (c >= 'A' && c <= 'F')
        c = (char)(c - 'A' + 'a');
    at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

static void repeat_tail(text *t, size_t start, size_t times)
{
    size_t n = t->n - start;
    if (times == 0) {
        t->n = start;
    } else if (n) {
        text_room(t, n * (times - 1));
        /* doubling what is there: a long repeat is a few large copies */
        for (size_t left = n * (times - 1); left;) {
            size_t have = t->n - start, part = left < have ? left : have;
            memcpy(t->p + t->n, t->p + start, part);
            t->n += part;
            left -= part;
        }
        t->p[t->n] = '\0';
    }
}

/* One level of braces, up to its '*' or the end. NULL if it is malformed. */
static const char *hex_level(text *t, const char *p, const char *end)
{
    while (p < end && *p != '*') {
        if (*p == ' ') {
            p++;
        } else if (*p == '{') {
            size_t start = t->n, times = 0;
            p = hex_level(t, p + 1, end);
            if (!p || p == end)
                return NULL;
            for (p++; p < end && *p >= '0' && *p <= '9'; p++)
                times = times * 10 + (size_t)(*p - '0');
            if (p == end || *p++ != '}' || times > 1u << 30)
                return NULL;
            repeat_tail(t, start, times);
        } else {
            int high = hex_digit(*p), low = end - p > 1 ? hex_digit(p[1]) : -1;
            if (high < 0 || low < 0)
                return NULL;
            char byte = (char)(high << 4 | low);
            text_add(t, &byte, 1);
            p += 2;
        }
    }
    return p;
}

bool text_from_hex(text *t, const char *hex, size_t n)
{
    text_room(t, n / 2);
    return hex_level(t, hex, hex + n) == hex + n;
}

void text_from_escaped(text *t, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char c = s[i];
        if (c == '\\' && n - i > 3 && s[i + 1] == 'x' && hex_digit(s[i + 2]) >= 0 &&
            hex_digit(s[i + 3]) >= 0) {
            c = (char)(hex_digit(s[i + 2]) << 4 | hex_digit(s[i + 3]));
            i += 3;
        } else if (c == '\\' && n - i > 1 && (s[i + 1] == '\\' || s[i + 1] == '"')) {
            c = s[++i];
        }
        text_add(t, &c, 1);
    }
}

block block_copy(const void *p, size_t n, size_t shift)
{
    block b;
    b.base = some_memory(NULL, n + shift);
    b.p = b.base + shift;
    if (n)
        memcpy(b.p, p, n);
    return b;
}

void block_free(block *b)
{
    free(b->base);
    *b = (block){0};
}
