/* sdbus.c - systemd's library: appenders by type, arrays of fixed-size elements
 * in one call.
 *
 * It has no public call that hands out a message's bytes, and none that takes
 * any. So marshalling is timed up to the sealed message, which lies in two
 * pieces, header and body; and unmarshalling is timed on a message that came
 * in through a socket once, rewound each time: its body is checked anew with
 * every walk, its header is not. Both are in its favour. */

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#include "client.h"
#include "library.h"
#include "pair.h"

/* A connection over a socketpair whose other end is ours, authenticated by
 * lines that are there before they are asked for. */
typedef struct looped {
    sd_bus *bus;
    int far;
} looped;

static void loop_close(looped *l)
{
    if (l->bus)
        sd_bus_close(l->bus);
    sd_bus_unref(l->bus);
    if (l->far >= 0)
        close(l->far);
}

/* Reads what the bus says of itself, up to the BEGIN that ends it. */
static bool skip_greeting(looped *l)
{
    static const char end[] = "BEGIN\r\n";
    size_t matched = 0;
    char c;
    while (matched < sizeof end - 1) {
        if (!read_all(l->far, &c, 1))
            return false;
        matched = c == end[matched] ? matched + 1 : c == end[0];
    }
    return true;
}

static bool loop_open(looped *l)
{
    static const char lines[] = "DATA\r\nOK 0123456789abcdef0123456789abcdef\r\nAGREE_UNIX_FD\r\n";
    int near[2];
    *l = (looped){.far = -1};
    if (sd_bus_new(&l->bus) < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, near) != 0)
        return false;
    l->far = near[1];
    return sd_bus_set_fd(l->bus, near[0], near[0]) >= 0 && sd_bus_start(l->bus) >= 0 &&
           write_all(l->far, lines, sizeof lines - 1) && sd_bus_process(l->bus, NULL) >= 0 &&
           sd_bus_process(l->bus, NULL) >= 0 && skip_greeting(l);
}

/* -- Writing -------------------------------------------------------------- */

typedef struct writing {
    const body *b;
    looped loop;
    uint8_t *bytes;
} writing;

static int put_dict(sd_bus_message *m, const body *b)
{
    int r = sd_bus_message_open_container(m, 'a', "{si}");
    for (size_t i = 0; r >= 0 && i < b->n_dict; i++) {
        r = sd_bus_message_open_container(m, 'e', "si");
        if (r >= 0)
            r = sd_bus_message_append_basic(m, 's', b->dict[i].key);
        if (r >= 0)
            r = sd_bus_message_append_basic(m, 'i', &b->dict[i].value);
        if (r >= 0)
            r = sd_bus_message_close_container(m);
    }
    return r < 0 ? r : sd_bus_message_close_container(m);
}

static int put_struct(sd_bus_message *m, const body *b)
{
    int r = sd_bus_message_open_container(m, 'r', "ts");
    if (r >= 0)
        r = sd_bus_message_append_basic(m, 't', &b->struct_number);
    if (r >= 0)
        r = sd_bus_message_append_basic(m, 's', b->struct_string);
    return r < 0 ? r : sd_bus_message_close_container(m);
}

static int put_strings(sd_bus_message *m, const body *b)
{
    int r = sd_bus_message_open_container(m, 'a', "s");
    for (size_t i = 0; r >= 0 && i < b->n_strings; i++)
        r = sd_bus_message_append_basic(m, 's', b->strings[i]);
    return r < 0 ? r : sd_bus_message_close_container(m);
}

static int put_group(sd_bus_message *m, const body *b)
{
    int r = sd_bus_message_append_basic(m, 's', b->string);
    if (r >= 0)
        r = sd_bus_message_append_basic(m, 't', &b->number);
    if (r >= 0)
        r = put_struct(m, b);
    if (r >= 0)
        r = put_dict(m, b);
    if (r >= 0)
        r = sd_bus_message_append_array(m, 't', b->ints, 8 * b->n_ints);
    return r < 0 ? r : put_strings(m, b);
}

