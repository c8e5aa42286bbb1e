/* verify.c - a plain decoder that compares as it goes. */

#include "verify.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct cursor {
    const uint8_t *bytes;
    size_t at, len;
    bool big;
    char *why;
    size_t why_size;
    bool bad;
} cursor;

static void fault(cursor *c, const char *format, ...)
{
    if (c->bad)
        return;
    c->bad = true;
    int n = snprintf(c->why, c->why_size, "byte %zu: ", c->at);
    va_list args;
    va_start(args, format);
    if (n >= 0 && (size_t)n < c->why_size)
        vsnprintf(c->why + n, c->why_size - (size_t)n, format, args);
    va_end(args);
}

/* The next n bytes, after padding that must be zero; NULL past the end. */
static const uint8_t *take(cursor *c, size_t align, size_t n)
{
    while (!c->bad && c->at % align) {
        if (c->at >= c->len)
            fault(c, "ends in padding");
        else if (c->bytes[c->at])
            fault(c, "padding is not zero");
        else
            c->at++;
    }
    if (c->bad)
        return NULL;
    if (n > c->len - c->at) {
        fault(c, "ends too early");
        return NULL;
    }
    const uint8_t *p = c->bytes + c->at;
    c->at += n;
    return p;
}

static uint64_t number(cursor *c, size_t size)
{
    const uint8_t *p = take(c, size, size);
    uint64_t value = 0;
    for (size_t i = 0; p && i < size; i++)
        value |= (uint64_t)p[i] << 8 * (c->big ? size - 1 - i : i);
    return value;
}

static void want_number(cursor *c, size_t size, uint64_t wanted, const char *what)
{
    uint64_t got = number(c, size);
    if (!c->bad && got != wanted)
        fault(c, "%s is %llu instead of %llu", what, (unsigned long long)got,
              (unsigned long long)wanted);
}

/* A string whose length takes length_size bytes: 4, or 1 for a signature. */
static const char *text(cursor *c, size_t length_size)
{
    size_t n = (size_t)number(c, length_size);
    const uint8_t *p = take(c, 1, n);
    const uint8_t *end = take(c, 1, 1);
    if (c->bad)
        return "";
    if (*end || memchr(p, 0, n))
        fault(c, "a string's NUL is not at its end");
    return (const char *)p;
}

static void want_text(cursor *c, size_t length_size, const char *wanted, const char *what)
{
    const char *got = text(c, length_size);
    if (!c->bad && strcmp(got, wanted) != 0)
        fault(c, "%s is \"%.40s\" instead of \"%.40s\"", what, got, wanted);
}

/* The end of an array whose length comes next and elements are so aligned. */
static size_t array_end(cursor *c, size_t align)
{
    size_t len = (size_t)number(c, 4);
    take(c, align, 0);
    if (!c->bad && len > c->len - c->at)
        fault(c, "an array reaches over the end");
    return c->bad ? 0 : c->at + len;
}

static void want_end(cursor *c, size_t end, const char *what)
{
    if (!c->bad && c->at != end)
        fault(c, "%s should end at byte %zu", what, end);
}

enum { PATH = 1, INTERFACE, MEMBER, ERROR_NAME, REPLY_SERIAL, DESTINATION, SENDER, SIGNATURE };

static void want_field(cursor *c, const body *b, unsigned *seen)
{
    take(c, 8, 0);
    unsigned field = (unsigned)number(c, 1);
    const char *type = text(c, 1);
    if (c->bad || field > SIGNATURE || (*seen & 1u << field)) {
        fault(c, "header field %u is not expected, or twice", field);
        return;
    }
    *seen |= 1u << field;
    if (field == PATH && strcmp(type, "o") == 0)
        want_text(c, 4, b->path, "the path");
    else if (field == INTERFACE && strcmp(type, "s") == 0)
        want_text(c, 4, b->interface, "the interface");
    else if (field == MEMBER && strcmp(type, "s") == 0)
        want_text(c, 4, b->member, "the member");
    else if (field == SIGNATURE && strcmp(type, "g") == 0)
        want_text(c, 1, b->signature, "the signature");
    else if (field == SENDER && strcmp(type, "s") == 0)
        text(c, 4);
    else
        fault(c, "header field %u of type \"%.40s\" is not expected", field, type);
}

static void want_header(cursor *c, const body *b)
{
    char order = (char)number(c, 1);
    c->big = order == 'B';
    if (order != 'l' && order != 'B')
        fault(c, "no byte order mark");
    want_number(c, 1, 4, "the message type");
    number(c, 1); /* flags mean nothing to a signal */
    want_number(c, 1, 1, "the version");
    size_t body_len = (size_t)number(c, 4);
    if (number(c, 4) == 0)
        fault(c, "the serial is 0");
    unsigned seen = 0;
    size_t end = array_end(c, 8);
    while (!c->bad && c->at < end)
        want_field(c, b, &seen);
    want_end(c, end, "the header");
    take(c, 8, 0);
    unsigned needed = 1u << PATH | 1u << INTERFACE | 1u << MEMBER | 1u << SIGNATURE;
    if ((seen & needed) != needed)
        fault(c, "a header field is missing");
    if (!c->bad && body_len != c->len - c->at)
        fault(c, "the body's length is given as %zu", body_len);
}

static void want_group(cursor *c, const body *b)
{
    want_text(c, 4, b->string, "the string");
    want_number(c, 8, b->number, "the number");
    take(c, 8, 0);
    want_number(c, 8, b->struct_number, "the struct's number");
    want_text(c, 4, b->struct_string, "the struct's string");
    size_t end = array_end(c, 8);
    for (size_t i = 0; i < b->n_dict; i++) {
        take(c, 8, 0);
        want_text(c, 4, b->dict[i].key, "a key");
        want_number(c, 4, (uint32_t)b->dict[i].value, "a dict's value");
    }
    want_end(c, end, "the dict");
    end = array_end(c, 8);
    for (size_t i = 0; i < b->n_ints; i++)
        want_number(c, 8, b->ints[i], "an element");
    want_end(c, end, "the array of numbers");
    end = array_end(c, 4);
    for (size_t i = 0; i < b->n_strings; i++)
        want_text(c, 4, b->strings[i], "an element");
    want_end(c, end, "the array of strings");
}

bool verify_signal(const body *b, const uint8_t *bytes, size_t len, char *why, size_t why_size)
{
    cursor c = {.bytes = bytes, .len = len, .why = why, .why_size = why_size};
    want_header(&c, b);
    for (size_t i = 0; !c.bad && i < b->repeat; i++)
        want_group(&c, b);
    want_end(&c, len, "the message");
    return !c.bad;
}
