/* conn_out.c - the out-queue: messages on their way to the socket. See conn.h. */

#define _POSIX_C_SOURCE 200809L

#include <errno.h>

#include "conn.h"

/* The first block of the queue, once the small one does not do. */
#define FIRST_BLOCK 4096

/* A message that is not in the queue but in a writer still: the parts that are
 * left of it, and which of them lie apart from the writer's buffer. */
typedef struct extra {
    dw_part part[DW_MAX_PARTS];
    bool apart[DW_MAX_PARTS];
    size_t at, n;
    size_t len;       /* of all the parts */
    size_t len_apart; /* of those that lie apart */
    const int *fds;
    size_t n_fds;
} extra;

static size_t take_message(extra *x, const dw_writer *w)
{
    uint32_t refs = 0;
    x->at = 0;
    x->n = dw_writer_parts(w, x->part);
    x->len = dw_writer_size(w);
    x->len_apart = 0;
    x->fds = w->fds;
    x->n_fds = w->n_fds;
    for (size_t i = 0; i < x->n; i++) {
        x->apart[i] = refs < w->n_refs && x->part[i].p == w->refs[refs].p;
        refs += x->apart[i];
        x->len_apart += x->apart[i] ? x->part[i].len : 0;
    }
    return x->n;
}

static dw_mark *marks(const dw_conn *c, size_t *n)
{
    *n = dw_bytes_len(&c->out_marks) / sizeof(dw_mark);
    return *n == 0 ? NULL : (dw_mark *)(void *)(c->out_marks.p + c->out_marks.at);
}

/* Whether the message that would be written next has descriptors. */
static bool fds_due(const dw_conn *c)
{
    size_t n;
    const dw_mark *m = marks(c, &n);
    return n > 0 && m->p == NULL && m->at == c->sent;
}

/* One write. It may start with what the handshake has to say. A message with
 * descriptors must be the first of the messages in it, so that these go with
 * its first byte; and it has to wait until it is known that they may go at all. */
enum { MAX_PARTS = 128 };

typedef struct batch {
    struct iovec part[MAX_PARTS];
    uint8_t n;
    size_t len;
    size_t auth_len, queue_len; /* of the first parts */
    const int *fds;
    size_t n_fds;
    bool marked; /* they are those of the first mark */
} batch;

static void add_part(batch *b, const void *p, size_t len)
{
    b->part[b->n++] = (struct iovec){(void *)(uintptr_t)p, len};
    b->len += len;
}

static void add_queue(const dw_conn *c, batch *b)
{
    size_t n;
    const dw_mark *m = marks(c, &n);
    if (fds_due(c)) {
        if (!c->fds_agreed || b->auth_len > 0)
            return;
        b->marked = true;
        b->fds = (const int *)(const void *)(c->out_fds.p + c->out_fds.at);
        b->n_fds = m->n;
        m++;
        n--;
    }
    const uint8_t *p = c->out.p + c->out.at;
    uint64_t at = c->sent;
    const uint64_t end = at + dw_conn_queued(c);
    while (at < end && b->n < MAX_PARTS) {
        if (n > 0 && m->at == at) {
            if (m->p == NULL)
                break; /* its descriptors go with the next write */
            add_part(b, m->p, m->n);
            at += m->n;
            m++;
            n--;
        } else {
            size_t len = (size_t)((n > 0 ? m->at : end) - at);
            add_part(b, p, len);
            at += len;
            p += len;
        }
    }
    b->queue_len = (size_t)(at - c->sent);
}

static void add_extra(const dw_conn *c, batch *b, const extra *x)
{
    if (b->queue_len < dw_conn_queued(c) || b->n + (x->n - x->at) > MAX_PARTS)
        return;
    if (x->n_fds > 0) {
        if (!c->fds_agreed || b->n > 0)
            return;
        b->fds = x->fds;
        b->n_fds = x->n_fds;
    }
    for (size_t i = x->at; i < x->n; i++)
        add_part(b, x->part[i].p, x->part[i].len);
}

static void compose(const dw_conn *c, batch *b, const extra *x)
{
    b->n = 0;
    b->len = b->auth_len = b->queue_len = b->n_fds = 0;
    b->fds = NULL;
    b->marked = false;
    if (c->out_error != 0)
        return;
    bool begun = true;
    if (c->auth != NULL) {
        const char *p = dw_auth_output(c->auth, &b->auth_len);
        if (b->auth_len > 0)
            add_part(b, p, b->auth_len);
        begun = dw_auth_begun(c->auth);
    }
    if (begun) {
        add_queue(c, b);
        if (x != NULL && x->len > 0)
            add_extra(c, b, x);
    }
}

