/* peer_libdbus.c - libdbus: a DBusConnection that was opened, and one that a
 * DBusServer accepted. */

#include "peer.h"

#include <dbus/dbus.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

const char peer_name[] = "libdbus";
const int peer_column = PEER_LIBDBUS;

enum { PATIENCE_MS = 20000 };

bool peer_refuses(const char *signature, const void *bytes, size_t len)
{
    (void)signature, (void)bytes, (void)len;
    return false;
}

/* -- Values ----------------------------------------------------------------------- */

static void copy_values(DBusMessageIter *from, DBusMessageIter *to);

static void copy_basic(DBusMessageIter *from, DBusMessageIter *to, int type)
{
    DBusBasicValue value;
    dbus_message_iter_get_basic(from, &value);
    if (!dbus_message_iter_append_basic(to, type, &value))
        abort();
    if (type == DBUS_TYPE_UNIX_FD)
        close(value.fd);
}

static void copy_container(DBusMessageIter *from, DBusMessageIter *to, int type)
{
    DBusMessageIter inside, copy;
    dbus_message_iter_recurse(from, &inside);
    char *signature = type == DBUS_TYPE_ARRAY || type == DBUS_TYPE_VARIANT
                          ? dbus_message_iter_get_signature(&inside)
                          : NULL;
    int element = type == DBUS_TYPE_ARRAY ? dbus_message_iter_get_element_type(from) : 0;
    if (!dbus_message_iter_open_container(to, type, signature, &copy))
        abort();
    if (dbus_type_is_fixed(element) && element != DBUS_TYPE_UNIX_FD) {
        const void *values;
        int n;
        dbus_message_iter_get_fixed_array(&inside, &values, &n);
        if (n && !dbus_message_iter_append_fixed_array(&copy, element, &values, n))
            abort();
    } else {
        copy_values(&inside, &copy);
    }
    dbus_message_iter_close_container(to, &copy);
    dbus_free(signature);
}

static void copy_values(DBusMessageIter *from, DBusMessageIter *to)
{
    int type;
    while ((type = dbus_message_iter_get_arg_type(from)) != DBUS_TYPE_INVALID) {
        if (dbus_type_is_basic(type))
            copy_basic(from, to, type);
        else
            copy_container(from, to, type);
        dbus_message_iter_next(from);
    }
}

static DBusMessage *with_values(DBusMessage *to, DBusMessage *of)
{
    DBusMessageIter from, at;
    dbus_message_iter_init_append(to, &at);
    if (dbus_message_iter_init(of, &from))
        copy_values(&from, &at);
    return to;
}

/* -- Answers ------------------------------------------------------------------------ */

static DBusMessage *give(DBusMessage *call)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    DBusMessage *reply = dbus_message_new_method_return(call);
    if (!dbus_message_append_args(reply, DBUS_TYPE_UNIX_FD, &fd, DBUS_TYPE_INVALID))
        abort();
    close(fd);
    return reply;
}

static DBusMessage *ask(DBusConnection *c, DBusMessage *call, const char *interface,
                        const char *member)
{
    DBusError error = DBUS_ERROR_INIT;
    DBusMessage *reply, *question = dbus_message_new_method_call(dbus_message_get_sender(call),
                                                                 PEER_PATH, interface, member);
    with_values(question, call);
    DBusMessage *answer =
        dbus_connection_send_with_reply_and_block(c, question, PATIENCE_MS, &error);
    dbus_message_unref(question);
    if (answer) {
        reply = with_values(dbus_message_new_method_return(call), answer);
        dbus_message_unref(answer);
    } else {
        reply = dbus_message_new_error(call, error.name, error.message);
        dbus_error_free(&error);
    }
    return reply;
}

