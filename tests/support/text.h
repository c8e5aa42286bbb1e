/* text.h - a text, or any bytes, that grows. For tests: without memory it ends
 * the program. */

#ifndef TESTS_TEXT_H
#define TESTS_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define TEXT_FORMAT(nth, first) __attribute__((format(printf, nth, first)))
#else
#define TEXT_FORMAT(nth, first)
#endif

/* All zero is an empty text. p[n] is a NUL, where p is not NULL. */
typedef struct text {
    char *p;
    size_t n, size;
} text;

/* Room for n more bytes. Returns where they go; they count once n is raised. */
char *text_room(text *t, size_t n);
void text_add(text *t, const void *p, size_t n);
void text_put(text *t, const char *s);
void text_printf(text *t, const char *format, ...) TEXT_FORMAT(2, 3);

/* n bytes in printable form: what is no printable ASCII becomes \xNN. */
void text_escape(text *t, const void *p, size_t n);

/* n bytes in hex; only the first 64 of them, and then dots. */
void text_hex(text *t, const void *p, size_t n);

/* Never NULL. */
const char *text_string(const text *t);
bool text_equal(const text *a, const text *b);
void text_free(text *t);

/* Adds what the n bytes of hex mean: digits, blanks between bytes, and
 * {0176*99} for a part that repeats. False if it is not that. */
bool text_from_hex(text *t, const char *hex, size_t n);

/* Adds what the n bytes of escaped text mean: \xNN, and \c for c. */
void text_from_escaped(text *t, const char *s, size_t n);

/* A block of exactly n bytes that ends where its allocation does and starts
 * shift bytes behind its start, so that a sanitizer sees the first byte read
 * beyond. To be freed by its base. */
typedef struct block {
    uint8_t *p, *base;
} block;

block block_copy(const void *p, size_t n, size_t shift);
void block_free(block *b);

#endif
