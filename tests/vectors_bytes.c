/* vectors_bytes.c - judges the rows that hold the bytes of messages and bodies. */

#include "vectors.h"

#include <stdlib.h>
#include <string.h>

#include "dwire/message.h"
#include "support/inspect.h"

static const char *verdict_of(const finding *f)
{
    return f->incomplete ? "incomplete" : f->fault.code ? "invalid" : "valid";
}

static void describe(text *got, const finding *f)
{
    got->n = 0;
    text_put(got, verdict_of(f));
    if (f->fault.code)
        text_printf(got, " (%s at %u%s%s)", dw_error_name(f->fault.code), (unsigned)f->fault.at,
                    f->fault.field ? ", field " : "", dw_field_name(f->fault.field));
    if (f->wrong.n)
        text_printf(got, ", and %s", text_string(&f->wrong));
}

/* The header of a valid message, begun anew and parsed again: the same. */
static bool header_agrees(const dw_message *m, text *got)
{
    if (m->type > DW_SIGNAL || m->flags > 7)
        return true; /* readable, but not to be sent */
#define TEXT(name) m->name.n ? m->name.p : NULL
    dw_header header = {.type = m->type,
                        .flags = m->flags,
                        .order = m->order,
                        .serial = m->serial,
                        .reply_serial = m->reply_serial,
                        .path = TEXT(path),
                        .interface = TEXT(interface),
                        .member = TEXT(member),
                        .error_name = TEXT(error_name),
                        .destination = TEXT(destination),
                        .sender = TEXT(sender),
                        .signature = TEXT(signature)};
#undef TEXT
    dw_writer w;
    dw_writer_init(&w, NULL, 0, dw_heap);
    dw_begin(&w, &header);
    dw_reader r;
    dw_reader_init(&r, m);
    while (dw_more(&r))
        dw_copy(&r, &w);
    size_t len;
    int code = dw_finish(&w);
    const uint8_t *bytes = dw_writer_bytes(&w, &len);
    dw_message again;
    if (code == 0)
        code = dw_message_parse(&again, bytes, len, 0);
#define SAME(name) (m->name.n == again.name.n && memcmp(m->name.p, again.name.p, m->name.n) == 0)
    bool same = code == 0 && m->type == again.type && m->flags == again.flags &&
                m->serial == again.serial && m->reply_serial == again.reply_serial && SAME(path) &&
                SAME(interface) && SAME(member) && SAME(error_name) && SAME(destination) &&
                SAME(sender) && SAME(signature) && m->body_len == again.body_len &&
                (m->body_len == 0 || memcmp(m->body, again.body, m->body_len) == 0);
#undef SAME
    dw_writer_free(&w);
    if (!same)
        text_printf(got, ", and its header written anew is another: %s", dw_error_name(code));
    return same;
}

static bool agrees_at(const vector *v, const text *bytes, size_t shift, text *got,
                      const char **verdict)
{
    block b = block_copy(bytes->p, bytes->n, shift);
    finding f;
    inspect_message(&f, b.p, bytes->n, 0);
    describe(got, &f);
    bool agrees = f.wrong.n == 0 && (shift == 0 || strcmp(*verdict, verdict_of(&f)) == 0);
    *verdict = verdict_of(&f);
    if (f.fault.code == 0 && !f.incomplete && shift == 0) {
        text values = {0};
        dw_message m;
        dw_message_parse(&m, b.p, bytes->n, 0);
        values_of_message(&values, &m);
        agrees = header_agrees(&m, got) && values_agree(v, &values, got) && agrees;
        text_free(&values);
    }
    finding_free(&f);
    block_free(&b);
    return agrees;
}

outcome judge_message(const vector *v, text *got)
{
    text bytes = {0};
    const char *verdict = "";
    if (!text_from_hex(&bytes, v->input, strlen(v->input))) {
        text_put(got, "input that is no hex");
        text_free(&bytes);
        return FAILED;
    }
    bool agrees = true;
    for (size_t shift = 0; agrees && shift < shifts_for(bytes.n); shift++)
        agrees = agrees_at(v, &bytes, shift, got, &verdict);
    text_free(&bytes);
    return agrees ? settle(v, verdict) : FAILED;
}

outcome judge_prefix(const vector *v, text *got)
{
    text bytes = {0}, came = {0};
    if (!text_from_hex(&bytes, v->input, strlen(v->input))) {
        text_put(got, "input that is no hex");
        text_free(&bytes);
        return FAILED;
    }
    block b = block_copy(bytes.p, bytes.n, 1);
    size_t whole = 0;
    int code = dw_message_frame(b.p, bytes.n, &whole);
    const char *verdict = code < 0 ? "invalid" : bytes.n < 16 ? "incomplete" : "valid";
    text_printf(got, "%s", verdict);
    if (code < 0)
        text_printf(got, " (%s)", dw_error_name(code));
    else
        text_printf(&came, "%zu", whole);
    bool agrees = code < 0 || code == (bytes.n >= 16 && whole <= bytes.n);
    agrees = (code < 0 || values_agree(v, &came, got)) && agrees;
    block_free(&b);
    text_free(&bytes);
    text_free(&came);
    return agrees ? settle(v, verdict) : FAILED;
}

outcome judge_body(const vector *v, text *got)
{
    text bytes = {0}, signature = {0};
    char order = *v->endian == 'B' ? DW_BIG : DW_LITTLE;
    const char *verdict = "";
    if (!text_from_hex(&bytes, v->input, strlen(v->input))) {
        text_put(got, "input that is no hex");
        text_free(&bytes);
        return FAILED;
    }
    text_from_escaped(&signature, v->signature, strlen(v->signature));
    bool agrees = true;
    for (size_t shift = 0; agrees && shift < shifts_for(bytes.n); shift++) {
        block b = block_copy(bytes.p, bytes.n, shift);
        finding f;
        inspect_body(&f, text_string(&signature), b.p, bytes.n, order);
        describe(got, &f);
        agrees = f.wrong.n == 0 && (shift == 0 || strcmp(verdict, verdict_of(&f)) == 0);
        verdict = verdict_of(&f);
        if (f.fault.code == 0 && shift == 0 && *v->values) {
            text values = {0};
            values_of_body(&values, text_string(&signature), b.p, bytes.n, order);
            agrees = values_agree(v, &values, got) && agrees;
            text_free(&values);
        }
        finding_free(&f);
        block_free(&b);
    }
    text_free(&bytes);
    text_free(&signature);
    return agrees ? settle(v, verdict) : FAILED;
}
