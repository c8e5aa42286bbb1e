/* convert.c - values between dwire and libdbus. */

#include "convert.h"

#include <stdlib.h>
#include <string.h>

#include "dwire/signature.h"
#include "support/walk.h"

/* -- From dwire to libdbus ------------------------------------------------------ */

static void append(DBusMessageIter *to, int type, const void *value)
{
    if (!dbus_message_iter_append_basic(to, type, value))
        abort();
}

#define FIXED(code, wire, name)                                                                    \
    case code: {                                                                                   \
        wire value = dw_get_##name(r);                                                             \
        append(to, code, &value);                                                                  \
        break;                                                                                     \
    }

#define STRING(code, name)                                                                         \
    case code: {                                                                                   \
        const char *value = dw_get_##name(r).p;                                                    \
        append(to, code, &value);                                                                  \
        break;                                                                                     \
    }

static void append_basic(dw_reader *r, DBusMessageIter *to, char code)
{
    switch (code) {
        FIXED('y', uint8_t, byte)
        FIXED('b', dbus_bool_t, boolean)
        FIXED('n', int16_t, int16)
        FIXED('q', uint16_t, uint16)
        FIXED('i', int32_t, int32)
        FIXED('u', uint32_t, uint32)
        FIXED('x', int64_t, int64)
        FIXED('t', uint64_t, uint64)
        FIXED('d', double, double)
        STRING('s', string)
        STRING('o', object_path)
        STRING('g', signature)
    default: abort(); /* a unix fd is none without its socket */
    }
}

static void append_whole(dw_reader *r, DBusMessageIter *to, char code)
{
    dw_reader ahead = *r;
    size_t len = dw_enter_array(&ahead), size = dw_type_size(code);
    void *values = malloc(len + 1);
    size_t n = dw_copy_array(r, code, values, len / size);
    if (n && !dbus_message_iter_append_fixed_array(to, code, &values, (int)n))
        abort();
    free(values);
}

/* The inside of a type: without its first byte and, of a bracket, its last. */
static void inside(char out[256], dw_string type)
{
    size_t n = type.n - (*type.p == 'a' ? 1 : 2);
    memcpy(out, type.p + 1, n);
    out[n] = '\0';
}

static void append_array(dw_reader *r, DBusMessageIter *to, dw_string type, bool whole)
{
    DBusMessageIter sub;
    char element[256];
    inside(element, type);
    if (!dbus_message_iter_open_container(to, DBUS_TYPE_ARRAY, element, &sub))
        abort();
    if (whole && dw_type_size(*element) && *element != 'h') {
        append_whole(r, &sub, *element);
    } else {
        dw_enter_array(r);
        while (dw_more(r))
            convert_values(r, &sub, element, whole);
        dw_leave_array(r);
    }
    dbus_message_iter_close_container(to, &sub);
}

static void append_container(dw_reader *r, DBusMessageIter *to, dw_string type, bool whole)
{
    DBusMessageIter sub;
    char types[256];
    int kind = *type.p == '('   ? DBUS_TYPE_STRUCT
               : *type.p == 'v' ? DBUS_TYPE_VARIANT
                                : DBUS_TYPE_DICT_ENTRY;
    dw_string variant = {"", 0};
    if (*type.p == '(')
        dw_enter_struct(r);
    else if (*type.p == '{')
        dw_enter_entry(r);
    else
        variant = dw_enter_variant(r);
    if (!dbus_message_iter_open_container(to, kind, *type.p == 'v' ? variant.p : NULL, &sub))
        abort();
    if (*type.p != 'v')
        inside(types, type);
    convert_values(r, &sub, *type.p == 'v' ? variant.p : types, whole);
    dbus_message_iter_close_container(to, &sub);
    if (*type.p == '(')
        dw_leave_struct(r);
    else if (*type.p == '{')
        dw_leave_entry(r);
    else
        dw_leave_variant(r);
}

void convert_values(dw_reader *r, DBusMessageIter *to, const char *signature, bool whole)
{
    for (dw_string t = dw_next_type(signature); t.n; t = dw_next_type(t.p + t.n)) {
        if (*t.p == 'a')
            append_array(r, to, t, whole);
        else if (dw_type_basic(*t.p))
            append_basic(r, to, *t.p);
        else
            append_container(r, to, t, whole);
    }
}

/* -- The text of what libdbus reads ------------------------------------------------ */

static void one_text(text *out, DBusMessageIter *i);

static void texts(text *out, DBusMessageIter *i, const char *between)
{
    for (int n = 0; dbus_message_iter_get_arg_type(i) != DBUS_TYPE_INVALID; n++) {
        text_put(out, n ? between : "");
        one_text(out, i);
        dbus_message_iter_next(i);
    }
}

static void container_text(text *out, DBusMessageIter *i, int type)
{
    DBusMessageIter sub;
    bool dict =
        type == DBUS_TYPE_ARRAY && dbus_message_iter_get_element_type(i) == DBUS_TYPE_DICT_ENTRY;
    dbus_message_iter_recurse(i, &sub);
    switch (type) {
    case DBUS_TYPE_ARRAY:
        text_put(out, dict ? "{" : "[");
        texts(out, &sub, ",");
        text_put(out, dict ? "}" : "]");
        break;
    case DBUS_TYPE_STRUCT:
        text_put(out, "(");
        texts(out, &sub, ",");
        text_put(out, ")");
        break;
    case DBUS_TYPE_DICT_ENTRY: texts(out, &sub, ":"); break;
    default: {
        char *signature = dbus_message_iter_get_signature(&sub);
        text_printf(out, "<%s ", signature);
        texts(out, &sub, "");
        text_put(out, ">");
        dbus_free(signature);
    }
    }
}

static void one_text(text *out, DBusMessageIter *i)
{
    int type = dbus_message_iter_get_arg_type(i);
    DBusBasicValue value;
    if (!dbus_type_is_basic(type)) {
        container_text(out, i, type);
        return;
    }
    dbus_message_iter_get_basic(i, &value);
    if (dbus_type_is_fixed(type)) {
        text_fixed(out, (char)type, &value);
    } else {
        text_put(out, "\"");
        text_escape(out, value.str, strlen(value.str));
        text_put(out, "\"");
    }
}

void convert_text(text *out, DBusMessage *m)
{
    DBusMessageIter i;
    if (dbus_message_iter_init(m, &i))
        texts(out, &i, " ");
}
