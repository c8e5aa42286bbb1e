/* names.h - the rules for strings and names. Pure functions over n bytes,
 * which need not be NUL-terminated; nothing here blocks or allocates.
 * Specification: "Basic types", "Valid Object Paths", "Valid Names".
 *
 * Each check returns 0 if the bytes are valid, else the code that it names. If
 * error_at is not NULL it receives the offset of the first byte that is wrong:
 * n where something is missing at the end, 255 where a name is too long. */

#ifndef DWIRE_NAMES_H
#define DWIRE_NAMES_H

#include "dwire/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A string: UTF-8 in its shortest form, no surrogates, nothing above U+10FFFF,
 * no NUL. Noncharacters are allowed. Else DW_E_UTF8. */
DW_API int dw_check_utf8(const char *p, size_t n, size_t *error_at);

/* An object path: "/", or elements of [A-Za-z0-9_]+ each after a "/". Of any
 * length. Else DW_E_PATH. */
DW_API int dw_check_path(const char *p, size_t n, size_t *error_at);

/* An interface name: two or more elements of [A-Za-z_][A-Za-z0-9_]* joined by
 * dots; at most 255 bytes. Else DW_E_NAME. */
DW_API int dw_check_interface(const char *p, size_t n, size_t *error_at);

/* An error name; the rule is that of interface names. */
DW_API int dw_check_error_name(const char *p, size_t n, size_t *error_at);

/* A member name: [A-Za-z_][A-Za-z0-9_]*, at most 255 bytes. Else DW_E_NAME. */
DW_API int dw_check_member(const char *p, size_t n, size_t *error_at);

/* A bus name, unique or well-known. Else DW_E_NAME. */
DW_API int dw_check_bus_name(const char *p, size_t n, size_t *error_at);

/* A unique name: ":" and two or more elements of [A-Za-z0-9_-]+ joined by
 * dots; at most 255 bytes. Else DW_E_NAME. */
DW_API int dw_check_unique_name(const char *p, size_t n, size_t *error_at);

/* A well-known name: two or more elements of [A-Za-z_-][A-Za-z0-9_-]* joined by
 * dots; at most 255 bytes. Else DW_E_NAME. */
DW_API int dw_check_well_known_name(const char *p, size_t n, size_t *error_at);

/* A namespace, as arg0namespace in a match rule takes it: a bus name
 * that may also be of one element only. Else DW_E_NAME. */
DW_API int dw_check_namespace(const char *p, size_t n, size_t *error_at);

#ifdef __cplusplus
}
#endif
#endif
