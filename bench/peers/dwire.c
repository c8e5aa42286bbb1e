/* dwire.c - the library itself, used as its headers tell. */

#include <stdlib.h>
#include <string.h>

#include "dwire.h"
#include "library.h"
#include "pair.h"

/* -- Writing -------------------------------------------------------------- */

typedef struct writing {
    const body *b;
    dw_writer w;
} writing;

static void put_group(dw_writer *w, const body *b)
{
    dw_put_string(w, b->string);
    dw_put_uint64(w, b->number);
    dw_open_struct(w);
    dw_put_uint64(w, b->struct_number);
    dw_put_string(w, b->struct_string);
    dw_close_struct(w);
    dw_open_array(w);
    for (size_t i = 0; i < b->n_dict; i++) {
        dw_open_entry(w);
        dw_put_string(w, b->dict[i].key);
        dw_put_int32(w, b->dict[i].value);
        dw_close_entry(w);
    }
    dw_close_array(w);
    dw_put_uint64_array(w, b->ints, b->n_ints);
    dw_put_string_array(w, b->strings, b->n_strings);
}

static int put_message(dw_writer *w, const body *b)
{
    dw_begin_signal(w, b->path, b->interface, b->member, b->signature);
    for (size_t i = 0; i < b->repeat; i++)
        put_group(w, b);
    return dw_finish(w);
}

static void *writing_open(const body *b)
{
    writing *state = malloc(sizeof *state);
    if (state) {
        state->b = b;
        dw_writer_init(&state->w, NULL, 0, dw_heap);
    }
    return state;
}

static bool writing_run(void *state)
{
    writing *s = state;
    return put_message(&s->w, s->b) == 0;
}

static const uint8_t *writing_bytes(void *state, size_t *len)
{
    const writing *s = state;
    return dw_writer_bytes(&s->w, len);
}

static void writing_close(void *state)
{
    writing *s = state;
    dw_writer_free(&s->w);
    free(s);
}

/* -- Reading -------------------------------------------------------------- */

typedef struct reading {
    size_t repeat, len;
    const uint8_t *bytes;
} reading;

static void *reading_open(const body *b, const uint8_t *bytes, size_t len)
{
    reading *state = malloc(sizeof *state);
    if (state)
        *state = (reading){b->repeat, len, bytes};
    return state;
}

static void get_group(dw_reader *r, digest *d)
{
    uint64_t integers = 0, lengths = 0;
    lengths += dw_get_string(r).n;
    integers += dw_get_uint64(r);
    dw_enter_struct(r);
    integers += dw_get_uint64(r);
    lengths += dw_get_string(r).n;
    dw_leave_struct(r);
    dw_enter_array(r);
    while (dw_more(r)) {
        dw_enter_entry(r);
        lengths += dw_get_string(r).n;
        integers += (uint64_t)(int64_t)dw_get_int32(r);
        dw_leave_entry(r);
    }
    dw_leave_array(r);
    size_t n;
    const uint64_t *ints = dw_get_uint64_array(r, &n);
    digest_ints(d, ints, n);
    dw_enter_array(r);
    while (dw_more(r))
        lengths += dw_get_string(r).n;
    dw_leave_array(r);
    d->integers += integers;
    d->lengths += lengths;
}

static bool reading_run(void *state, digest *d)
{
    const reading *s = state;
    dw_message m;
    dw_reader r;
    if (dw_message_parse(&m, s->bytes, s->len, 0) != 0)
        return false;
    dw_reader_init(&r, &m);
    for (size_t i = 0; i < s->repeat; i++)
        get_group(&r, d);
    return dw_reader_finish(&r) == 0;
}

/* -- One connection for one signal ---------------------------------------- */

typedef struct sending {
    const body *b;
    const char *address;
    dw_writer w;
} sending;

static void *sending_open(const body *b, const char *address)
{
    sending *s = malloc(sizeof *s);
    if (s) {
        s->b = b;
        s->address = address;
        dw_writer_init(&s->w, NULL, 0, dw_heap);
    }
    return s;
}

static bool sending_run(void *state)
{
    sending *s = state;
    dw_conn *c;
    if (dw_connect(&c, s->address, DW_CONN_BUS, DW_TIMEOUT_DEFAULT) != 0)
        return false;
    put_message(&s->w, s->b);
    bool good = dw_send(c, &s->w, NULL) == 0 && dw_flush(c, DW_TIMEOUT_DEFAULT) == 0;
    dw_conn_close(c);
    return good;
}

static void sending_close(void *state)
{
    sending *s = state;
    dw_writer_free(&s->w);
    free(s);
}

/* -- Two processes -------------------------------------------------------- */

