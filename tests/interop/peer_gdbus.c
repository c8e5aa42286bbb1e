/* peer_gdbus.c - GLib's library: a GDBusConnection to an address, and one that a
 * GDBusServer accepted. */

#include "peer.h"

#include <fcntl.h>
#include <gio/gio.h>
#include <gio/gunixfdlist.h>
#include <string.h>

const char peer_name[] = "GDBus";
const int peer_column = PEER_GDBUS;

enum { PATIENCE_MS = 20000 };

bool peer_refuses(const char *signature, const void *bytes, size_t len)
{
    (void)signature, (void)bytes, (void)len;
    return false;
}

typedef struct serving {
    GDBusConnection *c;
    GMainLoop *loop;
} serving;

/* -- Answers ------------------------------------------------------------------------ */

static GDBusMessage *with_values(GDBusMessage *to, GDBusMessage *of)
{
    GVariant *body = g_dbus_message_get_body(of);
    if (body)
        g_dbus_message_set_body(to, body);
    g_dbus_message_set_unix_fd_list(to, g_dbus_message_get_unix_fd_list(of));
    return to;
}

/* GDBus would end a connection over a descriptor that it cannot pass. */
static bool can_give(GDBusConnection *c)
{
    return g_dbus_connection_get_capabilities(c) & G_DBUS_CAPABILITY_FLAGS_UNIX_FD_PASSING;
}

static GDBusMessage *give(GDBusMessage *call)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    GUnixFDList *fds = g_unix_fd_list_new_from_array(&fd, 1);
    GDBusMessage *reply = g_dbus_message_new_method_reply(call);
    g_dbus_message_set_body(reply, g_variant_new("(h)", 0));
    g_dbus_message_set_unix_fd_list(reply, fds);
    g_object_unref(fds);
    return reply;
}

static GDBusMessage *ask(GDBusConnection *c, GDBusMessage *call, const char *interface,
                         const char *member)
{
    GError *error = NULL;
    GDBusMessage *reply, *question = g_dbus_message_new_method_call(g_dbus_message_get_sender(call),
                                                                    PEER_PATH, interface, member);
    with_values(question, call);
    GDBusMessage *answer = g_dbus_connection_send_message_with_reply_sync(
        c, question, 0, PATIENCE_MS, NULL, NULL, &error);
    if (!answer) {
        reply = g_dbus_message_new_method_error_literal(call, PEER_ERROR, error->message);
        g_error_free(error);
    } else if (g_dbus_message_get_error_name(answer)) {
        reply = g_dbus_message_new_method_error_literal(call, g_dbus_message_get_error_name(answer),
                                                        g_dbus_message_get_arg0(answer));
    } else {
        reply = with_values(g_dbus_message_new_method_reply(call), answer);
    }
    g_clear_object(&answer);
    g_object_unref(question);
    return reply;
}

static GDBusMessage *answer_to(GDBusConnection *c, GDBusMessage *call)
{
    const char *member = g_dbus_message_get_member(call);
    const char *asked, *interface = peer_asks(member, &asked);
    if (interface)
        return ask(c, call, interface, asked);
    if (strcmp(member, "Echo") == 0)
        return with_values(g_dbus_message_new_method_reply(call), call);
    if (strcmp(member, "Give") == 0 && can_give(c))
        return give(call);
    return g_dbus_message_new_method_error_literal(call, PEER_ERROR, PEER_ERROR_TEXT);
}

static void send_off(GDBusConnection *c, GDBusMessage *m, GDBusMessage *call)
{
    if (!g_dbus_connection_send_message(c, m, 0, NULL, NULL) && call)
        send_off(c, g_dbus_message_new_method_error_literal(call, PEER_ERROR, "not sent"), NULL);
    g_object_unref(m);
}

typedef struct arrival {
    serving *s;
    GDBusMessage *m;
} arrival;

