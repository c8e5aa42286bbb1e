/* client.h - D-Bus over a bare socket, with messages made by hand and nothing
 * checked that need not be: what `limit` sends, and how the runner looks at
 * what arrives on a bus without any library under test. */

#ifndef BENCH_CLIENT_H
#define BENCH_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The path in "unix:path=..."; the runner's own addresses need no unescaping. */
const char *address_path(const char *address);

int socket_connect(const char *path);
int socket_listen(const char *path);
bool write_all(int fd, const void *bytes, size_t len);
bool read_all(int fd, void *bytes, size_t len);

/* The header fields a small message may have; NULL or 0 leaves one out. */
typedef struct small_message {
    uint8_t type;
    uint32_t serial, reply_serial;
    const char *path, *interface, *member, *destination;
    const char *text; /* the body: one string */
} small_message;

enum { SMALL_MESSAGE_MAX = 1024, SERIAL_AT = 8 };

/* Writes it in the machine's byte order; returns its length. */
size_t make_small_message(uint8_t *out, const small_message *m);

/* AUTH EXTERNAL, BEGIN and Hello, to be sent in one write. Returns the length. */
size_t make_greeting(uint8_t *out);

/* A connection whose input is cut into messages. */
typedef struct client {
    int fd;
    char name[64];  /* on the bus */
    size_t at, len; /* what lies in buffer */
    uint8_t buffer[1 << 16];
} client;

/* Reads on until a whole message is there; it stays until the next call. NULL
 * at the end, or for one that is larger than the buffer. */
const uint8_t *client_next(client *c, size_t *len);

/* Connects to a bus and waits for the reply to Hello. */
bool client_open(client *c, const char *path);
void client_close(client *c);

/* Skips a line of the server's, which must start like this. */
bool client_skip_line(client *c, const char *start);

/* The next message that answers the serial; NULL also for an error. */
const uint8_t *client_reply(client *c, uint32_t serial, size_t *len);

/* The 4 bytes at offset at of a message in the machine's byte order. */
uint32_t word_at(const uint8_t *message, size_t at);

/* Where the value of a header field starts; 0 where there is no such field. */
size_t field_at(const uint8_t *message, uint8_t field);

/* The text of a header field that is a string or path, or NULL. */
const char *field_text(const uint8_t *message, uint8_t field);

#endif
