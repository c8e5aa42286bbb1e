/* workload.h - what is measured: the values that go into the messages, and the
 * workloads made of them. Every library gets the same ones, as a C program has
 * them: strings end in a NUL, and nobody is told their lengths. */

#ifndef BENCH_WORKLOAD_H
#define BENCH_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct dict_entry {
    const char *key;
    int32_t value;
} dict_entry;

/* A body is one group of values, repeat times over: s t (ts) a{si} at as. */
#define GROUP_SIGNATURE "st(ts)a{si}atas"

typedef struct body {
    const char *path, *interface, *member; /* of the signal */
    const char *signature;                 /* the group's, repeat times */
    size_t repeat;
    const char *string;
    uint64_t number;
    uint64_t struct_number;
    const char *struct_string;
    const dict_entry *dict;
    size_t n_dict;
    const uint64_t *ints;
    size_t n_ints;
    const char *const *strings;
    size_t n_strings;
    size_t message_len; /* of the whole message, where only the usual header fields are in it */
} body;

typedef enum workload_kind {
    MARSHAL,   /* values to bytes */
    UNMARSHAL, /* bytes to values */
    SEND,      /* a whole connection to a bus for one signal */
    STREAM,    /* bulk, one way, between two processes */
    CALL,      /* a call and its reply, between two processes */
    CALL_BUS   /* the same through a bus */
} workload_kind;

typedef struct workload {
    const char *name;
    workload_kind kind;
    const body *body; /* what is marshalled; NULL for the last three */
} workload;

extern const workload workloads[];
extern const size_t n_workloads;

/* Fills in what would be long to write down. To be called once, first. */
bool workloads_init(void);

/* What reading a body comes to: proof that each value was looked at. */
typedef struct digest {
    uint64_t integers; /* the sum of all, wrapping */
    uint64_t lengths;  /* the sum of all strings' lengths */
} digest;

digest body_digest(const body *b);

/* Adds an array of n 8-aligned uint64_t as it lies in a message. One place for
 * all libraries: how well a loop falls in the cache is not what is compared. */
void digest_ints(digest *d, const void *ints, size_t n);

/* Stream: STREAM_LEN bytes in chunks of CHUNK_LEN, taken in turn from a ring
 * of N_CHUNKS, each of which starts with its number in the ring. */
#define STREAM_LEN ((uint64_t)1 << 30)
#define CHUNK_LEN  ((size_t)4096)
#define N_CHUNKS   ((size_t)64)
#define ALL_CHUNKS (STREAM_LEN / CHUNK_LEN)

const uint8_t *stream_chunk(uint64_t i);
bool stream_chunk_good(uint64_t i, const void *bytes, size_t len);

/* The names of the stream's signals and of the echoed call. */
#define BENCH_PATH      "/io/killing/spark"
#define BENCH_INTERFACE "io.killing.spark"
#define CHUNK_MEMBER    "Chunk"
#define ECHO_MEMBER     "Echo"
#define ECHO_TEXT       "TesttestTestest"

#endif