static DBusMessage *answer_to(DBusConnection *c, DBusMessage *call)
{
    const char *asked, *interface = peer_asks(dbus_message_get_member(call), &asked);
    if (interface)
        return ask(c, call, interface, asked);
    if (dbus_message_has_member(call, "Echo"))
        return with_values(dbus_message_new_method_return(call), call);
    if (dbus_message_has_member(call, "Give"))
        return give(call);
    return dbus_message_new_error(call, PEER_ERROR, PEER_ERROR_TEXT);
}

static void send_off(DBusConnection *c, DBusMessage *m, DBusMessage *call)
{
    if (!dbus_connection_send(c, m, NULL) && call) {
        DBusMessage *error = dbus_message_new_error(call, PEER_ERROR, "not sent");
        dbus_connection_send(c, error, NULL);
        dbus_message_unref(error);
    }
    dbus_message_unref(m);
}

static DBusHandlerResult handle(DBusConnection *c, DBusMessage *m, void *leave)
{
    if (!dbus_message_has_interface(m, PEER_INTERFACE))
        return DBUS_HANDLER_RESULT_NOT_YET_HANDLED;
    if (dbus_message_has_member(m, "Leave"))
        *(bool *)leave = true;
    else if (dbus_message_has_member(m, "Say"))
        send_off(c, with_values(dbus_message_new_signal(PEER_PATH, PEER_INTERFACE, "Said"), m),
                 NULL);
    else if (dbus_message_get_type(m) == DBUS_MESSAGE_TYPE_METHOD_CALL)
        send_off(c, answer_to(c, m), m);
    return DBUS_HANDLER_RESULT_HANDLED;
}

/* -- Connections -------------------------------------------------------------------- */

static DBusConnection *dial(const char *address)
{
    DBusConnection *c = dbus_connection_open_private(address, NULL);
    if (c)
        dbus_connection_set_exit_on_disconnect(c, false);
    return c;
}

static DBusConnection *join(const char *address, int ready)
{
    DBusConnection *c = dial(address);
    if (c && dbus_bus_register(c, NULL) &&
        dbus_bus_request_name(c, PEER_NAME, 0, NULL) == DBUS_REQUEST_NAME_REPLY_PRIMARY_OWNER &&
        peer_ready(ready))
        return c;
    return NULL;
}

/* The one thing that a DBusServer watches is its socket. */
static dbus_bool_t add_watch(DBusWatch *w, void *watch)
{
    *(DBusWatch **)watch = w;
    return true;
}

static void remove_watch(DBusWatch *w, void *watch)
{
    (void)w;
    *(DBusWatch **)watch = NULL;
}

static void accepted(DBusServer *s, DBusConnection *c, void *connection)
{
    (void)s;
    *(DBusConnection **)connection = dbus_connection_ref(c);
}

static DBusConnection *serve_one(const char *address, int ready)
{
    DBusConnection *c = NULL;
    DBusWatch *w = NULL;
    DBusServer *s = dbus_server_listen(address, NULL);
    if (!s)
        return NULL;
    dbus_server_set_new_connection_function(s, accepted, &c, NULL);
    bool good = dbus_server_set_watch_functions(s, add_watch, remove_watch, NULL, &w, NULL) && w &&
                peer_ready(ready);
    struct pollfd p = {.fd = good ? dbus_watch_get_unix_fd(w) : -1, .events = POLLIN};
    if (good && poll(&p, 1, PATIENCE_MS) == 1)
        dbus_watch_handle(w, DBUS_WATCH_READABLE);
    dbus_server_disconnect(s);
    dbus_server_unref(s);
    return c;
}

bool peer_serve(role r, const char *address, int ready)
{
    bool leave = false;
    DBusConnection *c = r == PEER_DIALS     ? dial(address)
                        : r == PEER_LISTENS ? serve_one(address, ready)
                                            : join(address, ready);
    if (!c || !dbus_connection_add_filter(c, handle, &leave, NULL))
        return false;
    while (!leave && dbus_connection_read_write_dispatch(c, -1))
        ;
    dbus_connection_close(c);
    dbus_connection_unref(c);
    return true;
}
