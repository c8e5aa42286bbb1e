/* bus.c - short forms of what every program on a bus does. See dwire/bus.h. */

#include "dwire/bus.h"
#include "conn.h"

/* Most calls and answers fit into this. */
#define ROOM 512

/* -- Calls to the bus --------------------------------------------------------------- */

static void begin(dw_writer *w, const char *member, const char *signature)
{
    dw_begin_call(w, DW_BUS_NAME, DW_BUS_PATH, DW_BUS_INTERFACE, member, signature);
}

/* Makes the call that the writer holds, and reads the number, if any, that it is
 * answered with. */
static int ask(dw_conn *c, dw_writer *w, bool number, int timeout_ms, dw_message *error)
{
    dw_message reply;
    int r = dw_finish(w);
    if (r == 0)
        r = dw_call(c, w, &reply, timeout_ms);
    dw_writer_free(w);
    if (r == DW_E_REPLY && error != NULL)
        *error = reply;
    if (r != 0 || !number)
        return r;
    dw_reader in;
    dw_reader_init(&in, &reply);
    uint32_t value = dw_get_uint32(&in);
    r = dw_reader_finish(&in);
    return r == 0 ? (int)(value & INT32_MAX) : r;
}

static int ask_about(dw_conn *c, const char *member, const char *text, bool number, int timeout_ms,
                     dw_message *error)
{
    uint8_t room[ROOM];
    dw_writer w;
    dw_writer_init(&w, room, sizeof room, c->allocator);
    begin(&w, member, "s");
    dw_put_string(&w, text);
    return ask(c, &w, number, timeout_ms, error);
}

int dw_request_name(dw_conn *c, const char *name, uint32_t flags, int timeout_ms, dw_message *error)
{
    uint8_t room[ROOM];
    dw_writer w;
    dw_writer_init(&w, room, sizeof room, c->allocator);
    begin(&w, "RequestName", "su");
    dw_put_string(&w, name);
    dw_put_uint32(&w, flags);
    return ask(c, &w, true, timeout_ms, error);
}

int dw_release_name(dw_conn *c, const char *name, int timeout_ms, dw_message *error)
{
    return ask_about(c, "ReleaseName", name, true, timeout_ms, error);
}

int dw_add_match(dw_conn *c, const char *rule, int timeout_ms, dw_message *error)
{
    return ask_about(c, "AddMatch", rule, false, timeout_ms, error);
}

int dw_remove_match(dw_conn *c, const char *rule, int timeout_ms, dw_message *error)
{
    return ask_about(c, "RemoveMatch", rule, false, timeout_ms, error);
}

/* -- Answers ---------------------------------------------------------------------------- */

static int answer(dw_conn *c, dw_writer *w)
{
    int r = dw_finish(w);
    if (r == 0)
        r = dw_send(c, w, NULL);
    dw_writer_free(w);
    return r;
}

/* Whether there is anything to answer; *code is what to say if not. */
static bool wants_answer(const dw_message *call, int *code)
{
    *code = call->type == DW_METHOD_CALL ? 0 : DW_E_ARGUMENT;
    return *code == 0 && (call->flags & DW_NO_REPLY_EXPECTED) == 0;
}

int dw_reply(dw_conn *c, const dw_message *call)
{
    uint8_t room[ROOM];
    dw_writer w;
    int code;
    if (!wants_answer(call, &code))
        return code;
    dw_writer_init(&w, room, sizeof room, c->allocator);
    dw_begin_reply(&w, call, NULL);
    return answer(c, &w);
}

int dw_reply_error(dw_conn *c, const dw_message *call, const char *error_name, const char *text)
{
    uint8_t room[ROOM];
    dw_writer w;
    int code;
    if (!wants_answer(call, &code))
        return code;
    dw_writer_init(&w, room, sizeof room, c->allocator);
    dw_begin_error(&w, call, error_name, text != NULL ? "s" : NULL);
    if (text != NULL)
        dw_put_string(&w, text);
    return answer(c, &w);
}
