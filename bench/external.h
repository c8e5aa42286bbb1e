/* external.h - libraries in other languages, each measured by a program of its
 * own that the runner starts once a workload:
 *
 *     COMMAND --workload NAME --samples N --min-time MS
 *
 * It prints the JSON rows that the runner itself writes, for one library or
 * several; a row without "library" goes by the peer's name. One that does not
 * take part in the workload prints none. Its samples cannot be taken in turn
 * with the others'.
 *
 * The environment variable DWIRE_BENCH_DUMP names a directory. For a marshal
 * workload the program writes there, before it measures, a file of the name
 * LIBRARY.WORKLOAD with the bytes that its library makes; they are verified,
 * and a row whose message is wrong or not there is dropped. */

#ifndef BENCH_EXTERNAL_H
#define BENCH_EXTERNAL_H

#include "measure.h"
#include "options.h"

void external_measure(bench *b, const peer *p, rows *out);

/* Reads rows as report_json writes them. Returns false for what is no such text. */
bool rows_parse(rows *out, const char *json);

#endif
