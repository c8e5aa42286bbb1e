/* process.h - other programs, ended by their own id. */

#ifndef BENCH_PROCESS_H
#define BENCH_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

/* Starts argv[0] from the PATH. keep (or -1) stays open there under the same
 * number; out (or -1) becomes its standard output. What it says on standard
 * error is dropped if it is to be quiet. It does not outlive this process.
 * Returns its id or -1. */
pid_t process_start(char *const argv[], int keep, int out, bool quiet);

/* Waits for its end; its exit status, or -1 if that was a signal. */
int process_wait(pid_t pid);

/* Ends it, and waits: first asking, after two seconds not asking any more. */
void process_end(pid_t pid);

/* This program's own file, to start it again. */
const char *process_self(void);

#endif
