/* exchange.h - values on their way from dwire to the peer and back. What fails
 * here fails the test. */

#ifndef TESTS_EXCHANGE_H
#define TESTS_EXCHANGE_H

#include "dwire/connection.h"
#include "support/text.h"

/* Values of any types, in either byte order: a body. */
typedef struct sample {
    const char *id; /* for people */
    const char *signature;
    const void *bytes;
    size_t len;
    char order;
    const int *fds;
    uint32_t n_fds;
} sample;

/* Sends them in three ways, and expects the same to come back: dwire calls and
 * the peer answers; the peer calls, from within a call; signals there and back,
 * which need a match on a bus. Nothing, and false, where the peer or the bus would refuse
 * the sample, and where it has indexes of descriptors that are not there. */
bool exchange(const sample *s);

/* Begins a call of the peer. */
void begin_call(dw_writer *w, const char *interface, const char *member, const char *signature);

/* Calls a method without values; returns as dw_call. */
int call_peer(const char *interface, const char *member, dw_message *reply);

/* One turn of the loop: waits until something happens, and sees to it. Calls of
 * Echo are answered, or with the peer's own error where refuse is set. */
typedef struct heard {
    text said;   /* the values of Said */
    int n_said;  /* and how often it came */
    int n_asked; /* calls answered */
    int n_ended; /* calls in flight that ended */
    int code;    /* the last one of those, and what it said */
    text answer, error_name;
    bool refuse;
} heard;

int turn(heard *h);

/* Ends the message and starts the call; turns are to follow. */
void start_call(dw_writer *w, heard *h);
void heard_free(heard *h);

#endif
