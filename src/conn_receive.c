/* conn_receive.c - waiting for what comes in, and what becomes of it. See conn.h. */

#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <poll.h>

#include "conn.h"

/* Waits shorter than this are not worth a timeout of the socket's own. */
#define SHORT_WAIT 100000000

/* Of longer ones, no more than this is told to the socket: 25 seconds. */
#define LONG_WAIT 25000000000

/* So many messages that are not for the program are dealt with in a call that does
 * not wait: a peer that sends on and on has no more than its turn. */
#define MAX_DEALT_WITH 1000u

/* -- Waiting -------------------------------------------------------------------- */

/* Nothing is lent then: what had been handed out is done with. */
static void rest(dw_conn *c)
{
    const bool silent = !c->stirred;
    dw_bytes *const all[] = {&c->in,  &c->in_fds,    &c->kept,   &c->kept_fds,
                             &c->out, &c->out_marks, &c->out_fds};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        dw_bytes_rest(all[i], silent, c->allocator);
    if (silent)
        dw_conn_forget(c);
    if (silent && dw_calls_idle(c))
        dw_calls_free(c);
    c->stirred = false;
}

/* Whether one read that blocks can do what otherwise takes a poll and a read. It
 * gives up after the time that the socket has been told once: half of the first
 * wait, so that what is left of a wait is seldom shorter. If that would be up again
 * and again, it is told another. */
static bool may_block(dw_conn *c, int64_t left)
{
    if (c->polls > 0 && --c->polls == 0)
        c->blocking = dw_socket_block(c->fd);
    if (!c->blocking)
        return false;
    if (left == INT64_MAX && c->read_timeout == 0)
        return true;
    int64_t half = (left < LONG_WAIT ? left : LONG_WAIT) / 2;
    if (left >= SHORT_WAIT && c->read_timeout <= half / 64 && dw_socket_timeout(c->fd, false, half))
        c->read_timeout = half;
    return c->read_timeout > 0 && c->read_timeout <= left;
}

static int read_blocking(dw_conn *c)
{
    int64_t start = c->read_timeout == 0 ? 0 : dw_now();
    int r = dw_conn_read(c, true);
    if (r == 0 && errno != EINTR &&
        (c->read_timeout == 0 || dw_now() - start < c->read_timeout / 2))
        c->blocking = false; /* it did not wait: somebody has made it so */
    return r;
}

/* Waits until something has come in or, if sending, all output is gone: 1; until
 * time is up: 0; or an error. */
static int await(dw_conn *c, bool sending, int64_t deadline)
{
    for (;;) {
        dw_conn_push(c);
        bool output = dw_conn_has_output(c);
        if (sending && !output)
            return c->out_error != 0 ? c->out_error : 1;
        if (!sending && c->in_error != 0)
            return c->in_error;
        int64_t left = deadline == INT64_MAX ? INT64_MAX : deadline - dw_now();
        if (left <= 0)
            return 0;
        int r;
        if (!output && may_block(c, left)) {
            r = read_blocking(c);
        } else {
            short events = dw_conn_events(c);
            if (sending && dw_bytes_len(&c->in) >= c->in_limit)
                events = POLLOUT;
            r = dw_socket_poll(c->fd, events, left);
            if (r < 0)
                return dw_conn_fail(c, DW_E_SYSTEM);
            if (r > 0 && ((events & POLLIN) != 0 || dw_conn_deaf(c)))
                r = dw_conn_read(c, false);
            else
                r = 0;
        }
        if (sending ? r < 0 && c->in_error == 0 : r != 0)
            return r;
    }
}

/* The same, but looks after the times of others on the way: 0 only when the
 * deadline, and not one of theirs, has passed. */
static int await_message(dw_conn *c, int64_t deadline)
{
    if (c->auth != NULL && c->auth_deadline != 0 && dw_now() >= c->auth_deadline)
        return dw_conn_fail(c, DW_E_TIMEOUT);
    int64_t until = deadline;
    if (c->auth != NULL && c->auth_deadline != 0 && c->auth_deadline < until)
        until = c->auth_deadline;
    if (dw_calls_deadline(c) < until)
        until = dw_calls_deadline(c);
    int r = await(c, false, until);
    return r == 0 && until < deadline ? 1 : r;
}

