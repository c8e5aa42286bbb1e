/* options.h - what the command line says. */

#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include "measure.h"

enum { PEERS_MAX = 32 };

/* A peer in another program: see external.h. */
typedef struct peer {
    char name[64];
    const char *command;
} peer;

typedef struct options {
    settings set;
    const char *json, *svg; /* files to write, or NULL */
    bool list, help;
    peer peers[PEERS_MAX];
    size_t n_peers;
} options;

/* Fills in *o; false, after a word on stderr, for what makes no sense. */
bool options_parse(options *o, int argc, char **argv);

void options_help(void);

#endif
