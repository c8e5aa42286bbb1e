/* base.h - what every other header builds on: error codes, string views, the
 * limits of the specification, the allocator. */

#ifndef DWIRE_BASE_H
#define DWIRE_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* DW_API marks what the shared library exports; the rest of it is hidden. */
#if defined(__GNUC__)
#define DW_API __attribute__((visibility("default")))
#else
#define DW_API
#endif

/* -- Errors ---------------------------------------------------------------
 *
 * Functions that can fail return 0 (or a documented positive number) on
 * success and one of these negative codes otherwise. Nothing prints, nothing
 * aborts. The list is X(code, text, section of the specification). */

#define DW_ERRORS(X)                                                                               \
    X(DW_E_NO_ROOM, "the buffer is full", "")                                                      \
    X(DW_E_NO_MEMORY, "out of memory", "")                                                         \
    X(DW_E_TYPE, "the value's type is not the one that the signature asks for", "Type System")     \
    X(DW_E_STATE, "not possible in this state", "")                                                \
    X(DW_E_ARGUMENT, "an argument is not valid", "")                                               \
    X(DW_E_DEPTH, "nested too deep", "Container types")                                            \
    X(DW_E_LIMIT, "longer than the specification allows", "Message Format")                        \
    X(DW_E_BOUNDS, "a length does not fit into what encloses it", "Marshaling (Wire Format)")      \
    X(DW_E_PADDING, "padding is not zero", "Marshaling (Wire Format)")                             \
    X(DW_E_BOOLEAN, "a boolean is neither 0 nor 1", "Basic types")                                 \
    X(DW_E_UTF8, "a string is not UTF-8, or holds or lacks a NUL", "Basic types")                  \
    X(DW_E_PATH, "not a valid object path", "Valid Object Paths")                                  \
    X(DW_E_NAME, "not a valid name", "Valid Names")                                                \
    X(DW_E_SIGNATURE, "not a valid signature", "Valid Signatures")                                 \
    X(DW_E_HEADER, "the message header is not valid", "Message Format")                            \
    X(DW_E_FDS, "file descriptors do not match the message", "Header Fields")                      \
    X(DW_E_VIEW, "not viewable in place: foreign byte order, or not aligned", "")                  \
    X(DW_E_ADDRESS, "not a valid server address", "Server Addresses")                              \
    X(DW_E_UNSUPPORTED, "not supported", "Transports")                                             \
    X(DW_E_AUTH, "authentication refused", "Authentication Protocol")                              \
    X(DW_E_PROTOCOL, "the peer does not follow the protocol", "Authentication Protocol")           \
    X(DW_E_GUID, "the server's GUID is not the one in its address", "Server Addresses")            \
    X(DW_E_CLOSED, "the connection is closed", "")                                                 \
    X(DW_E_CUT, "the connection ended in the middle of a message", "")                             \
    X(DW_E_TIMEOUT, "time is up", "")                                                              \
    X(DW_E_QUEUE, "a queue is full", "")                                                           \
    X(DW_E_REPLY, "the call was answered with an error", "Message Types")                          \
    X(DW_E_SYSTEM, "a system call failed (errno tells why)", "")

#define DW_ERROR_NUMBER(code, text, section) code##_NUMBER,
#define DW_ERROR_CODE(code, text, section)   code = -1 - (int)code##_NUMBER,
enum dw_error_number { DW_ERRORS(DW_ERROR_NUMBER) DW_ERROR_COUNT };
typedef enum dw_error { DW_OK = 0, DW_ERRORS(DW_ERROR_CODE) } dw_error;
#undef DW_ERROR_NUMBER
#undef DW_ERROR_CODE

/* The text of an error code, never NULL: "success" for 0 and above, "unknown
 * error" for a number that is none of the above. Static storage. */
DW_API const char *dw_error_text(int code);

/* The name of the code itself, "DW_E_BOUNDS", likewise. Static storage. */
DW_API const char *dw_error_name(int code);

/* The title of the section of the D-Bus Specification that the error comes
 * from, or "" where it comes from none. Static storage. */
DW_API const char *dw_error_section(int code);

/* An error and its place. */
typedef struct dw_fault {
    int code;      /* 0: none */
    uint8_t field; /* in a message header: the code of the header field, else 0 */
    uint32_t at;   /* bytes from the start of the message (or bare body) to where it was found */
} dw_fault;

/* -- Views ----------------------------------------------------------------
 *
 * A view points to bytes that something else owns; the function that hands it
 * out says for how long. Strings out of a message are followed by a NUL, which
 * n does not count; a part of a text (dw_next_type, dw_address) is not. */

typedef struct dw_string {
    const char *p;
    size_t n; /* bytes */
} dw_string;

/* -- Limits of the specification ------------------------------------------ */

#define DW_MAX_MESSAGE   134217728u /* bytes of a message, header and body */
#define DW_MAX_ARRAY     67108864u  /* bytes of an array, without its length */
#define DW_MAX_NAME      255u       /* bytes of a name */
#define DW_MAX_SIGNATURE 255u       /* bytes of a signature */
#define DW_MAX_ARRAYS    32u        /* array type codes nested in a signature */
#define DW_MAX_STRUCTS   32u        /* open parentheses nested in a signature */
#define DW_MAX_DEPTH     64u        /* containers nested in a message, variants included */

/* -- Byte order ----------------------------------------------------------- */

#define DW_LITTLE 'l'
#define DW_BIG    'B'
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define DW_NATIVE DW_BIG
#else
#define DW_NATIVE DW_LITTLE
#endif

/* -- Memory ---------------------------------------------------------------
 *
 * The one allocator type. resize does what realloc does, with the old size
 * told:
 *   resize(context, NULL, 0, n)  a new block of n bytes, aligned as malloc's
 *   resize(context, p, old, n)   p grown or shrunk to n; may move; on failure
 *                                NULL, and p stays as it was
 *   resize(context, p, old, 0)   p freed; returns NULL
 * It must outlive what was allocated with it. */

typedef struct dw_allocator {
    void *(*resize)(void *context, void *p, size_t old_size, size_t new_size);
    void *context;
} dw_allocator;

/* malloc, realloc and free. An array of one, so that its name is a pointer. */
DW_API extern const dw_allocator dw_heap[1];

/* -- Compilers ------------------------------------------------------------ */

#if defined(__GNUC__)
#define DW_LIKELY(x) __builtin_expect(!!(x), 1)
#else
#define DW_LIKELY(x) (x)
#endif

#ifdef __cplusplus
}
#endif
#endif
