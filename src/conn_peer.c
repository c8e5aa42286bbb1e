/* conn_peer.c - answers the calls of org.freedesktop.DBus.Peer, which every
 * connection has, whatever the path. See conn.h. Specification: section
 * "org.freedesktop.DBus.Peer". */

#define _GNU_SOURCE 1

#include <fcntl.h>
#include <unistd.h>

#include "conn.h"

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

static void write_answer(dw_writer *w, const dw_message *m)
{
    char uuid[UUID_LEN + 1] = "";
    if (dw_string_is(m->member, "Ping")) {
        dw_begin_reply(w, m, NULL);
    } else if (!dw_string_is(m->member, "GetMachineId")) {
        dw_begin_error(w, m, "org.freedesktop.DBus.Error.UnknownMethod", "s");
        dw_put_string(w, "org.freedesktop.DBus.Peer has no such method");
    } else if (read_uuid(machine_files[0], uuid) || read_uuid(machine_files[1], uuid)) {
        dw_begin_reply(w, m, "s");
        dw_put_string_n(w, uuid, UUID_LEN);
    } else {
        dw_begin_error(w, m, "org.freedesktop.DBus.Error.Failed", "s");
        dw_put_string(w, "this machine has no id");
    }
}

bool dw_peer_answer(dw_conn *c, const dw_message *m, int *code)
{
    if (m->type != DW_METHOD_CALL || !dw_string_is(m->interface, "org.freedesktop.DBus.Peer"))
        return false;
    *code = 0;
    if ((m->flags & DW_NO_REPLY_EXPECTED) != 0)
        return true;
    uint8_t room[1024]; /* the longest has two names in it */
    dw_writer w;
    dw_writer_init(&w, room, sizeof room, NULL);
    write_answer(&w, m);
    *code = dw_finish(&w);
    if (*code == 0)
        *code = dw_send(c, &w, NULL);
    return true;
}
