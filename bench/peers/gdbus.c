/* gdbus.c - GLib: GVariant values, arrays of fixed-size elements in one call,
 * GDBusMessage to and from a blob. */

#include <gio/gio.h>
#include <gio/gunixsocketaddress.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client.h"
#include "library.h"
#include "pair.h"

/* -- Writing -------------------------------------------------------------- */

typedef struct writing {
    const body *b;
    const char *address;
    guchar *blob;
    gsize len;
} writing;

static void add_group(GVariantBuilder *all, const body *b)
{
    GVariantBuilder dict;
    g_variant_builder_init(&dict, G_VARIANT_TYPE("a{si}"));
    for (size_t i = 0; i < b->n_dict; i++)
        g_variant_builder_add_value(
            &dict, g_variant_new_dict_entry(g_variant_new_string(b->dict[i].key),
                                            g_variant_new_int32(b->dict[i].value)));
    GVariant *inner[] = {g_variant_new_uint64(b->struct_number),
                         g_variant_new_string(b->struct_string)};
    g_variant_builder_add_value(all, g_variant_new_string(b->string));
    g_variant_builder_add_value(all, g_variant_new_uint64(b->number));
    g_variant_builder_add_value(all, g_variant_new_tuple(inner, 2));
    g_variant_builder_add_value(all, g_variant_builder_end(&dict));
    g_variant_builder_add_value(
        all, g_variant_new_fixed_array(G_VARIANT_TYPE_UINT64, b->ints, b->n_ints, 8));
    g_variant_builder_add_value(all, g_variant_new_strv(b->strings, (gssize)b->n_strings));
}

static GDBusMessage *build(const body *b)
{
    GVariantBuilder all;
    GDBusMessage *m = g_dbus_message_new_signal(b->path, b->interface, b->member);
    g_variant_builder_init(&all, G_VARIANT_TYPE_TUPLE);
    for (size_t i = 0; i < b->repeat; i++)
        add_group(&all, b);
    g_dbus_message_set_body(m, g_variant_builder_end(&all));
    return m;
}

static void *writing_open(const body *b)
{
    writing *w = calloc(1, sizeof *w);
    if (w)
        w->b = b;
    return w;
}

static bool writing_run(void *state)
{
    writing *w = state;
    GDBusMessage *m = build(w->b);
    g_free(w->blob);
    g_dbus_message_set_serial(m, 1);
    w->blob = g_dbus_message_to_blob(m, &w->len, G_DBUS_CAPABILITY_FLAGS_NONE, NULL);
    g_object_unref(m);
    return w->blob != NULL;
}

static const uint8_t *writing_bytes(void *state, size_t *len)
{
    const writing *w = state;
    *len = w->len;
    return w->blob;
}

static void writing_close(void *state)
{
    writing *w = state;
    g_free(w->blob);
    free(w);
}

/* -- Reading -------------------------------------------------------------- */

typedef struct reading {
    const body *b;
    guchar *bytes;
    size_t len;
} reading;

static void *reading_open(const body *b, const uint8_t *bytes, size_t len)
{
    reading *r = malloc(sizeof *r);
    if (r)
        *r = (reading){b, (guchar *)bytes, len};
    return r;
}

static void get_text(GVariant *v, digest *d)
{
    gsize len;
    g_variant_get_string(v, &len);
    d->lengths += len;
    g_variant_unref(v);
}

static void get_number(GVariant *v, digest *d)
{
    d->integers += g_variant_get_uint64(v);
    g_variant_unref(v);
}

static void get_dict(GVariant *v, digest *d)
{
    GVariantIter iter;
    GVariant *entry;
    g_variant_iter_init(&iter, v);
    while ((entry = g_variant_iter_next_value(&iter))) {
        GVariant *value = g_variant_get_child_value(entry, 1);
        get_text(g_variant_get_child_value(entry, 0), d);
        d->integers += (uint64_t)(int64_t)g_variant_get_int32(value);
        g_variant_unref(value);
        g_variant_unref(entry);
    }
    g_variant_unref(v);
}

static void get_ints(GVariant *v, digest *d)
{
    gsize n;
    const void *ints = g_variant_get_fixed_array(v, &n, 8);
    digest_ints(d, ints, n);
    g_variant_unref(v);
}

