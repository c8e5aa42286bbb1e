/* bus.h - short forms of what every program on a bus does. Each is a blocking
 * call to the bus or one message sent; all of it can be had from connection.h
 * too, which also tells about errors.
 *
 * Those with a timeout block, as dw_call does, for at most that long. On
 * DW_E_REPLY error, which may be NULL, receives the bus's error message, valid
 * as one from dw_call. Specification: "Message Bus Messages". */

#ifndef DWIRE_BUS_H
#define DWIRE_BUS_H

#include "dwire/connection.h"

#ifdef __cplusplus
extern "C" {
#endif

#define DW_BUS_NAME      "org.freedesktop.DBus"
#define DW_BUS_PATH      "/org/freedesktop/DBus"
#define DW_BUS_INTERFACE "org.freedesktop.DBus"

enum dw_name_flag { DW_NAME_ALLOW_REPLACEMENT = 1, DW_NAME_REPLACE = 2, DW_NAME_DO_NOT_QUEUE = 4 };

/* What the bus answers. */
enum dw_name_request { DW_NAME_OWNER = 1, DW_NAME_QUEUED = 2, DW_NAME_TAKEN = 3, DW_NAME_OURS = 4 };
enum dw_name_release { DW_NAME_RELEASED = 1, DW_NAME_NOT_THERE = 2, DW_NAME_NOT_OURS = 3 };

/* Asks the bus for a well-known name; flags are of enum dw_name_flag. Returns
 * one of enum dw_name_request, or an error. */
DW_API int dw_request_name(dw_conn *c, const char *name, uint32_t flags, int timeout_ms,
                           dw_message *error);

/* Gives it back. Returns one of enum dw_name_release, or an error. */
DW_API int dw_release_name(dw_conn *c, const char *name, int timeout_ms, dw_message *error);

/* Asks the bus for the messages that a match rule describes, or for no more of
 * them. Returns 0 or an error. Section "Match Rules". */
DW_API int dw_add_match(dw_conn *c, const char *rule, int timeout_ms, dw_message *error);
DW_API int dw_remove_match(dw_conn *c, const char *rule, int timeout_ms, dw_message *error);

/* Answers a call, with no values: to answer with some, dw_begin_reply and
 * dw_send. Does nothing where the caller wants no reply. DW_E_ARGUMENT where
 * the message is no call, else as dw_send. Does not block. */
DW_API int dw_reply(dw_conn *c, const dw_message *call);

/* Answers a call with an error and, if not NULL, a text for people. */
DW_API int dw_reply_error(dw_conn *c, const dw_message *call, const char *error_name,
                          const char *text);

#ifdef __cplusplus
}
#endif
#endif