static sd_bus_message *build(sd_bus *bus, const body *b)
{
    sd_bus_message *m = NULL;
    int r = sd_bus_message_new_signal(bus, &m, b->path, b->interface, b->member);
    for (size_t i = 0; r >= 0 && i < b->repeat; i++)
        r = put_group(m, b);
    return r < 0 ? sd_bus_message_unref(m) : m;
}

static void writing_close(void *state)
{
    writing *w = state;
    loop_close(&w->loop);
    free(w->bytes);
    free(w);
}

static void *writing_open(const body *b)
{
    writing *w = calloc(1, sizeof *w);
    if (!w)
        return NULL;
    w->b = b;
    if (loop_open(&w->loop))
        return w;
    writing_close(w);
    return NULL;
}

static bool writing_run(void *state)
{
    writing *w = state;
    sd_bus_message *m = build(w->loop.bus, w->b);
    bool good = m && sd_bus_message_seal(m, 1, 0) >= 0;
    sd_bus_message_unref(m);
    return good;
}

/* The bytes are had by sending the same message once more. */
static const uint8_t *writing_bytes(void *state, size_t *len)
{
    writing *w = state;
    size_t size = 2 * w->b->message_len, got = 0;
    sd_bus_message *m = build(w->loop.bus, w->b);
    uint64_t queued = m && sd_bus_send(w->loop.bus, m, NULL) >= 0;
    sd_bus_message_unref(m);
    free(w->bytes);
    w->bytes = queued ? malloc(size) : NULL;
    for (ssize_t n = 1; w->bytes && n > 0; got += n > 0 ? (size_t)n : 0) {
        n = recv(w->loop.far, w->bytes + got, size - got, MSG_DONTWAIT);
        sd_bus_get_n_queued_write(w->loop.bus, &queued);
        if (queued)
            sd_bus_process(w->loop.bus, NULL);
    }
    *len = got;
    return w->bytes;
}

/* -- Reading -------------------------------------------------------------- */

typedef struct reading {
    const body *b;
    looped loop;
    sd_bus_message *m;
} reading;

static void reading_close(void *state)
{
    reading *r = state;
    sd_bus_message_unref(r->m);
    loop_close(&r->loop);
    free(r);
}

/* Lets the bytes go through the socket as far as it takes them at a time. */
static sd_bus_message *receive(looped *l, const uint8_t *bytes, size_t len)
{
    sd_bus_message *m = NULL;
    int r = 1;
    while (!m && r >= 0) {
        ssize_t n = len ? send(l->far, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL) : 0;
        if (n > 0) {
            bytes += n;
            len -= (size_t)n;
        }
        r = sd_bus_process(l->bus, &m);
        if (r == 0 && n <= 0 && len == 0)
            break;
    }
    return m;
}

static void *reading_open(const body *b, const uint8_t *bytes, size_t len)
{
    reading *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    r->b = b;
    if (loop_open(&r->loop) && (r->m = receive(&r->loop, bytes, len)))
        return r;
    reading_close(r);
    return NULL;
}

static bool get_text(sd_bus_message *m, digest *d)
{
    const char *s;
    int r = sd_bus_message_read_basic(m, 's', &s);
    if (r > 0)
        d->lengths += strlen(s);
    return r > 0;
}

static bool get_number(sd_bus_message *m, digest *d)
{
    uint64_t value;
    int r = sd_bus_message_read_basic(m, 't', &value);
    if (r > 0)
        d->integers += value;
    return r > 0;
}

static bool get_dict(sd_bus_message *m, digest *d)
{
    int32_t value;
    if (sd_bus_message_enter_container(m, 'a', "{si}") <= 0)
        return false;
    while (sd_bus_message_enter_container(m, 'e', "si") > 0) {
        if (!get_text(m, d) || sd_bus_message_read_basic(m, 'i', &value) <= 0 ||
            sd_bus_message_exit_container(m) < 0)
            return false;
        d->integers += (uint64_t)(int64_t)value;
    }
    return sd_bus_message_exit_container(m) >= 0;
}

