/* conn_out.c - the out-queue: messages on their way to the socket. See conn.h. */

#define _POSIX_C_SOURCE 200809L

#include <errno.h>

#include "conn.h"

/* The first block of the queue, once the small one does not do. */
#define FIRST_BLOCK 4096

/* A message that is not in the queue but in a writer still. */
typedef struct extra {
    const uint8_t *p;
    size_t len;
    const int *fds;
    size_t n_fds;
} extra;

static const dw_mark *first_mark(const dw_conn *c)
{
    if (dw_bytes_len(&c->out_marks) == 0)
        return NULL;
    return (const dw_mark *)(const void *)(c->out_marks.p + c->out_marks.at);
}

/* One write. It may start with what the handshake has to say. A message with
 * descriptors must be the first of the messages in it, so that these go with
 * its first byte; and it has to wait until it is known that they may go at all. */
typedef struct batch {
    struct iovec part[3];
    uint8_t n;
    size_t auth_len, queue_len; /* of the first parts */
    const int *fds;
    size_t n_fds;
    bool marked; /* they are those of the first mark */
} batch;

static void add_part(batch *b, const void *p, size_t len)
{
    b->part[b->n++] = (struct iovec){(void *)(uintptr_t)p, len};
}

static void add_queue(const dw_conn *c, batch *b)
{
    const dw_mark *mark = first_mark(c);
    size_t len = dw_bytes_len(&c->out);
    if (mark != NULL && mark->at == c->sent) {
        if (!c->fds_agreed || b->auth_len > 0)
            return;
        b->marked = true;
        b->fds = (const int *)(const void *)(c->out_fds.p + c->out_fds.at);
        b->n_fds = mark->n_fds;
        mark = dw_bytes_len(&c->out_marks) > sizeof *mark ? mark + 1 : NULL;
    }
    if (mark != NULL)
        len = (size_t)(mark->at - c->sent);
    if (len > 0)
        add_part(b, c->out.p + c->out.at, len);
    b->queue_len = len;
}

static void add_extra(const dw_conn *c, batch *b, const extra *x)
{
    if (b->queue_len < dw_bytes_len(&c->out))
        return;
    if (x->n_fds > 0) {
        if (!c->fds_agreed || b->n > 0)
            return;
        b->fds = x->fds;
        b->n_fds = x->n_fds;
    }
    add_part(b, x->p, x->len);
}

static void compose(const dw_conn *c, batch *b, const extra *x)
{
    *b = (batch){.n = 0};
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
    c->sent += n;
    part = n < b->queue_len ? n : b->queue_len;
    dw_bytes_take(&c->out, part);
    n -= part;
    if (n > 0) {
        x->p += n;
        x->len -= n;
        x->n_fds = 0;
    }
}

static void write_error(dw_conn *c)
{
    bool gone = errno == EPIPE || errno == ECONNRESET || errno == ENOTCONN;
    dw_conn_fail_out(c, gone ? DW_E_CLOSED : DW_E_SYSTEM);
}

/* Writes the queue and then x, as far as the socket takes them. */
static void push(dw_conn *c, extra *x)
{
    for (;;) {
        batch b;
        compose(c, &b, x);
        if (b.n == 0)
            return;
        size_t len = 0;
        for (uint8_t i = 0; i < b.n; i++)
            len += b.part[i].iov_len;
        ssize_t sent = dw_socket_send(c->fd, b.part, b.n, b.fds, b.n_fds);
        if (sent < 0) {
            if (errno != EAGAIN && errno != EWOULDBLOCK)
                write_error(c);
            return;
        }
        account(c, &b, x, (size_t)sent);
        if ((size_t)sent < len)
            return;
    }
}

void dw_conn_push(dw_conn *c)
{
    push(c, NULL);
}

bool dw_conn_has_output(const dw_conn *c)
{
    batch b;
    compose(c, &b, NULL);
    return b.n > 0;
}

/* -- Messages ------------------------------------------------------------------- */

/* Puts what is left of a message into the queue; its descriptors are duplicated
 * there. Room for the bytes has been reserved. */
static int put(dw_conn *c, const extra *x)
{
    if (x->len == 0)
        return 0;
    if (x->n_fds > 0) {
        dw_mark mark = {c->sent + dw_bytes_len(&c->out), x->n_fds};
        if (!dw_bytes_reserve(&c->out_marks, sizeof mark, 4 * sizeof mark, c->allocator) ||
            !dw_bytes_reserve(&c->out_fds, x->n_fds * sizeof(int), 16 * sizeof(int), c->allocator))
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
        dw_bytes_put(&c->out_marks, &mark, sizeof mark);
    }
    dw_bytes_put(&c->out, x->p, x->len);
    return 0;
}

/* Whether a message can be sent at all. */
static int check(const dw_conn *c, const dw_writer *w, const uint8_t *bytes)
{
    if (c->out_error != 0)
        return dw_conn_said(c, c->out_error);
    if (bytes == NULL) {
        int code = dw_writer_fault(w).code;
        return code != 0 ? code : DW_E_STATE;
    }
    if (w->body_at == 0) /* a bare body */
        return DW_E_STATE;
    if (w->n_fds > DW_MAX_FDS)
        return DW_E_LIMIT;
    if (w->n_fds > 0 && ((c->flags & DW_CONN_NO_FDS) != 0 || (c->auth == NULL && !c->fds_agreed)))
        return DW_E_UNSUPPORTED;
    return 0;
}

/* Whether there is room in the queue for len bytes more. */
static bool fits(const dw_conn *c, size_t len)
{
    size_t queued = dw_bytes_len(&c->out);
    return queued == 0 || (queued < c->out_limit && len <= c->out_limit - queued);
}

static int send_message(dw_conn *c, dw_writer *w, uint32_t *serial, bool write)
{
    size_t len;
    const uint8_t *bytes = dw_writer_bytes(w, &len);
    int r = check(c, w, bytes);
    if (r != 0)
        return r;
    if (!fits(c, len)) {
        if (write)
            push(c, NULL);
        if (c->out_error != 0)
            return dw_conn_said(c, c->out_error);
        if (!fits(c, len))
            return DW_E_QUEUE;
    }
    if (!dw_bytes_reserve(&c->out, len, FIRST_BLOCK, c->allocator))
        return DW_E_NO_MEMORY;
    uint32_t next = c->serial + 1 != 0 ? c->serial + 1 : 1;
    dw_store32_order(w->buffer + 8, next, w->swap);
    extra x = {bytes, len, w->fds, w->n_fds};
    if (write)
        push(c, &x);
    if (c->out_error != 0)
        return dw_conn_said(c, c->out_error);
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
