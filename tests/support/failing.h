/* failing.h - an allocator that fails when it is told to, moves every block that
 * grows, and counts what has not been given back. */

#ifndef TESTS_FAILING_H
#define TESTS_FAILING_H

#include "dwire/base.h"

typedef struct failing {
    unsigned fail_at; /* this request for memory fails, the first being 1; 0: none does */
    bool for_good;    /* and all after it */
    unsigned asked;   /* requests so far */
    unsigned live;    /* blocks not given back */
    size_t held;      /* their bytes */
    size_t most;      /* the most that they ever were */
    unsigned mistold; /* blocks whose old size was not the one that it had */
    dw_allocator allocator;
} failing;

/* Starts counting anew. f->allocator is the allocator. */
void failing_init(failing *f, unsigned fail_at, bool for_good);

#endif
