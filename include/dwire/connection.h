/* connection.h - connections over unix sockets, and listening for them: the
 * only part of dwire that makes system calls.
 *
 * Either blocking, every call with a timeout, or from a loop of the caller's
 * own, with dw_conn_fd, dw_conn_events, dw_conn_timeout and timeouts of 0. The
 * two mix. An object is for one thread at a time; there is no global state.
 *
 *     dw_conn *bus;
 *     r = dw_connect_bus(&bus, DW_BUS_SESSION, DW_TIMEOUT_DEFAULT);
 *     dw_begin_signal(&w, "/org/example", "org.example.Sensor", "Changed", "u");
 *     dw_put_uint32(&w, 7);
 *     dw_finish(&w);
 *     r = dw_send(bus, &w, NULL);
 *     while ((r = dw_receive(bus, &m, DW_TIMEOUT_NONE)) > 0)
 *         ...
 *     dw_conn_close(bus);
 *
 * Errors are codes; with DW_E_SYSTEM errno holds the cause. The errors of a
 * connection that has ended stick to it. There are three ends: DW_E_CLOSED (the
 * peer closed), DW_E_CUT (it did, in the middle of a message), and an error of
 * ours or of the peer's that leaves no way on: DW_E_HEADER and its like where
 * what came is no message, DW_E_AUTH, DW_E_PROTOCOL, DW_E_GUID, DW_E_FDS,
 * DW_E_SYSTEM. Unless said otherwise, an error does not end the connection, and
 * nothing of what was to be sent has been.
 *
 * Memory: a connection owns one buffer for what comes in and one for what
 * waits to go out. They grow to what is needed and are used again; while
 * messages flow, none of the functions allocates. When a connection falls
 * silent both are given back, and it takes less than 1 KiB.
 *
 * What a peer can make us hold: before it is admitted, 320 KiB and no
 * descriptor. After that, 1.4 MiB and four times of what it really sends of one
 * message, be that as large as it says; of messages kept while a call waits, and
 * of answers of org.freedesktop.DBus.Peer that it does not read, four times
 * in_limit and out_limit; and of descriptors 506 that belong to no whole message,
 * and as many of messages kept. (Four times, as a buffer doubles, and is copied
 * when it does.) */

#ifndef DWIRE_CONNECTION_H
#define DWIRE_CONNECTION_H

#include <limits.h>

#include "dwire/address.h"
#include "dwire/auth.h"
#include "dwire/message.h"

