/* libdbus.c - the reference implementation: iterators, and arrays of fixed-size
 * elements in one call. */

#include <dbus/dbus.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "library.h"
#include "pair.h"

/* -- Writing -------------------------------------------------------------- */

typedef struct writing {
    const body *b;
    const char *address;
    char *bytes;
    int len;
} writing;

static bool put(DBusMessageIter *i, int type, const void *value)
{
    return dbus_message_iter_append_basic(i, type, value);
}

static bool put_dict(DBusMessageIter *i, const body *b)
{
    DBusMessageIter array, entry;
    bool good = dbus_message_iter_open_container(i, DBUS_TYPE_ARRAY, "{si}", &array);
    for (size_t k = 0; good && k < b->n_dict; k++)
        good = dbus_message_iter_open_container(&array, DBUS_TYPE_DICT_ENTRY, NULL, &entry) &&
               put(&entry, DBUS_TYPE_STRING, &b->dict[k].key) &&
               put(&entry, DBUS_TYPE_INT32, &b->dict[k].value) &&
               dbus_message_iter_close_container(&array, &entry);
    return good && dbus_message_iter_close_container(i, &array);
}

static bool put_ints(DBusMessageIter *i, const body *b)
{
    DBusMessageIter array;
    return dbus_message_iter_open_container(i, DBUS_TYPE_ARRAY, "t", &array) &&
           dbus_message_iter_append_fixed_array(&array, DBUS_TYPE_UINT64, &b->ints,
                                                (int)b->n_ints) &&
           dbus_message_iter_close_container(i, &array);
}

static bool put_strings(DBusMessageIter *i, const body *b)
{
    DBusMessageIter array;
    bool good = dbus_message_iter_open_container(i, DBUS_TYPE_ARRAY, "s", &array);
    for (size_t k = 0; good && k < b->n_strings; k++)
        good = put(&array, DBUS_TYPE_STRING, &b->strings[k]);
    return good && dbus_message_iter_close_container(i, &array);
}

static bool put_group(DBusMessageIter *i, const body *b)
{
    DBusMessageIter inner;
    return put(i, DBUS_TYPE_STRING, &b->string) && put(i, DBUS_TYPE_UINT64, &b->number) &&
           dbus_message_iter_open_container(i, DBUS_TYPE_STRUCT, NULL, &inner) &&
           put(&inner, DBUS_TYPE_UINT64, &b->struct_number) &&
           put(&inner, DBUS_TYPE_STRING, &b->struct_string) &&
           dbus_message_iter_close_container(i, &inner) && put_dict(i, b) && put_ints(i, b) &&
           put_strings(i, b);
}

static DBusMessage *build(const body *b)
{
    DBusMessage *m = dbus_message_new_signal(b->path, b->interface, b->member);
    DBusMessageIter i;
    bool good = m != NULL;
    if (good)
        dbus_message_iter_init_append(m, &i);
    for (size_t k = 0; good && k < b->repeat; k++)
        good = put_group(&i, b);
    if (m && !good) {
        dbus_message_unref(m);
        m = NULL;
    }
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
    DBusMessage *m = build(w->b);
    if (!m)
        return false;
    dbus_free(w->bytes);
    dbus_message_set_serial(m, 1);
    bool good = dbus_message_marshal(m, &w->bytes, &w->len);
    dbus_message_unref(m);
    return good;
}

static const uint8_t *writing_bytes(void *state, size_t *len)
{
    const writing *w = state;
    *len = (size_t)w->len;
    return (const uint8_t *)w->bytes;
}

static void writing_close(void *state)
{
    writing *w = state;
    dbus_free(w->bytes);
    free(w);
}

/* -- Reading -------------------------------------------------------------- */

typedef struct reading {
    const body *b;
    const char *bytes;
    int len;
} reading;

static void *reading_open(const body *b, const uint8_t *bytes, size_t len)
{
    reading *r = malloc(sizeof *r);
    if (r)
        *r = (reading){b, (const char *)bytes, (int)len};
    return r;
}

static void get_text(DBusMessageIter *i, digest *d)
{
    const char *s;
    dbus_message_iter_get_basic(i, &s);
    d->lengths += strlen(s);
    dbus_message_iter_next(i);
}

static void get_number(DBusMessageIter *i, digest *d)
{
    uint64_t value;
    dbus_message_iter_get_basic(i, &value);
    d->integers += value;
    dbus_message_iter_next(i);
}

