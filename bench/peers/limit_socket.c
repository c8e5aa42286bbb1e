/* limit_socket.c - what the machine allows where sockets are concerned: the bare
 * calls, as few as can be, with messages that are ready-made but for a serial. */

#include "limit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "client.h"

/* -- One connection for one signal: one write, and the replies ------------- */

typedef struct sending {
    const char *path;
    size_t len;
    client c;
    uint8_t bytes[];
} sending;

void *limit_send_open(const body *b, const char *address)
{
    sending *s = malloc(sizeof *s + SMALL_MESSAGE_MAX + b->message_len + LIMIT_SLACK);
    if (!s)
        return NULL;
    s->path = address_path(address);
    s->len = make_greeting(s->bytes);
    uint8_t *signal = s->bytes + s->len;
    s->len += limit_put_message(signal, b);
    const uint32_t serial = 2;
    memcpy(signal + SERIAL_AT, &serial, sizeof serial);
    return s;
}

bool limit_send_run(void *state)
{
    sending *s = state;
    size_t len;
    s->c.at = s->c.len = 0;
    s->c.fd = socket_connect(s->path);
    if (s->c.fd < 0)
        return false;
    bool good = write_all(s->c.fd, s->bytes, s->len) && client_skip_line(&s->c, "OK ") &&
                client_reply(&s->c, 1, &len);
    client_close(&s->c);
    return good;
}

/* -- Two processes -------------------------------------------------------- */

typedef struct calling {
    uint8_t message[SMALL_MESSAGE_MAX];
    size_t len;
    uint32_t serial;
    client c;
} calling;

void limit_hang_up(void *state)
{
    calling *l = state;
    client_close(&l->c);
    free(l);
}

/* A connection, with Hello where it is to a bus. */
static calling *dial_path(const char *path, bool bus)
{
    calling *l = calloc(1, sizeof *l);
    if (!l)
        return NULL;
    l->serial = 1;
    if (!bus)
        l->c.fd = socket_connect(path);
    if (bus ? client_open(&l->c, path) : l->c.fd >= 0)
        return l;
    free(l);
    return NULL;
}

void *limit_dial(workload_kind kind, const char *address, const char *peer)
{
    calling *l = dial_path(address_path(address), kind == CALL_BUS);
    if (l)
        l->len = make_small_message(l->message, &(small_message){.type = 1,
                                                                 .serial = 1,
                                                                 .path = BENCH_PATH,
                                                                 .interface = BENCH_INTERFACE,
                                                                 .member = ECHO_MEMBER,
                                                                 .destination = *peer ? peer : NULL,
                                                                 .text = ECHO_TEXT});
    return l;
}

/* -- Stream: raw's protocol, 32 chunks a write, 256 KiB a read ------------- */

enum { BATCH = 32, READ_LEN = 256 * 1024 };

/* Takes the whole chunks at p; returns how many bytes they were, or 0 when
 * there is no more to come. */
static size_t take_chunks(server *s, const uint8_t *p, size_t len)
{
    size_t at = 0;
    uint64_t n = 0;
    while (len - at >= sizeof n) {
        memcpy(&n, p + at, sizeof n);
        if (n > len - at - sizeof n)
            break;
        if (!server_take(s, p + at + sizeof n, (size_t)n))
            return 0;
        at += sizeof n + (size_t)n;
    }
    return at;
}

static void take_stream(server *s, int fd)
{
    static uint8_t buffer[READ_LEN];
    size_t len = 0, taken;
    ssize_t n;
    while ((n = recv(fd, buffer + len, sizeof buffer - len, 0)) > 0) {
        len += (size_t)n;
        if (len < sizeof(uint64_t) + CHUNK_LEN)
            continue;
        if ((taken = take_chunks(s, buffer, len)) == 0)
            break;
        memmove(buffer, buffer + taken, len - taken);
        len -= taken;
    }
}

bool limit_stream(void *state)
{
    const calling *l = state;
    uint64_t len = CHUNK_LEN;
    struct iovec io[2 * BATCH];
    struct msghdr head = {.msg_iov = io, .msg_iovlen = 2 * BATCH};
    for (uint64_t i = 0; i < ALL_CHUNKS; i += BATCH) {
        for (size_t k = 0; k < BATCH; k++) {
            io[2 * k] = (struct iovec){&len, sizeof len};
            io[2 * k + 1] = (struct iovec){(void *)stream_chunk(i + k), CHUNK_LEN};
        }
        if (sendmsg(l->c.fd, &head, MSG_NOSIGNAL) != BATCH * (sizeof len + CHUNK_LEN))
            return false;
    }
    return true;
}

/* -- RoundTrip ------------------------------------------------------------ */

/* Where the bytes of a message's only string lie: they are its last. */
static bool ends_in_text(const uint8_t *message, size_t len)
{
    return len > sizeof ECHO_TEXT &&
           memcmp(message + len - sizeof ECHO_TEXT, ECHO_TEXT, sizeof ECHO_TEXT) == 0;
}

bool limit_call(void *state)
{
    calling *l = state;
    size_t len;
    l->serial++;
    memcpy(l->message + SERIAL_AT, &l->serial, sizeof l->serial);
    if (!write_all(l->c.fd, l->message, l->len))
        return false;
    const uint8_t *reply = client_reply(&l->c, l->serial, &len);
    return reply && ends_in_text(reply, len);
}

/* The reply to a call but for the serials, made when its sender is known. */
static void make_reply(calling *l, const uint8_t *call)
{
    l->len = make_small_message(l->message, &(small_message){.type = 2,
                                                             .serial = 1,
                                                             .reply_serial = 1,
                                                             .destination = field_text(call, 7),
                                                             .text = ECHO_TEXT});
}

static void answer(calling *l)
{
    const uint8_t *call;
    size_t len, reply_serial_at = 0;
    while ((call = client_next(&l->c, &len))) {
        if (call[1] != 1 || !ends_in_text(call, len))
            continue;
        if (l->len == 0) {
            make_reply(l, call);
            reply_serial_at = field_at(l->message, 5);
        }
        l->serial++;
        memcpy(l->message + SERIAL_AT, &l->serial, sizeof l->serial);
        memcpy(l->message + reply_serial_at, call + SERIAL_AT, sizeof l->serial);
        if (!write_all(l->c.fd, l->message, l->len))
            return;
    }
}

bool limit_serve(server *s, workload_kind kind, const char *address)
{
    if (kind == STREAM) {
        int fd = server_accept(s, address);
        if (fd < 0)
            return false;
        take_stream(s, fd);
        close(fd);
        return true;
    }
    calling *l = calloc(1, sizeof *l);
    if (!l)
        return false;
    bool good;
    if (kind == CALL_BUS)
        good = client_open(&l->c, address_path(address)) && server_ready(s, l->c.name);
    else
        good = (l->c.fd = server_accept(s, address)) >= 0;
    if (good)
        answer(l);
    free(l);
    return good;
}
