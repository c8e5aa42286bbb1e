/* conn_open.c - from an address or a descriptor to a connection. See
 * dwire/connection.h. */

#define _GNU_SOURCE 1

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "conn.h"

/* -- Addresses -------------------------------------------------------------------- */

/* What an entry of an address list says of a server to connect to. */
typedef struct target {
    char value[256]; /* longer than any socket's name */
    size_t len;
    bool abstract;
    char guid[DW_AUTH_GUID + 1];
} target;

/* Reads the current entry. Keys that are not known are no error. */
static int read_target(const dw_address *a, target *t)
{
    size_t len;
    *t = (target){.len = 0};
    if (!dw_string_is(a->transport, "unix"))
        return DW_E_UNSUPPORTED;
    int path = dw_address_find(a, "path", t->value, sizeof t->value, &t->len);
    int abstract = dw_address_find(a, "abstract", t->value, sizeof t->value, &t->len);
    int guid = dw_address_find(a, "guid", t->guid, sizeof t->guid, &len);
    if (path < 0 || abstract < 0 || (path > 0 && abstract > 0))
        return DW_E_ADDRESS;
    if (guid < 0 || (guid > 0 && !dw_guid_valid(t->guid)))
        return DW_E_ADDRESS;
    t->abstract = abstract > 0;
    return path > 0 || abstract > 0 ? 0 : DW_E_UNSUPPORTED;
}

static int remaining_ms(int64_t deadline)
{
    if (deadline == INT64_MAX)
        return DW_TIMEOUT_NONE;
    int64_t left = deadline == 0 ? 0 : deadline - dw_now();
    return left > 0 ? (int)((left + 999999) / 1000000) : 0;
}

