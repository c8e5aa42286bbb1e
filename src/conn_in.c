/* conn_in.c - the in-buffer: what comes from the socket, the handshake in front
 * of it, and the messages that it is cut into. See conn.h. */

#define _POSIX_C_SOURCE 200809L

#include <errno.h>

#include "conn.h"

/* The in-buffer's first block, once the small one does not do, and the largest
 * that it grows to for the sake of fewer reads. */
#define FIRST_BLOCK  65536u
#define HELLO_BLOCK  512u /* for what a bus answers to a handshake and Hello */
#define LARGEST_READ 262144u

/* As much room is made on a message's own word; beyond it, only as much again as
 * has really come. */
#define TRUSTED 1048576u

/* Descriptors that may lie unclaimed: those of a message that is not whole, and
 * of the one behind it. As many may be kept while a call waits. */
#define MAX_UNCLAIMED (2 * DW_MAX_FDS)

static size_t count_fds(const dw_bytes *fds)
{
    return dw_bytes_len(fds) / sizeof(int);
}

static int *first_fd(const dw_bytes *fds)
{
    return (int *)(void *)(fds->p + fds->at);
}

void dw_conn_drop_lent(dw_conn *c)
{
    if (c->n_lent > 0)
        dw_fds_close(c->lent, c->n_lent);
    c->n_lent = 0;
}

/* -- The handshake --------------------------------------------------------------- */

static void finish_auth(dw_conn *c)
{
    memcpy(c->guid, dw_auth_guid(c->auth), sizeof c->guid);
    c->fds_agreed = dw_auth_fds(c->auth);
    c->anonymous = dw_auth_anonymous(c->auth);
    c->allocator->resize(c->allocator->context, c->auth, sizeof *c->auth, 0);
    c->auth = NULL;
    if (!c->fds_agreed && dw_bytes_len(&c->out_fds) > 0)
        dw_conn_fail(c, DW_E_UNSUPPORTED);
    else if (!c->fds_agreed && dw_bytes_len(&c->in_fds) > 0)
        dw_conn_fail(c, DW_E_FDS);
}

/* Goes on with the handshake as far as what is there takes it. It is through when
 * its last word is on its way too, or nobody is there to hear it. */
static void advance_auth(dw_conn *c)
{
    size_t used, left;
    do {
        int r = dw_auth_take(c->auth, c->in.p + c->in.at, dw_bytes_len(&c->in), &used);
        c->in.at += used;
        dw_conn_push(c);
        dw_auth_output(c->auth, &left);
        c->auth_heard = r > 0;
        if (r < 0) {
            dw_conn_fail(c, r);
        } else if (r > 0 && (left == 0 || c->out_error != 0)) {
            finish_auth(c);
            dw_conn_push(c);
        }
    } while (c->auth != NULL && c->in_error == 0 && used > 0 && dw_bytes_len(&c->in) > 0);
}

bool dw_conn_deaf(const dw_conn *c)
{
    return c->auth != NULL && (c->auth_heard || dw_bytes_len(&c->in) > 0);
}

/* -- Reading ---------------------------------------------------------------------- */

/* Room for the next read: enough for the message that is being waited for. */
static bool make_room(dw_conn *c)
{
    dw_bytes *in = &c->in;
    size_t have = dw_bytes_len(in), least = FIRST_BLOCK;
    if (have == 0)
        in->at = in->end = 0;
    size_t trusted = 2 * have > TRUSTED ? 2 * have : TRUSTED;
    size_t whole = c->wanted > have ? c->wanted : have + 1;
    size_t need = (whole < trusted ? whole : trusted) - have;
    if (in->size - in->end >= FIRST_BLOCK && need > in->size - in->end)
        need = in->size - in->end; /* no larger block before this one is full */
    if (c->filled && in->size < LARGEST_READ) {
        least = in->size < FIRST_BLOCK ? FIRST_BLOCK : LARGEST_READ;
        need = need > least - have ? need : least - have;
    } else if (c->hello_serial != 0 && have + need < HELLO_BLOCK) {
        least = HELLO_BLOCK;
        need = HELLO_BLOCK - have;
    }
    return dw_bytes_reserve(in, need, least, c->allocator);
}

