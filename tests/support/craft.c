/* craft.c - message headers made by hand. */

#include "craft.h"

#include <string.h>

void craft_begin(dw_writer *w, const dw_header *header, uint32_t body_len)
{
    char order = header->order ? header->order : DW_NATIVE;
    dw_begin_body(w, "yyyyuua(yv)", order);
    dw_put_byte(w, (uint8_t)order);
    dw_put_byte(w, header->type);
    dw_put_byte(w, header->flags);
    dw_put_byte(w, 1);
    dw_put_uint32(w, body_len);
    dw_put_uint32(w, header->serial ? header->serial : 1);
    dw_open_array(w);
}

void craft_string(dw_writer *w, uint8_t field, const char *type, const char *value)
{
    dw_open_struct(w);
    dw_put_byte(w, field);
    dw_open_variant(w, type);
    switch (*type) {
    case 's': dw_put_string(w, value); break;
    case 'o': dw_put_object_path(w, value); break;
    default: dw_put_signature(w, value); break;
    }
    dw_close_variant(w);
    dw_close_struct(w);
}

void craft_uint32(dw_writer *w, uint8_t field, uint32_t value)
{
    dw_open_struct(w);
    dw_put_byte(w, field);
    dw_open_variant(w, "u");
    dw_put_uint32(w, value);
    dw_close_variant(w);
    dw_close_struct(w);
}

void craft_fields(dw_writer *w, const dw_header *header)
{
    const struct {
        uint8_t field;
        const char *type, *value;
    } strings[] = {
        {DW_FIELD_PATH, "o", header->path},
        {DW_FIELD_INTERFACE, "s", header->interface},
        {DW_FIELD_MEMBER, "s", header->member},
        {DW_FIELD_ERROR_NAME, "s", header->error_name},
        {DW_FIELD_DESTINATION, "s", header->destination},
        {DW_FIELD_SENDER, "s", header->sender},
        {DW_FIELD_SIGNATURE, "g", header->signature},
    };
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++)
        if (strings[i].value)
            craft_string(w, strings[i].field, strings[i].type, strings[i].value);
    if (header->reply_serial)
        craft_uint32(w, DW_FIELD_REPLY_SERIAL, header->reply_serial);
    if (header->n_fds)
        craft_uint32(w, DW_FIELD_UNIX_FDS, header->n_fds);
}

void craft_finish(dw_writer *w, text *out)
{
    static const uint8_t zeros[8];
    size_t len;
    dw_close_array(w);
    dw_finish(w);
    const uint8_t *p = dw_writer_bytes(w, &len);
    text_add(out, p, len);
    text_add(out, zeros, (8 - len % 8) % 8);
}

void craft_header(text *out, const dw_header *header)
{
    dw_writer w;
    dw_writer_init(&w, NULL, 0, dw_heap);
    craft_begin(&w, header, 0);
    craft_fields(&w, header);
    craft_finish(&w, out);
    dw_writer_free(&w);
}

bool craft_reserved(uint8_t field, const char *value)
{
    return (field == DW_FIELD_PATH && strcmp(value, "/org/freedesktop/DBus/Local") == 0) ||
           (field == DW_FIELD_INTERFACE && strcmp(value, "org.freedesktop.DBus.Local") == 0);
}
