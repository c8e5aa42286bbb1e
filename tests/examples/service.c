/* service.c - a service on the session bus, with a method, a property and a
 * signal; busctl and gdbus can introspect and call it:
 *     busctl --user call org.example.Counter /org/example/Counter \
 *         org.example.Counter Add u 3 */

#include <dwire.h>
#include <stdio.h>
#include <string.h>

#define NAME      "org.example.Counter"
#define PATH      "/org/example/Counter"
#define INTERFACE "org.example.Counter"

static const char description[] =
    "<!DOCTYPE node PUBLIC \"-//freedesktop//DTD D-BUS Object Introspection 1.0//EN\"\n"
    " \"http://www.freedesktop.org/standards/dbus/1.0/introspect.dtd\">\n"
    "<node>\n"
    " <interface name=\"org.freedesktop.DBus.Introspectable\">\n"
    "  <method name=\"Introspect\"><arg type=\"s\" direction=\"out\"/></method>\n"
    " </interface>\n"
    " <interface name=\"org.freedesktop.DBus.Properties\">\n"
    "  <method name=\"Get\">\n"
    "   <arg type=\"s\" direction=\"in\"/><arg type=\"s\" direction=\"in\"/>\n"
    "   <arg type=\"v\" direction=\"out\"/>\n"
    "  </method>\n"
    "  <method name=\"GetAll\">\n"
    "   <arg type=\"s\" direction=\"in\"/><arg type=\"a{sv}\" direction=\"out\"/>\n"
    "  </method>\n"
    " </interface>\n"
    " <interface name=\"" INTERFACE "\">\n"
    "  <method name=\"Add\">\n"
    "   <arg name=\"n\" type=\"u\" direction=\"in\"/>\n"
    "   <arg name=\"count\" type=\"u\" direction=\"out\"/>\n"
    "  </method>\n"
    "  <method name=\"Quit\"/>\n"
    "  <property name=\"Count\" type=\"u\" access=\"read\">\n"
    "   <annotation name=\"org.freedesktop.DBus.Property.EmitsChangedSignal\" value=\"false\"/>\n"
    "  </property>\n"
    "  <signal name=\"Changed\"><arg name=\"count\" type=\"u\"/></signal>\n"
    " </interface>\n"
    "</node>\n";

static const char root[] = "<node><node name=\"org/example/Counter\"/></node>\n";

typedef struct service {
    dw_conn *bus;
    dw_writer w;
    uint32_t count;
    bool done;
} service;

static bool is(dw_string s, const char *text)
{
    return strcmp(s.p, text) == 0;
}

static int send_it(service *s)
{
    int code = dw_finish(&s->w);
    return code == 0 ? dw_send(s->bus, &s->w, NULL) : code;
}

static int add(service *s, const dw_message *call)
{
    dw_reader r;
    dw_reader_init(&r, call);
    uint32_t n = dw_get_uint32(&r);
    if (dw_reader_finish(&r) != 0)
        return dw_reply_error(s->bus, call, "org.freedesktop.DBus.Error.InvalidArgs", "a number");
    s->count += n;
    dw_begin_reply(&s->w, call, "u");
    dw_put_uint32(&s->w, s->count);
    int code = send_it(s);
    if (code != 0)
        return code;
    dw_begin_signal(&s->w, PATH, INTERFACE, "Changed", "u");
    dw_put_uint32(&s->w, s->count);
    return send_it(s);
}

static int get(service *s, const dw_message *call)
{
    dw_reader r;
    dw_reader_init(&r, call);
    dw_string interface = dw_get_string(&r), name = dw_get_string(&r);
    if (dw_reader_finish(&r) != 0 || !is(interface, INTERFACE) || !is(name, "Count"))
        return dw_reply_error(s->bus, call, "org.freedesktop.DBus.Error.UnknownProperty", name.p);
    dw_begin_reply(&s->w, call, "v");
    dw_open_variant(&s->w, "u");
    dw_put_uint32(&s->w, s->count);
    dw_close_variant(&s->w);
    return send_it(s);
}

static int get_all(service *s, const dw_message *call)
{
    dw_begin_reply(&s->w, call, "a{sv}");
    dw_open_array(&s->w);
    dw_open_entry(&s->w);
    dw_put_string(&s->w, "Count");
    dw_open_variant(&s->w, "u");
    dw_put_uint32(&s->w, s->count);
    dw_close_variant(&s->w);
    dw_close_entry(&s->w);
    dw_close_array(&s->w);
    return send_it(s);
}

static int introspect(service *s, const dw_message *call)
{
    dw_begin_reply(&s->w, call, "s");
    dw_put_string(&s->w, is(call->path, PATH) ? description : root);
    return send_it(s);
}

static int answer(service *s, const dw_message *call)
{
    if (is(call->member, "Introspect"))
        return introspect(s, call);
    if (!is(call->path, PATH))
        return dw_reply_error(s->bus, call, "org.freedesktop.DBus.Error.UnknownObject",
                              call->path.p);
    if (is(call->member, "Add"))
        return add(s, call);
    if (is(call->member, "Get"))
        return get(s, call);
    if (is(call->member, "GetAll"))
        return get_all(s, call);
    if (is(call->member, "Quit")) {
        s->done = true;
        return dw_reply(s->bus, call);
    }
    return dw_reply_error(s->bus, call, "org.freedesktop.DBus.Error.UnknownMethod", call->member.p);
}

int main(void)
{
    service s = {0};
    dw_message m;
    int code = dw_connect_bus(&s.bus, DW_BUS_SESSION, DW_TIMEOUT_DEFAULT);
    dw_writer_init(&s.w, NULL, 0, dw_heap);
    if (code == 0)
        code = dw_request_name(s.bus, NAME, DW_NAME_DO_NOT_QUEUE, DW_TIMEOUT_DEFAULT, NULL);
    if (code == DW_NAME_OWNER) {
        puts("ready");
        fflush(stdout);
    }
    while (code > 0 && !s.done && (code = dw_receive(s.bus, &m, DW_TIMEOUT_NONE)) > 0)
        if (m.type == DW_METHOD_CALL && answer(&s, &m) != 0)
            break;
    if (s.done)
        code = dw_flush(s.bus, DW_TIMEOUT_DEFAULT);
    if (code < 0)
        fprintf(stderr, "service: %s\n", dw_error_text(code));
    dw_writer_free(&s.w);
    dw_conn_close(s.bus);
    return code < 0;
}
