/* bus.c - a bus of the runner's own. */

#include "bus.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client.h"
#include "process.h"

/* dbus-daemon prints its address when it is ready. */
static bool start_daemon(bus *b)
{
    char option[sizeof b->address + 16];
    snprintf(option, sizeof option, "--address=%s", b->address);
    char *argv[] = {"dbus-daemon", "--session", option, "--nofork", "--print-address", NULL};
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    b->pid = process_start(argv, -1, ends[1], true);
    close(ends[1]);
    char line[512];
    ssize_t n = b->pid > 0 ? read(ends[0], line, sizeof line) : -1;
    close(ends[0]);
    return n > 0;
}

static bool start_broker(bus *b)
{
    char number[16];
    char *argv[] = {
        "dbus-broker", "--controller", number, "--machine-id", "0123456789abcdef0123456789abcdef",
        "--max-bytes", "1000000000",   NULL};
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return false;
    snprintf(number, sizeof number, "%d", ends[1]);
    b->pid = process_start(argv, ends[1], -1, true);
    close(ends[1]);
    b->control = ends[0];
    int listener = socket_listen(b->path);
    /* It accepts until there is nobody left, and must not be made to wait. */
    bool good = b->pid > 0 && listener >= 0 && fcntl(listener, F_SETFL, O_NONBLOCK) == 0 &&
                broker_listen(b->control, listener);
    if (listener >= 0)
        close(listener);
    return good;
}

bool bus_start(bus *b, const char *program, const char *dir)
{
    *b = (bus){.control = -1};
    snprintf(b->path, sizeof b->path, "%s/bus", dir);
    snprintf(b->address, sizeof b->address, "unix:path=%s", b->path);
    bool broker = strcmp(program, "dbus-broker") == 0;
    if (broker ? start_broker(b) : start_daemon(b))
        return true;
    bus_stop(b);
    return false;
}

void bus_stop(bus *b)
{
    if (b->control >= 0)
        close(b->control);
    if (b->pid > 0) {
        process_end(b->pid);
        unlink(b->path);
    }
    *b = (bus){.control = -1};
}