/* What there is to be had without waiting: 1 something, 0 nothing, or an error. */
static int look(dw_conn *c)
{
    dw_conn_push(c);
    if ((c->flags & DW_CONN_LEVEL) != 0 && c->drained) {
        c->drained = false;
        rest(c);
        return 0;
    }
    if (c->auth != NULL && c->auth_deadline != 0 && dw_now() >= c->auth_deadline)
        return dw_conn_fail(c, DW_E_TIMEOUT);
    int r = dw_conn_read(c, false);
    if (r == 0)
        rest(c);
    return r;
}

/* A deadline is looked up when it is first needed. */
static int wait_until(dw_conn *c, int timeout_ms, int64_t *deadline)
{
    int r;
    if (timeout_ms == 0) {
        r = look(c);
    } else {
        if (*deadline == 0)
            *deadline = dw_deadline(timeout_ms);
        rest(c);
        r = await_message(c, *deadline);
    }
    /* The end of a connection is told after the messages that came before. */
    return r < 0 && c->in_error != 0 ? 1 : r;
}

/* -- What becomes of a message ------------------------------------------------------ */

static bool answers(const dw_message *m, uint32_t serial)
{
    return (m->type == DW_METHOD_RETURN || m->type == DW_ERROR) && m->reply_serial == serial;
}

/* The bus's answer to Hello: our name, and with it the handshake is through. */
static int take_hello(dw_conn *c, const dw_message *m)
{
    dw_reader r;
    if (m->type == DW_ERROR)
        return dw_conn_fail(c, DW_E_REPLY);
    dw_reader_init(&r, m);
    dw_string name = dw_get_string(&r);
    int code = dw_reader_finish(&r);
    if (code != 0)
        return dw_conn_fail(c, code);
    c->name = c->allocator->resize(c->allocator->context, NULL, 0, name.n + 1);
    if (c->name == NULL)
        return DW_E_NO_MEMORY;
    memcpy(c->name, name.p, name.n + 1);
    c->hello_serial = 0;
    return 0;
}

/* Whether a message is for the program: 1; or has been dealt with: 0; or that
 * could not be done. */
static int route(dw_conn *c, const dw_message *m)
{
    int code = 0;
    if (m->type > DW_SIGNAL)
        return 0;
    if (c->hello_serial != 0 && answers(m, c->hello_serial))
        code = take_hello(c, m);
    else if ((c->flags & DW_CONN_NO_PEER) != 0 || !dw_peer_answer(c, m, &code))
        return 1;
    if (code != DW_E_QUEUE && code != DW_E_NO_MEMORY)
        return 0;
    dw_conn_put_back(c, m);
    return code;
}

static int receive(dw_conn *c, dw_message *m, int timeout_ms)
{
    int64_t deadline = 0;
    unsigned dealt_with = 0;
    c->more = false;
    for (;;) {
        int r = dw_conn_cut_kept(c, m);
        if (r == 0 && (r = dw_conn_cut(c, m)) > 0)
            r = route(c, m);
        else if (r == 0) {
            dw_calls_expire(c);
            if (c->doomed)
                return DW_E_CLOSED;
            r = wait_until(c, timeout_ms, &deadline);
            if (r <= 0)
                return r;
            continue;
        }
        if (r < 0 && c->in_error != 0)
            dw_calls_end(c, c->in_error);
        if (r < 0 || (r > 0 && !dw_calls_answer(c, m)))
            return r;
        if (c->doomed)
            return DW_E_CLOSED;
        if (r == 0 && timeout_ms == 0 && ++dealt_with == MAX_DEALT_WITH) {
            c->more = true;
            return 0;
        }
    }
}

int dw_receive(dw_conn *c, dw_message *m, int timeout_ms)
{
    if (c->busy)
        return DW_E_STATE;
    int r = receive(c, m, timeout_ms);
    if (c->doomed) {
        c->doomed = false;
        dw_conn_close(c);
        return DW_E_CLOSED;
    }
    return dw_conn_said(c, r);
}

