/* address.h - the grammar of server addresses, and where the buses live. No
 * I/O; nothing here blocks or allocates. Specification: "Server Addresses",
 * "Well-known Message Bus Instances". */

#ifndef DWIRE_ADDRESS_H
#define DWIRE_ADDRESS_H

#include "dwire/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A list of addresses, "transport:key=value,key=value;transport:...", is
 * walked entry by entry and key by key:
 *
 *     dw_address a;
 *     dw_address_init(&a, "unix:path=/run/bus,guid=...;unix:abstract=x");
 *     while ((r = dw_address_next(&a)) > 0)
 *         while ((r = dw_address_key(&a, &key, value, sizeof value, &len)) > 0)
 *             ...
 *
 * The fields are for reading only. transport points into the text. */
typedef struct dw_address {
    dw_string transport; /* of the current entry */
    const char *text;    /* the whole list */
    const char *keys;    /* the current entry's next key */
    const char *end;     /* its end */
    const char *next;    /* the entry after it */
    size_t error_at;     /* after an error: its offset in the text */
} dw_address;

/* Checks the whole list, every entry and every value of it. Returns 0 or
 * DW_E_ADDRESS; error_at, if not NULL, receives the offset. */
DW_API int dw_check_address(const char *text, size_t *error_at);

/* Starts a walk. The text must stay as it is for as long as the walk lasts. */
DW_API void dw_address_init(dw_address *a, const char *text);

/* Goes to the next entry. Returns 1, 0 at the end, or DW_E_ADDRESS: an empty
 * list or entry, one without a transport or its colon. An entry without keys
 * is none, nor is a semicolon at the end. What a transport or a key is called
 * is the caller's to judge. */
DW_API int dw_address_next(dw_address *a);

/* The next key of the entry and its value with the escapes undone. The value
 * is written to value and NUL-terminated (it may hold NULs of its own; len
 * counts without the last one); it is never longer than the text. A key may
 * come twice: libdbus takes the first. Returns 1, 0 when there are no more
 * keys, DW_E_ADDRESS (no key, no "=", no value, a wrong escape or a byte that
 * should be one), or DW_E_NO_ROOM where the value and its NUL do not fit into
 * size bytes: len tells the length then too, and the key comes again. */
DW_API int dw_address_key(dw_address *a, dw_string *key, char *value, size_t size, size_t *len);

/* The value of one key of the entry, as dw_address_key has it; to be asked before
 * that. Of several keys of this name it is the first. Returns 1, 0 where there is
 * none (nothing is written then), DW_E_ADDRESS or DW_E_NO_ROOM. */
DW_API int dw_address_find(const dw_address *a, const char *key, char *value, size_t size,
                           size_t *len);

/* Escapes n bytes for use as a value: all but [-0-9A-Za-z_/.\*] becomes %xx.
 * Writes at most size bytes, NUL included, and returns the length that the
 * whole has without its NUL (so a result >= size was cut short). out may be
 * NULL where size is 0. */
DW_API size_t dw_address_escape(const void *p, size_t n, char *out, size_t size);

typedef enum dw_bus { DW_BUS_SESSION, DW_BUS_SYSTEM } dw_bus;

/* Writes the address list of a bus to out, NUL-terminated:
 *   session: $DBUS_SESSION_BUS_ADDRESS, else unix:path=$XDG_RUNTIME_DIR/bus
 *   system:  $DBUS_SYSTEM_BUS_ADDRESS, else unix:path=/var/run/dbus/system_bus_socket
 * An empty variable counts as unset. In a program that runs with more rights
 * than its user (setuid) the variables are not looked at.
 * Returns 0, DW_E_NO_ROOM, or DW_E_UNSUPPORTED where nothing tells where the
 * session bus is (autolaunch is not supported). */
DW_API int dw_bus_address(dw_bus which, char *out, size_t size);

#ifdef __cplusplus
}
#endif
#endif
