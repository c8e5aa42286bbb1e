/* pair.h - what runs in the serving process of Stream and RoundTrip. */

#ifndef BENCH_PAIR_H
#define BENCH_PAIR_H

#include "library.h"

/* The client may come now: the server listens, or is on the bus by that name.
 * name is "" where there is no bus. */
bool server_ready(server *s, const char *name);

/* For libraries that take a socket: listens at the address, says so, and
 * accepts the one client. Returns the socket or -1. */
int server_accept(server *s, const char *address);

/* Takes one chunk of the stream. False when it was the last or a wrong one:
 * there is nothing more to wait for. In any thread, one at a time. */
bool server_take(server *s, const void *chunk, size_t len);

/* The main of the serving process: the library, the workload, the address, and
 * the fd that it reports to. Returns the exit status. */
int serve_main(const char *library_name, const char *workload_name, const char *address, int fd);

#endif
