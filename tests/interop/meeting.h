/* meeting.h - dwire and a peer, each in its process, and a connection from the
 * one to the other or a bus between them. What fails here fails the test. */

#ifndef TESTS_MEETING_H
#define TESTS_MEETING_H

#include <sys/types.h>

#include "dwire/connection.h"
#include "peer.h"

typedef struct meeting {
    role role;
    const char *bus; /* the program, where the peer joins one */
    dw_conn *c;
    const char *destination; /* of calls to the peer; NULL: there is only one */
    pid_t pid;               /* the peer's; 0: it is not there */
} meeting;

extern meeting the;

/* For a group of tests: a folder, and the bus in it. Where the bus is not here,
 * meet skips the test. */
void meeting_prepare(role r, const char *program);
void meeting_end(void);

/* Starts the peer, and connects; flags as for dw_connect. */
void meet(unsigned flags);

/* Closes, and expects the peer to have ended in good order. */
void part(void);

/* Waits for the peer's end, which must come by itself. */
void expect_peer_ended(void);

/* Ends the peer, if it is there, without asking. */
void peer_kill(void);

/* What is left of a meeting when a test has failed. */
int meeting_tear_down(void **state);

#endif
