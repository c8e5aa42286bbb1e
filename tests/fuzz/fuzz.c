/* fuzz.c - what the targets share. */

#include "fuzz.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void fuzz_fail(const char *file, int line, const char *condition, const char *format, ...)
{
    va_list args;
    fprintf(stderr, "%s:%d: not so: %s: ", file, line, condition);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    abort();
}

uint8_t feed_byte(feed *f)
{
    if (!f->n)
        return 0;
    f->n--;
    return *f->p++;
}

uint64_t feed_number(feed *f, size_t bytes)
{
    uint64_t v = 0;
    for (size_t i = 0; i < bytes; i++)
        v |= (uint64_t)feed_byte(f) << (8 * i);
    return v;
}

feed feed_part(feed *f, size_t n)
{
    feed part = {f->p, n < f->n ? n : f->n};
    if (part.n) {
        f->p += part.n;
        f->n -= part.n;
    }
    return part;
}

text feed_string(feed *f)
{
    text t = {0};
    const uint8_t *nul = f->n ? memchr(f->p, 0, f->n) : NULL;
    feed part = feed_part(f, nul ? (size_t)(nul - f->p) : f->n);
    text_add(&t, part.p, part.n);
    if (nul)
        feed_byte(f);
    return t;
}

text fuzz_written(const dw_writer *w)
{
    dw_part parts[DW_MAX_PARTS];
    text t = {0};
    size_t n = dw_writer_parts(w, parts);
    text_room(&t, 0);
    for (size_t i = 0; i < n; i++)
        text_add(&t, parts[i].p, parts[i].len);
    return t;
}
