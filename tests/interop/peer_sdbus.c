/* peer_sdbus.c - systemd's library: as client of an address, and as server of a
 * socket. */

#include "peer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <systemd/sd-bus.h>

#include "../bench/client.h"

const char peer_name[] = "sd-bus";
const int peer_column = PEER_SDBUS;

enum { PATIENCE_MS = 20000 };

/* Whether a signature of 255 bytes lies there: no string has a byte of 255. */
static bool has_long_signature(const uint8_t *p, size_t len)
{
    for (size_t i = 0; i + 256 < len; i++)
        if (p[i] == 255 && p[i + 256] == 0 && !memchr(p + i, 0, 256))
            return true;
    return false;
}

/* It takes code points that are never assigned for invalid; those of dice.h are
 * U+FFFF and U+10FFFF. And signatures of 255 bytes are too long for it. */
bool peer_refuses(const char *signature, const void *bytes, size_t len)
{
    return strlen(signature) > 254 || has_long_signature(bytes, len) ||
           memmem(bytes, len, "\xef\xbf\xbf", 3) || memmem(bytes, len, "\xf4\x8f\xbf\xbf", 4);
}

/* -- Answers ------------------------------------------------------------------------ */

/* sd_bus_message_copy takes each element of an array by itself. At once it goes in
 * the own byte order only. */
static int copy_values(sd_bus_message *to, sd_bus_message *from)
{
    const char *types = sd_bus_message_get_signature(from, true);
    const void *p;
    size_t len;
    int r = -EOPNOTSUPP;
    if (types && types[0] == 'a' && strlen(types) == 2 && strchr("ynqiuxtd", types[1]))
        r = sd_bus_message_read_array(from, types[1], &p, &len);
    if (r == -EOPNOTSUPP)
        return sd_bus_message_copy(to, from, true);
    return r < 0 ? r : sd_bus_message_append_array(to, types[1], p, len);
}

static int send_copy(sd_bus *bus, sd_bus_message *m, sd_bus_message *of)
{
    int r = copy_values(m, of);
    return r < 0 ? r : sd_bus_send(bus, m, NULL);
}

static int echo(sd_bus *bus, sd_bus_message *call)
{
    sd_bus_message *reply = NULL;
    int r = sd_bus_message_new_method_return(call, &reply);
    r = r < 0 ? r : send_copy(bus, reply, call);
    sd_bus_message_unref(reply);
    return r;
}

static int say(sd_bus *bus, sd_bus_message *signal)
{
    sd_bus_message *said = NULL;
    int r = sd_bus_message_new_signal(bus, &said, PEER_PATH, PEER_INTERFACE, "Said");
    r = r < 0 ? r : send_copy(bus, said, signal);
    sd_bus_message_unref(said);
    return r;
}

static int give(sd_bus_message *call)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int r = sd_bus_reply_method_return(call, "h", fd);
    close(fd);
    return r < 0 ? sd_bus_reply_method_errorf(call, PEER_ERROR, "not sent: %s", strerror(-r)) : r;
}

static int ask(sd_bus *bus, sd_bus_message *call, const char *interface, const char *member)
{
    sd_bus_error error = SD_BUS_ERROR_NULL;
    sd_bus_message *question = NULL, *answer = NULL, *reply = NULL;
    int r = sd_bus_message_new_method_call(bus, &question, sd_bus_message_get_sender(call),
                                           PEER_PATH, interface, member);
    r = r < 0 ? r : copy_values(question, call);
    r = r < 0 ? r : sd_bus_call(bus, question, PATIENCE_MS * 1000, &error, &answer);
    if (sd_bus_error_is_set(&error)) {
        r = sd_bus_reply_method_error(call, &error);
    } else {
        r = r < 0 ? r : sd_bus_message_new_method_return(call, &reply);
        r = r < 0 ? r : send_copy(bus, reply, answer);
    }
    sd_bus_error_free(&error);
    sd_bus_message_unref(question);
    sd_bus_message_unref(answer);
    sd_bus_message_unref(reply);
    return r;
}

static int handle(sd_bus *bus, sd_bus_message *m)
{
    if (sd_bus_message_is_signal(m, PEER_INTERFACE, "Say") > 0)
        return say(bus, m);
    if (sd_bus_message_is_method_call(m, PEER_INTERFACE, NULL) <= 0)
        return 0;
    const char *asked, *interface = peer_asks(sd_bus_message_get_member(m), &asked);
    if (interface)
        return ask(bus, m, interface, asked);
    if (sd_bus_message_is_method_call(m, NULL, "Echo") > 0)
        return echo(bus, m);
    if (sd_bus_message_is_method_call(m, NULL, "Give") > 0)
        return give(m);
    if (sd_bus_message_is_method_call(m, NULL, "Leave") > 0)
        return -ESHUTDOWN;
    return sd_bus_reply_method_errorf(m, PEER_ERROR, "%s", PEER_ERROR_TEXT);
}

/* -- Connections -------------------------------------------------------------------- */

static bool dial(sd_bus *bus, const char *address)
{
    return sd_bus_set_address(bus, address) >= 0 && sd_bus_start(bus) >= 0;
}

static bool join(sd_bus *bus, const char *address, int ready)
{
    return sd_bus_set_bus_client(bus, true) >= 0 && dial(bus, address) &&
           sd_bus_request_name(bus, PEER_NAME, 0) >= 0 && peer_ready(ready);
}

static bool serve_one(sd_bus *bus, const char *address, int ready)
{
    sd_id128_t id;
    int listener = socket_listen(address_path(address));
    struct pollfd p = {.fd = listener, .events = POLLIN};
    bool came = listener >= 0 && peer_ready(ready) && poll(&p, 1, PATIENCE_MS) == 1;
    int fd = came ? accept4(listener, NULL, NULL, SOCK_CLOEXEC) : -1;
    close(listener);
    return fd >= 0 && sd_id128_randomize(&id) >= 0 && sd_bus_set_fd(bus, fd, fd) >= 0 &&
           sd_bus_set_server(bus, true, id) >= 0 && sd_bus_start(bus) >= 0;
}

/* Its errors are those of a connection that ended, and of a message that could
 * not be answered, which the caller will notice. */
bool peer_serve(role r, const char *address, int ready)
{
    sd_bus *bus = NULL;
    int code = sd_bus_new(&bus);
    bool good = code >= 0 && (r == PEER_DIALS     ? dial(bus, address)
                              : r == PEER_LISTENS ? serve_one(bus, address, ready)
                                                  : join(bus, address, ready));
    while (good && code >= 0 && sd_bus_is_open(bus) > 0) {
        sd_bus_message *m = NULL;
        code = sd_bus_process(bus, &m);
        if (code == 0)
            code = sd_bus_wait(bus, UINT64_MAX);
        else if (m)
            code = handle(bus, m);
        sd_bus_message_unref(m);
    }
    sd_bus_close(bus);
    sd_bus_unref(bus);
    return good;
}
