/* conn.c - life and death of a connection, and what can be asked about one. See
 * dwire/connection.h. */

#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "conn.h"

#define DEFAULT_LIMIT ((size_t)DW_MAX_MESSAGE)

/* How long an event loop waits in silence before buffers are given back. */
#define REST_MS 1000

int dw_conn_new(dw_conn **out, int fd, const dw_options *options)
{
    const dw_allocator *allocator = options->allocator ? options->allocator : dw_heap;
    dw_conn *c = allocator->resize(allocator->context, NULL, 0, sizeof *c);
    *out = c;
    if (c == NULL)
        return DW_E_NO_MEMORY;
    memset(c, 0, offsetof(dw_conn, small_in));
    c->allocator = allocator;
    c->fd = fd;
    c->flags = options->flags;
    c->serial = options->serial;
    c->blocking = true;
    dw_bytes_init(&c->in, c->small_in, sizeof c->small_in);
    dw_bytes_init(&c->out, c->small_out, sizeof c->small_out);
    c->in_limit = c->out_limit = DEFAULT_LIMIT;
    dw_conn_limits(c, options->out_limit, options->in_limit);
    if ((c->flags & DW_CONN_NO_AUTH) != 0) {
        c->fds_agreed = (c->flags & DW_CONN_NO_FDS) == 0;
        return 0;
    }
    c->auth = allocator->resize(allocator->context, NULL, 0, sizeof *c->auth);
    if (c->auth == NULL) {
        dw_conn_free(c);
        *out = NULL;
        return DW_E_NO_MEMORY;
    }
    return 0;
}

static void close_all(dw_bytes *fds)
{
    dw_fds_close((const int *)(const void *)(fds->p + fds->at), dw_bytes_len(fds) / sizeof(int));
    fds->at = fds->end = 0;
}

static void drop_output(dw_conn *c)
{
    if (c->out_fds.p != NULL)
        close_all(&c->out_fds);
    dw_bytes_free(&c->out, c->allocator);
    dw_bytes_free(&c->out_fds, c->allocator);
    dw_bytes_free(&c->out_marks, c->allocator);
    c->out_apart = 0;
}

/* Without closing the socket: it may be the caller's still. */
void dw_conn_free(dw_conn *c)
{
    const dw_allocator *allocator = c->allocator;
    dw_conn_drop_lent(c);
    if (c->in_fds.p != NULL)
        close_all(&c->in_fds);
    if (c->kept_fds.p != NULL)
        close_all(&c->kept_fds);
    drop_output(c);
    dw_calls_free(c);
    dw_conn_forget(c);
    dw_bytes_free(&c->in, allocator);
    dw_bytes_free(&c->in_fds, allocator);
    dw_bytes_free(&c->kept, allocator);
    dw_bytes_free(&c->kept_fds, allocator);
    if (c->auth != NULL)
        allocator->resize(allocator->context, c->auth, sizeof *c->auth, 0);
    if (c->name != NULL)
        allocator->resize(allocator->context, c->name, strlen(c->name) + 1, 0);
    allocator->resize(allocator->context, c, sizeof *c, 0);
}

void dw_conn_close(dw_conn *c)
{
    if (c == NULL)
        return;
    if (c->busy) { /* from within a callback: done when that has returned */
        c->doomed = true;
        return;
    }
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
    if (c->in_error == 0)
        c->in_error = DW_E_CLOSED;
    c->out_error = c->in_error;
    dw_calls_end(c, c->in_error);
    dw_conn_free(c);
}

/* -- Errors ------------------------------------------------------------------- */

void dw_conn_fail_out(dw_conn *c, int code)
{
    if (c->out_error == 0) {
        c->out_error = code;
        if (code == DW_E_SYSTEM && c->in_error != DW_E_SYSTEM)
            c->error_errno = errno;
        drop_output(c);
    }
}

int dw_conn_fail(dw_conn *c, int code)
{
    /* What is wrong with the bytes came before their end. */
    if (c->in_error == 0 || c->in_error == DW_E_CLOSED) {
        c->in_error = code;
        if (code == DW_E_SYSTEM)
            c->error_errno = errno;
    }
    dw_conn_fail_out(c, code);
    return c->in_error;
}

int dw_conn_said(const dw_conn *c, int code)
{
    if (code == DW_E_SYSTEM)
        errno = c->error_errno;
    return code;
}

int dw_conn_error(const dw_conn *c)
{
    return dw_conn_said(c, c->in_error != 0 ? c->in_error : c->out_error);
}

/* -- For the caller's loop ------------------------------------------------------ */

int dw_conn_fd(const dw_conn *c)
{
    return c->fd;
}

short dw_conn_events(const dw_conn *c)
{
    int events = c->in_error == 0 && !dw_conn_deaf(c) ? POLLIN : 0;
    if (dw_conn_has_output(c))
        events |= POLLOUT;
    return (short)events;
}

int dw_conn_timeout(const dw_conn *c)
{
    if (c->more || dw_bytes_len(&c->kept) > 0 || dw_conn_in_ready(c))
        return 0;
    int64_t deadline = dw_calls_deadline(c);
    if (c->auth != NULL && c->auth_deadline != 0 && c->auth_deadline < deadline)
        deadline = c->auth_deadline;
    int64_t ms = -1;
    if (deadline != INT64_MAX) {
        int64_t left = deadline - dw_now();
        ms = left <= 0 ? 0 : (left + 999999) / 1000000;
        ms = ms < INT_MAX ? ms : INT_MAX;
    }
    bool idle = dw_bytes_idle(&c->in) || dw_bytes_idle(&c->out) || dw_bytes_idle(&c->kept) ||
                dw_calls_idle(c) || c->seen != NULL;
    if (idle && (ms < 0 || ms > REST_MS))
        ms = REST_MS;
    return (int)ms;
}

/* -- What is known ---------------------------------------------------------------- */

bool dw_conn_ready(const dw_conn *c)
{
    return c->auth == NULL && c->hello_serial == 0;
}

const char *dw_conn_name(const dw_conn *c)
{
    return c->name != NULL ? c->name : "";
}

const char *dw_conn_guid(const dw_conn *c)
{
    return c->guid;
}

bool dw_conn_can_pass_fds(const dw_conn *c)
{
    return c->fds_agreed;
}

bool dw_conn_anonymous(const dw_conn *c)
{
    return c->anonymous;
}

void dw_conn_peer(const dw_conn *c, dw_peer *peer)
{
    dw_socket_peer(c->fd, peer);
}

int dw_conn_label(const dw_conn *c, char *label, size_t size)
{
    return dw_socket_label(c->fd, label, size);
}

void dw_conn_limits(dw_conn *c, size_t out_limit, size_t in_limit)
{
    if (out_limit > 0)
        c->out_limit = out_limit;
    if (in_limit > 0)
        c->in_limit = in_limit;
}