static void get_dict(DBusMessageIter *i, digest *d)
{
    DBusMessageIter array, entry;
    dbus_message_iter_recurse(i, &array);
    while (dbus_message_iter_get_arg_type(&array) == DBUS_TYPE_DICT_ENTRY) {
        int32_t value;
        dbus_message_iter_recurse(&array, &entry);
        get_text(&entry, d);
        dbus_message_iter_get_basic(&entry, &value);
        d->integers += (uint64_t)(int64_t)value;
        dbus_message_iter_next(&array);
    }
    dbus_message_iter_next(i);
}

static void get_group(DBusMessageIter *i, digest *d)
{
    DBusMessageIter inner;
    get_text(i, d);
    get_number(i, d);
    dbus_message_iter_recurse(i, &inner);
    get_number(&inner, d);
    get_text(&inner, d);
    dbus_message_iter_next(i);
    get_dict(i, d);

    const uint64_t *ints;
    int n;
    dbus_message_iter_recurse(i, &inner);
    dbus_message_iter_get_fixed_array(&inner, &ints, &n);
    digest_ints(d, ints, (size_t)n);
    dbus_message_iter_next(i);

    dbus_message_iter_recurse(i, &inner);
    while (dbus_message_iter_get_arg_type(&inner) == DBUS_TYPE_STRING)
        get_text(&inner, d);
    dbus_message_iter_next(i);
}