typedef struct calling {
    dw_conn *c;
    const char *peer;
    dw_writer w;
} calling;

static bool is(dw_string s, const char *name)
{
    return strcmp(s.p, name) == 0;
}

static bool take_chunk(server *s, const dw_message *m)
{
    size_t n;
    dw_reader r;
    dw_reader_init(&r, m);
    const uint8_t *chunk = dw_get_byte_array(&r, &n);
    return dw_reader_finish(&r) == 0 && server_take(s, chunk, n);
}

static bool echo(calling *l, const dw_message *m)
{
    dw_reader r;
    dw_reader_init(&r, m);
    dw_string text = dw_get_string(&r);
    dw_begin_reply(&l->w, m, "s");
    dw_put_string_n(&l->w, text.p, text.n);
    dw_finish(&l->w);
    return dw_reader_finish(&r) == 0 && dw_send(l->c, &l->w, NULL) == 0;
}

/* Hands out messages until the client is gone or the work is done. */
static void answer(server *s, calling *l)
{
    dw_message m;
    bool more = true;
    while (more && dw_receive(l->c, &m, DW_TIMEOUT_NONE) > 0) {
        if (m.type == DW_SIGNAL && is(m.member, CHUNK_MEMBER))
            more = take_chunk(s, &m);
        else if (m.type == DW_METHOD_CALL && is(m.member, ECHO_MEMBER))
            more = echo(l, &m);
    }
}

static bool serve(server *s, workload_kind kind, const char *address)
{
    calling l = {0};
    dw_listener *listener = NULL;
    bool good;
    dw_writer_init(&l.w, NULL, 0, dw_heap);
    if (kind == CALL_BUS)
        good = dw_connect(&l.c, address, DW_CONN_BUS, DW_TIMEOUT_DEFAULT) == 0 &&
               dw_flush(l.c, DW_TIMEOUT_DEFAULT) == 0 && server_ready(s, dw_conn_name(l.c));
    else
        good = dw_listen(&listener, address, NULL) == 0 && server_ready(s, "") &&
               dw_accept(listener, &l.c, DW_TIMEOUT_NONE) == 1;
    if (good)
        answer(s, &l);
    dw_conn_close(l.c);
    dw_listener_close(listener);
    dw_writer_free(&l.w);
    return good;
}

static void hang_up(void *state)
{
    calling *l = state;
    dw_conn_close(l->c);
    dw_writer_free(&l->w);
    free(l);
}

static void *dial(workload_kind kind, const char *address, const char *peer)
{
    calling *l = malloc(sizeof *l);
    if (!l)
        return NULL;
    l->peer = *peer ? peer : NULL;
    dw_writer_init(&l->w, NULL, 0, dw_heap);
    if (dw_connect(&l->c, address, kind == CALL_BUS ? DW_CONN_BUS : 0, DW_TIMEOUT_DEFAULT) == 0)
        return l;
    free(l);
    return NULL;
}

/* So many chunks to a system call; more do not make it any faster. */
enum { BATCH = 32 };

static bool stream(void *state)
{
    calling *l = state;
    bool good = true;
    for (uint64_t i = 0; good && i < ALL_CHUNKS; i++) {
        dw_begin_signal(&l->w, BENCH_PATH, BENCH_INTERFACE, CHUNK_MEMBER, "ay");
        dw_put_array_ref(&l->w, 'y', stream_chunk(i), CHUNK_LEN);
        dw_finish(&l->w);
        good = dw_queue(l->c, &l->w, NULL) == 0;
        if (i % BATCH == BATCH - 1)
            good = good && dw_flush(l->c, DW_TIMEOUT_NONE) == 0;
    }
    return good;
}

static bool call(void *state)
{
    calling *l = state;
    dw_message reply;
    dw_reader r;
    dw_begin_call(&l->w, l->peer, BENCH_PATH, BENCH_INTERFACE, ECHO_MEMBER, "s");
    dw_put_string(&l->w, ECHO_TEXT);
    dw_finish(&l->w);
    if (dw_call(l->c, &l->w, &reply, DW_TIMEOUT_DEFAULT) != 0)
        return false;
    dw_reader_init(&r, &reply);
    bool same = is(dw_get_string(&r), ECHO_TEXT);
    return dw_reader_finish(&r) == 0 && same;
}

const library library_dwire = {
    .name = "dwire",
    .version = DW_VERSION,
    .marshal = {writing_open, writing_run, writing_bytes, writing_close},
    .unmarshal = {reading_open, reading_run, free},
    .send = {sending_open, sending_run, sending_close},
    .link = {serve, dial, stream, call, hang_up},
};