/* -- Calls and flushes ---------------------------------------------------------------- */

/* What is for the program, but not now. */
static int keep_or_route(dw_conn *c, const dw_message *m)
{
    int r = route(c, m);
    return r > 0 ? dw_conn_keep(c, m) : r;
}

/* Waits for the answer to a call, and keeps what else comes. */
static int await_answer(dw_conn *c, uint32_t serial, dw_message *reply, int timeout_ms)
{
    int64_t deadline = 0;
    for (;;) {
        int r = dw_conn_cut(c, reply);
        if (r > 0 && answers(reply, serial))
            return reply->type == DW_ERROR ? DW_E_REPLY : 0;
        if (r > 0)
            r = keep_or_route(c, reply);
        else if (r == 0 && (r = wait_until(c, timeout_ms, &deadline)) == 0)
            return DW_E_TIMEOUT;
        if (r < 0)
            return r;
    }
}

/* Whether the writer holds a call that is to be answered. */
static int check_call(const dw_writer *w)
{
    if (dw_writer_size(w) > 0 && dw_writer_fault(w).code == 0 && w->body_at > 0 &&
        (w->buffer[1] != DW_METHOD_CALL || (w->buffer[2] & DW_NO_REPLY_EXPECTED) != 0))
        return DW_E_ARGUMENT;
    return 0; /* whatever else is wrong with it, dw_send tells */
}

int dw_call(dw_conn *c, dw_writer *w, dw_message *reply, int timeout_ms)
{
    uint32_t serial;
    if (c->busy)
        return DW_E_STATE;
    int r = check_call(w);
    if (r != 0)
        return r;
    dw_conn_drop_lent(c);
    if (!dw_calls_reserve(c))
        return DW_E_NO_MEMORY;
    r = dw_send(c, w, &serial);
    if (r != 0)
        return r;
    dw_calls_add(c, serial, INT64_MAX, NULL, NULL);
    r = await_answer(c, serial, reply, timeout_ms);
    if (r == 0 || r == DW_E_REPLY) /* else it is dropped if it comes later */
        dw_calls_forget(c, serial);
    return dw_conn_said(c, r);
}

int dw_start_call(dw_conn *c, dw_writer *w, int timeout_ms, dw_reply_fn *done, void *context,
                  uint32_t *serial)
{
    uint32_t own;
    int r = done == NULL ? DW_E_ARGUMENT : check_call(w);
    if (r != 0)
        return r;
    if (c->in_error != 0)
        return dw_conn_said(c, c->in_error);
    if (!dw_calls_reserve(c))
        return DW_E_NO_MEMORY;
    r = dw_send(c, w, &own);
    if (r != 0)
        return r;
    dw_calls_add(c, own, timeout_ms == 0 ? dw_now() : dw_deadline(timeout_ms), done, context);
    if (serial != NULL)
        *serial = own;
    return 0;
}

/* Waits for the end of the handshake. */
static int await_ready(dw_conn *c, int timeout_ms, int64_t *deadline)
{
    while (!dw_conn_ready(c)) {
        dw_message m;
        int r = dw_conn_cut(c, &m);
        if (r > 0)
            r = keep_or_route(c, &m);
        else if (r == 0 && (r = wait_until(c, timeout_ms, deadline)) == 0)
            return DW_E_TIMEOUT;
        if (r < 0)
            return r;
    }
    return 0;
}

int dw_flush(dw_conn *c, int timeout_ms)
{
    int64_t deadline = 0;
    if (c->busy)
        return DW_E_STATE;
    dw_conn_drop_lent(c);
    dw_conn_push(c);
    int r = await_ready(c, timeout_ms, &deadline);
    if (r == 0 && c->out_error != 0)
        r = c->out_error;
    if (r != 0 || !dw_conn_has_output(c))
        return dw_conn_said(c, r);
    if (timeout_ms == 0)
        return DW_E_TIMEOUT;
    r = await(c, true, deadline != 0 ? deadline : dw_deadline(timeout_ms));
    return r == 0 ? DW_E_TIMEOUT : dw_conn_said(c, r < 0 ? r : 0);
}
