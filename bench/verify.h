/* verify.h - whether a message is what it should be, value by value. Written
 * byte by byte from the specification and without any library under test. */

#ifndef BENCH_VERIFY_H
#define BENCH_VERIFY_H

#include "workload.h"

/* Whether the len bytes are the signal with that body and nothing else. A
 * sender, as a bus adds it, and unset optional fields are allowed. If not, why
 * receives a sentence. */
bool verify_signal(const body *b, const uint8_t *bytes, size_t len, char *why, size_t why_size);

#endif