/* Takes n bytes that have been written off the queue. */
static void take_queue(dw_conn *c, size_t n)
{
    while (n > 0) {
        size_t left, len = n;
        dw_mark *m = marks(c, &left);
        if (left > 0 && m->at == c->sent) {
            len = len < m->n ? len : m->n;
            m->at += len;
            m->p += len;
            m->n -= len;
            c->out_apart -= len;
            if (m->n == 0)
                dw_bytes_take(&c->out_marks, sizeof *m);
        } else {
            if (left > 0 && len > m->at - c->sent)
                len = (size_t)(m->at - c->sent);
            dw_bytes_take(&c->out, len);
        }
        c->sent += len;
        n -= len;
    }
}

static void take_extra(dw_conn *c, extra *x, size_t n)
{
    c->sent += n;
    x->len -= n;
    x->n_fds = 0;
    while (n > 0) {
        dw_part *part = &x->part[x->at];
        size_t len = n < part->len ? n : part->len;
        part->p = (const uint8_t *)part->p + len;
        part->len -= len;
        x->at += part->len == 0;
        n -= len;
    }
}

/* n bytes of a batch are gone: off with them wherever they were. */
static void account(dw_conn *c, const batch *b, extra *x, size_t n)
{
    size_t part = n < b->auth_len ? n : b->auth_len;
    if (part > 0)
        dw_auth_sent(c->auth, part);
    n -= part;
    if (n == 0)
        return;
    if (b->marked) {
        dw_fds_close(b->fds, b->n_fds);
        dw_bytes_take(&c->out_fds, b->n_fds * sizeof(int));
        dw_bytes_take(&c->out_marks, sizeof(dw_mark));
    }
    part = n < b->queue_len ? n : b->queue_len;
    take_queue(c, part);
    if (n > part)
        take_extra(c, x, n - part);
}

/* A write has failed. If its descriptors may be why, and are those of a message
 * that is not promised yet, only that is not sent. Otherwise the peer may have
 * hung up and left something to read; or there is no way on. */
static int write_error(dw_conn *c, const batch *b)
{
    if (errno == EAGAIN || errno == EWOULDBLOCK)
        return 0;
    if (errno == EPIPE || errno == ECONNRESET || errno == ENOTCONN)
        dw_conn_fail_out(c, DW_E_CLOSED);
    else if (b->n_fds > 0 && !b->marked)
        return DW_E_SYSTEM;
    else
        dw_conn_fail(c, DW_E_SYSTEM);
    return 0;
}

/* Writes the queue and then x, as far as the socket takes them. Returns an error
 * if it is x's alone. */
static int push(dw_conn *c, extra *x)
{
    for (;;) {
        batch b;
        compose(c, &b, x);
        if (b.n == 0)
            return 0;
        ssize_t sent = dw_socket_send(c->fd, b.part, b.n, b.fds, b.n_fds);
        if (sent < 0)
            return write_error(c, &b);
        account(c, &b, x, (size_t)sent);
        if ((size_t)sent < b.len)
            return 0;
    }
}

void dw_conn_push(dw_conn *c)
{
    push(c, NULL);
}

bool dw_conn_has_output(const dw_conn *c)
{
    size_t len;
    if (c->out_error != 0)
        return false;
    if (c->auth != NULL && dw_auth_output(c->auth, &len) != NULL && len > 0)
        return true;
    if (dw_conn_queued(c) == 0 || (c->auth != NULL && !dw_auth_begun(c->auth)))
        return false;
    return c->fds_agreed || !fds_due(c);
}

size_t dw_conn_queued(const dw_conn *c)
{
    return dw_bytes_len(&c->out) + c->out_apart;
}

/* -- Messages ------------------------------------------------------------------- */

static void put_mark(dw_conn *c, const uint8_t *p, size_t n)
{
    dw_mark mark = {c->sent + dw_conn_queued(c), p, n};
    dw_bytes_put(&c->out_marks, &mark, sizeof mark);
}

/* Puts what is left of a message into the queue; its descriptors are duplicated
 * there. Room for the bytes and marks has been reserved. */
