/* connection.c - target: a stream of messages with descriptors over a socket pair,
 * cut at will. No descriptor may be left over. Where none travel, what is received
 * must be what dw_message_frame and dw_message_parse make of the stream.
 *
 * The input is a byte of flags, then steps: each a byte that says what is added to
 * the stream, and how much of it is sent with how many descriptors. */

#define _GNU_SOURCE 1

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "dwire/connection.h"
#include "dwire/names.h"
#include "fuzz.h"
#include "support/walk.h"

#define MOST_FDS 512

enum choice { NO_PEER = 1, LEVEL = 2, TAKE = 4, KEEP = 8 };

typedef struct stream {
    dw_conn *conn;
    int socket; /* of the peer */
    int extra;  /* what is sent as a descriptor */
    uint8_t choices;
    text all;       /* what the peer says, all in all */
    size_t sent;    /* bytes of it */
    unsigned n_fds; /* sent, or announced in one of our own messages */
    text received;  /* the messages that came, one behind the other */
    int end;        /* what ended it, or 0 */
} stream;

static unsigned open_descriptors(void)
{
    struct pollfd fds[MOST_FDS];
    unsigned n = 0;
    for (int i = 0; i < MOST_FDS; i++)
        fds[i] = (struct pollfd){.fd = i};
    fuzz_check(poll(fds, MOST_FDS, 0) >= 0, "poll");
    for (int i = 0; i < MOST_FDS; i++)
        n += !(fds[i].revents & POLLNVAL);
    return n;
}

/* -- The peer ------------------------------------------------------------------------ */

static void add_message(stream *s, feed *f)
{
    dw_writer w;
    const int fds[4] = {0};
    uint8_t kind = feed_byte(f);
    uint32_t n = kind & 3;
    dw_writer_init(&w, NULL, 0, dw_heap);
    dw_begin(&w, &(dw_header){.type = (kind >> 2) % 4 + 1,
                              .order = kind & 16 ? DW_BIG : DW_LITTLE,
                              .serial = 1u + feed_byte(f),
                              .path = kind & 32 ? "/org/example" : "/",
                              .interface = kind & 64 ? "org.freedesktop.DBus.Peer" : "a.b",
                              .member = kind & 128 ? "Ping" : "M",
                              .error_name = (kind >> 2) % 4 + 1 == DW_ERROR ? "a.b" : NULL,
                              .reply_serial = (kind >> 2) % 4 + 1 == DW_METHOD_CALL ? 0 : 5,
                              .signature = "say",
                              .fds = fds,
                              .n_fds = n});
    text name = feed_string(f);
    dw_put_string(&w, dw_check_utf8(text_string(&name), name.n, NULL) ? "" : text_string(&name));
    feed part = feed_part(f, feed_byte(f));
    dw_put_byte_array(&w, part.p, part.n);
    fuzz_check(dw_finish(&w) == 0, "%s", dw_error_name(dw_finish(&w)));
    text bytes = fuzz_written(&w);
    text_add(&s->all, bytes.p, bytes.n);
    s->n_fds += n;
    text_free(&bytes);
    text_free(&name);
    dw_writer_free(&w);
}

