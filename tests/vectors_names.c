/* vectors_names.c - judges the rows that hold signatures, names, strings and
 * addresses: by the check of that name, and by whatever else takes one. */

#include "vectors.h"

#include <stdlib.h>
#include <string.h>

#include "dwire/address.h"
#include "dwire/message.h"
#include "dwire/names.h"
#include "dwire/signature.h"
#include "support/craft.h"

typedef int check(const char *p, size_t n, size_t *error_at);

/* The check itself, on a block of the exact size at each alignment. */
static int check_everywhere(check *ask, const text *input, text *got)
{
    int code = 0;
    for (size_t shift = 0; shift < shifts_for(input->n); shift++) {
        block b = block_copy(input->p, input->n, shift);
        size_t at = SIZE_MAX;
        int now = ask((const char *)b.p, input->n, &at);
        if (shift && now != code)
            text_printf(got, "%s at another alignment; ", dw_error_name(now));
        if (now < 0 && at > input->n)
            text_printf(got, "error at %zu of %zu; ", at, input->n);
        if (ask((const char *)b.p, input->n, NULL) != now)
            text_put(got, "another answer without error_at; ");
        code = now;
        block_free(&b);
    }
    return code;
}

/* What else takes it must say the same. */
static void other_way(text *got, const char *way, int code, int expected)
{
    if (code != expected)
        text_printf(got, "%s says %s where its check says %s; ", way, dw_error_name(code),
                    dw_error_name(expected));
}

/* As a value: written, with its length told and without, and read. */
static void as_value(text *got, char type, const text *input, int expected)
{
    char signature[2] = {type, '\0'};
    dw_writer w;
    dw_writer_init(&w, NULL, 0, dw_heap);
    block b = block_copy(input->p, input->n, 0);
    const char *p = (const char *)b.p;
    dw_begin_body(&w, signature, 0);
    type == 's'   ? dw_put_string_n(&w, p, input->n)
    : type == 'o' ? dw_put_object_path_n(&w, p, input->n)
                  : dw_put_signature_n(&w, p, input->n);
    other_way(got, "writing it with its length", dw_finish(&w), expected);
    block_free(&b);

    if (!memchr(text_string(input), '\0', input->n)) {
        b = block_copy(text_string(input), input->n + 1, 0);
        p = (const char *)b.p;
        dw_begin_body(&w, signature, 0);
        type == 's'   ? dw_put_string(&w, p)
        : type == 'o' ? dw_put_object_path(&w, p)
                      : dw_put_signature(&w, p);
        other_way(got, "writing it", dw_finish(&w), expected);
        block_free(&b);
    }
    dw_writer_free(&w);

    if (type == 'g' && input->n > 255)
        return; /* has no form on the wire */
    text wire = {0};
    uint32_t len = (uint32_t)input->n;
    text_add(&wire, type == 'g' ? (const void *)&(uint8_t){(uint8_t)len} : (const void *)&len,
             type == 'g' ? 1 : sizeof len);
    text_add(&wire, input->p, input->n);
    text_add(&wire, "", 1);
    b = block_copy(wire.p, wire.n, 0);
    dw_reader r;
    dw_reader_init_body(&r, signature, b.p, wire.n, DW_NATIVE);
    type == 's' ? dw_get_string(&r) : type == 'o' ? dw_get_object_path(&r) : dw_get_signature(&r);
    other_way(got, "reading it", dw_reader_finish(&r), expected);
    block_free(&b);
    text_free(&wire);
}

/* In a header field, written and parsed. An empty one is one that is there. */
static void as_field(text *got, uint8_t field, const text *input, int expected)
{
    const char *name = text_string(input);
    if (memchr(name, '\0', input->n) || dw_check_utf8(name, input->n, NULL) < 0)
        return; /* is no string to begin with */
    dw_header header = {.type = field == DW_FIELD_ERROR_NAME ? DW_ERROR : DW_SIGNAL,
                        .path = "/a",
                        .interface = "a.b",
                        .member = "M",
                        .reply_serial = 1};
    switch (field) {
    case DW_FIELD_PATH: header.path = name; break;
    case DW_FIELD_INTERFACE: header.interface = name; break;
    case DW_FIELD_MEMBER: header.member = name; break;
    case DW_FIELD_ERROR_NAME: header.error_name = name; break;
    case DW_FIELD_DESTINATION: header.destination = name; break;
    default: header.sender = name; break;
    }
    if (expected == 0 && craft_reserved(field, name))
        expected = DW_E_HEADER;
    dw_writer w;
    dw_writer_init(&w, NULL, 0, dw_heap);
    dw_begin(&w, &header);
    other_way(got, "beginning a message with it", dw_finish(&w), expected);
    dw_fault fault = dw_writer_fault(&w);
    if (expected && fault.field != field)
        text_printf(got, "the error names field %s; ", dw_field_name(fault.field));
    dw_writer_free(&w);

    if (field == DW_FIELD_PATH && expected)
        return; /* cannot be written into a variant of type o either */
    text bytes = {0};
    craft_header(&bytes, &header);
    dw_message m;
    other_way(got, "parsing a message with it", dw_message_parse(&m, bytes.p, bytes.n, 0),
              expected);
    if (expected && m.fault.field != field)
        text_printf(got, "the error of parsing names field %s; ", dw_field_name(m.fault.field));
    text_free(&bytes);
}

