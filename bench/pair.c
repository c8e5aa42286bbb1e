/* pair.c - how Stream and RoundTrip are measured: this process is the client,
 * and starts itself once more as the server. */

#include "pair.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "client.h"
#include "measure.h"
#include "process.h"

/* What the server tells, through a pipe: once when it is ready, and once when
 * the stream is over. */
typedef struct notice {
    bool good;
    char name[64];
    cpu used; /* since it was ready */
} notice;

/* -- The server ----------------------------------------------------------- */

struct server {
    int fd;
    uint64_t taken;
    cpu before;
};

static bool tell(server *s, const notice *n)
{
    return write(s->fd, n, sizeof *n) == sizeof *n;
}

bool server_ready(server *s, const char *name)
{
    notice n = {.good = true};
    snprintf(n.name, sizeof n.name, "%s", name);
    s->before = cpu_used();
    return tell(s, &n);
}

int server_accept(server *s, const char *address)
{
    int listener = socket_listen(address_path(address));
    int fd =
        listener >= 0 && server_ready(s, "") ? accept4(listener, NULL, NULL, SOCK_CLOEXEC) : -1;
    if (listener >= 0)
        close(listener);
    return fd;
}

bool server_take(server *s, const void *chunk, size_t len)
{
    notice n = {.good = stream_chunk_good(s->taken, chunk, len)};
    s->taken++;
    if (n.good && s->taken < ALL_CHUNKS)
        return true;
    cpu now = cpu_used();
    n.used = (cpu){now.user - s->before.user, now.sys - s->before.sys};
    tell(s, &n);
    return false;
}

int serve_main(const char *library_name, const char *workload_name, const char *address, int fd)
{
    const library *lib = library_find(library_name);
    server s = {.fd = fd};
    if (!lib || !lib->link.serve || !workloads_init())
        return 1;
    for (size_t i = 0; i < n_workloads; i++)
        if (strcmp(workloads[i].name, workload_name) == 0)
            return !lib->link.serve(&s, workloads[i].kind, address);
    return 1;
}

/* -- The client ----------------------------------------------------------- */

/* The two ends, as the client sees them. */
typedef struct ends {
    const char *dir, *bus_address;
    char address[128];
    pid_t pid;
    int fd;
    notice first; /* the server's name is used for as long as the state */
    void *state;
} ends;

static bool hear(const ends *e, notice *n)
{
    return read(e->fd, n, sizeof *n) == sizeof *n && n->good;
}

static void part(const library *lib, ends *e)
{
    if (e->state)
        lib->link.hang_up(e->state);
    if (e->fd >= 0)
        close(e->fd);
    if (e->pid > 0)
        process_end(e->pid);
    if (e->address[0])
        unlink(address_path(e->address));
    *e = (ends){.dir = e->dir, .bus_address = e->bus_address, .fd = -1};
}

/* Starts the server and connects to it. */
static bool meet(const task *t, ends *e)
{
    int pipe_ends[2];
    char number[16];
    bool bus = t->w->kind == CALL_BUS;
    if (!bus)
        snprintf(e->address, sizeof e->address, "unix:path=%s/%s", e->dir, t->lib->name);
    const char *address = bus ? e->bus_address : e->address;
    char *argv[] = {(char *)process_self(),
                    "--serve",
                    (char *)t->lib->name,
                    (char *)t->w->name,
                    (char *)address,
                    number,
                    NULL};
    if (pipe2(pipe_ends, O_CLOEXEC) != 0)
        return false;
    snprintf(number, sizeof number, "%d", pipe_ends[1]);
    e->fd = pipe_ends[0];
    e->pid = process_start(argv, pipe_ends[1], -1, false);
    close(pipe_ends[1]);
    if (e->pid > 0 && hear(e, &e->first))
        e->state = t->lib->link.dial(t->w->kind, address, e->first.name);
    if (e->state)
        return true;
    part(t->lib, e);
    return false;
}

static ends *ends_new(const bench *b)
{
    ends *e = calloc(1, sizeof *e);
    if (e)
        *e = (ends){.dir = b->dir, .bus_address = b->bus_address, .fd = -1};
    return e;
}

static void pair_close(task *t)
{
    part(t->lib, t->extra);
    free(t->extra);
}

static cpu cpu_since(cpu before)
{
    cpu now = cpu_used();
    return (cpu){now.user - before.user, now.sys - before.sys};
}

/* -- Stream --------------------------------------------------------------- */

static bool stream_open(bench *b, task *t)
{
    t->extra = ends_new(b);
    t->bytes = STREAM_LEN;
    return t->extra != NULL;
}

/* One whole stream: from its first chunk to the word that the last has come.
 * The server verifies all of them. */
static double stream_run(task *t, uint64_t iterations, size_t sample)
{
    ends *e = t->extra;
    notice n = {0};
    if (iterations != 1 || !meet(t, e))
        return -1;
    cpu before = cpu_used();
    double start = now_ns();
    bool good = t->lib->link.stream(e->state) && hear(e, &n);
    double took = now_ns() - start;
    t->sides[sample] = (sides){cpu_since(before), n.used};
    part(t->lib, e);
    return good ? took : -1;
}

const kind stream_kind = {stream_open, stream_run, pair_close, true};

/* -- RoundTrip ------------------------------------------------------------ */

static bool call_open(bench *b, task *t)
{
    t->extra = ends_new(b);
    t->bytes = 2 * strlen(ECHO_TEXT);
    if (!t->extra)
        return false;
    if (!meet(t, t->extra))
        complain(b, t, "the two processes do not meet");
    else if (!t->lib->link.call(((ends *)t->extra)->state))
        complain(b, t, "the call is not answered with the same text");
    else
        return true;
    pair_close(t);
    return false;
}

/* The server's own clock, read from here: it has no say in when a sample ends. */
static double server_cpu(const ends *e)
{
    clockid_t id;
    struct timespec now = {0};
    if (clock_getcpuclockid(e->pid, &id) == 0)
        clock_gettime(id, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double call_run(task *t, uint64_t iterations, size_t sample)
{
    const ends *e = t->extra;
    double server_before = server_cpu(e);
    cpu before = cpu_used();
    double start = now_ns();
    for (uint64_t i = 0; i < iterations; i++)
        if (!t->lib->link.call(e->state))
            return -1;
    double took = now_ns() - start;
    cpu here = cpu_since(before);
    t->sides[sample] =
        (sides){{.user = here.user + here.sys}, {.user = server_cpu(e) - server_before}};
    return took;
}

const kind call_kind = {call_open, call_run, pair_close, false};
