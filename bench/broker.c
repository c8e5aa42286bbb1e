/* broker.c - the few lines that a dbus-broker needs to hear. */

#include "bus.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client.h"
#include "dwire/message.h"

/* What may be done, for one user or a range of them: connect; own names; send;
 * receive. The numbers beside each yes are priorities. */
#define POLICY_BATCH "bta(btbs)a(btssssuutt)a(btssssuutt)"

/* For each user, for ranges of users, for SELinux, for AppArmor. Older versions
 * do not know the last string, the type of the bus. */
#define POLICY_OLD "(a(u(" POLICY_BATCH "))a(buu(" POLICY_BATCH "))a(ss)b)"
#define POLICY_NEW "(a(u(" POLICY_BATCH "))a(buu(" POLICY_BATCH "))a(ss)bs)"

static void put_own(dw_writer *w)
{
    dw_open_array(w);
    dw_open_struct(w);
    dw_put_boolean(w, true);
    dw_put_uint64(w, 1);
    dw_put_boolean(w, true); /* names that start with this one as well */
    dw_put_string(w, "");
    dw_close_struct(w);
    dw_close_array(w);
}

static void put_transmit(dw_writer *w)
{
    dw_open_array(w);
    dw_open_struct(w);
    dw_put_boolean(w, true);
    dw_put_uint64(w, 1);
    for (int i = 0; i < 4; i++)
        dw_put_string(w, ""); /* any name, path, interface, member */
    dw_put_uint32(w, 0);      /* any type */
    dw_put_uint32(w, 0);      /* broadcast or not */
    dw_put_uint64(w, 0);      /* from so many descriptors */
    dw_put_uint64(w, UINT64_MAX);
    dw_close_struct(w);
    dw_close_array(w);
}

static void put_policy(dw_writer *w, const char *type)
{
    dw_open_variant(w, type);
    dw_open_struct(w);
    dw_open_array(w);
    dw_open_struct(w);
    dw_put_uint32(w, UINT32_MAX); /* every user who is not named */
    dw_open_struct(w);
    dw_put_boolean(w, true);
    dw_put_uint64(w, 1);
    put_own(w);
    put_transmit(w);
    put_transmit(w);
    dw_close_struct(w);
    dw_close_struct(w);
    dw_close_array(w);
    dw_open_array(w);
    dw_close_array(w);
    dw_open_array(w);
    dw_close_array(w);
    dw_put_boolean(w, false);
    if (strcmp(type, POLICY_NEW) == 0)
        dw_put_string(w, "session");
    dw_close_struct(w);
    dw_close_variant(w);
}

/* Sends the bytes with the descriptor at their first one. */
static bool send_with_fd(int socket, const void *bytes, size_t len, int fd)
{
    union {
        char space[CMSG_SPACE(sizeof(int))];
        struct cmsghdr aligned;
    } control = {{0}};
    struct iovec io = {(void *)bytes, len};
    struct msghdr head = {.msg_iov = &io,
                          .msg_iovlen = 1,
                          .msg_control = control.space,
                          .msg_controllen = sizeof control.space};
    struct cmsghdr *c = CMSG_FIRSTHDR(&head);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(c), &fd, sizeof fd);
    return sendmsg(socket, &head, MSG_NOSIGNAL) == (ssize_t)len;
}

static bool add_listener(client *c, int listener, const char *type, uint32_t serial)
{
    dw_writer w;
    dw_writer_init(&w, NULL, 0, dw_heap);
    dw_begin(&w, &(dw_header){.type = DW_METHOD_CALL,
                              .serial = serial,
                              .path = "/org/bus1/DBus/Broker",
                              .interface = "org.bus1.DBus.Broker",
                              .member = "AddListener",
                              .signature = "ohv",
                              .fds = &listener,
                              .n_fds = 1});
    dw_put_object_path(&w, "/org/bus1/DBus/Listener/0");
    dw_put_unix_fd(&w, 0);
    put_policy(&w, type);
    size_t len;
    dw_finish(&w);
    const uint8_t *bytes = dw_writer_bytes(&w, &len);
    bool good = bytes && send_with_fd(c->fd, bytes, len, listener) && client_reply(c, serial, &len);
    dw_writer_free(&w);
    return good;
}

bool broker_listen(int control, int listener)
{
    static const char greeting[] = "\0AUTH EXTERNAL\r\nDATA\r\nNEGOTIATE_UNIX_FD\r\nBEGIN\r\n";
    client c = {.fd = control};
    return write_all(control, greeting, sizeof greeting - 1) && client_skip_line(&c, "DATA") &&
           client_skip_line(&c, "OK ") && client_skip_line(&c, "AGREE_UNIX_FD") &&
           (add_listener(&c, listener, POLICY_NEW, 1) || add_listener(&c, listener, POLICY_OLD, 2));
}
