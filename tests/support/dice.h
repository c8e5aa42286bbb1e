/* dice.h - random signatures and values: the same seed gives the same ones. */

#ifndef TESTS_DICE_H
#define TESTS_DICE_H

#include "dwire/writer.h"

typedef struct dice {
    uint64_t state; /* the seed */
} dice;

/* A number below n, which is not 0. */
uint32_t dice_roll(dice *d, uint32_t n);

/* A valid signature of 0 to 255 bytes, NUL-terminated. */
void dice_signature(dice *d, char out[256]);

/* Puts values of all the types of a valid signature; arrays of fixed-size
 * elements sometimes one by one and sometimes at once. */
void dice_put(dice *d, dw_writer *w, const char *signature);

#endif
