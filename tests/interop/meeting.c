/* meeting.c - dwire and a peer. */

#include "meeting.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include <cmocka.h>

#include "../bench/bus.h"
#include "../bench/process.h"
#include "support/ends.h"

enum { LIFE_SECONDS = 300 };

meeting the;

static char folder[64];
static bus the_bus;

const char *peer_asks(const char *member, const char **asked)
{
    bool echo = strcmp(member, "Ask") == 0;
    *asked = echo ? "Echo" : member;
    if (strcmp(member, "Ping") == 0 || strcmp(member, "GetMachineId") == 0)
        return "org.freedesktop.DBus.Peer";
    return echo ? PEER_INTERFACE : NULL;
}

void meeting_prepare(role r, const char *program)
{
    the = (meeting){.role = r, .bus = program};
    strcpy(folder, "/tmp/dwire-peer-XXXXXX");
    if (!mkdtemp(folder))
        abort();
    if (program && !bus_start(&the_bus, program, folder))
        print_message("skipped: %s with %s: the bus is not here\n", peer_name, program);
}

void meeting_end(void)
{
    if (the.bus)
        bus_stop(&the_bus);
    rmdir(folder);
}

/* The peer may not outlive this process, nor live forever. */
static void be_peer(pid_t parent, const char *address, int ready)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    alarm(LIFE_SECONDS);
    _exit(!peer_serve(the.role, address, ready));
}

static void start_peer(const char *address)
{
    int ready[2];
    char byte;
    pid_t parent = getpid();
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    fflush(NULL);
    the.pid = fork();
    if (the.pid == 0)
        be_peer(parent, address, ready[1]);
    close(ready[1]);
    bool good = the.pid > 0 && (the.role == PEER_DIALS || read(ready[0], &byte, 1) == 1);
    close(ready[0]);
    assert_true(good);
}

static void connect_to_peer(const char *address, unsigned flags)
{
    start_peer(address);
    expect_code(dw_connect(&the.c, address, flags, DW_TIMEOUT_DEFAULT), 0);
}

static void accept_peer(const char *address, unsigned flags)
{
    dw_listener *l;
    expect_code(dw_listen(&l, address, &(dw_options){.flags = flags}), 0);
    start_peer(dw_listener_address(l));
    expect_code(dw_accept(l, &the.c, DW_TIMEOUT_DEFAULT), 1);
    dw_listener_close(l);
}

void meet(unsigned flags)
{
    char address[128];
    if (the.bus && the_bus.pid == 0)
        skip();
    snprintf(address, sizeof address, "unix:path=%s/peer", folder);
    switch (the.role) {
    case PEER_DIALS: accept_peer(address, flags); break;
    case PEER_LISTENS: connect_to_peer(address, flags); break;
    case PEER_JOINS:
        the.destination = PEER_NAME;
        connect_to_peer(the_bus.address, flags | DW_CONN_BUS);
        break;
    }
    expect_code(dw_flush(the.c, DW_TIMEOUT_DEFAULT), 0);
    if (the.role == PEER_LISTENS) /* not every peer cleans up behind itself */
        unlink(strchr(address, '/'));
}

void expect_peer_ended(void)
{
    pid_t pid = the.pid;
    the.pid = 0;
    assert_int_equal(process_wait(pid), 0);
}

void peer_kill(void)
{
    if (the.pid > 0) {
        kill(the.pid, SIGKILL);
        process_wait(the.pid);
    }
    the.pid = 0;
}

void part(void)
{
    dw_conn_close(the.c);
    the.c = NULL;
    if (the.role == PEER_JOINS) /* of which the peer notices nothing */
        peer_kill();
    else
        expect_peer_ended();
}

int meeting_tear_down(void **state)
{
    (void)state;
    dw_conn_close(the.c);
    the.c = NULL;
    peer_kill();
    return 0;
}