static bool reading_run(void *state, digest *d)
{
    const reading *r = state;
    DBusMessageIter i;
    DBusMessage *m = dbus_message_demarshal(r->bytes, r->len, NULL);
    if (!m)
        return false;
    bool good = dbus_message_has_signature(m, r->b->signature) && dbus_message_iter_init(m, &i);
    for (size_t k = 0; good && k < r->b->repeat; k++)
        get_group(&i, d);
    dbus_message_unref(m);
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

static void hang_up(void *state)
{
    DBusConnection *c = state;
    dbus_connection_close(c);
    dbus_connection_unref(c);
}

static DBusConnection *dial_address(const char *address, bool bus)
{
    DBusConnection *c = dbus_connection_open_private(address, NULL);
    if (c)
        dbus_connection_set_exit_on_disconnect(c, false);
    if (!c || !bus || dbus_bus_register(c, NULL))
        return c;
    hang_up(c);
    return NULL;
}

static bool sending_run(void *state)
{
    const writing *w = state;
    DBusConnection *c = dial_address(w->address, true);
    if (!c)
        return false;
    DBusMessage *m = build(w->b);
    bool good = m && dbus_connection_send(c, m, NULL);
    if (m)
        dbus_message_unref(m);
    dbus_connection_flush(c);
    hang_up(c);
    return good;
}

/* -- Two processes -------------------------------------------------------- */

typedef struct serving {
    DBusServer *listener;
    DBusWatch *watch;
    DBusConnection *peer;
} serving;

static dbus_bool_t add_watch(DBusWatch *watch, void *data)
{
    ((serving *)data)->watch = watch;
    return true;
}

static void remove_watch(DBusWatch *watch, void *data)
{
    (void)watch;
    ((serving *)data)->watch = NULL;
}

static void arrived(DBusServer *listener, DBusConnection *c, void *data)
{
    (void)listener;
    ((serving *)data)->peer = dbus_connection_ref(c);
}

/* Listens, and waits for the one client. */
static bool await_peer(server *s, serving *v, const char *address)
{
    v->listener = dbus_server_listen(address, NULL);
    if (!v->listener)
        return false;
    dbus_server_set_new_connection_function(v->listener, arrived, v, NULL);
    dbus_server_set_watch_functions(v->listener, add_watch, remove_watch, NULL, v, NULL);
    bool good = v->watch && server_ready(s, "");
    while (good && !v->peer) {
        struct pollfd p = {.fd = dbus_watch_get_unix_fd(v->watch), .events = POLLIN};
        good = poll(&p, 1, -1) >= 0 && dbus_watch_handle(v->watch, DBUS_WATCH_READABLE);
    }
    return good;
}

static bool take_chunk(server *s, DBusMessage *m)
{
    const uint8_t *bytes;
    int n;
    return dbus_message_get_args(m, NULL, DBUS_TYPE_ARRAY, DBUS_TYPE_BYTE, &bytes, &n,
                                 DBUS_TYPE_INVALID) &&
           server_take(s, bytes, (size_t)n);
}

static bool echo(DBusConnection *c, DBusMessage *call)
{
    const char *text;
    if (!dbus_message_get_args(call, NULL, DBUS_TYPE_STRING, &text, DBUS_TYPE_INVALID))
        return false;
    DBusMessage *reply = dbus_message_new_method_return(call);
    bool good = reply &&
                dbus_message_append_args(reply, DBUS_TYPE_STRING, &text, DBUS_TYPE_INVALID) &&
                dbus_connection_send(c, reply, NULL);
    if (reply)
        dbus_message_unref(reply);
    return good;
}

/* Hands out messages until the client is gone or the work is done. */
static void answer(server *s, DBusConnection *c)
{
    bool more = true;
    while (more && dbus_connection_read_write(c, -1)) {
        DBusMessage *m;
        while (more && (m = dbus_connection_pop_message(c))) {
            if (dbus_message_is_signal(m, BENCH_INTERFACE, CHUNK_MEMBER))
                more = take_chunk(s, m);
            else if (dbus_message_is_method_call(m, BENCH_INTERFACE, ECHO_MEMBER))
                more = echo(c, m);
            else if (dbus_message_is_signal(m, DBUS_INTERFACE_LOCAL, "Disconnected"))
                more = false;
            dbus_message_unref(m);
        }
    }
}

static bool serve(server *s, workload_kind kind, const char *address)
{
    serving v = {0};
    bool good;
    if (kind == CALL_BUS) {
        v.peer = dial_address(address, true);
        good = v.peer && server_ready(s, dbus_bus_get_unique_name(v.peer));
    } else {
        good = await_peer(s, &v, address);
    }
    if (good)
        answer(s, v.peer);
    if (v.peer)
        hang_up(v.peer);
    if (v.listener) {
        dbus_server_disconnect(v.listener);
        dbus_server_unref(v.listener);
    }
    return good;
}

typedef struct calling {
    DBusConnection *c;
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

static bool send_chunk(DBusConnection *c, const uint8_t *chunk)
{
    DBusMessage *m = dbus_message_new_signal(BENCH_PATH, BENCH_INTERFACE, CHUNK_MEMBER);
    bool good = m &&
                dbus_message_append_args(m, DBUS_TYPE_ARRAY, DBUS_TYPE_BYTE, &chunk, (int)CHUNK_LEN,
                                         DBUS_TYPE_INVALID) &&
                dbus_connection_send(c, m, NULL);
    if (m)
        dbus_message_unref(m);
    return good;
}

/* What the socket does not take at once would pile up in memory. */
static bool stream(void *state)
{
    const calling *l = state;
    bool good = true;
    for (uint64_t i = 0; good && i < ALL_CHUNKS; i++) {
        good = send_chunk(l->c, stream_chunk(i));
        if (dbus_connection_has_messages_to_send(l->c))
            dbus_connection_flush(l->c);
    }
    return good && dbus_connection_get_is_connected(l->c);
}

static bool call(void *state)
{
    const calling *l = state;
    const char *text = ECHO_TEXT;
    DBusMessage *reply = NULL;
    DBusMessage *m =
        dbus_message_new_method_call(l->peer, BENCH_PATH, BENCH_INTERFACE, ECHO_MEMBER);
    if (m && dbus_message_append_args(m, DBUS_TYPE_STRING, &text, DBUS_TYPE_INVALID))
        reply = dbus_connection_send_with_reply_and_block(l->c, m, -1, NULL);
    bool good = reply &&
                dbus_message_get_args(reply, NULL, DBUS_TYPE_STRING, &text, DBUS_TYPE_INVALID) &&
                strcmp(text, ECHO_TEXT) == 0;
    if (reply)
        dbus_message_unref(reply);
    if (m)
        dbus_message_unref(m);
    return good;
}

static void calling_close(void *state)
{
    calling *l = state;
    hang_up(l->c);
    free(l);
}

const library library_libdbus = {
    .name = "libdbus",
    .version = HAVE_LIBDBUS,
    .marshal = {writing_open, writing_run, writing_bytes, writing_close},
    .unmarshal = {reading_open, reading_run, free},
    .send = {sending_open, sending_run, free},
    .link = {serve, dial, stream, call, calling_close},
};
