/* client.c - D-Bus over a bare socket. */

#include "client.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "dwire/base.h"

const char *address_path(const char *address)
{
    static const char prefix[] = "unix:path=";
    bool is_path = strncmp(address, prefix, sizeof prefix - 1) == 0;
    return is_path ? address + sizeof prefix - 1 : address;
}

static int socket_at(const char *path, struct sockaddr_un *sun)
{
    size_t n = strlen(path);
    if (n >= sizeof sun->sun_path)
        return -1;
    memset(sun, 0, sizeof *sun);
    sun->sun_family = AF_UNIX;
    memcpy(sun->sun_path, path, n);
    return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

int socket_connect(const char *path)
{
    struct sockaddr_un sun;
    int fd = socket_at(path, &sun);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&sun, sizeof sun) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

int socket_listen(const char *path)
{
    struct sockaddr_un sun;
    int fd = socket_at(path, &sun);
    if (fd >= 0 &&
        (bind(fd, (const struct sockaddr *)&sun, sizeof sun) != 0 || listen(fd, 16) != 0)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

bool write_all(int fd, const void *bytes, size_t len)
{
    const uint8_t *p = bytes;
    while (len) {
        ssize_t n = send(fd, p, len, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        p += n;
        len -= (size_t)n;
    }
    return true;
}

bool read_all(int fd, void *bytes, size_t len)
{
    uint8_t *p = bytes;
    while (len) {
        ssize_t n = recv(fd, p, len, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        p += n;
        len -= (size_t)n;
    }
    return true;
}

/* -- Writing -------------------------------------------------------------- */

static size_t pad(uint8_t *out, size_t at, size_t align)
{
    while (at % align)
        out[at++] = 0;
    return at;
}

static size_t put_word(uint8_t *out, size_t at, uint32_t value)
{
    at = pad(out, at, 4);
    memcpy(out + at, &value, 4);
    return at + 4;
}

static size_t put_text(uint8_t *out, size_t at, const char *text)
{
    size_t n = strlen(text);
    at = put_word(out, at, (uint32_t)n);
    memcpy(out + at, text, n + 1);
    return at + n + 1;
}

static size_t start_field(uint8_t *out, size_t at, uint8_t field, char type)
{
    at = pad(out, at, 8);
    memcpy(out + at, (uint8_t[]){field, 1, (uint8_t)type, 0}, 4);
    return at + 4;
}

static size_t put_field(uint8_t *out, size_t at, uint8_t field, char type, const char *text)
{
    return text ? put_text(out, start_field(out, at, field, type), text) : at;
}

size_t make_small_message(uint8_t *out, const small_message *m)
{
    out[0] = DW_NATIVE;
    out[1] = m->type;
    out[2] = 0;
    out[3] = 1;
    put_word(out, 4, m->text ? (uint32_t)strlen(m->text) + 5 : 0);
    put_word(out, SERIAL_AT, m->serial);
    size_t at = put_field(out, 16, 1, 'o', m->path);
    at = put_field(out, at, 2, 's', m->interface);
    at = put_field(out, at, 3, 's', m->member);
    at = put_field(out, at, 6, 's', m->destination);
    if (m->reply_serial)
        at = put_word(out, start_field(out, at, 5, 'u'), m->reply_serial);
    if (m->text) {
        at = start_field(out, at, 8, 'g');
        memcpy(out + at, "\1s", 3);
        at += 3;
    }
    put_word(out, 12, (uint32_t)(at - 16));
    at = pad(out, at, 8);
    return m->text ? put_text(out, at, m->text) : at;
}

size_t make_greeting(uint8_t *out)
{
    char uid[24];
    snprintf(uid, sizeof uid, "%lu", (unsigned long)geteuid());
    char *p = (char *)out;
    *p++ = 0;
    p += sprintf(p, "AUTH EXTERNAL ");
    for (const char *digit = uid; *digit; digit++)
        p += sprintf(p, "%02x", (unsigned)*digit);
    p += sprintf(p, "\r\nBEGIN\r\n");
    const small_message hello = {.type = 1,
                                 .serial = 1,
                                 .path = "/org/freedesktop/DBus",
                                 .interface = "org.freedesktop.DBus",
                                 .member = "Hello",
                                 .destination = "org.freedesktop.DBus"};
    return (size_t)(p - (char *)out) + make_small_message((uint8_t *)p, &hello);
}

/* -- Reading -------------------------------------------------------------- */

uint32_t word_at(const uint8_t *message, size_t at)
{
    uint32_t value;
    memcpy(&value, message + at, 4);
    return value;
}

size_t field_at(const uint8_t *message, uint8_t field)
{
    size_t end = 16 + word_at(message, 12);
    for (size_t at = 16; at < end; at = (at + 7) & ~(size_t)7) {
        uint8_t code = message[at];
        char type = (char)message[at + 2];
        at += 4;
        if (code == field)
            return at;
        at += type == 'u' ? 4 : type == 'g' ? 2u + message[at] : 5u + word_at(message, at);
    }
    return 0;
}

const char *field_text(const uint8_t *message, uint8_t field)
{
    size_t at = field_at(message, field);
    return at ? (const char *)message + at + 4 : NULL;
}

/* Makes n bytes lie at c->at. The rest is moved to the front only when there
 * is no room behind it. */
static bool fill(client *c, size_t n)
{
    if (n > sizeof c->buffer)
        return false;
    while (c->len - c->at < n) {
        if (c->at == c->len)
            c->at = c->len = 0;
        if (c->at + n > sizeof c->buffer) {
            memmove(c->buffer, c->buffer + c->at, c->len - c->at);
            c->len -= c->at;
            c->at = 0;
        }
        ssize_t got = recv(c->fd, c->buffer + c->len, sizeof c->buffer - c->len, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        c->len += (size_t)got;
    }
    return true;
}

const uint8_t *client_next(client *c, size_t *len)
{
    if (!fill(c, 16))
        return NULL;
    const uint8_t *head = c->buffer + c->at;
    uint64_t whole = ((16 + (uint64_t)word_at(head, 12) + 7) & ~(uint64_t)7) + word_at(head, 4);
    if (whole > sizeof c->buffer || !fill(c, (size_t)whole))
        return NULL;
    *len = (size_t)whole;
    c->at += *len;
    return c->buffer + c->at - *len;
}

const uint8_t *client_reply(client *c, uint32_t serial, size_t *len)
{
    const uint8_t *m;
    while ((m = client_next(c, len))) {
        size_t at = field_at(m, 5);
        if (at && word_at(m, at) == serial)
            return m[1] == 2 ? m : NULL;
    }
    return NULL;
}

bool client_skip_line(client *c, const char *start)
{
    for (size_t n = 1; fill(c, n); n++) {
        if (c->buffer[c->at + n - 1] != '\n')
            continue;
        size_t len = strlen(start);
        bool good = n > len && memcmp(c->buffer + c->at, start, len) == 0;
        c->at += n;
        return good;
    }
    return false;
}

bool client_open(client *c, const char *path)
{
    uint8_t greeting[SMALL_MESSAGE_MAX];
    size_t len = make_greeting(greeting);
    c->at = c->len = 0;
    c->fd = socket_connect(path);
    if (c->fd < 0)
        return false;
    const uint8_t *hello = write_all(c->fd, greeting, len) && client_skip_line(c, "OK ")
                               ? client_reply(c, 1, &len)
                               : NULL;
    if (hello) {
        size_t body_at = len - word_at(hello, 4);
        snprintf(c->name, sizeof c->name, "%s", (const char *)hello + body_at + 4);
        return true;
    }
    client_close(c);
    return false;
}

void client_close(client *c)
{
    close(c->fd);
    c->fd = -1;
}
