/* raw.c - what one writes without any library: a plain protocol of 8 bytes that
 * tell a length, and the bytes; one write and two reads a message. */

#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#include "client.h"
#include "pair.h"

static bool serve(server *s, workload_kind kind, const char *address)
{
    static uint8_t chunk[CHUNK_LEN];
    uint64_t len;
    int fd = kind == STREAM ? server_accept(s, address) : -1;
    if (fd < 0)
        return false;
    while (read_all(fd, &len, sizeof len) && len <= sizeof chunk &&
           read_all(fd, chunk, (size_t)len) && server_take(s, chunk, (size_t)len))
        ;
    close(fd);
    return true;
}

static void *dial(workload_kind kind, const char *address, const char *peer)
{
    (void)kind, (void)peer;
    int *fd = malloc(sizeof *fd);
    if (!fd)
        return NULL;
    *fd = socket_connect(address_path(address));
    if (*fd >= 0)
        return fd;
    free(fd);
    return NULL;
}

/* A blocking socket takes a write whole, unless a signal comes between. */
static bool stream(void *state)
{
    const int *fd = state;
    uint64_t len = CHUNK_LEN;
    for (uint64_t i = 0; i < ALL_CHUNKS; i++) {
        struct iovec io[] = {{&len, sizeof len}, {(void *)stream_chunk(i), CHUNK_LEN}};
        if (writev(*fd, io, 2) != sizeof len + CHUNK_LEN)
            return false;
    }
    return true;
}

static void hang_up(void *state)
{
    int *fd = state;
    close(*fd);
    free(fd);
}

const library library_raw = {
    .name = "raw",
    .note = "a plain protocol, not D-Bus: one write and two reads a message",
    .link = {.serve = serve, .dial = dial, .stream = stream, .hang_up = hang_up},
};
