/* kernel.c - system calls that fail when they are told to. */

#define _GNU_SOURCE 1

#include "kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

kernel_state kernel;

const char *const system_call_names[N_SYSTEM_CALLS] = {
#define X(name, text) text,
    SYSTEM_CALLS(X)
#undef X
};

void kernel_start(fault f, void (*idle)(void *), void *context)
{
    memset(&kernel, 0, sizeof kernel);
    kernel.fault = f;
    kernel.idle = idle;
    kernel.context = context;
    kernel.on = true;
}

void kernel_stop(void)
{
    kernel.on = false;
}

/* Whether the fault happens to this call. */
static bool strikes(enum system_call call)
{
    if (!kernel.on)
        return false;
    unsigned n = ++kernel.count[call];
    const fault *f = &kernel.fault;
    return f->call == call && f->at != 0 && (n == f->at || (f->for_good && n > f->at));
}

static bool hit(void)
{
    kernel.hits++;
    errno = kernel.fault.error;
    return true;
}

static bool fails(enum system_call call)
{
    return strikes(call) && hit();
}

/* What --wrap leaves of a call; and what it puts in its place. */
#define WRAP(type, name, args, call, fail, pass)                                                   \
    type __real_##name args;                                                                       \
    type __wrap_##name args;                                                                       \
    type __wrap_##name args                                                                        \
    {                                                                                              \
        return fails(call) ? (fail) : __real_##name pass;                                          \
    }

WRAP(int, socket, (int domain, int type, int protocol), CALL_SOCKET, -1, (domain, type, protocol))
WRAP(int, connect, (int fd, const struct sockaddr *a, socklen_t len), CALL_CONNECT, -1,
     (fd, a, len))
WRAP(int, bind, (int fd, const struct sockaddr *a, socklen_t len), CALL_BIND, -1, (fd, a, len))
WRAP(int, listen, (int fd, int backlog), CALL_LISTEN, -1, (fd, backlog))
WRAP(int, accept4, (int fd, struct sockaddr *a, socklen_t *len, int flags), CALL_ACCEPT, -1,
     (fd, a, len, flags))
WRAP(int, getsockname, (int fd, struct sockaddr *a, socklen_t *len), CALL_GETSOCKNAME, -1,
     (fd, a, len))
WRAP(int, getsockopt, (int fd, int level, int name, void *value, socklen_t *len), CALL_GETSOCKOPT,
     -1, (fd, level, name, value, len))
WRAP(int, getentropy, (void *p, size_t len), CALL_GETENTROPY, -1, (p, len))
WRAP(int, lstat, (const char *path, struct stat *st), CALL_LSTAT, -1, (path, st))
WRAP(int, lstat64, (const char *path, struct stat *st), CALL_LSTAT, -1, (path, st))
WRAP(int, unlink, (const char *path), CALL_UNLINK, -1, (path))
WRAP(ssize_t, read, (int fd, void *p, size_t len), CALL_READ, -1, (fd, p, len))

/* The descriptor is gone whatever close says. */
int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd)
{
    bool failed = strikes(CALL_CLOSE);
    if (kernel.on && fd >= 0 && fd < 1024)
        kernel.timeout[fd] = 0;
    int r = __real_close(fd);
    return failed && hit() ? -1 : r;
}

#define WRAP_OPEN(name)                                                                            \
    int __real_##name(const char *path, int flags, ...);                                           \
    int __wrap_##name(const char *path, int flags, ...);                                           \
    int __wrap_##name(const char *path, int flags, ...)                                            \
    {                                                                                              \
        return fails(CALL_OPEN) ? -1 : __real_##name(path, flags, 0600);                           \
    }
WRAP_OPEN(open)
WRAP_OPEN(open64)

#define WRAP_FCNTL(name)                                                                           \
    int __real_##name(int fd, int command, ...);                                                   \
    int __wrap_##name(int fd, int command, ...);                                                   \
    int __wrap_##name(int fd, int command, ...)                                                    \
    {                                                                                              \
        va_list rest;                                                                              \
        va_start(rest, command);                                                                   \
        int value = command == F_GETFD || command == F_GETFL ? 0 : va_arg(rest, int);              \
        va_end(rest);                                                                              \
        return fails(CALL_FCNTL) ? -1 : __real_##name(fd, command, value);                         \
    }
WRAP_FCNTL(fcntl)
WRAP_FCNTL(fcntl64)

int __real_setsockopt(int fd, int level, int name, const void *value, socklen_t len);
int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t len);
int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
    if (fails(CALL_SETSOCKOPT))
        return -1;
    if (kernel.on && level == SOL_SOCKET && name == SO_RCVTIMEO && fd < 1024) {
        struct timeval tv;
        memcpy(&tv, value, sizeof tv);
        kernel.timeout[fd] = (int64_t)tv.tv_sec * 1000000000 + (int64_t)tv.tv_usec * 1000;
    }
    return __real_setsockopt(fd, level, name, value, len);
}

/* -- Bytes ----------------------------------------------------------------------- */

