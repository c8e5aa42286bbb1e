/* syscalls.h - how many system calls one MarshalSend makes. */

#ifndef BENCH_SYSCALLS_H
#define BENCH_SYSCALLS_H

/* Runs it in a process under strace, with a file in dir. 0 where there is no
 * strace, or it may not trace. */
unsigned count_syscalls(const char *library_name, const char *address, const char *dir);

/* The main of that process. */
int once_main(const char *library_name, const char *address);

#endif