static gboolean handle(void *context)
{
    arrival *a = context;
    GDBusConnection *c = a->s->c;
    const char *member = g_dbus_message_get_member(a->m);
    if (strcmp(member, "Leave") == 0)
        g_main_loop_quit(a->s->loop);
    else if (strcmp(member, "Say") == 0)
        send_off(c, with_values(g_dbus_message_new_signal(PEER_PATH, PEER_INTERFACE, "Said"), a->m),
                 NULL);
    else
        send_off(c, answer_to(c, a->m), a->m);
    g_object_unref(a->m);
    g_free(a);
    return G_SOURCE_REMOVE;
}

/* Runs in GDBus's own thread, where nothing may wait. */
static GDBusMessage *filter(GDBusConnection *c, GDBusMessage *m, gboolean incoming, void *context)
{
    (void)c;
    GDBusMessageType type = g_dbus_message_get_message_type(m);
    if (!incoming ||
        (type != G_DBUS_MESSAGE_TYPE_METHOD_CALL && type != G_DBUS_MESSAGE_TYPE_SIGNAL) ||
        g_strcmp0(g_dbus_message_get_interface(m), PEER_INTERFACE) != 0)
        return m;
    arrival *a = g_new(arrival, 1);
    *a = (arrival){context, m};
    g_idle_add(handle, a);
    return NULL;
}

/* -- Connections -------------------------------------------------------------------- */

static void closed(GDBusConnection *c, gboolean vanished, GError *error, void *context)
{
    (void)c, (void)vanished, (void)error;
    g_main_loop_quit(((serving *)context)->loop);
}

static gboolean take(serving *s, GDBusConnection *c)
{
    s->c = c;
    g_dbus_connection_set_exit_on_close(c, FALSE);
    g_signal_connect(c, "closed", G_CALLBACK(closed), s);
    g_dbus_connection_add_filter(c, filter, s, NULL);
    return TRUE;
}

static gboolean accepted(GDBusServer *server, GDBusConnection *c, void *context)
{
    (void)server;
    return take(context, g_object_ref(c));
}

/* What comes before the filter is there would be lost. */
static bool dial(serving *s, const char *address, GDBusConnectionFlags flags)
{
    GDBusConnection *c = g_dbus_connection_new_for_address_sync(
        address, flags | G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT, NULL, NULL, NULL);
    if (!c)
        return false;
    take(s, c);
    if (flags & G_DBUS_CONNECTION_FLAGS_DELAY_MESSAGE_PROCESSING)
        g_dbus_connection_start_message_processing(c);
    return true;
}

static bool join(serving *s, const char *address, int ready)
{
    if (!dial(s, address, G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION))
        return false;
    GVariant *result = g_dbus_connection_call_sync(
        s->c, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus",
        "RequestName", g_variant_new("(su)", PEER_NAME, 0), NULL, 0, PATIENCE_MS, NULL, NULL);
    if (!result)
        return false;
    g_variant_unref(result);
    return peer_ready(ready);
}

static GDBusServer *listen_at(serving *s, const char *address, int ready)
{
    char *guid = g_dbus_generate_guid();
    GDBusServer *server = g_dbus_server_new_sync(address, 0, guid, NULL, NULL, NULL);
    g_free(guid);
    if (!server)
        return NULL;
    g_signal_connect(server, "new-connection", G_CALLBACK(accepted), s);
    g_dbus_server_start(server);
    if (!peer_ready(ready))
        g_clear_object(&server);
    return server;
}

bool peer_serve(role r, const char *address, int ready)
{
    GDBusServer *server = NULL;
    serving s = {.loop = g_main_loop_new(NULL, FALSE)};
    bool good = r == PEER_DIALS
                    ? dial(&s, address, G_DBUS_CONNECTION_FLAGS_DELAY_MESSAGE_PROCESSING)
                : r == PEER_LISTENS ? (server = listen_at(&s, address, ready)) != NULL
                                    : join(&s, address, ready);
    if (good)
        g_main_loop_run(s.loop);
    if (server)
        g_dbus_server_stop(server);
    g_clear_object(&server);
    g_clear_object(&s.c);
    g_main_loop_unref(s.loop);
    return good;
}
