/* judge_libdbus.c - what libdbus says. */

#include <dbus/dbus.h>

#include "judges.h"

static bool message(const void *bytes, size_t len)
{
    if (dbus_message_demarshal_bytes_needed(bytes, (int)len) != (int)len)
        return false;
    DBusMessage *m = dbus_message_demarshal(bytes, (int)len, NULL);
    if (m)
        dbus_message_unref(m);
    return m != NULL;
}

#define VALIDATE(name, function)                                                                   \
    static bool name(const char *text)                                                             \
    {                                                                                              \
        return function(text, NULL);                                                               \
    }

VALIDATE(signature, dbus_signature_validate)
VALIDATE(single, dbus_signature_validate_single)
VALIDATE(path, dbus_validate_path)
VALIDATE(interface, dbus_validate_interface)
VALIDATE(member, dbus_validate_member)
VALIDATE(error_name, dbus_validate_error_name)
VALIDATE(bus_name, dbus_validate_bus_name)
VALIDATE(utf8, dbus_validate_utf8)

static bool address(const char *text)
{
    DBusAddressEntry **entries;
    int n;
    if (!dbus_parse_address(text, &entries, &n, NULL))
        return false;
    dbus_address_entries_free(entries);
    return true;
}

const judge judge_libdbus = {"libdbus", message,    signature, single, path,   interface,
                             member,    error_name, bus_name,  utf8,   address};
