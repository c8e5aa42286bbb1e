/* conn.h - private: what a connection consists of, and how its files see each
 * other.
 *
 *     conn.c          life and death; what can be asked about one
 *     conn_open.c     from an address or a descriptor to a connection
 *     conn_out.c      the out-queue: sending
 *     conn_in.c       the in-buffer: reading, the handshake, cutting messages
 *     conn_receive.c  waiting; what becomes of a message
 *     conn_calls.c    the table of calls in flight
 *     conn_peer.c     answers calls of org.freedesktop.DBus.Peer
 *     listen.c        listeners
 *     bytes.c         the buffers
 *     socket.c        the system calls on sockets, and what differs between systems */

#ifndef DWIRE_CONN_H
#define DWIRE_CONN_H

#include <sys/types.h>
#include <sys/uio.h>

#include "dwire/connection.h"
#include "wire.h"

/* -- bytes.c ----------------------------------------------------------------
 *
 * A queue of bytes in one block that is used again and again. At rest it lies
 * in a small block within its owner. */

typedef struct dw_bytes {
    uint8_t *p;
    size_t at, end; /* what is in it */
    size_t size;
    size_t peak; /* the most that was in it since the last dw_bytes_rest */
    size_t past; /* the same of earlier times, fading away */
    uint8_t *small;
    size_t small_size;
} dw_bytes;

void dw_bytes_init(dw_bytes *b, void *small, size_t size);
void dw_bytes_free(dw_bytes *b, const dw_allocator *allocator);

/* Makes room for n bytes behind the end, in a block of at least least bytes if
 * it takes a new one. What is in it may move. False without memory. */
bool dw_bytes_reserve(dw_bytes *b, size_t n, size_t least, const dw_allocator *allocator);

/* Room has been reserved for these. */
void dw_bytes_put(dw_bytes *b, const void *p, size_t n);

/* Takes n bytes off the front. */
void dw_bytes_take(dw_bytes *b, size_t n);

/* Gives a block back that lies empty and has been of little use of late, or, if
 * silent, that is of no use now. */
void dw_bytes_rest(dw_bytes *b, bool silent, const dw_allocator *allocator);

DW_INLINE size_t dw_bytes_len(const dw_bytes *b)
{
    return b->end - b->at;
}

/* Whether there is a block that a rest would give back, if nothing happens
 * before. */
DW_INLINE bool dw_bytes_idle(const dw_bytes *b)
{
    return b->at == b->end && b->p != b->small;
}

/* -- socket.c --------------------------------------------------------------- */

/* As many descriptors as Linux lets go with one write. */
#define DW_MAX_FDS 253u

/* What a read brought besides bytes. */
typedef struct dw_arrival {
    int fds[DW_MAX_FDS];
    size_t n_fds;
    bool cut; /* some were withheld */
} dw_arrival;

/* A stream socket, close-on-exec; or -1. */
int dw_socket_open(bool blocking);

/* The address of a path or, where the name is an abstract one, of that. 0, or
 * DW_E_ADDRESS where it is too long, or DW_E_UNSUPPORTED. */
typedef struct dw_sockaddr {
    union {
        long align;
        char bytes[128];
    } u;
    unsigned len;
} dw_sockaddr;

int dw_sockaddr_set(dw_sockaddr *a, const char *name, size_t n, bool abstract);
int dw_socket_connect(int fd, const dw_sockaddr *a);
int dw_socket_bind(int fd, const dw_sockaddr *a);
int dw_socket_accept(int fd);

/* Makes a socket of our own block. */
bool dw_socket_block(int fd);

/* Time after which a blocking read or, if sending, write or connect gives up. */
bool dw_socket_timeout(int fd, bool sending, int64_t ns);

/* Neither raises a signal; both try again after one, but for a read that waits:
 * how much longer it may is its caller's to say. The descriptors go with the
 * first byte. */
ssize_t dw_socket_send(int fd, struct iovec *parts, uint8_t n, const int *fds, size_t n_fds);
ssize_t dw_socket_receive(int fd, void *p, size_t len, bool wait, dw_arrival *arrival);

/* 1 if one of the events is there, 0 if time is up (ns of INT64_MAX: never), -1. */
int dw_socket_poll(int fd, short events, int64_t ns);

void dw_socket_peer(int fd, dw_peer *peer);
int dw_socket_label(int fd, char *label, size_t size);

/* A duplicate, close-on-exec, or -1. */
int dw_fd_copy(int fd);
void dw_fds_close(const int *fds, size_t n);

/* The monotonic clock in ns. */
int64_t dw_now(void);

/* When a wait of so many milliseconds ends; INT64_MAX: never. 0: at once. */
int64_t dw_deadline(int timeout_ms);

/* -- conn_calls.c ------------------------------------------------------------ */

typedef struct dw_calls dw_calls;

/* -- The connection ----------------------------------------------------------- */

/* What the queue has besides its bytes, in the order of the place: an array that
 * comes in there from where it lies, or descriptors that go with the byte there. */
typedef struct dw_mark {
    uint64_t at;      /* of all the bytes that are ever sent */
    const uint8_t *p; /* the array, or NULL for descriptors */
    size_t n;         /* its bytes, or their number */
} dw_mark;

/* Handshake and Hello have been waited for before this; for those alone to make
 * the socket block and tell it a time is more than to poll it. */
enum { DW_FIRST_POLLS = 3 };

enum { DW_SMALL_IN = 192, DW_SMALL_OUT = 128 };

/* The header of the last message: those that follow each other often have the same,
 * and then need no parsing. */
enum { DW_SEEN_HEADER = 256 };

typedef struct dw_seen {
    dw_message header;
    uint8_t bytes[DW_SEEN_HEADER];
} dw_seen;

