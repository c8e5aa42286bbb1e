/* signature.h - signatures: check them, walk them, and the size and alignment
 * of each type. Pure functions over text; nothing here blocks or allocates.
 * Specification: "Type System", "Valid Signatures", "Summary of D-Bus
 * marshalling". */

#ifndef DWIRE_SIGNATURE_H
#define DWIRE_SIGNATURE_H

#include "dwire/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Checks the n bytes at signature: zero or more single complete types, at most
 * 255 bytes, at most 32 arrays and 32 structs nested; a dict entry only as the
 * element of an array, with a basic key and one value.
 * Returns 0, DW_E_SIGNATURE, or for one that is too long or too deep
 * DW_E_LIMIT or DW_E_DEPTH. If error_at is not NULL it receives the offset of
 * the first byte that is wrong (n where something is missing at the end). */
DW_API int dw_check_signature(const char *signature, size_t n, size_t *error_at);

/* The same for exactly one single complete type, as a variant holds it. */
DW_API int dw_check_single(const char *signature, size_t n, size_t *error_at);

/* The first complete type of a signature, as a view into it. The signature
 * must be valid and NUL-terminated. At the end (or at the bracket that closes
 * the container whose inside is walked) the view is empty. So this walks one:
 *     for (dw_string t = dw_next_type(s); t.n; t = dw_next_type(t.p + t.n)) */
DW_API dw_string dw_next_type(const char *signature);

/* The alignment of a type by its code: 1, 2, 4 or 8 bytes; 0 for what is no
 * type code. '(' and '{' stand for struct and dict entry. */
DW_API size_t dw_type_align(char code);

/* The size in bytes of a type of fixed size: y 1, n q 2, b i u h 4, x t d 8;
 * 0 for all others. Such a type's alignment equals its size. */
DW_API size_t dw_type_size(char code);

/* Whether the code is that of a basic type: y b n q i u x t d h s o g. */
DW_API bool dw_type_basic(char code);

#ifdef __cplusplus
}
#endif
#endif
