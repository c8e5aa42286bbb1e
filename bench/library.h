/* library.h - what a library under test offers to the runner. One file under
 * peers/ fills in one of these; what it leaves NULL it does not take part in.
 *
 * Nothing here prints. What returns bool says whether it worked; what returns
 * a state returns NULL if it did not. */

#ifndef BENCH_LIBRARY_H
#define BENCH_LIBRARY_H

#include "workload.h"

/* Values to a finished message in memory. open is not timed, run is; bytes
 * hands out the message of the last run and may take its time. */
typedef struct marshaller {
    void *(*open)(const body *b);
    bool (*run)(void *state);
    const uint8_t *(*bytes)(void *state, size_t *len);
    void (*close)(void *state);
} marshaller;

/* Bytes to values: checked as strictly as the library does, all of them read
 * and added to the digest. The bytes are 8-aligned and stay until close. */
typedef struct unmarshaller {
    void *(*open)(const body *b, const uint8_t *bytes, size_t len);
    bool (*run)(void *state, digest *d);
    void (*close)(void *state);
} unmarshaller;

/* Connect to a bus, authenticate, Hello and its reply, build the signal, send
 * it, close: run is all of it. */
typedef struct sender {
    void *(*open)(const body *b, const char *address);
    bool (*run)(void *state);
    void (*close)(void *state);
} sender;

/* What the serving process tells its client (see pair.h). */
typedef struct server server;

/* Two processes. serve runs in one of its own: it listens at the address (or
 * connects to the bus there), says so with server_ready, serves one client and
 * returns when that is gone, or its job is done. The others run in the client:
 *   STREAM    stream sends all chunks as signals with one "ay" and flushes
 *   CALL      call sends ECHO_TEXT to Echo and checks the reply
 *   CALL_BUS  the same with peer, the server's name on the bus
 * address and peer stay until hang_up. */
typedef struct pair {
    bool (*serve)(server *s, workload_kind kind, const char *address);
    void *(*dial)(workload_kind kind, const char *address, const char *peer);
    bool (*stream)(void *state);
    bool (*call)(void *state);
    void (*hang_up)(void *state);
} pair;

typedef struct library {
    const char *name;
    const char *note;    /* where its figures are not quite what the others' are, or NULL */
    const char *version; /* or NULL */
    marshaller marshal;
    unmarshaller unmarshal;
    sender send;
    pair link;
} library;

/* All that were found when this was configured, dwire first. HAVE_LIBDBUS and
 * its like are the versions. */
extern const library *const libraries[];
extern const size_t n_libraries;

/* The names of those that were not, NULL at the end. */
extern const char *const missing_libraries[];

const library *library_find(const char *name);

/* Whether the library takes part in workloads of a kind. */
bool library_does(const library *lib, workload_kind kind);

#endif