#ifdef __cplusplus
extern "C" {
#endif

/* -- Timeouts -------------------------------------------------------------
 *
 * In milliseconds, on the monotonic clock. 0: do not block. */

#define DW_TIMEOUT_DEFAULT (-1)    /* 25 seconds */
#define DW_TIMEOUT_NONE    INT_MAX /* as long as it takes */

/* -- Opening --------------------------------------------------------------- */

typedef struct dw_conn dw_conn;

enum dw_conn_flag {
    DW_CONN_BUS = 1,       /* client: the other end is a bus; say Hello */
    DW_CONN_NO_FDS = 2,    /* do not pass file descriptors */
    DW_CONN_ANONYMOUS = 4, /* client: try ANONYMOUS after EXTERNAL; server: admit it */
    DW_CONN_LOCKSTEP = 8,  /* client: authenticate step by step, for servers that need it */
    DW_CONN_NO_PEER = 16,  /* hand out calls of org.freedesktop.DBus.Peer like any other */
    DW_CONN_SERVER = 32,   /* dw_conn_from_fd: be the server */
    DW_CONN_NO_AUTH = 64,  /* dw_conn_from_fd: neither end authenticates */
    DW_CONN_LEVEL = 128    /* the loop is level-triggered: see dw_receive */
};

/* What can be set; what is left 0 or NULL has its default. */
typedef struct dw_options {
    unsigned flags;                /* of enum dw_conn_flag */
    const dw_allocator *allocator; /* NULL: dw_heap */
    size_t out_limit;              /* bytes that may wait to be sent; 0: 128 MiB */
    size_t in_limit;               /* bytes that may be kept while a call waits; 0: 128 MiB */
    uint32_t serial;               /* the one before that of the first message */
    /* Servers: */
    int auth_timeout_ms; /* for a client to authenticate in; 0: 30 seconds */
    int backlog;         /* clients that may wait to be accepted; 0: as many as allowed */
    const char *guid;    /* the own one, 32 hex digits; NULL: random ones. Of a client made by
                            dw_conn_from_fd_with: the one that its server must have; NULL: any */
    dw_admit_uid *admit; /* who may connect; NULL: the user that this process runs as */
    void *context;       /* for admit */
} dw_options;

/* Connects to the first server in the list of addresses that can be reached:
 * unix:path= and unix:abstract=. flags are of enum dw_conn_flag. Blocks, until
 * the server's queue has room, for at most timeout_ms.
 *
 * On return the handshake is queued, not done: it leaves together with the
 * first message, in one write, and what goes wrong with it is told by the
 * functions that send and receive. dw_flush waits for it.
 *
 * *out receives the connection, or NULL; then nothing is left open. Errors, of
 * the last address tried:
 *   DW_E_ADDRESS      the list is malformed, or a path is too long
 *   DW_E_UNSUPPORTED  no address in it is a unix socket to connect to
 *   DW_E_SYSTEM       among others ENOENT, ECONNREFUSED, EACCES
 *   DW_E_TIMEOUT, DW_E_NO_MEMORY. Section "Server Addresses". */
DW_API int dw_connect(dw_conn **out, const char *address, unsigned flags, int timeout_ms);

/* Connects to the session or the system bus and says Hello. Errors as dw_connect
 * and dw_bus_address. */
DW_API int dw_connect_bus(dw_conn **out, dw_bus which, int timeout_ms);

/* Both with options, which may be NULL and are not needed any more afterwards. */
DW_API int dw_connect_with(dw_conn **out, const char *address, const dw_options *options,
                           int timeout_ms);

/* Says in words why dw_connect failed: which transport is not supported, which
 * path could not be reached and why. To be called before errno changes. Writes
 * at most size bytes to text, NUL included; returns the length that it has
 * without it. Does not block. */
DW_API size_t dw_connect_text(int code, const char *address, char *text, size_t size);

/* Makes a connection of a stream socket that is connected already: one of a
 * socketpair, an accepted one. flags say which end (DW_CONN_SERVER), and whether
 * there is to be a handshake. The connection owns fd from then on, if it
 * returns 0; its flags are left as they are, but for close-on-exec, which is
 * set. Does not block. DW_E_ARGUMENT (a guid that is none), DW_E_SYSTEM,
 * DW_E_NO_MEMORY. */
DW_API int dw_conn_from_fd(dw_conn **out, int fd, unsigned flags);
DW_API int dw_conn_from_fd_with(dw_conn **out, int fd, const dw_options *options);

/* Closes. What was queued and not sent is lost (see dw_flush). Calls in flight
 * end with DW_E_CLOSED. Messages that it handed out, and their descriptors, are
 * gone. NULL is no error. Does not block. */
DW_API void dw_conn_close(dw_conn *c);

/* -- Sending ---------------------------------------------------------------
 *
 * The writer must have finished a message. It gets the connection's next
 * serial, written into its bytes, which are done with when the call returns:
 * the writer is free for the next one. serial may be NULL. */

/* Sends. Never blocks: what the socket does not take is queued and goes out
 * with later calls on the connection. Errors:
 *   DW_E_STATE        the writer holds no finished message (or its own error)
 *   DW_E_QUEUE        the message and those before it are more than may wait
 *   DW_E_UNSUPPORTED  it has descriptors, and the peer does not take any.
 *                     Before that is known it is queued; if it turns out so
 *                     then, the connection ends with this error
 *   DW_E_LIMIT        over 253 descriptors
 *   DW_E_FDS          the header told how many, and not which
 *   DW_E_SYSTEM       its descriptors could not be kept or passed: EMFILE,
 *                     EBADF, ETOOMANYREFS and the like
 *   DW_E_NO_MEMORY, and what ended the connection. Section "Message Format". */
DW_API int dw_send(dw_conn *c, dw_writer *w, uint32_t *serial);

/* The same, but only queues: many messages, then one dw_flush or dw_send, make
 * few system calls of many. About 32 KiB at once are enough. */
DW_API int dw_queue(dw_conn *c, dw_writer *w, uint32_t *serial);

/* Waits until the handshake is through, Hello included, and all that is queued
 * has been written; takes in what arrives meanwhile. DW_E_TIMEOUT, DW_E_QUEUE,
 * DW_E_REPLY (the bus refused Hello), or what ended the connection. */
DW_API int dw_flush(dw_conn *c, int timeout_ms);

/* -- Receiving ------------------------------------------------------------- */

/* Receives the next message: returns 1, and *m is a view into the connection's
 * buffer, 8-aligned, valid until the next call on this connection but dw_send,
 * dw_queue and the ones that only tell something; 0 where none came in time; or
 * an error. A header is checked before it is handed out, a body when it is
 * read.
 *
 * What has arrived whole is handed out before an error is. Also sends what is
 * queued, as far as the socket takes it, answers calls of
 * org.freedesktop.DBus.Peer, ends the calls in flight that are answered or too
 * late, and drops messages of unknown types and answers that come too late.
 *
 * With timeout 0 it reads until the socket has no more, as edge-triggered
 * loops need it; or until a peer has sent so many messages that are not for the
 * program that it is the turn of others: dw_conn_timeout is 0 then.
 * DW_CONN_LEVEL saves that last read where the loop is asked again as long as
 * there is something to read.
 *
 * Besides what ended the connection: DW_E_STATE from within a dw_reply_fn;
 * DW_E_QUEUE where the peer asks and never reads the answers; DW_E_TIMEOUT
 * where a client did not authenticate in time, which ends the connection. */
DW_API int dw_receive(dw_conn *c, dw_message *m, int timeout_ms);

/* -- Calls ----------------------------------------------------------------- */

/* Sends a method call and waits for the answer, which *reply receives: valid as
 * from dw_receive. Whatever else comes meanwhile is kept, in order, and handed
 * out by dw_receive later. Errors:
 *   DW_E_REPLY     the answer is an error message: it is in *reply too
 *   DW_E_TIMEOUT   no answer in time; it will be dropped if it comes later
 *   DW_E_ARGUMENT  the message is not a call, or wants no reply
 *   DW_E_QUEUE     more came meanwhile than may be kept
 *   and those of dw_send and dw_receive. */
DW_API int dw_call(dw_conn *c, dw_writer *w, dw_message *reply, int timeout_ms);

/* What is told when a call in flight ends: 0 and the answer; DW_E_REPLY and the
 * error message; or no message, and DW_E_TIMEOUT or what ended the connection.
 * It may do anything with the connection but receive, flush or make a blocking
 * call, which are DW_E_STATE. */
typedef void dw_reply_fn(void *context, int code, dw_message *reply);

/* Sends a method call and returns. done is called once, from a dw_receive or
 * the dw_conn_close to come. Any number may be in flight. Errors as dw_send and
 * DW_E_ARGUMENT; then done is not called. Allocates, now and then. */
DW_API int dw_start_call(dw_conn *c, dw_writer *w, int timeout_ms, dw_reply_fn *done, void *context,
                         uint32_t *serial);

/* Forgets a call in flight: done is not called. Its answer will be dropped.
 * DW_E_ARGUMENT where there is none of that serial. */
DW_API int dw_cancel_call(dw_conn *c, uint32_t serial);

/* -- In a loop of the caller's own ------------------------------------------
 *
 *     poll dw_conn_fd for dw_conn_events, at most dw_conn_timeout; then
 *     while ((r = dw_receive(c, &m, 0)) > 0)
 *         ...
 *
 * None of these blocks or makes a system call. */

/* The socket. To be polled, and left alone otherwise. */
DW_API int dw_conn_fd(const dw_conn *c);

/* POLLIN, and POLLOUT while something waits to be written (the values of poll;
 * EPOLLIN and EPOLLOUT are the same). Changes with every call. */
DW_API short dw_conn_events(const dw_conn *c);

/* In how many milliseconds dw_receive is to be called even if nothing happens:
 * 0 while a whole message or an error lies ready, or the last dw_receive has left
 * some to be read; -1: never. A call in flight may run out of time, a client fail
 * to authenticate, or a buffer be of no use any more. */
DW_API int dw_conn_timeout(const dw_conn *c);

/* -- What is known about a connection: no call of these blocks -------------- */

/* What ended it; 0 while it lives, as far as is known by now. */
DW_API int dw_conn_error(const dw_conn *c);

/* Whether the handshake is through, Hello included. */
DW_API bool dw_conn_ready(const dw_conn *c);

/* The own unique name on a bus; "" before Hello is answered, or without a bus. */
DW_API const char *dw_conn_name(const dw_conn *c);

/* The server's GUID, 32 hex digits; "" before it is known. */
DW_API const char *dw_conn_guid(const dw_conn *c);

/* Whether descriptors can be passed; false before that is known. */
DW_API bool dw_conn_can_pass_fds(const dw_conn *c);

/* Whether the client was let in as ANONYMOUS. */
DW_API bool dw_conn_anonymous(const dw_conn *c);

/* The bytes that wait to be written. */
DW_API size_t dw_conn_queued(const dw_conn *c);

/* Who is at the other end, as the kernel tells, from when it connected or
 * started to listen. -1: not known. One system call. */
typedef struct dw_peer {
    int64_t uid, gid, pid;
} dw_peer;

DW_API void dw_conn_peer(const dw_conn *c, dw_peer *peer);

/* Its security label, for SELinux, AppArmor and the like: writes at most size
 * bytes, NUL included. Returns the length without it, or DW_E_UNSUPPORTED where
 * there is none, or DW_E_NO_ROOM. One system call. */
DW_API int dw_conn_label(const dw_conn *c, char *label, size_t size);

/* Sets how many bytes may wait to be sent, and be kept while a call waits. One
 * message always may, whatever its size. 0: leave it as it is. */
DW_API void dw_conn_limits(dw_conn *c, size_t out_limit, size_t in_limit);

/* -- Listening --------------------------------------------------------------- */

typedef struct dw_listener dw_listener;

/* Listens on the first of the addresses that it can: unix:path=, dir=, tmpdir=,
 * abstract= or runtime=yes. A socket file that nobody listens on any more is
 * replaced; a new one has the rights that the umask leaves. options, which may be
 * NULL, hold for the connections accepted; what they point to must stay. *out
 * receives the listener, or NULL. Does not block.
 *   DW_E_ADDRESS, DW_E_UNSUPPORTED, DW_E_NO_MEMORY
 *   DW_E_ARGUMENT  the guid is none
 *   DW_E_SYSTEM    EADDRINUSE: somebody listens there, or it is no socket
 * Section "Server Addresses". */
DW_API int dw_listen(dw_listener **out, const char *address, const dw_options *options);

/* Takes over a socket that listens already, as from socket activation, and makes
 * it close-on-exec and non-blocking. Its file is left alone when it is closed.
 * The listener owns fd from then on, if it returns 0. Does not block.
 *   DW_E_UNSUPPORTED  it is no unix socket
 *   DW_E_ARGUMENT     it has no name, so that it cannot be listening
 *   DW_E_SYSTEM, DW_E_NO_MEMORY */
DW_API int dw_listen_fd(dw_listener **out, int fd, const dw_options *options);

/* Stops listening and removes the socket's file. NULL is no error. */
DW_API void dw_listener_close(dw_listener *l);

/* The address for clients, its guid included. Lives as long as the listener. */
DW_API const char *dw_listener_address(const dw_listener *l);
DW_API const char *dw_listener_guid(const dw_listener *l);

/* To be polled for POLLIN, then dw_accept with timeout 0. */
DW_API int dw_listener_fd(const dw_listener *l);

/* Accepts a client: returns 1, 0 where none came in time, or an error, after
 * which *out is NULL; DW_E_SYSTEM may be EMFILE. The client authenticates while
 * dw_receive or dw_flush are called, and no message of its is handed out
 * before it is admitted. Then it is an ordinary connection. */
DW_API int dw_accept(dw_listener *l, dw_conn **out, int timeout_ms);

#ifdef __cplusplus
}
#endif
#endif
