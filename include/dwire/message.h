/* message.h - whole messages: begin one, cut one out of a stream, parse its
 * header, check its body. Bytes only: nothing here blocks, and only a writer
 * or dw_message_copy allocates. Specification: "Message Format". */

#ifndef DWIRE_MESSAGE_H
#define DWIRE_MESSAGE_H

#include "dwire/base.h"
#include "dwire/reader.h"
#include "dwire/writer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Types of messages. */
enum dw_message_type { DW_METHOD_CALL = 1, DW_METHOD_RETURN = 2, DW_ERROR = 3, DW_SIGNAL = 4 };

/* Flags of messages, or'ed. */
enum dw_message_flag {
    DW_NO_REPLY_EXPECTED = 1,
    DW_NO_AUTO_START = 2,
    DW_ALLOW_INTERACTIVE_AUTHORIZATION = 4
};

/* Codes of header fields: X(code, name, type). */
#define DW_FIELDS(X)                                                                               \
    X(1, PATH, 'o')                                                                                \
    X(2, INTERFACE, 's')                                                                           \
    X(3, MEMBER, 's')                                                                              \
    X(4, ERROR_NAME, 's')                                                                          \
    X(5, REPLY_SERIAL, 'u')                                                                        \
    X(6, DESTINATION, 's')                                                                         \
    X(7, SENDER, 's')                                                                              \
    X(8, SIGNATURE, 'g')                                                                           \
    X(9, UNIX_FDS, 'u')

#define DW_FIELD_CODE(code, name, type) DW_FIELD_##name = code,
enum dw_field { DW_FIELDS(DW_FIELD_CODE) DW_FIELD_COUNT = 10 };
#undef DW_FIELD_CODE

/* "PATH" and so on, "" for a code that is none of these. Static storage. */
DW_API const char *dw_field_name(uint8_t field);

/* -- Writing -------------------------------------------------------------- */

/* The header of a message to be written. What is left 0 or NULL is left out.
 * The strings are copied by dw_begin, except the signature, which must stay
 * until dw_finish. */
typedef struct dw_header {
    uint8_t type;          /* enum dw_message_type */
    uint8_t flags;         /* of enum dw_message_flag */
    char order;            /* DW_LITTLE, DW_BIG; 0: that of the machine */
    uint32_t serial;       /* 0: dw_send gives one, and until then it is 1 */
    uint32_t reply_serial; /* serial of the call that is answered */
    const char *path;
    const char *interface;
    const char *member;
    const char *error_name;
    const char *destination;
    const char *sender; /* set by a bus; needed only where there is none */
    const char *signature;
    /* The descriptors that go with the message; its body's unix fds are
     * indexes into them. They stay the caller's, and must stay as they are
     * until dw_send has returned. fds may be NULL where they go some other way
     * than dw_send. */
    const int *fds;
    uint32_t n_fds;
} dw_header;

/* Begins a message with any header. What was in the writer before is dropped,
 * its errors too. Errors stick in the writer and name the header field:
 *   DW_E_HEADER  a type that is none of the four; a field that the type needs
 *                is missing; the reserved path /org/freedesktop/DBus/Local or
 *                interface org.freedesktop.DBus.Local, for which a bus drops
 *                its sender; an unknown flag or byte order
 *   DW_E_PATH, DW_E_NAME, DW_E_SIGNATURE, DW_E_LIMIT, DW_E_DEPTH
 * Needed are: call PATH, MEMBER; return REPLY_SERIAL; error ERROR_NAME,
 * REPLY_SERIAL; signal PATH, INTERFACE, MEMBER. Section "Header Fields". */
DW_API void dw_begin(dw_writer *w, const dw_header *header);

/* The shorthands. NULL for destination, interface or signature: none. */
DW_API void dw_begin_signal(dw_writer *w, const char *path, const char *interface,
                            const char *member, const char *signature);
DW_API void dw_begin_call(dw_writer *w, const char *destination, const char *path,
                          const char *interface, const char *member, const char *signature);