static bool to_be_waited_for(void)
{
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

/* Connects a socket. That has to wait only where the server's queue is full, and
 * then by a socket that blocks: poll knows nothing of the queue. */
static int connect_socket(const target *t, int64_t deadline, int *out)
{
    dw_sockaddr address;
    int r = dw_sockaddr_set(&address, t->value, t->len, t->abstract);
    if (r != 0)
        return r;
    int fd = dw_socket_open(deadline == INT64_MAX), ms;
    if (fd < 0)
        return DW_E_SYSTEM;
    r = dw_socket_connect(fd, &address);
    for (bool again = r < 0 && to_be_waited_for(); again && (ms = remaining_ms(deadline)) > 0;) {
        if (ms != DW_TIMEOUT_NONE &&
            !(dw_socket_block(fd) && dw_socket_timeout(fd, true, (int64_t)ms * 1000000)))
            break;
        r = dw_socket_connect(fd, &address);
        again = r < 0 && errno == EINTR;
    }
    if (r < 0) {
        r = to_be_waited_for() ? DW_E_TIMEOUT : DW_E_SYSTEM;
        dw_fds_close(&fd, 1);
        return r;
    }
    *out = fd;
    return 0;
}

/* -- Starting ---------------------------------------------------------------------- */

static unsigned auth_flags(unsigned flags)
{
    return ((flags & DW_CONN_ANONYMOUS) != 0 ? DW_AUTH_ANONYMOUS : 0u) |
           ((flags & DW_CONN_LOCKSTEP) != 0 ? DW_AUTH_LOCKSTEP : 0u) |
           ((flags & DW_CONN_NO_FDS) != 0 ? DW_AUTH_NO_FDS : 0u);
}

/* Queues the Hello that a bus wants to hear first. */
static int say_hello(dw_conn *c)
{
    uint8_t room[192];
    dw_writer w;
    dw_writer_init(&w, room, sizeof room, NULL);
    dw_begin_call(&w, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus",
                  "Hello", NULL);
    int r = dw_finish(&w);
    return r == 0 ? dw_queue(c, &w, &c->hello_serial) : r;
}

static int new_client(dw_conn **out, int fd, const dw_options *options, const char *guid)
{
    int r = dw_conn_new(out, fd, options);
    if (r != 0)
        return r;
    dw_conn *c = *out;
    if (c->auth != NULL)
        dw_auth_client_init(c->auth, auth_flags(c->flags), guid);
    if ((c->flags & DW_CONN_BUS) != 0)
        r = say_hello(c);
    if (r != 0) {
        dw_conn_free(c);
        *out = NULL;
    }
    return r;
}

int dw_conn_new_server(dw_conn **out, int fd, const dw_options *options, const char *guid)
{
    int r = dw_conn_new(out, fd, options);
    if (r != 0 || (*out)->auth == NULL)
        return r;
    dw_conn *c = *out;
    dw_peer peer;
    memcpy(c->guid, guid, sizeof c->guid);
    dw_socket_peer(fd, &peer);
    dw_auth_server_init(c->auth, auth_flags(c->flags), guid, peer.uid, options->admit,
                        options->context);
    int ms = options->auth_timeout_ms > 0 ? options->auth_timeout_ms : 30000;
    c->auth_deadline = dw_deadline(ms);
    return 0;
}

int dw_connect_with(dw_conn **out, const char *address, const dw_options *options, int timeout_ms)
{
    static const dw_options defaults;
    dw_options o = options != NULL ? *options : defaults;
    o.flags &= ~(unsigned)(DW_CONN_SERVER | DW_CONN_NO_AUTH);
    int64_t deadline = dw_deadline(timeout_ms);
    int code = DW_E_UNSUPPORTED, r, fd = -1;
    dw_address a;
    target t;
    *out = NULL;
    r = dw_check_address(address, NULL);
    if (r != 0)
        return r;
    dw_address_init(&a, address);
    while (fd < 0 && dw_address_next(&a) > 0) {
        r = read_target(&a, &t);
        if (r == 0)
            r = connect_socket(&t, deadline, &fd);
        if (r != DW_E_UNSUPPORTED)
            code = r;
    }
    if (fd < 0)
        return code;
    r = new_client(out, fd, &o, t.guid[0] != 0 ? t.guid : NULL);
    if (r != 0) {
        dw_fds_close(&fd, 1);
        return r;
    }
    (*out)->blocking = timeout_ms == DW_TIMEOUT_NONE;
    (*out)->polls = (*out)->blocking || timeout_ms == 0 ? 0 : DW_FIRST_POLLS;
    return 0;
}

int dw_connect(dw_conn **out, const char *address, unsigned flags, int timeout_ms)
{
    return dw_connect_with(out, address, &(dw_options){.flags = flags}, timeout_ms);
}

int dw_connect_bus(dw_conn **out, dw_bus which, int timeout_ms)
{
    char address[4096];
    *out = NULL;
    int r = dw_bus_address(which, address, sizeof address);
    return r != 0 ? r : dw_connect(out, address, DW_CONN_BUS, timeout_ms);
}

size_t dw_connect_text(int code, const char *address, char *text, size_t size)
{
    int cause = errno, n;
    dw_address a;
    dw_address_init(&a, address);
    while (code == DW_E_UNSUPPORTED && dw_address_next(&a) > 0)
        if (!dw_string_is(a.transport, "unix")) {
            n = snprintf(text, size, "%s: the transport \"%.*s\" is not supported", address,
                         (int)(a.transport.n < 64 ? a.transport.n : 64), a.transport.p);
            return n > 0 ? (size_t)n : 0;
        }
    n = snprintf(text, size, "%s: %s", address,
                 code == DW_E_SYSTEM ? strerror(cause) : dw_error_text(code));
    return n > 0 ? (size_t)n : 0;
}

/* -- From a descriptor ---------------------------------------------------------------- */

int dw_conn_from_fd_with(dw_conn **out, int fd, const dw_options *options)
{
    static const dw_options defaults;
    const dw_options *o = options != NULL ? options : &defaults;
    char guid[DW_AUTH_GUID + 1] = "";
    *out = NULL;
    if (o->guid != NULL && !dw_guid_valid(o->guid))
        return DW_E_ARGUMENT;
    int flags = fcntl(fd, F_GETFD);
    if (flags < 0 || fcntl(fd, F_SETFD, flags | FD_CLOEXEC) < 0)
        return DW_E_SYSTEM;
    if ((o->flags & DW_CONN_SERVER) == 0)
        return new_client(out, fd, o, o->guid);
    int r = dw_guid(guid, o->guid);
    return r != 0 ? r : dw_conn_new_server(out, fd, o, guid);
}

int dw_conn_from_fd(dw_conn **out, int fd, unsigned flags)
{
    return dw_conn_from_fd_with(out, fd, &(dw_options){.flags = flags});
}
