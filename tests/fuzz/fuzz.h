/* fuzz.h - what the targets share. Each is a file of its own with one
 * LLVMFuzzerTestOneInput, which libFuzzer calls with what it makes up, and
 * replay.c with what is kept in corpus/. What must not be ends the program. */

#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include "dwire/message.h"
#include "support/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends the program, saying why, if the condition does not hold. */
#define fuzz_check(condition, ...)                                                                 \
    ((condition) ? (void)0 : fuzz_fail(__FILE__, __LINE__, #condition, __VA_ARGS__))
_Noreturn void fuzz_fail(const char *file, int line, const char *condition, const char *format, ...)
    TEXT_FORMAT(4, 5);

/* An input that is used up from its front. Where it ends there are zeros. */
typedef struct feed {
    const uint8_t *p;
    size_t n;
} feed;

uint8_t feed_byte(feed *f);
uint64_t feed_number(feed *f, size_t bytes); /* little-endian */

/* The next n bytes, or as many as there are; a view. */
feed feed_part(feed *f, size_t n);

/* What stands before the next NUL, or all there is, as a string; to be freed by
 * text_free. The NUL is used up. */
text feed_string(feed *f);

/* A finished message or body as one text, also where arrays lie apart. */
text fuzz_written(const dw_writer *w);

#endif
