/* inspect.c - one verdict from many ways of reading. */

#include "inspect.h"

#include <string.h>

#include "dwire/signature.h"

#include "walk.h"

static char other_order(char order)
{
    return order == DW_LITTLE ? DW_BIG : DW_LITTLE;
}

static void compare_faults(finding *f, const char *way, dw_fault fault)
{
    if (fault.code != f->fault.code || fault.at != f->fault.at)
        text_printf(&f->wrong, "%s says %s at %u, the check %s at %u; ", way,
                    dw_error_name(fault.code), (unsigned)fault.at, dw_error_name(f->fault.code),
                    (unsigned)f->fault.at);
}

/* Whether what was written is these bytes. */
static void compare_bytes(finding *f, const char *way, dw_writer *w, const void *bytes, size_t len)
{
    int code = dw_finish(w);
    size_t n;
    const uint8_t *p = dw_writer_bytes(w, &n);
    if (code < 0) {
        text_printf(&f->wrong, "%s fails with %s; ", way, dw_error_name(code));
    } else if (n != len || (n && memcmp(p, bytes, n) != 0)) {
        text_printf(&f->wrong, "%s gives ", way);
        text_hex(&f->wrong, p, n);
        text_put(&f->wrong, "; ");
    }
}

/* The values of a valid body, written anew by hand and by dw_copy, in its own
 * byte order and through the other one. There is one form only that they have. */
static void write_anew(finding *f, const dw_message *m)
{
    dw_writer w, back;
    dw_reader r;
    dw_writer_init(&w, NULL, 0, dw_heap);
    dw_writer_init(&back, NULL, 0, dw_heap);
    for (int whole = 0; whole < 2; whole++) {
        dw_begin_body(&w, m->signature.p, m->order);
        dw_reader_init(&r, m);
        walk_values(&(walk){.r = &r, .w = &w, .whole = whole});
        compare_bytes(f, whole ? "writing arrays at once" : "writing", &w, m->body, m->body_len);
    }
    dw_begin_body(&w, m->signature.p, m->order);
    dw_reader_init(&r, m);
    copy_values(&r, &w);
    compare_bytes(f, "dw_copy", &w, m->body, m->body_len);

    char other = other_order(m->order);
    size_t len;
    dw_begin_body(&w, m->signature.p, other);
    dw_reader_init(&r, m);
    copy_values(&r, &w);
    dw_finish(&w);
    const uint8_t *p = dw_writer_bytes(&w, &len);
    dw_begin_body(&back, m->signature.p, m->order);
    dw_reader_init_body(&r, m->signature.p, p, len, other);
    copy_values(&r, &back);
    compare_bytes(f, "dw_copy through the other byte order", &back, m->body, m->body_len);
    dw_writer_free(&w);
    dw_writer_free(&back);
}

/* The body of a message, whose header is sound. */
static void inspect_parsed(finding *f, const dw_message *m)
{
    dw_reader r;
    dw_message_check(m, &f->fault);
    for (int whole = 0; whole < 2; whole++) {
        dw_reader_init(&r, m);
        walk_values(&(walk){.r = &r, .whole = whole});
        dw_reader_finish(&r);
        /* with an array at once the first error found may be a later one of the array */
        dw_fault fault = dw_reader_fault(&r);
        if (!whole || (fault.code == 0) != (f->fault.code == 0))
            compare_faults(f, whole ? "reading arrays at once" : "reading", fault);
    }
    dw_reader_init(&r, m);
    while (dw_more(&r))
        dw_skip(&r);
    dw_reader_finish(&r);
    compare_faults(f, "dw_skip", dw_reader_fault(&r));
    if (f->fault.code == 0 && f->wrong.n == 0)
        write_anew(f, m);
}

void inspect_message(finding *f, const void *bytes, size_t len, uint32_t n_fds)
{
    dw_message m;
    size_t whole = 0;
    *f = (finding){0};
    int framed = dw_message_frame(bytes, len, &whole);
    int parsed = dw_message_parse(&m, bytes, len, n_fds);
    if (parsed != m.fault.code)
        text_printf(&f->wrong, "dw_message_parse returns %s, its fault has %s; ",
                    dw_error_name(parsed), dw_error_name(m.fault.code));
    if ((framed != 1 || whole != len) && parsed == 0)
        text_printf(&f->wrong, "dw_message_frame says %d, %zu bytes, and parse takes %zu; ", framed,
                    whole, len);
    f->incomplete = framed == 0;
    if (framed == 0 && whole <= len)
        text_printf(&f->wrong, "dw_message_frame wants %zu bytes of %zu; ", whole, len);
    f->fault = m.fault;
    if (parsed == 0)
        inspect_parsed(f, &m);
}

void inspect_body(finding *f, const char *signature, const void *body, size_t len, char order)
{
    dw_reader r;
    *f = (finding){0};
    dw_reader_init_body(&r, signature, body, len, order);
    walk_values(&(walk){.r = &r});
    dw_reader_finish(&r);
    dw_fault fault = dw_reader_fault(&r);

    int code = dw_check_signature(signature, strlen(signature), NULL);
    if (code < 0 || len > DW_MAX_MESSAGE) {
        f->fault = fault;
        if (fault.code == 0)
            text_put(&f->wrong, "the reader takes a signature or length that is over the limits; ");
        return;
    }
    /* as if it had come in a message, with descriptors for any index */
    dw_message m = {.type = DW_SIGNAL,
                    .order = order,
                    .unix_fds = UINT32_MAX,
                    .signature = {signature, strlen(signature)},
                    .bytes = body,
                    .len = len,
                    .body = body,
                    .body_len = len};
    inspect_parsed(f, &m);
    compare_faults(f, "reading it bare", fault);
}

void values_of_message(text *out, const dw_message *m)
{
    dw_reader r;
    dw_reader_init(&r, m);
    walk_values(&(walk){.r = &r, .out = out});
    dw_reader_finish(&r);
}

void values_of_body(text *out, const char *signature, const void *body, size_t len, char order)
{
    dw_reader r;
    dw_reader_init_body(&r, signature, body, len, order);
    walk_values(&(walk){.r = &r, .out = out});
    dw_reader_finish(&r);
}

void finding_free(finding *f)
{
    text_free(&f->wrong);
}