static void get_strings(GVariant *v, digest *d)
{
    GVariantIter iter;
    GVariant *s;
    g_variant_iter_init(&iter, v);
    while ((s = g_variant_iter_next_value(&iter)))
        get_text(s, d);
    g_variant_unref(v);
}

static void get_group(GVariant *all, gsize first, digest *d)
{
    GVariant *inner = g_variant_get_child_value(all, first + 2);
    get_text(g_variant_get_child_value(all, first), d);
    get_number(g_variant_get_child_value(all, first + 1), d);
    get_number(g_variant_get_child_value(inner, 0), d);
    get_text(g_variant_get_child_value(inner, 1), d);
    g_variant_unref(inner);
    get_dict(g_variant_get_child_value(all, first + 3), d);
    get_ints(g_variant_get_child_value(all, first + 4), d);
    get_strings(g_variant_get_child_value(all, first + 5), d);
}

enum { GROUP_VALUES = 6 };

static bool reading_run(void *state, digest *d)
{
    const reading *r = state;
    GDBusMessage *m =
        g_dbus_message_new_from_blob(r->bytes, r->len, G_DBUS_CAPABILITY_FLAGS_NONE, NULL);
    GVariant *all = m ? g_dbus_message_get_body(m) : NULL;
    bool good = all && strcmp(g_dbus_message_get_signature(m), r->b->signature) == 0;
    for (size_t i = 0; good && i < r->b->repeat; i++)
        get_group(all, i * GROUP_VALUES, d);
    if (m)
        g_object_unref(m);
    return good;
}

/* -- One connection for one signal ---------------------------------------- */

static void *sending_open(const body *b, const char *address)
{
    writing *w = writing_open(b);
    if (w)
        w->address = address;
    return w;
}

static GDBusConnection *dial_address(const char *address, bool bus)
{
    GDBusConnectionFlags flags = G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT;
    if (bus)
        flags |= G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION;
    return g_dbus_connection_new_for_address_sync(address, flags, NULL, NULL, NULL);
}

static void end(GDBusConnection *c)
{
    g_dbus_connection_close_sync(c, NULL, NULL);
    g_object_unref(c);
}

static bool send_message(GDBusConnection *c, GDBusMessage *m)
{
    bool good =
        g_dbus_connection_send_message(c, m, G_DBUS_SEND_MESSAGE_FLAGS_NONE, NULL, NULL) != 0;
    g_object_unref(m);
    return good;
}

static bool sending_run(void *state)
{
    const writing *w = state;
    GDBusConnection *c = dial_address(w->address, true);
    if (!c)
        return false;
    bool good = send_message(c, build(w->b)) && g_dbus_connection_flush_sync(c, NULL, NULL);
    end(c);
    return good;
}

/* -- Two processes -------------------------------------------------------- */

/* What the worker thread sees of a server: filters run there, and so nothing
 * waits for the main loop, which only ends the process. */
typedef struct serving {
    server *s;
    GMainLoop *loop;
} serving;

static void take_chunk(serving *v, GDBusMessage *m)
{
    gsize len;
    GVariant *array = g_variant_get_child_value(g_dbus_message_get_body(m), 0);
    const void *bytes = g_variant_get_fixed_array(array, &len, 1);
    if (!server_take(v->s, bytes, len))
        g_main_loop_quit(v->loop);
    g_variant_unref(array);
}

static void echo(GDBusConnection *c, GDBusMessage *m)
{
    GDBusMessage *reply = g_dbus_message_new_method_reply(m);
    g_dbus_message_set_body(reply, g_dbus_message_get_body(m));
    send_message(c, reply);
}

static GDBusMessage *filter(GDBusConnection *c, GDBusMessage *m, gboolean incoming, gpointer data)
{
    const char *member = g_dbus_message_get_member(m);
    if (!incoming || !member)
        return m;
    if (strcmp(member, CHUNK_MEMBER) == 0)
        take_chunk(data, m);
    else if (strcmp(member, ECHO_MEMBER) == 0)
        echo(c, m);
    else
        return m;
    g_object_unref(m);
    return NULL;
}

