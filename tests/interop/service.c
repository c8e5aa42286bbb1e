/* service.c - a service by dwire. */

#include "service.h"

#include <string.h>

#include "dwire/bus.h"
#include "support/walk.h"

#define PROPERTIES "org.freedesktop.DBus.Properties"

static const char description[] =
    "<!DOCTYPE node PUBLIC \"-//freedesktop//DTD D-BUS Object Introspection 1.0//EN\"\n"
    " \"http://www.freedesktop.org/standards/dbus/1.0/introspect.dtd\">\n"
    "<node>\n"
    " <interface name=\"" PEER_INTERFACE "\">\n"
    "  <method name=\"Echo\"/>\n"
    "  <method name=\"Say\"><arg name=\"text\" type=\"s\" direction=\"in\"/></method>\n"
    "  <method name=\"Fail\"/>\n"
    "  <property name=\"Level\" type=\"i\" access=\"readwrite\"/>\n"
    "  <signal name=\"Said\"><arg name=\"text\" type=\"s\"/></signal>\n"
    " </interface>\n"
    "</node>\n";

/* Ends the message and sends it. */
static int send_off(dw_conn *c, dw_writer *w)
{
    int code = dw_finish(w);
    code = code ? code : dw_send(c, w, NULL);
    dw_writer_free(w);
    return code;
}

static int with_values(dw_conn *c, const dw_message *of, const dw_header *header)
{
    dw_writer w;
    dw_reader r;
    dw_writer_init(&w, NULL, 0, dw_heap);
    dw_reader_init(&r, of);
    dw_begin(&w, header);
    walk_values(&(walk){.r = &r, .w = &w, .whole = true});
    int code = dw_reader_finish(&r);
    int sent = send_off(c, &w);
    return code ? code : sent;
}

int answer_echo(dw_conn *c, const dw_message *call)
{
    return with_values(c, call,
                       &(dw_header){.type = DW_METHOD_RETURN,
                                    .reply_serial = call->serial,
                                    .destination = call->sender.n ? call->sender.p : NULL,
                                    .signature = call->signature.p,
                                    .fds = call->fds,
                                    .n_fds = call->unix_fds});
}

static int say(dw_conn *c, const dw_message *call)
{
    int code = with_values(c, call,
                           &(dw_header){.type = DW_SIGNAL,
                                        .path = PEER_PATH,
                                        .interface = PEER_INTERFACE,
                                        .member = "Said",
                                        .signature = call->signature.p});
    return code ? code : dw_reply(c, call);
}

static void put_level(dw_writer *w, int32_t level)
{
    dw_open_variant(w, "i");
    dw_put_int32(w, level);
    dw_close_variant(w);
}

static int answer_property(dw_conn *c, const dw_message *call, int32_t *level)
{
    dw_writer w;
    dw_reader r;
    dw_reader_init(&r, call);
    dw_writer_init(&w, NULL, 0, dw_heap);
    if (strcmp(call->member.p, "Get") == 0) {
        dw_begin_reply(&w, call, "v");
        put_level(&w, *level);
    } else if (strcmp(call->member.p, "Set") == 0) {
        dw_get_string(&r);
        dw_get_string(&r);
        dw_enter_variant(&r);
        *level = dw_get_int32(&r);
        dw_leave_variant(&r);
        if (dw_reader_finish(&r) != 0)
            return dw_reply_error(c, call, PEER_ERROR, "Level is a number");
        dw_begin_reply(&w, call, NULL);
    } else {
        dw_begin_reply(&w, call, "a{sv}");
        dw_open_array(&w);
        dw_open_entry(&w);
        dw_put_string(&w, "Level");
        put_level(&w, *level);
        dw_close_entry(&w);
        dw_close_array(&w);
    }
    return send_off(c, &w);
}

static int introspect(dw_conn *c, const dw_message *call)
{
    dw_writer w;
    dw_writer_init(&w, NULL, 0, dw_heap);
    dw_begin_reply(&w, call, "s");
    dw_put_string(&w, strcmp(call->path.p, PEER_PATH) == 0
                          ? description
                          : "<node><node name=\"org/example/Peer\"/></node>\n");
    return send_off(c, &w);
}

static int answer(dw_conn *c, const dw_message *call, int32_t *level)
{
    if (strcmp(call->interface.p, PROPERTIES) == 0)
        return answer_property(c, call, level);
    if (strcmp(call->member.p, "Introspect") == 0)
        return introspect(c, call);
    if (strcmp(call->member.p, "Echo") == 0)
        return answer_echo(c, call);
    if (strcmp(call->member.p, "Say") == 0)
        return say(c, call);
    return dw_reply_error(c, call, PEER_ERROR, PEER_ERROR_TEXT);
}

int service_run(dw_conn *c)
{
    dw_message m;
    int32_t level = 7;
    int code;
    while ((code = dw_receive(c, &m, DW_TIMEOUT_NONE)) > 0)
        if (m.type == DW_METHOD_CALL && (code = answer(c, &m, &level)) != 0)
            break;
    return code;
}