/* Begins the answer to a call: to its sender, with its serial. */
DW_API void dw_begin_reply(dw_writer *w, const struct dw_message *call, const char *signature);

/* Begins an error as the answer to a call. By custom its first value is a
 * string that tells a person what happened. */
DW_API void dw_begin_error(dw_writer *w, const struct dw_message *call, const char *error_name,
                           const char *signature);

/* -- Reading -------------------------------------------------------------- */

/* A parsed message. Everything in it are views into its bytes, or numbers; a
 * field that is not there is an empty string or 0 (none may be empty but the
 * signature, for which that is the same). */
typedef struct dw_message {
    uint8_t type;  /* maybe one that this version does not know: to be ignored */
    uint8_t flags; /* maybe ones that this version does not know: to be ignored */
    char order;    /* DW_LITTLE or DW_BIG */
    uint32_t serial;
    uint32_t reply_serial;
    uint32_t unix_fds; /* how many descriptors belong to it */
    dw_string path, interface, member, error_name, destination, sender, signature;
    const uint8_t *bytes; /* the whole message */
    size_t len;
    const uint8_t *body;
    size_t body_len;
    int *fds;       /* the descriptors, from dw_receive, which closes those not taken */
    dw_fault fault; /* what dw_message_parse found */
} dw_message;

/* Cuts a stream into messages. Given the len bytes that are there, at least 16
 * for anything to be known, returns
 *   1  a whole message is there, and *whole is its length in bytes
 *   0  more bytes are needed; *whole is how many bytes there must be before it
 *      is worth asking again (16, or the length of the message)
 *   DW_E_HEADER, DW_E_LIMIT  no message can start like this: wrong byte order
 *      mark, version other than 1, type 0, serial 0, lengths over the limits;
 *      the stream is lost. */
DW_API int dw_message_frame(const void *bytes, size_t len, size_t *whole);

/* Parses the header of the one message that the len bytes are, with n_fds
 * descriptors at hand for it, and fills *m in. bytes must stay for as long as
 * *m is used. The body is not looked at: a reader checks it value by value, or
 * dw_message_check all at once. Returns 0 or, also in m->fault with the place
 * and field:
 *   DW_E_BOUNDS   the length is not that of the message, or one in it is wrong
 *   DW_E_HEADER   what dw_message_frame says; a field missing, twice, or of the
 *                 wrong type; a reply serial of 0; the reserved path or
 *                 interface; a body without signature
 *   DW_E_FDS      more descriptors announced than are at hand
 *   and what reading the fields can find. Section "Header Fields". */
DW_API int dw_message_parse(dw_message *m, const void *bytes, size_t len, uint32_t n_fds);

/* Checks the whole body of a parsed message against its signature. Returns 0
 * or what a reader would say; fault, if not NULL, receives it with the place.
 * A body that passes can be read without any error but those of misuse. */
DW_API int dw_message_check(const dw_message *m, dw_fault *fault);

/* A copy that outlives the bytes that it came from: one block from the
 * allocator, 8-aligned, with the bytes and *copy set to view them. The
 * descriptors are not part of it (copy->fds is NULL). Returns 0, DW_E_NO_MEMORY,
 * or DW_E_STATE where *m is no message; then *copy is empty, but for its fault. To
 * be freed with dw_message_free and the same allocator. */
DW_API int dw_message_copy(dw_message *copy, const dw_message *m, const dw_allocator *allocator);
DW_API void dw_message_free(dw_message *copy, const dw_allocator *allocator);

/* Takes descriptor number index out of a message: it is the caller's from then
 * on, and close-on-exec. Those not taken are closed when the message ends, at
 * the next call on its connection. Returns the descriptor, or DW_E_FDS where
 * there is none of that number or it has been taken before. */
DW_API int dw_take_fd(dw_message *m, uint32_t index);

#ifdef __cplusplus
}
#endif
#endif
