/* limit.h - between the two halves of limit: messages, and sockets. */

#ifndef BENCH_LIMIT_H
#define BENCH_LIMIT_H

#include "library.h"
#include "pair.h"

/* Builds the workload's signal, with the serial 1; returns its length. The
 * slack is for padding that is stored ahead. */
enum { LIMIT_SLACK = 8 };
size_t limit_put_message(uint8_t *start, const body *b);

void *limit_send_open(const body *b, const char *address);
bool limit_send_run(void *state);

bool limit_serve(server *s, workload_kind kind, const char *address);
void *limit_dial(workload_kind kind, const char *address, const char *peer);
bool limit_stream(void *state);
bool limit_call(void *state);
void limit_hang_up(void *state);

#endif
