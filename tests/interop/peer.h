/* peer.h - a program that another D-Bus library serves, for dwire to talk to. It
 * runs in a process of its own. Each peer_*.c is one, and becomes one test. */

#ifndef TESTS_PEER_H
#define TESTS_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

/* How the other library gets its connection. */
typedef enum role {
    PEER_DIALS,   /* it connects to dwire */
    PEER_LISTENS, /* dwire connects to it */
    PEER_JOINS    /* both connect to a bus, where it owns PEER_NAME */
} role;

#define PEER_NAME      "org.example.Peer"
#define PEER_PATH      "/org/example/Peer"
#define PEER_INTERFACE "org.example.Peer"

/* Whatever path it is called at and whatever the values are, it answers
 *   Echo   with the same values
 *   Fail   with this error
 *   Ask    by calling Echo of its caller with these values, with what that answers
 *   Ping, GetMachineId  likewise, by these methods of org.freedesktop.DBus.Peer
 *   Give   with a descriptor of /dev/null; with PEER_ERROR where it cannot pass any
 *   Leave  not at all, and ends
 * and to the signal Say it says the signal Said with the same values. */
#define PEER_ERROR      "org.example.Error.Wrong"
#define PEER_ERROR_TEXT "schiefgegangen: \xc3\xb6\xe2\x82\xac\xf0\x9f\x92\xa9"

/* The interface in which the peer calls its caller; NULL: it does not. */
const char *peer_asks(const char *member, const char **asked);

extern const char peer_name[];

/* The verdict of the library on a row of the table of vectors. */
#define PEER_LIBDBUS 0
#define PEER_GDBUS   1
#define PEER_SDBUS   2
extern const int peer_column;

/* Whether the library takes this body, which is valid, for an invalid one. */
bool peer_refuses(const char *signature, const void *bytes, size_t len);

/* Connects in that role and serves until the connection ends. One byte goes to
 * ready when dwire may connect, or call. False where something went wrong. */
bool peer_serve(role r, const char *address, int ready);

/* Tells that. */
static inline bool peer_ready(int ready)
{
    return write(ready, "", 1) == 1;
}

#endif
