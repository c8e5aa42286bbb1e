/* walk.h - a walk over values of any type, as a program would do it by hand:
 * read with the typed getters, and on the way printed, written, or both. */

#ifndef TESTS_WALK_H
#define TESTS_WALK_H

#include "dwire/message.h"
#include "text.h"

typedef struct walk {
    dw_reader *r;
    dw_writer *w; /* gets the values with its typed putters; may be NULL */
    text *out;    /* gets their text; may be NULL */
    bool whole;   /* arrays of fixed-size elements in one call */
} walk;

/* Walks what is left of the container or body that the reader is in. The text:
 *   integers decimal, true false, doubles as 0x and 16 digits of their bits;
 *   strings, paths and signatures quoted and escaped; [a,b], (a,b), {k:v},
 *   <signature value>; between the values of a body a blank */
void walk_values(const walk *k);

/* The text of one value of a fixed size, which is laid out as its C type. */
void text_fixed(text *out, char code, const void *value);

/* Copies what is left with dw_copy, value by value. */
void copy_values(dw_reader *r, dw_writer *w);

#endif