/* Sends up to len bytes of what waits, with n descriptors. */
static void send_part(stream *s, size_t len, unsigned n)
{
    union {
        char bytes[CMSG_SPACE(8 * sizeof(int))];
        struct cmsghdr head;
    } control = {{0}};
    size_t left = s->all.n - s->sent;
    struct iovec part = {s->all.p + s->sent, len < left ? len : left};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (!part.iov_len)
        return;
    if (n) {
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(n * sizeof(int));
        struct cmsghdr *c = CMSG_FIRSTHDR(&message);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(n * sizeof(int));
        for (unsigned i = 0; i < n; i++)
            memcpy(CMSG_DATA(c) + i * sizeof(int), &s->extra, sizeof(int));
        s->n_fds += n;
    }
    ssize_t sent = sendmsg(s->socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    s->sent += sent > 0 ? (size_t)sent : 0;
}

/* -- Our end -------------------------------------------------------------------------- */

static bool same(dw_string a, dw_string b)
{
    return a.n == b.n && memcmp(a.p, b.p, a.n) == 0;
}

/* What is handed out is what the bytes of the message say, whatever was remembered
 * of the messages before. */
static void check_message(const dw_message *m)
{
    dw_message anew;
    fuzz_check((uintptr_t)m->bytes % 8 == 0, "not aligned");
    fuzz_check(dw_message_parse(&anew, m->bytes, m->len, UINT32_MAX) == 0, "%s",
               dw_error_name(anew.fault.code));
    fuzz_check(anew.type == m->type && anew.flags == m->flags && anew.order == m->order &&
                   anew.serial == m->serial && anew.reply_serial == m->reply_serial &&
                   anew.unix_fds == m->unix_fds && anew.body == m->body &&
                   anew.body_len == m->body_len,
               "another header");
    fuzz_check(same(anew.path, m->path) && same(anew.interface, m->interface) &&
                   same(anew.member, m->member) && same(anew.error_name, m->error_name) &&
                   same(anew.destination, m->destination) && same(anew.sender, m->sender) &&
                   same(anew.signature, m->signature),
               "other header fields");
}

static void take_message(stream *s, dw_message *m)
{
    dw_reader r;
    check_message(m);
    text_add(&s->received, m->bytes, m->len);
    for (uint32_t i = 0; i < m->unix_fds; i++)
        fuzz_check(m->fds && fcntl(m->fds[i], F_GETFD) == FD_CLOEXEC, "descriptor %u", (unsigned)i);
    for (uint32_t i = 0; s->choices & TAKE && i < m->unix_fds; i += 2) {
        int fd = dw_take_fd(m, i);
        fuzz_check(fd >= 0 && dw_take_fd(m, i) == DW_E_FDS, "taken once");
        close(fd);
    }
    fuzz_check(dw_take_fd(m, m->unix_fds) == DW_E_FDS, "one too many");
    dw_reader_init(&r, m);
    walk_values(&(walk){.r = &r});
    dw_reader_finish(&r);
}

static void receive_all(stream *s)
{
    dw_message m;
    int r;
    while ((r = dw_receive(s->conn, &m, 0)) > 0)
        take_message(s, &m);
    fuzz_check(!s->end || r == s->end, "%s, and then %s", dw_error_name(s->end), dw_error_name(r));
    s->end = r;
}

/* -- What should have come ------------------------------------------------------------- */

static void check_received(const stream *s)
{
    text expected = {0};
    size_t at = 0, whole;
    int code = 0, framed;
    while (!code && (framed = dw_message_frame(s->all.p + at, s->sent - at, &whole)) != 0) {
        dw_message m;
        block b = block_copy(s->all.p + at, framed > 0 ? whole : 0, 0);
        code = framed < 0 ? framed : dw_message_parse(&m, b.p, whole, 0);
        bool peer = code == 0 && !(s->choices & NO_PEER) && m.type == DW_METHOD_CALL &&
                    strcmp(m.interface.p, "org.freedesktop.DBus.Peer") == 0;
        if (!code && m.type <= DW_SIGNAL && !peer)
            text_add(&expected, b.p, whole);
        at += code ? 0 : whole;
        block_free(&b);
    }
    if (!code)
        code = at < s->sent ? DW_E_CUT : DW_E_CLOSED;
    fuzz_check(s->end == code, "it ends with %s, not %s", dw_error_name(s->end),
               dw_error_name(code));
    fuzz_check(text_equal(&expected, &s->received), "%zu bytes of messages came, not %zu",
               s->received.n, expected.n);
    text_free(&expected);
}

static void run_steps(stream *s, feed *f)
{
    while (f->n) {
        uint8_t step = feed_byte(f);
        if (step & 1) {
            add_message(s, f);
        } else if (step & 2) {
            feed part = feed_part(f, feed_byte(f));
            text_add(&s->all, part.p, part.n);
        }
        if (step & 4)
            send_part(s, step & 8 ? feed_byte(f) : SIZE_MAX, step >> 5);
        if (step & 16)
            receive_all(s);
    }
    send_part(s, SIZE_MAX, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    feed f = {data, size};
    stream s = {.choices = feed_byte(&f)};
    unsigned before = open_descriptors();
    int pair[2];
    text_room(&s.all, 0);
    fuzz_check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0, "socketpair");
    s.socket = pair[0];
    s.extra = open("/dev/null", O_RDONLY | O_CLOEXEC);
    fuzz_check(s.extra >= 0, "/dev/null");
    unsigned flags = DW_CONN_NO_AUTH | (s.choices & NO_PEER ? (unsigned)DW_CONN_NO_PEER : 0) |
                     (s.choices & LEVEL ? (unsigned)DW_CONN_LEVEL : 0);
    fuzz_check(dw_conn_from_fd(&s.conn, pair[1], flags) == 0, "a connection");
    run_steps(&s, &f);
    if (s.choices & KEEP) { /* closed with what it holds */
        dw_conn_close(s.conn);
        close(s.socket);
    } else {
        close(s.socket);
        for (int i = 0; i < 4 && !s.end; i++) /* a level-triggered loop asks again */
            receive_all(&s);
        if (!s.n_fds)
            check_received(&s);
        dw_conn_close(s.conn);
    }
    close(s.extra);
    text_free(&s.all);
    text_free(&s.received);
    fuzz_check(open_descriptors() == before, "%u descriptors were open, and now %u", before,
               open_descriptors());
    return 0;
}
