/* table.h - reads tables of vectors: a head line, then a row a line, columns
 * apart by tabs. What they mean is in vectors.c. */

#ifndef TESTS_TABLE_H
#define TESTS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#ifndef VECTORS_FILE
#define VECTORS_FILE "tests/data/vectors.tsv"
#endif

typedef struct vector {
    const char *id, *kind, *endian, *signature, *input, *expected, *values;
    const char *others[3]; /* the verdicts of libdbus, GDBus and sd-bus */
} vector;

typedef struct table {
    FILE *file;
    char *line;
    size_t size;
} table;

/* Whether the file could be opened; if not, errno tells why. */
bool table_open(table *t, const char *name);

/* The next row: valid until the one after it. False at the end. */
bool table_next(table *t, vector *v);

/* Whether all of it could be read. */
bool table_close(table *t);

#endif