static int put(dw_conn *c, const extra *x)
{
    if (x->n_fds > 0) {
        if (!dw_bytes_reserve(&c->out_fds, x->n_fds * sizeof(int), 16 * sizeof(int), c->allocator))
            return DW_E_NO_MEMORY;
        int fds[DW_MAX_FDS];
        for (size_t i = 0; i < x->n_fds; i++) {
            fds[i] = dw_fd_copy(x->fds[i]);
            if (fds[i] < 0) {
                dw_fds_close(fds, i);
                return DW_E_SYSTEM;
            }
        }
        dw_bytes_put(&c->out_fds, fds, x->n_fds * sizeof(int));
        put_mark(c, NULL, x->n_fds);
    }
    for (size_t i = x->at; i < x->n; i++) {
        const dw_part *part = &x->part[i];
        if (x->apart[i]) {
            put_mark(c, part->p, part->len);
            c->out_apart += part->len;
        } else {
            dw_bytes_put(&c->out, part->p, part->len);
        }
    }
    return 0;
}

/* Room counts as used whether or not the socket then leaves anything to put
 * there: it would be given back and taken anew with every message otherwise. */
static bool make_room(dw_bytes *b, size_t n, size_t least, const dw_allocator *allocator)
{
    if (!dw_bytes_reserve(b, n, least, allocator))
        return false;
    if (b->end + n > b->peak)
        b->peak = b->end + n;
    return true;
}

/* Room in the queue for all of a message. */
static bool reserve(dw_conn *c, const extra *x)
{
    size_t n = (x->n_fds > 0) + x->n / 2; /* every other part may lie apart */
    return make_room(&c->out, x->len - x->len_apart, FIRST_BLOCK, c->allocator) &&
           make_room(&c->out_marks, n * sizeof(dw_mark), 4 * sizeof(dw_mark), c->allocator);
}

/* Whether a message can be sent at all. */
static int check(const dw_conn *c, const dw_writer *w, size_t n_parts)
{
    if (c->out_error != 0)
        return dw_conn_said(c, c->out_error);
    if (n_parts == 0) {
        int code = dw_writer_fault(w).code;
        return code != 0 ? code : DW_E_STATE;
    }
    if (w->body_at == 0) /* a bare body */
        return DW_E_STATE;
    if (w->n_fds > DW_MAX_FDS)
        return DW_E_LIMIT;
    if (w->n_fds > 0 && w->fds == NULL) /* they are to go some other way */
        return DW_E_FDS;
    if (w->n_fds > 0 && ((c->flags & DW_CONN_NO_FDS) != 0 || (c->auth == NULL && !c->fds_agreed)))
        return DW_E_UNSUPPORTED;
    return 0;
}

/* Whether there is room in the queue for len bytes more. */
static bool fits(const dw_conn *c, size_t len)
{
    size_t queued = dw_conn_queued(c);
    return queued == 0 || (queued < c->out_limit && len <= c->out_limit - queued);
}

/* Not one that a call in flight has, which may be so once they have wrapped. */
static uint32_t next_serial(const dw_conn *c)
{
    uint32_t serial = c->serial;
    do
        serial = serial + 1 != 0 ? serial + 1 : 1;
    while (c->calls != NULL && dw_calls_hold(c, serial));
    return serial;
}

static int send_message(dw_conn *c, dw_writer *w, uint32_t *serial, bool write)
{
    extra x;
    int r = check(c, w, take_message(&x, w));
    if (r != 0)
        return r;
    if (!fits(c, x.len)) {
        if (write)
            push(c, NULL);
        if (c->out_error != 0)
            return dw_conn_said(c, c->out_error);
        if (!fits(c, x.len))
            return DW_E_QUEUE;
    }
    if (!reserve(c, &x))
        return DW_E_NO_MEMORY;
    const uint32_t next = next_serial(c);
    dw_store32_order(w->buffer + 8, next, w->swap);
    if (write)
        r = push(c, &x);
    if (c->out_error != 0)
        return dw_conn_said(c, c->out_error);
    if (r == 0)
        r = put(c, &x);
    if (r != 0)
        return r;
    c->serial = next;
    c->stirred = true;
    if (serial != NULL)
        *serial = next;
    return 0;
}

int dw_send(dw_conn *c, dw_writer *w, uint32_t *serial)
{
    return send_message(c, w, serial, true);
}

int dw_queue(dw_conn *c, dw_writer *w, uint32_t *serial)
{
    return send_message(c, w, serial, false);
}
