/* socket.c - the system calls on sockets, and all that differs from one system
 * to the next. See conn.h.
 *
 * Only Linux has abstract addresses, SO_PEERCRED with a pid, SO_PEERSEC, accept4
 * and flags that make a descriptor close-on-exec at birth. Elsewhere the first
 * are not there, and the last are done in two steps. */

#define _GNU_SOURCE 1
#if defined(__APPLE__)
#define _DARWIN_C_SOURCE
#endif

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "conn.h"

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0
#endif
#ifndef MSG_CMSG_CLOEXEC
#define MSG_CMSG_CLOEXEC 0
#endif

/* -- Descriptors ------------------------------------------------------------- */

#if !defined(__linux__)
static int close_on_exec(int fd)
{
    if (fd >= 0)
        fcntl(fd, F_SETFD, FD_CLOEXEC);
    return fd;
}
#endif

int dw_fd_copy(int fd)
{
    return fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

void dw_fds_close(const int *fds, size_t n)
{
    int saved = errno;
    for (size_t i = 0; i < n; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    errno = saved;
}

/* -- Addresses ---------------------------------------------------------------- */

int dw_sockaddr_set(dw_sockaddr *a, const char *name, size_t n, bool abstract)
{
    struct sockaddr_un un;
    memset(&un, 0, sizeof un);
    un.sun_family = AF_UNIX;
#if !defined(__linux__)
    if (abstract)
        return DW_E_UNSUPPORTED;
#endif
    /* A path has a NUL behind it, an abstract name one before. */
    if (n == 0 || n >= sizeof un.sun_path || (!abstract && memchr(name, 0, n) != NULL))
        return DW_E_ADDRESS;
    memcpy(un.sun_path + abstract, name, n);
    a->len = (unsigned)(offsetof(struct sockaddr_un, sun_path) + n + 1);
    memcpy(a->u.bytes, &un, a->len);
    return 0;
}

static const struct sockaddr *address_of(const dw_sockaddr *a)
{
    return (const struct sockaddr *)(const void *)&a->u;
}

/* -- Sockets ------------------------------------------------------------------ */

int dw_socket_open(bool blocking)
{
#if defined(__linux__)
    return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | (blocking ? 0 : SOCK_NONBLOCK), 0);
#else
    int fd = close_on_exec(socket(AF_UNIX, SOCK_STREAM, 0));
    if (fd >= 0 && !blocking)
        fcntl(fd, F_SETFL, O_NONBLOCK);
#if defined(SO_NOSIGPIPE)
    if (fd >= 0)
        setsockopt(fd, SOL_SOCKET, SO_NOSIGPIPE, &(int){1}, sizeof(int));
#endif
    return fd;
#endif
}

int dw_socket_connect(int fd, const dw_sockaddr *a)
{
    return connect(fd, address_of(a), a->len);
}

int dw_socket_bind(int fd, const dw_sockaddr *a)
{
    return bind(fd, address_of(a), a->len);
}

int dw_socket_accept(int fd)
{
    int accepted;
    do {
#if defined(__linux__)
        accepted = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
#else
        accepted = close_on_exec(accept(fd, NULL, NULL));
#endif
    } while (accepted < 0 && (errno == EINTR || errno == ECONNABORTED));
    return accepted;
}

bool dw_socket_block(int fd)
{
    return fcntl(fd, F_SETFL, 0) == 0;
}

bool dw_socket_timeout(int fd, bool sending, int64_t ns)
{
    struct timeval tv = {.tv_sec = (time_t)(ns / 1000000000),
                         .tv_usec = (suseconds_t)(ns / 1000 % 1000000)};
    return setsockopt(fd, SOL_SOCKET, sending ? SO_SNDTIMEO : SO_RCVTIMEO, &tv, sizeof tv) == 0;
}

/* -- Bytes and descriptors ------------------------------------------------------ */

/* Room for what may come along: descriptors, and credentials and a label where
 * the socket was made to pass them. */
typedef union control {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(DW_MAX_FDS * sizeof(int)) + CMSG_SPACE(64) + CMSG_SPACE(256)];
} control;