static bool get_strings(sd_bus_message *m, digest *d)
{
    if (sd_bus_message_enter_container(m, 'a', "s") <= 0)
        return false;
    while (get_text(m, d))
        ;
    return sd_bus_message_exit_container(m) >= 0;
}

static bool get_group(sd_bus_message *m, digest *d)
{
    const void *ints;
    size_t len;
    if (!get_text(m, d) || !get_number(m, d) || sd_bus_message_enter_container(m, 'r', "ts") <= 0 ||
        !get_number(m, d) || !get_text(m, d) || sd_bus_message_exit_container(m) < 0 ||
        !get_dict(m, d) || sd_bus_message_read_array(m, 't', &ints, &len) < 0)
        return false;
    digest_ints(d, ints, len / 8);
    return get_strings(m, d);
}

static bool reading_run(void *state, digest *d)
{
    const reading *r = state;
    bool good = sd_bus_message_rewind(r->m, true) >= 0;
    for (size_t i = 0; good && i < r->b->repeat; i++)
        good = get_group(r->m, d);
    return good;
}

/* -- One connection for one signal ---------------------------------------- */

typedef struct sending {
    const body *b;
    const char *address;
} sending;

static void *sending_open(const body *b, const char *address)
{
    sending *s = malloc(sizeof *s);
    if (s)
        *s = (sending){b, address};
    return s;
}

static sd_bus *dial_bus(const char *address)
{
    sd_bus *bus = NULL;
    if (sd_bus_new(&bus) >= 0 && sd_bus_set_address(bus, address) >= 0 &&
        sd_bus_set_bus_client(bus, true) >= 0 && sd_bus_start(bus) >= 0)
        return bus;
    return sd_bus_unref(bus);
}

/* Asking for the name waits for the reply to Hello. */
static bool sending_run(void *state)
{
    const sending *s = state;
    const char *name;
    sd_bus *bus = dial_bus(s->address);
    bool good = bus && sd_bus_get_unique_name(bus, &name) >= 0;
    sd_bus_message *m = good ? build(bus, s->b) : NULL;
    good = m && sd_bus_send(bus, m, NULL) >= 0;
    sd_bus_message_unref(m);
    sd_bus_flush_close_unref(bus);
    return good;
}

/* -- Two processes -------------------------------------------------------- */

static sd_bus *serve_peer(server *s, const char *address)
{
    sd_id128_t id;
    sd_bus *bus = NULL;
    int fd = server_accept(s, address);
    if (fd >= 0 && sd_id128_randomize(&id) >= 0 && sd_bus_new(&bus) >= 0 &&
        sd_bus_set_fd(bus, fd, fd) >= 0 && sd_bus_set_server(bus, true, id) >= 0 &&
        sd_bus_start(bus) >= 0)
        return bus;
    return sd_bus_unref(bus);
}

static bool take_chunk(server *s, sd_bus_message *m)
{
    const void *bytes;
    size_t len;
    return sd_bus_message_read_array(m, 'y', &bytes, &len) >= 0 && server_take(s, bytes, len);
}

static bool echo(sd_bus_message *call)
{
    const char *text;
    sd_bus_message *reply = NULL;
    bool good = sd_bus_message_read_basic(call, 's', &text) > 0 &&
                sd_bus_message_new_method_return(call, &reply) >= 0 &&
                sd_bus_message_append_basic(reply, 's', text) >= 0 &&
                sd_bus_send(NULL, reply, NULL) >= 0;
    sd_bus_message_unref(reply);
    return good;
}