/* Takes the descriptors of a read over, or closes them. */
static int take_arrival(dw_conn *c, const dw_arrival *arrival)
{
    int code = 0;
    bool expected = c->fds_agreed;
    if (c->auth != NULL) /* a server has agreed before; a client may read both at once */
        expected = c->auth->server ? dw_auth_fds(c->auth) : (c->flags & DW_CONN_NO_FDS) == 0;
    if (arrival->cut) {
        /* Withheld for want of free descriptors, or by a security module. */
        int probe = dw_fd_copy(c->fd);
        dw_fds_close(&probe, 1);
        code = expected && probe < 0 ? DW_E_SYSTEM : DW_E_FDS;
    } else if (arrival->n_fds > 0 &&
               (!expected || count_fds(&c->in_fds) + arrival->n_fds > MAX_UNCLAIMED)) {
        code = DW_E_FDS;
    } else if (arrival->n_fds > 0 && !dw_bytes_reserve(&c->in_fds, arrival->n_fds * sizeof(int),
                                                       16 * sizeof(int), c->allocator)) {
        code = DW_E_NO_MEMORY;
    }
    if (code == 0)
        dw_bytes_put(&c->in_fds, arrival->fds, arrival->n_fds * sizeof(int));
    else
        dw_fds_close(arrival->fds, arrival->n_fds);
    return code;
}

static int read_error(dw_conn *c)
{
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)
        return 0;
    return dw_conn_fail(c, errno == ECONNRESET || errno == EPIPE ? DW_E_CLOSED : DW_E_SYSTEM);
}

int dw_conn_read(dw_conn *c, bool wait)
{
    dw_arrival arrival;
    if (c->in_error != 0)
        return c->in_error;
    if (dw_conn_deaf(c)) {
        advance_auth(c);
        return c->in_error != 0 ? c->in_error : !dw_conn_deaf(c);
    }
    dw_conn_drop_lent(c); /* they lie where others may come now */
    if (dw_bytes_len(&c->in_fds) == 0)
        c->in_fds.at = c->in_fds.end = 0;
    if (!make_room(c))
        return DW_E_NO_MEMORY;
    size_t room = c->in.size - c->in.end;
    ssize_t n = dw_socket_receive(c->fd, c->in.p + c->in.end, room, wait, &arrival);
    c->drained = n < 0 || ((size_t)n < room && arrival.n_fds == 0);
    c->filled = n > 0 && (size_t)n == room;
    if (n < 0)
        return read_error(c);
    if (n == 0) {
        c->in_error = DW_E_CLOSED;
        return c->in_error;
    }
    c->in.end += (size_t)n;
    c->stirred = true;
    if (dw_bytes_len(&c->in) > c->in.peak)
        c->in.peak = dw_bytes_len(&c->in);
    int code = take_arrival(c, &arrival);
    if (code != 0)
        return dw_conn_fail(c, code);
    if (c->auth != NULL)
        advance_auth(c);
    return 1;
}

/* -- Cutting ------------------------------------------------------------------------ */

/* What there is to say where no message is whole. */
static int at_end(dw_conn *c)
{
    if (dw_bytes_len(&c->in) == 0 && dw_bytes_len(&c->in_fds) > 0 && c->auth == NULL)
        return dw_conn_fail(c, DW_E_FDS);
    if (c->in_error == DW_E_CLOSED && c->auth == NULL && dw_bytes_len(&c->in) > 0)
        c->in_error = DW_E_CUT;
    return c->in_error;
}

/* Lends the first of these descriptors to a message. */
static void lend(dw_conn *c, dw_message *m, dw_bytes *fds)
{
    m->fds = NULL;
    if (m->unix_fds == 0)
        return;
    m->fds = c->lent = first_fd(fds);
    c->n_lent = m->unix_fds;
    fds->at += m->unix_fds * sizeof(int);
}

/* The next whole message's length; or 0 or an error, as dw_conn_cut. */
static int next_frame(const dw_conn *c, size_t *whole)
{
    size_t have = dw_bytes_len(&c->in);
    *whole = c->wanted;
    if (c->auth != NULL || have < c->wanted)
        return 0;
    return dw_message_frame(c->in.p + c->in.at, have, whole);
}

void dw_conn_forget(dw_conn *c)
{
    if (c->seen != NULL)
        c->allocator->resize(c->allocator->context, c->seen, sizeof *c->seen, 0);
    c->seen = NULL;
}

/* Keeps the header for the next message. That there is no memory for it is no
 * error. Answers are all different. */
