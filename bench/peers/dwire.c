/* dwire.c - the library itself, used as its headers tell. */

#include <stdlib.h>

#include "dwire/message.h"
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
    d->lengths += dw_get_string(r).n;
    d->integers += dw_get_uint64(r);
    dw_enter_struct(r);
    d->integers += dw_get_uint64(r);
    d->lengths += dw_get_string(r).n;
    dw_leave_struct(r);
    dw_enter_array(r);
    while (dw_more(r)) {
        dw_enter_entry(r);
        d->lengths += dw_get_string(r).n;
        d->integers += (uint64_t)(int64_t)dw_get_int32(r);
        dw_leave_entry(r);
    }
    dw_leave_array(r);
    size_t n;
    const uint64_t *ints = dw_get_uint64_array(r, &n);
    digest_ints(d, ints, n);
    dw_enter_array(r);
    while (dw_more(r))
        d->lengths += dw_get_string(r).n;
    dw_leave_array(r);
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

const library library_dwire = {
    .name = "dwire",
    .marshal = {writing_open, writing_run, writing_bytes, writing_close},
    .unmarshal = {reading_open, reading_run, free},
};