/* A row whose input is text: its check, and one more way. */
static outcome judge_text(const vector *v, text *got, check *ask, char type, uint8_t field)
{
    text input = {0};
    if (strcmp(v->kind, "utf8") != 0)
        text_from_escaped(&input, v->input, strlen(v->input));
    else if (!text_from_hex(&input, v->input, strlen(v->input)))
        text_put(got, "input that is no hex; ");
    int code = check_everywhere(ask, &input, got);
    if (type)
        as_value(got, type, &input, code);
    if (field)
        as_field(got, field, &input, code);
    if (field == DW_FIELD_DESTINATION)
        as_field(got, DW_FIELD_SENDER, &input, code);
    bool agrees = got->n == 0;
    const char *verdict = code < 0 ? "invalid" : "valid";
    text_printf(got, "%s (%s)", verdict, dw_error_name(code));
    text_free(&input);
    return agrees ? settle(v, verdict) : FAILED;
}

outcome judge_signature(const vector *v, text *got)
{
    return judge_text(v, got, dw_check_signature, 'g', 0);
}

outcome judge_single(const vector *v, text *got)
{
    return judge_text(v, got, dw_check_single, 0, 0);
}

outcome judge_path(const vector *v, text *got)
{
    return judge_text(v, got, dw_check_path, 'o', DW_FIELD_PATH);
}

outcome judge_interface(const vector *v, text *got)
{
    return judge_text(v, got, dw_check_interface, 0, DW_FIELD_INTERFACE);
}

outcome judge_member(const vector *v, text *got)
{
    return judge_text(v, got, dw_check_member, 0, DW_FIELD_MEMBER);
}

outcome judge_error(const vector *v, text *got)
{
    return judge_text(v, got, dw_check_error_name, 0, DW_FIELD_ERROR_NAME);
}

outcome judge_busname(const vector *v, text *got)
{
    return judge_text(v, got, dw_check_bus_name, 0, DW_FIELD_DESTINATION);
}

outcome judge_utf8(const vector *v, text *got)
{
    return judge_text(v, got, dw_check_utf8, 's', 0);
}

/* -- Addresses -------------------------------------------------------------- */

/* Walks a list, printing it as transport[key=value,...];... */
static int walk_address(const char *list, text *out)
{
    size_t size = strlen(list) + 1, len;
    char *value = malloc(size);
    dw_address a;
    dw_string key;
    int code, entries = 0;
    dw_address_init(&a, list);
    while ((code = dw_address_next(&a)) > 0) {
        text_put(out, entries++ ? "];" : "");
        text_add(out, a.transport.p, a.transport.n);
        text_put(out, "[");
        int keys = 0;
        while ((code = dw_address_key(&a, &key, value, size, &len)) > 0) {
            text_put(out, keys++ ? "," : "");
            text_add(out, key.p, key.n);
            text_put(out, "=");
            text_add(out, value, len);
        }
        if (code < 0)
            break;
    }
    text_put(out, "]");
    free(value);
    return code;
}

outcome judge_address(const vector *v, text *got)
{
    text input = {0}, came = {0};
    text_from_escaped(&input, v->input, strlen(v->input));
    block b = block_copy(text_string(&input), input.n + 1, 0);
    size_t at = SIZE_MAX;
    int code = dw_check_address((const char *)b.p, &at);
    int walked = walk_address((const char *)b.p, &came);
    const char *verdict = code < 0 ? "invalid" : "valid";
    text_printf(got, "%s (%s)", verdict, dw_error_name(code));
    bool agrees = walked == code && (code == 0 || at <= input.n);
    if (!agrees)
        text_printf(got, ", and the walk says %s", dw_error_name(walked));
    if (code == 0)
        agrees = values_agree(v, &came, got) && agrees;
    block_free(&b);
    text_free(&input);
    text_free(&came);
    return agrees ? settle(v, verdict) : FAILED;
}

outcome judge_escape(const vector *v, text *got)
{
    text input = {0}, address = {0}, expected = {0}, came = {0};
    text_from_escaped(&input, v->input, strlen(v->input));
    block b = block_copy(input.p, input.n, 0);
    size_t len = dw_address_escape(b.p, input.n, NULL, 0);
    block out = block_copy(NULL, 0, len + 1);
    bool agrees = len == strlen(v->values);
    for (size_t size = 1; agrees && size <= len + 1; size++) {
        char *to = (char *)out.base + (len + 1 - size); /* so that size ends where the block does */
        agrees = dw_address_escape(b.p, input.n, to, size) == len && strlen(to) == size - 1 &&
                 strncmp(to, v->values, size - 1) == 0;
    }
    text_printf(got, "valid, %zu bytes: %s", len, agrees ? v->values : "another text");

    text_printf(&address, "x:k=%s", v->values);
    text_put(&expected, "x[k=");
    text_add(&expected, input.p, input.n);
    text_put(&expected, "]");
    if (input.n && (walk_address(address.p, &came) < 0 || !text_equal(&came, &expected))) {
        agrees = false;
        text_printf(got, ", and read back it is %s", text_string(&came));
    }
    block_free(&b);
    block_free(&out);
    text_free(&input);
    text_free(&address);
    text_free(&expected);
    text_free(&came);
    return agrees ? settle(v, "valid") : FAILED;
}
