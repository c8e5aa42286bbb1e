/* bus.h - a bus of the runner's own, on a private socket. */

#ifndef BENCH_BUS_H
#define BENCH_BUS_H

#include <stdbool.h>
#include <sys/types.h>

typedef struct bus {
    pid_t pid;   /* 0: not started */
    int control; /* dbus-broker's controller socket, or -1 */
    char path[100];
    char address[128];
} bus;

/* Starts the program, dbus-daemon or dbus-broker, with its socket in dir, and
 * returns when clients may connect. False if that did not work. */
bool bus_start(bus *b, const char *program, const char *dir);
void bus_stop(bus *b);

/* dbus-broker takes its orders over a socket; this gives it a listening one
 * and a policy that allows everything. */
bool broker_listen(int control, int listener);

#endif