struct dw_conn {
    const dw_allocator *allocator;
    int fd;
    unsigned flags;
    uint32_t serial;       /* the last one given */
    uint32_t hello_serial; /* of the Hello that is not answered yet, or 0 */

    int in_error, out_error; /* what ended each direction */
    int error_errno;         /* errno to DW_E_SYSTEM */
    bool blocking;           /* reads of the socket wait, as far as is known */
    uint8_t polls;           /* waits until it is made to; 0: it is as it is */
    bool drained;            /* the last read found the end of what was there */
    bool filled;             /* it took all the room that there was */
    bool more;               /* dw_receive has left off although there may be some */
    bool stirred;            /* something came or went since the last rest */
    bool busy;               /* a callback is running */
    bool doomed;             /* it closed the connection */
    bool fds_agreed, anonymous;
    bool auth_heard; /* the peer has said all of the handshake, but we have not */

    dw_auth *auth; /* NULL once the handshake is through */
    int64_t auth_deadline;
    int64_t read_timeout; /* the one that the socket has; 0: none */
    dw_calls *calls;      /* NULL before the first */
    char *name;           /* the unique name; NULL before it is known */

    dw_bytes in;
    struct dw_seen *seen; /* NULL before messages of the same kind follow each other */
    size_t wanted;        /* bytes from in.at on before a message can be whole */
    dw_bytes in_fds;      /* descriptors (int) that no message has claimed yet */
    dw_bytes kept;        /* messages that came while a call waited: size, bytes, padding */
    dw_bytes kept_fds;    /* their descriptors */
    int *lent;            /* the descriptors of the message last handed out */
    size_t n_lent;
    size_t in_limit;

    dw_bytes out;
    uint64_t sent;      /* bytes of messages that were ever sent */
    size_t out_apart;   /* bytes of the arrays among the marks */
    dw_bytes out_marks; /* of dw_mark */
    dw_bytes out_fds;   /* the descriptors (int) of the marks */
    size_t out_limit;

    char guid[DW_AUTH_GUID + 1];
    uint64_t small_in[DW_SMALL_IN / 8];
    uint64_t small_out[DW_SMALL_OUT / 8];
};

/* -- conn.c */

int dw_conn_new(dw_conn **out, int fd, const dw_options *options);
void dw_conn_free(dw_conn *c);

/* Ends both directions; what has not been sent is dropped. Returns what ended the
 * connection: this code, or an earlier one. */
int dw_conn_fail(dw_conn *c, int code);

/* Ends the sending only. */
void dw_conn_fail_out(dw_conn *c, int code);

/* The code, with errno put back if it is DW_E_SYSTEM. */
int dw_conn_said(const dw_conn *c, int code);

/* -- conn_open.c: the server's end of a connection on an accepted socket, which
 * stays the caller's if it fails. */

int dw_conn_new_server(dw_conn **out, int fd, const dw_options *options, const char *guid);

/* -- listen.c: whether this is 32 hex digits; those given, checked, or random ones. */

bool dw_guid_valid(const char *guid);

int dw_guid(char *out, const char *given);

/* -- conn_out.c */

/* Writes what there is to be written, as far as the socket takes it. */
void dw_conn_push(dw_conn *c);

/* Whether there is something that may be written now. */
bool dw_conn_has_output(const dw_conn *c);

/* -- conn_in.c */

/* Reads once: 1 if something came, 0 if there was nothing, or the error. */
int dw_conn_read(dw_conn *c, bool wait);

/* Cuts the next message off: 1, 0 if there is none whole, or the error that
 * comes after all the messages. */
int dw_conn_cut(dw_conn *c, dw_message *m);

/* Undoes that: the message is the next one again. */
void dw_conn_put_back(dw_conn *c, const dw_message *m);

/* Whether the handshake waits for its own output to be sent, and until then
 * hears no more. */
bool dw_conn_deaf(const dw_conn *c);

/* Whether dw_conn_cut would not say 0. */
bool dw_conn_in_ready(const dw_conn *c);

/* Puts a message that dw_conn_cut has handed out behind those kept (if there is
 * no room for it, it is put back); takes the first of them. */
int dw_conn_keep(dw_conn *c, const dw_message *m);
int dw_conn_cut_kept(dw_conn *c, dw_message *m);

/* Forgets the header of the last message. */
void dw_conn_forget(dw_conn *c);

/* Closes what was not taken of the descriptors of the message last handed out. */
void dw_conn_drop_lent(dw_conn *c);

/* -- conn_calls.c */

/* Room for one more call; false without memory. */
bool dw_calls_reserve(dw_conn *c);

/* Whether there is a table that nothing is in. */
bool dw_calls_idle(const dw_conn *c);

/* Whether this serial may yet be answered. */
bool dw_calls_hold(const dw_conn *c, uint32_t serial);

/* Notes a call; there is room. done NULL: the answer is to be dropped. */
void dw_calls_add(dw_conn *c, uint32_t serial, int64_t deadline, dw_reply_fn *done, void *context);

/* Takes it out again, if it is there. */
void dw_calls_forget(dw_conn *c, uint32_t serial);

/* Whether a message answers a call in flight. If so its end has been told. */
bool dw_calls_answer(dw_conn *c, dw_message *m);

/* Ends those whose time is up. */
void dw_calls_expire(dw_conn *c);

/* Ends all of them. */
void dw_calls_end(dw_conn *c, int code);

/* When the next one's time is up; INT64_MAX: never. */
int64_t dw_calls_deadline(const dw_conn *c);

void dw_calls_free(dw_conn *c);

/* -- conn_peer.c */

/* Whether a message is one of org.freedesktop.DBus.Peer. If so *code is what
 * came of answering it. */
bool dw_peer_answer(dw_conn *c, const dw_message *m, int *code);

#endif
