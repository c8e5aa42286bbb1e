/* report.h - the rows as Markdown, JSON and SVG. */

#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include <stdio.h>

#include "measure.h"

/* The names in a column of rows, each once, in order of appearance; libraries
 * that the runner knows come in its own order. Returns how many, at most max. */
size_t distinct_workloads(const rows *all, const char **out, size_t max);
size_t distinct_libraries(const rows *all, const char **out, size_t max);

enum { NAMES_MAX = 64 };

/* "535 ns", "2.09 us": three digits that matter. */
void format_time(char *out, size_t size, double ns);

void report_markdown(FILE *f, const rows *all);
void report_json(FILE *f, const rows *all);
void report_svg(FILE *f, const rows *all);

#endif
