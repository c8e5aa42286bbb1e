/* judge_gdbus.c - what GDBus says. */

#include <gio/gio.h>
#include <string.h>

#include "judges.h"

static bool message(const void *bytes, size_t len)
{
    if (!len)
        return false;
    void *copy = g_memdup2(bytes, len); /* it takes them as its own to change */
    GDBusMessage *m = g_dbus_message_new_from_blob(copy, len, G_DBUS_CAPABILITY_FLAGS_NONE, NULL);
    if (m)
        g_object_unref(m);
    g_free(copy);
    return m != NULL;
}

#define VALIDATE(name, function)                                                                   \
    static bool name(const char *text)                                                             \
    {                                                                                              \
        return function(text);                                                                     \
    }

VALIDATE(signature, g_variant_is_signature)
VALIDATE(path, g_variant_is_object_path)
VALIDATE(interface, g_dbus_is_interface_name)
VALIDATE(member, g_dbus_is_member_name)
VALIDATE(error_name, g_dbus_is_error_name)
VALIDATE(bus_name, g_dbus_is_name)
VALIDATE(address, g_dbus_is_address)

/* A type string of GVariant, which has types that D-Bus has not. */
static bool single(const char *text)
{
    return g_variant_type_string_is_valid(text) && g_variant_is_signature(text);
}

static bool utf8(const char *text)
{
    return g_utf8_validate(text, -1, NULL);
}

const judge judge_gdbus = {"GDBus", message,    signature, single, path,   interface,
                           member,  error_name, bus_name,  utf8,   address};
