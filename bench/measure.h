/* measure.h - time, samples and what comes out of them. */

#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include <signal.h>

#include "library.h"

/* What a run is told. */
typedef struct settings {
    const char *workloads; /* names with commas, NULL: all */
    const char *libraries;
    size_t samples;
    double min_time_ms;
    const char *bus; /* the program that is the bus */
    bool progress;
} settings;

/* One result: a row of the output. */
typedef struct row {
    char workload[64], library[64];
    double min, median; /* ns */
    size_t samples;
    uint64_t iterations, bytes;
    double cpu; /* ns of both sides, median; 0: not known */
    double client_user, client_sys, server_user, server_sys; /* the same apart; 0: not known */
    unsigned syscalls;                                       /* 0: not known */
} row;

typedef struct rows {
    row *row;
    size_t n;
} rows;

row *rows_add(rows *all);
const row *rows_find(const rows *all, const char *workload_name, const char *library_name);

/* CPU time of one process, and of both sides of a sample, in ns. */
typedef struct cpu {
    double user, sys; /* not told apart, all is user */
} cpu;

typedef struct sides {
    cpu client, server;
} sides;

/* A library in a workload, while that is measured. */
typedef struct task {
    const library *lib;
    const workload *w;
    void *state; /* the library's */
    void *extra; /* the kind's own */
    uint64_t iterations;
    uint64_t bytes;
    double *sample; /* ns an iteration */
    sides *sides;   /* of a sample of two processes, for all its iterations */
    unsigned syscalls;
    bool failed;
} task;

/* What a run has at hand for the kinds. */
typedef struct bench {
    const settings *set;
    const char *dir;         /* for sockets and files */
    const char *bus_address; /* NULL before the first workload that needs it */
    bool failed;             /* something was wrong: the exit status */
} bench;

/* How one kind of workload is measured. open also verifies: a library that
 * does not get it right is not timed. run returns how many nanoseconds that
 * many iterations took, or a negative number when it failed. close undoes what
 * open did. */
typedef struct kind {
    bool (*open)(bench *b, task *t);
    double (*run)(task *t, uint64_t iterations, size_t sample);
    void (*close)(task *t);
    bool once; /* one iteration a sample, however short */
} kind;

extern const kind marshal_kind, unmarshal_kind, send_kind, stream_kind, call_kind;

/* Set by a signal: what is under way is ended as soon as that can be. */
extern volatile sig_atomic_t interrupted;

double now_ns(void);
double median(double *values, size_t n);
cpu cpu_used(void); /* by this process, all threads */

/* Says on stderr what is wrong with a library, and remembers it. */
void complain(bench *b, const task *t, const char *why);

/* How many samples are taken of a workload: those of Stream take so long that
 * it gets a seventh. */
size_t samples_of(const settings *set, const workload *w);

/* Measures one workload with all the libraries that are wanted and take part,
 * their samples in turn, and adds a row for each. */
void measure(bench *b, const workload *w, rows *out);

/* Whether a list with commas, or NULL for all, has the name. */
bool listed(const char *list, const char *name);

#endif
