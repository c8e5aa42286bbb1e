/* kernel.h - system calls that fail when they are told to, and a clock that goes
 * on only while somebody waits: no test waits for real. For programs that are
 * linked with --wrap for each of these calls (see meson.build). */

#ifndef TESTS_KERNEL_H
#define TESTS_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SYSTEM_CALLS(X)                                                                            \
    X(SOCKET, "socket")                                                                            \
    X(CONNECT, "connect")                                                                          \
    X(BIND, "bind")                                                                                \
    X(LISTEN, "listen")                                                                            \
    X(ACCEPT, "accept4")                                                                           \
    X(GETSOCKNAME, "getsockname")                                                                  \
    X(SENDMSG, "sendmsg")                                                                          \
    X(RECVMSG, "recvmsg")                                                                          \
    X(POLL, "poll")                                                                                \
    X(FCNTL, "fcntl")                                                                              \
    X(SETSOCKOPT, "setsockopt")                                                                    \
    X(GETSOCKOPT, "getsockopt")                                                                    \
    X(GETENTROPY, "getentropy")                                                                    \
    X(LSTAT, "lstat")                                                                              \
    X(UNLINK, "unlink")                                                                            \
    X(OPEN, "open")                                                                                \
    X(READ, "read")                                                                                \
    X(CLOSE, "close")

enum system_call {
#define X(name, text) CALL_##name,
    SYSTEM_CALLS(X)
#undef X
        N_SYSTEM_CALLS
};

/* What happens to one call. */
typedef struct fault {
    enum system_call call;
    unsigned at;   /* the 1st, 2nd, 3rd ... of them; 0: none */
    bool for_good; /* and all after it */
    int error;     /* errno; 0: it is cut short instead: */
    size_t most;   /* so many bytes at most. 0: the end of the file */
    bool withhold; /* recvmsg: the descriptors do not arrive */
    int then;      /* sendmsg: errno of all that come after it, or 0 */
} fault;

typedef struct kernel_state {
    fault fault;
    bool on; /* otherwise all is as ever, and not counted */
    unsigned count[N_SYSTEM_CALLS];
    unsigned hits;         /* how often the fault happened */
    int64_t clock;         /* ns that have been waited */
    bool stuck;            /* somebody would have waited forever */
    void (*idle)(void *);  /* what others do while somebody waits */
    void *context;         /* for idle */
    int64_t timeout[1024]; /* SO_RCVTIMEO of each descriptor */
} kernel_state;

extern kernel_state kernel;

extern const char *const system_call_names[N_SYSTEM_CALLS];

/* Starts counting anew, with this fault to come. */
void kernel_start(fault f, void (*idle)(void *), void *context);
void kernel_stop(void);

#endif