static void remember(dw_conn *c, const dw_message *m)
{
    if (m->reply_serial != 0 || m->len - m->body_len > DW_SEEN_HEADER)
        return;
    if (c->seen == NULL)
        c->seen = c->allocator->resize(c->allocator->context, NULL, 0, sizeof *c->seen);
    if (c->seen != NULL)
        dw_message_keep_header(&c->seen->header, m, c->seen->bytes);
}

static int parse(dw_conn *c, dw_message *m, const uint8_t *p, size_t len)
{
    const uint32_t n_fds = (uint32_t)count_fds(&c->in_fds);
    if (c->seen != NULL && dw_message_parse_like(m, &c->seen->header, p, len, n_fds))
        return 0;
    int r = dw_message_parse(m, p, len, n_fds);
    if (r == 0)
        remember(c, m);
    return r;
}

int dw_conn_cut(dw_conn *c, dw_message *m)
{
    size_t whole;
    dw_conn_drop_lent(c);
    int r = next_frame(c, &whole);
    c->wanted = r == 0 ? whole : 0;
    if (r == 0)
        return at_end(c);
    if (r > 0) {
        /* What is in front is done with: the message can move there a bit. */
        uint8_t *p = c->in.p + c->in.at, *aligned = p - (c->in.at & 7);
        if (aligned != p)
            memmove(aligned, p, whole);
        c->in.at += whole;
        r = parse(c, m, aligned, whole);
    }
    if (r < 0) {
        c->in.at = c->in.end;
        return dw_conn_fail(c, r);
    }
    lend(c, m, &c->in_fds);
    return 1;
}

void dw_conn_put_back(dw_conn *c, const dw_message *m)
{
    c->in.at -= m->len;
    memmove(c->in.p + c->in.at, m->bytes, m->len);
    c->in_fds.at -= c->n_lent * sizeof(int);
    c->n_lent = 0;
}

bool dw_conn_in_ready(const dw_conn *c)
{
    size_t whole;
    return c->in_error != 0 || next_frame(c, &whole) != 0 ||
           (c->auth == NULL && dw_bytes_len(&c->in) == 0 && dw_bytes_len(&c->in_fds) > 0);
}

/* -- Keeping ------------------------------------------------------------------------ */

/* A kept message is its length, its bytes, and padding: the next one is 8-aligned
 * then, as its length takes up 8 bytes. */
#define KEPT_HEADER 8u

int dw_conn_keep(dw_conn *c, const dw_message *m)
{
    static const uint8_t padding[8];
    uint64_t len = m->len;
    size_t kept = dw_bytes_len(&c->kept), size = KEPT_HEADER + dw_align(m->len, 8);
    int code = 0;
    if (kept > 0 && (kept >= c->in_limit || size > c->in_limit - kept ||
                     count_fds(&c->kept_fds) + c->n_lent > MAX_UNCLAIMED))
        code = DW_E_QUEUE;
    else if (!dw_bytes_reserve(&c->kept, size, FIRST_BLOCK / 16, c->allocator) ||
             !dw_bytes_reserve(&c->kept_fds, c->n_lent * sizeof(int), 64, c->allocator))
        code = DW_E_NO_MEMORY;
    if (code != 0) {
        dw_conn_put_back(c, m);
        return code;
    }
    dw_bytes_put(&c->kept, &len, sizeof len);
    dw_bytes_put(&c->kept, m->bytes, m->len);
    dw_bytes_put(&c->kept, padding, size - KEPT_HEADER - m->len);
    if (c->n_lent > 0)
        dw_bytes_put(&c->kept_fds, c->lent, c->n_lent * sizeof(int));
    c->n_lent = 0;
    return 0;
}

int dw_conn_cut_kept(dw_conn *c, dw_message *m)
{
    dw_conn_drop_lent(c);
    if (dw_bytes_len(&c->kept) == 0) {
        c->kept.at = c->kept.end = 0;
        c->kept_fds.at = c->kept_fds.end = 0;
        return 0;
    }
    uint64_t len;
    const uint8_t *p = c->kept.p + c->kept.at;
    memcpy(&len, p, sizeof len);
    c->kept.at += KEPT_HEADER + dw_align((size_t)len, 8);
    int r = dw_message_parse(m, p + KEPT_HEADER, (size_t)len, (uint32_t)count_fds(&c->kept_fds));
    if (r == 0)
        lend(c, m, &c->kept_fds);
    return r == 0 ? 1 : r;
}
