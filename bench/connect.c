/* connect.c - how MarshalSend is measured: whole connections to a bus. */

#include "measure.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "client.h"
#include "syscalls.h"
#include "verify.h"

/* A connection that is told of the workload's signal. */
static bool listen_for_signal(client *c, const char *address)
{
    uint8_t message[SMALL_MESSAGE_MAX];
    const small_message add_match = {.type = 1,
                                     .serial = 2,
                                     .path = "/org/freedesktop/DBus",
                                     .interface = "org.freedesktop.DBus",
                                     .member = "AddMatch",
                                     .destination = "org.freedesktop.DBus",
                                     .text = "type='signal',interface='" BENCH_INTERFACE "'"};
    size_t len = make_small_message(message, &add_match);
    struct timeval limit = {.tv_sec = 5};
    if (!client_open(c, address_path(address)))
        return false;
    setsockopt(c->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    if (write_all(c->fd, message, len) && client_reply(c, 2, &len))
        return true;
    client_close(c);
    return false;
}

static bool arrives(client *c, const body *b, size_t *len, char *why, size_t why_size)
{
    const uint8_t *m;
    while ((m = client_next(c, len))) {
        const char *interface = field_text(m, 2);
        if (m[1] == 4 && interface && strcmp(interface, b->interface) == 0)
            return verify_signal(b, m, *len, why, why_size);
    }
    snprintf(why, why_size, "its signal did not arrive");
    return false;
}

static bool send_right(bench *b, task *t)
{
    client c;
    size_t len;
    char why[200] = "it could not connect and send";
    if (!listen_for_signal(&c, b->bus_address)) {
        complain(b, t, "nobody can listen on the bus");
        return false;
    }
    bool good = t->lib->send.run(t->state) && arrives(&c, t->w->body, &len, why, sizeof why);
    if (!good)
        complain(b, t, why);
    client_close(&c);
    t->bytes = t->w->body->message_len;
    return good;
}

static void send_close(task *t)
{
    t->lib->send.close(t->state);
}

static bool send_open(bench *b, task *t)
{
    t->state = t->lib->send.open(t->w->body, b->bus_address);
    if (!t->state) {
        complain(b, t, "cannot be set up");
        return false;
    }
    if (send_right(b, t)) {
        t->syscalls = count_syscalls(t->lib->name, b->bus_address, b->dir);
        return true;
    }
    send_close(t);
    return false;
}

static double send_run(task *t, uint64_t iterations, size_t sample)
{
    (void)sample;
    double start = now_ns();
    while (iterations--)
        if (!t->lib->send.run(t->state))
            return -1;
    return now_ns() - start;
}

const kind send_kind = {send_open, send_run, send_close, false};