ssize_t dw_socket_send(int fd, struct iovec *parts, uint8_t n, const int *fds, size_t n_fds)
{
    struct msghdr msg = {.msg_iov = parts};
    control room;
    msg.msg_iovlen = n;
    if (n_fds > 0) {
        size_t len = n_fds * sizeof(int);
        msg.msg_control = room.bytes;
        msg.msg_controllen = (unsigned)CMSG_SPACE(len);
        memset(room.bytes, 0, CMSG_SPACE(len));
        struct cmsghdr *header = CMSG_FIRSTHDR(&msg);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = (unsigned)CMSG_LEN(len);
        memcpy(CMSG_DATA(header), fds, len);
    }
    ssize_t sent;
    do
        sent = sendmsg(fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (sent < 0 && errno == EINTR);
    return sent;
}

static void take_fds(struct msghdr *msg, dw_arrival *arrival)
{
    for (struct cmsghdr *h = CMSG_FIRSTHDR(msg); h != NULL; h = CMSG_NXTHDR(msg, h)) {
        if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS)
            continue;
        size_t n = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        const unsigned char *data = CMSG_DATA(h);
        for (size_t i = 0; i < n; i++) {
            int fd;
            memcpy(&fd, data + i * sizeof fd, sizeof fd);
#if !defined(__linux__)
            close_on_exec(fd);
#endif
            if (arrival->n_fds < DW_MAX_FDS)
                arrival->fds[arrival->n_fds++] = fd;
            else
                dw_fds_close(&fd, 1);
        }
    }
}

ssize_t dw_socket_receive(int fd, void *p, size_t len, bool wait, dw_arrival *arrival)
{
    control room;
    struct iovec part = {p, len};
    struct msghdr msg = {.msg_iov = &part,
                         .msg_iovlen = 1,
                         .msg_control = room.bytes,
                         .msg_controllen = sizeof room.bytes};
    ssize_t n;
    do
        n = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC | (wait ? 0 : MSG_DONTWAIT));
    while (n < 0 && errno == EINTR && !wait);
    arrival->n_fds = 0;
    arrival->cut = false;
    if (n < 0)
        return n;
    if (msg.msg_controllen > 0)
        take_fds(&msg, arrival);
    arrival->cut = (msg.msg_flags & MSG_CTRUNC) != 0;
    return n;
}

int dw_socket_poll(int fd, short events, int64_t ns)
{
    struct pollfd p = {fd, events, 0};
    /* Rounded up, so that time is up when it returns 0. */
    int ms = ns > (int64_t)INT_MAX * 1000000 ? -1 : (int)((ns + 999999) / 1000000);
    int r = poll(&p, 1, ms);
    return r < 0 && errno == EINTR ? 0 : r;
}

/* -- Who is there --------------------------------------------------------------- */

void dw_socket_peer(int fd, dw_peer *peer)
{
    *peer = (dw_peer){-1, -1, -1};
#if defined(SO_PEERCRED) && defined(__linux__)
    struct ucred cred;
    socklen_t len = sizeof cred;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == 0 && cred.uid != (uid_t)-1)
        *peer = (dw_peer){cred.uid, cred.gid, cred.pid > 0 ? cred.pid : -1};
#elif defined(__APPLE__) || defined(__FreeBSD__) || defined(__NetBSD__) || defined(__OpenBSD__)
    uid_t uid;
    gid_t gid;
    if (getpeereid(fd, &uid, &gid) == 0)
        *peer = (dw_peer){uid, gid, -1};
#else
    (void)fd;
#endif
}

int dw_socket_label(int fd, char *label, size_t size)
{
#if defined(SO_PEERSEC)
    char text[4096];
    socklen_t len = sizeof text;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERSEC, text, &len) < 0)
        return DW_E_UNSUPPORTED;
    while (len > 0 && text[len - 1] == 0)
        len--;
    if (len == 0)
        return DW_E_UNSUPPORTED;
    if (len >= size)
        return DW_E_NO_ROOM;
    memcpy(label, text, len);
    label[len] = 0;
    return (int)len;
#else
    (void)fd, (void)label, (void)size;
    return DW_E_UNSUPPORTED;
#endif
}

/* -- Time ------------------------------------------------------------------------- */

int64_t dw_now(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

int64_t dw_deadline(int timeout_ms)
{
    if (timeout_ms == DW_TIMEOUT_NONE)
        return INT64_MAX;
    if (timeout_ms == 0)
        return 0;
    return dw_now() + (timeout_ms < 0 ? 25000 : (int64_t)timeout_ms) * 1000000;
}