static void closed(GDBusConnection *c, gboolean vanished, GError *error, gpointer data)
{
    (void)c, (void)vanished, (void)error;
    g_main_loop_quit(((serving *)data)->loop);
}

static GDBusConnection *serve_peer(server *s, const char *address)
{
    GDBusConnection *c = NULL;
    int fd = server_accept(s, address);
    GSocket *socket = fd < 0 ? NULL : g_socket_new_from_fd(fd, NULL);
    if (socket) {
        GSocketConnection *stream = g_socket_connection_factory_create_connection(socket);
        char *guid = g_dbus_generate_guid();
        c = g_dbus_connection_new_sync(G_IO_STREAM(stream), guid,
                                       G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_SERVER |
                                           G_DBUS_CONNECTION_FLAGS_DELAY_MESSAGE_PROCESSING,
                                       NULL, NULL, NULL);
        g_free(guid);
        g_object_unref(stream);
        g_object_unref(socket);
    }
    return c;
}

static bool serve(server *s, workload_kind kind, const char *address)
{
    serving v = {s, g_main_loop_new(NULL, false)};
    GDBusConnection *c = kind == CALL_BUS ? dial_address(address, true) : serve_peer(s, address);
    bool good = c != NULL;
    if (good) {
        g_dbus_connection_add_filter(c, filter, &v, NULL);
        g_signal_connect(c, "closed", G_CALLBACK(closed), &v);
    }
    if (good && kind == CALL_BUS)
        good = server_ready(s, g_dbus_connection_get_unique_name(c));
    else if (good)
        g_dbus_connection_start_message_processing(c);
    if (good)
        g_main_loop_run(v.loop);
    if (c)
        end(c);
    g_main_loop_unref(v.loop);
    return good;
}

typedef struct calling {
    GDBusConnection *c;
    const char *peer;
} calling;

static void *dial(workload_kind kind, const char *address, const char *peer)
{
    calling *l = malloc(sizeof *l);
    if (!l)
        return NULL;
    l->peer = *peer ? peer : NULL;
    l->c = dial_address(address, kind == CALL_BUS);
    if (l->c)
        return l;
    free(l);
    return NULL;
}

static void hang_up(void *state)
{
    calling *l = state;
    end(l->c);
    free(l);
}

/* Its queue takes everything at once; so that it does not hold a gibibyte, it
 * is emptied now and then. */
static bool stream(void *state)
{
    const calling *l = state;
    bool good = true;
    for (uint64_t i = 0; good && i < ALL_CHUNKS; i++) {
        GDBusMessage *m = g_dbus_message_new_signal(BENCH_PATH, BENCH_INTERFACE, CHUNK_MEMBER);
        GVariant *chunk =
            g_variant_new_fixed_array(G_VARIANT_TYPE_BYTE, stream_chunk(i), CHUNK_LEN, 1);
        g_dbus_message_set_body(m, g_variant_new_tuple(&chunk, 1));
        good = send_message(l->c, m);
        if (i % N_CHUNKS == N_CHUNKS - 1)
            good = good && g_dbus_connection_flush_sync(l->c, NULL, NULL);
    }
    return good;
}

static bool call(void *state)
{
    const calling *l = state;
    const char *text;
    GVariant *reply = g_dbus_connection_call_sync(
        l->c, l->peer, BENCH_PATH, BENCH_INTERFACE, ECHO_MEMBER, g_variant_new("(s)", ECHO_TEXT),
        G_VARIANT_TYPE("(s)"), G_DBUS_CALL_FLAGS_NONE, -1, NULL, NULL);
    if (!reply)
        return false;
    g_variant_get(reply, "(&s)", &text);
    bool good = strcmp(text, ECHO_TEXT) == 0;
    g_variant_unref(reply);
    return good;
}

const library library_gdbus = {
    .name = "gdbus",
    .version = HAVE_GDBUS,
    .marshal = {writing_open, writing_run, writing_bytes, writing_close},
    .unmarshal = {reading_open, reading_run, free},
    .send = {sending_open, sending_run, free},
    .link = {serve, dial, stream, call, hang_up},
};
