/* exchange.c - values on their way. */

#include "exchange.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "dwire/bus.h"
#include "meeting.h"
#include "service.h"
#include "support/ends.h"
#include "support/inspect.h"
#include "support/walk.h"

enum { PATIENCE_MS = 60000 };

/* -- What the peer asks and says ------------------------------------------------------ */

static void see_to(heard *h, const dw_message *m)
{
    if (m->type == DW_SIGNAL && strcmp(m->member.p, "Said") == 0) {
        h->said.n = 0;
        values_of_message(&h->said, m);
        h->n_said++;
    } else if (m->type == DW_METHOD_CALL && strcmp(m->member.p, "Echo") == 0) {
        h->n_asked++;
        if (h->refuse)
            expect_code(dw_reply_error(the.c, m, PEER_ERROR, PEER_ERROR_TEXT), 0);
        else
            expect_code(answer_echo(the.c, m), 0);
    }
}

int turn(heard *h)
{
    struct pollfd p = {.fd = dw_conn_fd(the.c), .events = dw_conn_events(the.c)};
    int code, due = dw_conn_timeout(the.c);
    dw_message m;
    if (poll(&p, 1, due < 0 || due > PATIENCE_MS ? PATIENCE_MS : due) == 0 && due < 0)
        fail_msg("%s says nothing", peer_name);
    while ((code = dw_receive(the.c, &m, 0)) > 0)
        see_to(h, &m);
    return code;
}

static void hear_answer(void *context, int code, dw_message *reply)
{
    heard *h = context;
    h->n_ended++;
    h->code = code;
    h->answer.n = h->error_name.n = 0;
    if (reply) {
        values_of_message(&h->answer, reply);
        text_put(&h->error_name, reply->error_name.p);
    }
}

void heard_free(heard *h)
{
    text_free(&h->said);
    text_free(&h->answer);
    text_free(&h->error_name);
}

/* -- Sending ---------------------------------------------------------------------------- */

void begin_call(dw_writer *w, const char *interface, const char *member, const char *signature)
{
    dw_begin_call(w, the.destination, PEER_PATH, interface, member, signature);
}

void start_call(dw_writer *w, heard *h)
{
    expect_code(dw_finish(w), 0);
    expect_code(dw_start_call(the.c, w, DW_TIMEOUT_DEFAULT, hear_answer, h, NULL), 0);
}

int call_peer(const char *interface, const char *member, dw_message *reply)
{
    dw_writer w;
    dw_writer_init(&w, NULL, 0, dw_heap);
    begin_call(&w, interface, member, NULL);
    expect_code(dw_finish(&w), 0);
    int code = dw_call(the.c, &w, reply, DW_TIMEOUT_DEFAULT);
    dw_writer_free(&w);
    return code;
}

/* The message of the sample. False where it has indexes without descriptors. */
static bool write_sample(dw_writer *w, uint8_t type, const char *member, const sample *s)
{
    dw_reader r;
    dw_reader_init_body(&r, s->signature, s->bytes, s->len, s->order);
    dw_begin(w, &(dw_header){.type = type,
                             .order = s->order,
                             .destination = the.destination,
                             .path = PEER_PATH,
                             .interface = PEER_INTERFACE,
                             .member = member,
                             .signature = s->signature,
                             .fds = s->fds,
                             .n_fds = s->n_fds});
    copy_values(&r, w);
    int code = dw_finish(w);
    if (code == DW_E_FDS)
        return false;
    if (code != 0)
        fail_msg("%s: cannot be written: %s", s->id, dw_error_name(code));
    return true;
}

static void same(const sample *s, const char *came, const char *how)
{
    text sent = {0};
    values_of_body(&sent, s->signature, s->bytes, s->len, s->order);
    if (strcmp(text_string(&sent), came) != 0)
        fail_msg("%s, %s: sent %s \"%s\", came %s", s->id, how, s->signature, text_string(&sent),
                 came);
    text_free(&sent);
}

/* -- The three ways ------------------------------------------------------------------------ */

static void same_files(const sample *s, const dw_message *reply)
{
    struct stat sent, came;
    assert_int_equal(reply->unix_fds, s->n_fds);
    for (uint32_t i = 0; i < s->n_fds; i++) {
        assert_int_equal(fstat(s->fds[i], &sent), 0);
        assert_int_equal(fstat(reply->fds[i], &came), 0);
        assert_true(sent.st_dev == came.st_dev && sent.st_ino == came.st_ino);
    }
}

static void echo(dw_writer *w, const sample *s)
{
    dw_message reply;
    text came = {0};
    int code = dw_call(the.c, w, &reply, DW_TIMEOUT_DEFAULT);
    if (code != 0)
        fail_msg("%s, \"%s\": %s", s->id, s->signature, dw_error_name(code));
    assert_string_equal(reply.signature.p, s->signature);
    values_of_message(&came, &reply);
    same(s, text_string(&came), "answered");
    same_files(s, &reply);
    text_free(&came);
}

static void ask(dw_writer *w, const sample *s)
{
    heard h = {0};
    start_call(w, &h);
    while (h.n_ended == 0)
        expect_code(turn(&h), 0);
    if (h.code != 0)
        fail_msg("%s, \"%s\", asked: %s", s->id, s->signature, dw_error_name(h.code));
    assert_int_equal(h.n_asked, 1);
    same(s, text_string(&h.answer), "asked");
    heard_free(&h);
}

static void say(dw_writer *w, const sample *s)
{
    heard h = {0};
    expect_code(dw_send(the.c, w, NULL), 0);
    while (h.n_said == 0)
        expect_code(turn(&h), 0);
    same(s, text_string(&h.said), "said");
    heard_free(&h);
}

/* dbus-broker ends a connection over 32 structs or entries in each other, which
 * the specification allows. */
static bool bus_refuses(const char *signature)
{
    unsigned depth = 0, most = 0;
    for (; *signature; signature++) {
        depth += *signature == '(' || *signature == '{';
        depth -= *signature == ')' || *signature == '}';
        most = depth > most ? depth : most;
    }
    return the.bus && strcmp(the.bus, "dbus-broker") == 0 && most >= DW_MAX_STRUCTS;
}

bool exchange(const sample *s)
{
    static const struct {
        uint8_t type;
        const char *member;
        void (*send)(dw_writer *w, const sample *s);
    } ways[] = {
        {DW_METHOD_CALL, "Echo", echo}, {DW_METHOD_CALL, "Ask", ask}, {DW_SIGNAL, "Say", say}};
    dw_writer w;
    bool good = !bus_refuses(s->signature) && !peer_refuses(s->signature, s->bytes, s->len);
    dw_writer_init(&w, NULL, 0, dw_heap);
    for (size_t i = 0; good && i < sizeof ways / sizeof *ways; i++) {
        good = write_sample(&w, ways[i].type, ways[i].member, s);
        if (good)
            ways[i].send(&w, s);
    }
    dw_writer_free(&w);
    return good;
}