/* Hands out messages until the client is gone or the work is done. */
static void answer(server *s, sd_bus *bus)
{
    bool more = true;
    while (more) {
        sd_bus_message *m = NULL;
        int r = sd_bus_process(bus, &m);
        if (r == 0)
            r = sd_bus_wait(bus, UINT64_MAX);
        else if (m && sd_bus_message_is_signal(m, BENCH_INTERFACE, CHUNK_MEMBER) > 0)
            more = take_chunk(s, m);
        else if (m && sd_bus_message_is_method_call(m, BENCH_INTERFACE, ECHO_MEMBER) > 0)
            more = echo(m);
        sd_bus_message_unref(m);
        more = more && r >= 0 && sd_bus_is_open(bus) > 0;
    }
}

static bool serve(server *s, workload_kind kind, const char *address)
{
    const char *name;
    sd_bus *bus = kind == CALL_BUS ? dial_bus(address) : serve_peer(s, address);
    bool good = bus != NULL;
    if (good && kind == CALL_BUS)
        good = sd_bus_get_unique_name(bus, &name) >= 0 && server_ready(s, name);
    if (good)
        answer(s, bus);
    sd_bus_flush_close_unref(bus);
    return good;
}

typedef struct calling {
    sd_bus *bus;
    const char *peer;
} calling;

static void hang_up(void *state)
{
    calling *l = state;
    sd_bus_flush_close_unref(l->bus);
    free(l);
}

static void *dial(workload_kind kind, const char *address, const char *peer)
{
    calling *l = calloc(1, sizeof *l);
    if (!l)
        return NULL;
    l->peer = *peer ? peer : NULL;
    if (kind == CALL_BUS)
        l->bus = dial_bus(address);
    else if (sd_bus_new(&l->bus) < 0 || sd_bus_set_address(l->bus, address) < 0 ||
             sd_bus_start(l->bus) < 0)
        l->bus = sd_bus_unref(l->bus);
    if (l->bus)
        return l;
    free(l);
    return NULL;
}

static bool send_chunk(sd_bus *bus, const uint8_t *chunk)
{
    sd_bus_message *m = NULL;
    bool good =
        sd_bus_message_new_signal(bus, &m, BENCH_PATH, BENCH_INTERFACE, CHUNK_MEMBER) >= 0 &&
        sd_bus_message_append_array(m, 'y', chunk, CHUNK_LEN) >= 0 &&
        sd_bus_send(bus, m, NULL) >= 0;
    sd_bus_message_unref(m);
    return good;
}

/* What the socket does not take at once would pile up in memory. */
static bool stream(void *state)
{
    const calling *l = state;
    uint64_t queued = 0;
    bool good = true;
    for (uint64_t i = 0; good && i < ALL_CHUNKS; i++) {
        good =
            send_chunk(l->bus, stream_chunk(i)) && sd_bus_get_n_queued_write(l->bus, &queued) >= 0;
        if (queued)
            good = sd_bus_flush(l->bus) >= 0;
    }
    return good;
}

static bool call(void *state)
{
    const calling *l = state;
    const char *text;
    sd_bus_message *m = NULL, *reply = NULL;
    bool good = sd_bus_message_new_method_call(l->bus, &m, l->peer, BENCH_PATH, BENCH_INTERFACE,
                                               ECHO_MEMBER) >= 0 &&
                sd_bus_message_append_basic(m, 's', ECHO_TEXT) >= 0 &&
                sd_bus_call(l->bus, m, 0, NULL, &reply) >= 0 &&
                sd_bus_message_read_basic(reply, 's', &text) > 0 && strcmp(text, ECHO_TEXT) == 0;
    sd_bus_message_unref(m);
    sd_bus_message_unref(reply);
    return good;
}

const library library_sdbus = {
    .name = "sd-bus",
    .version = HAVE_SDBUS,
    .note = "marshalling ends at its sealed message (there is no call for the bytes); "
            "unmarshalling walks a received message and does not parse its header",
    .marshal = {writing_open, writing_run, writing_bytes, writing_close},
    .unmarshal = {reading_open, reading_run, reading_close},
    .send = {sending_open, sending_run, free},
    .link = {serve, dial, stream, call, hang_up},
};