/* The first of the parts, at most so many bytes. */
static struct msghdr shorten(const struct msghdr *msg, struct iovec *parts, size_t most)
{
    struct msghdr less = *msg;
    size_t n = 0;
    while (n < (size_t)msg->msg_iovlen && most > 0) {
        parts[n] = msg->msg_iov[n];
        if (parts[n].iov_len > most)
            parts[n].iov_len = most;
        most -= parts[n++].iov_len;
    }
    less.msg_iov = parts;
    less.msg_iovlen = n;
    return less;
}

ssize_t __real_sendmsg(int fd, const struct msghdr *msg, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *msg, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *msg, int flags)
{
    struct iovec parts[256];
    if (!strikes(CALL_SENDMSG)) {
        errno = kernel.fault.then;
        return kernel.on && kernel.hits > 0 && errno ? -1 : __real_sendmsg(fd, msg, flags);
    }
    hit();
    if (kernel.fault.error != 0)
        return -1;
    struct msghdr less = shorten(msg, parts, kernel.fault.most);
    return __real_sendmsg(fd, &less, flags);
}

/* Closes the descriptors that have come. */
static bool withhold(struct msghdr *msg)
{
    bool some = false;
    for (struct cmsghdr *h = CMSG_FIRSTHDR(msg); h != NULL; h = CMSG_NXTHDR(msg, h))
        for (size_t at = CMSG_LEN(0); at < h->cmsg_len; at += sizeof(int)) {
            int fd;
            memcpy(&fd, (char *)h + at, sizeof fd);
            __real_close(fd);
            some = true;
        }
    if (some) {
        msg->msg_controllen = 0;
        msg->msg_flags |= MSG_CTRUNC;
    }
    return some;
}

/* Lets the others go on for a while. */
static void idle(void)
{
    if (kernel.idle != NULL) {
        void (*others)(void *) = kernel.idle;
        kernel.idle = NULL;
        others(kernel.context);
        kernel.idle = others;
    }
}

ssize_t __real_recvmsg(int fd, struct msghdr *msg, int flags);

static ssize_t receive_waiting(int fd, struct msghdr *msg, int flags)
{
    struct msghdr as_it_was = *msg;
    bool waits =
        kernel.on && (flags & MSG_DONTWAIT) == 0 && (__real_fcntl(fd, F_GETFL) & O_NONBLOCK) == 0;
    ssize_t n = __real_recvmsg(fd, msg, waits ? flags | MSG_DONTWAIT : flags);
    for (int i = 0; waits && n < 0 && errno == EAGAIN && i < 4; i++) {
        idle();
        *msg = as_it_was;
        n = __real_recvmsg(fd, msg, flags | MSG_DONTWAIT);
    }
    if (waits && n < 0 && errno == EAGAIN) {
        int64_t timeout = fd < 1024 ? kernel.timeout[fd] : 0;
        kernel.stuck |= timeout == 0;
        kernel.clock += timeout == 0 ? INT64_C(3600000000000) : timeout;
        errno = EAGAIN;
    }
    return n;
}

ssize_t __wrap_recvmsg(int fd, struct msghdr *msg, int flags);
ssize_t __wrap_recvmsg(int fd, struct msghdr *msg, int flags)
{
    struct iovec parts[8];
    if (!strikes(CALL_RECVMSG))
        return receive_waiting(fd, msg, flags);
    if (kernel.fault.withhold) {
        ssize_t n = receive_waiting(fd, msg, flags);
        if (n > 0 && withhold(msg))
            kernel.hits++;
        return n;
    }
    hit();
    if (kernel.fault.error != 0)
        return -1;
    msg->msg_flags = 0;
    if (kernel.fault.most == 0) {
        msg->msg_controllen = 0;
        return 0;
    }
    struct msghdr less = shorten(msg, parts, kernel.fault.most);
    ssize_t n = receive_waiting(fd, &less, flags);
    msg->msg_controllen = less.msg_controllen;
    msg->msg_flags = less.msg_flags;
    return n;
}

/* -- Time --------------------------------------------------------------------------- */

int __real_poll(struct pollfd *p, nfds_t n, int ms);
int __wrap_poll(struct pollfd *p, nfds_t n, int ms);
int __wrap_poll(struct pollfd *p, nfds_t n, int ms)
{
    if (fails(CALL_POLL))
        return -1;
    int r = __real_poll(p, n, kernel.on ? 0 : ms);
    for (int i = 0; kernel.on && r == 0 && ms != 0 && i < 4; i++) {
        idle();
        r = __real_poll(p, n, 0);
    }
    if (kernel.on && r == 0) {
        kernel.stuck |= ms < 0;
        kernel.clock += ms < 0 ? INT64_C(3600000000000) : (int64_t)ms * 1000000;
    }
    return r;
}

int __real_clock_gettime(clockid_t id, struct timespec *ts);
int __wrap_clock_gettime(clockid_t id, struct timespec *ts);
int __wrap_clock_gettime(clockid_t id, struct timespec *ts)
{
    if (!kernel.on)
        return __real_clock_gettime(id, ts);
    ts->tv_sec = (time_t)(1000 + kernel.clock / 1000000000);
    ts->tv_nsec = (long)(kernel.clock % 1000000000);
    return 0;
}
