/* conn_peer.c - answers the calls of org.freedesktop.DBus.Peer, which every
 * connection has, whatever the path. See conn.h. Specification: section
 * "org.freedesktop.DBus.Peer". */

#define _GNU_SOURCE 1

#include <fcntl.h>
#include <unistd.h>

#include "conn.h"
#include "dwire/bus.h"

#define UUID_LEN 32u

/* The files that tell which machine this is; the reference implementation looks
 * at them in this order. */
static const char *const machine_files[] = {"/var/lib/dbus/machine-id", "/etc/machine-id"};

static bool read_uuid(const char *file, char *uuid)
{
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, uuid, UUID_LEN);
    close(fd);
    for (ssize_t i = 0; i < n; i++)
        if (strchr("0123456789abcdefABCDEF", uuid[i]) == NULL || uuid[i] == 0)
            return false;
    return n == UUID_LEN;
}

static int answer(dw_conn *c, const dw_message *m)
{
    char uuid[UUID_LEN + 1] = "";
    if (dw_string_is(m->member, "Ping"))
        return dw_reply(c, m);
    if (!dw_string_is(m->member, "GetMachineId"))
        return dw_reply_error(c, m, "org.freedesktop.DBus.Error.UnknownMethod",
                              "org.freedesktop.DBus.Peer has no such method");
    if (!read_uuid(machine_files[0], uuid) && !read_uuid(machine_files[1], uuid))
        return dw_reply_error(c, m, "org.freedesktop.DBus.Error.Failed", "this machine has no id");
    uint8_t room[512];
    dw_writer w;
    dw_writer_init(&w, room, sizeof room, NULL);
    dw_begin_reply(&w, m, "s");
    dw_put_string(&w, uuid);
    int r = dw_finish(&w);
    return r == 0 ? dw_send(c, &w, NULL) : r;
}

bool dw_peer_answer(dw_conn *c, const dw_message *m, int *code)
{
    if (m->type != DW_METHOD_CALL || !dw_string_is(m->interface, "org.freedesktop.DBus.Peer"))
        return false;
    *code = (m->flags & DW_NO_REPLY_EXPECTED) == 0 ? answer(c, m) : 0;
    return true;
}
