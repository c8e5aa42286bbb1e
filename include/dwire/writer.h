/* writer.h - C values into bytes.
 *
 * A writer builds one message after the other in one buffer. A message starts
 * with dw_begin and its relatives in message.h, which also take the signature
 * of the body; each value put is checked against that signature. The first
 * error sticks: later calls do nothing, and dw_finish tells. So no call in
 * between needs a check of its own, and none returns a code.
 *
 * Memory: the caller's buffer, or one that grows through an allocator, or the
 * one and then the other. When a buffer that may not grow is full, the writer
 * goes on checking and counting, so that dw_writer_size can tell how much
 * would have been enough. A writer keeps its buffer from message to message.
 * Nothing here blocks. Only running out of room allocates.
 *
 * Specification: "Marshaling (Wire Format)". */

#ifndef DWIRE_WRITER_H
#define DWIRE_WRITER_H

#include <string.h>

#include "dwire/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An open array or variant, and what was around it. (An open struct or entry
 * needs no memory: the brackets in the signature tell.) */
typedef struct dw_writer_frame {
    const char *element; /* as they were around it */
    const char *resume;  /* where the signature goes on after it */
    const char *wrap;
    uint32_t start; /* array: where its elements start */
    uint32_t apart; /* array: dw_writer.apart there */
    uint8_t pad;    /* array: bytes of padding between its length and there */
    uint8_t depth;  /* open containers, this one included */
    char kind;      /* 'a', 'v', or 0 for the body itself */
} dw_writer_frame;

/* An array that is sent from where it lies. */
typedef struct dw_writer_ref {
    const void *p;
    uint32_t len;
    uint32_t at; /* in the buffer, where its place is, of len % 8 bytes */
} dw_writer_ref;

/* Arrays that one message can send from where they lie; others are copied. */
#define DW_MAX_REFS 16

/* A writer. All of it is private; the struct is public so that it can live on
 * the stack and the fast paths can be inlined. To be copied by nobody. (What is
 * written one by one and read soon after stands apart: merged into one wide
 * load, it would wait for the single stores.) */
typedef struct dw_writer {
    const char *type;    /* next in the signature; an empty string after an error */
    const char *element; /* in an array: where its element type starts, to come */
    uint8_t *buffer;     /*  back to after each, and */
    const char *wrap;    /*  where that type ends */
    size_t at;           /* bytes written, or counted, without those apart */
    size_t fast;         /* room for the inline paths: 0 for what needs the slow ones */
    uint32_t depth;      /* open containers */
    uint32_t body_at;
    size_t room;    /* bytes at buffer; 0 while counting */
    uint32_t level; /* those of the open containers that have a frame */
    uint32_t n_fds;
    const int *fds;
    uint8_t state;
    bool swap; /* foreign byte order */
    bool full; /* ran out of room: counting */
    dw_fault fault;
    uint32_t apart;  /* bytes that are not in the buffer: a multiple of 8, so that the */
    uint32_t n_refs; /*  places in it are aligned as those in the message */
    dw_writer_ref refs[DW_MAX_REFS];
    uint8_t *own; /* the block from the allocator, or NULL */
    size_t own_size;
    uint8_t *given; /* the caller's buffer */
    size_t given_size;
    const dw_allocator *allocator;
    dw_writer_frame frames[DW_MAX_DEPTH + 1];
    uint32_t known;                 /* bytes of own that are a good header still */
    uint8_t checked_len;            /* the last signature that was found valid: messages */
    char checked[DW_MAX_SIGNATURE]; /* that follow each other often have the same */
} dw_writer;

/* Sets a writer up. buffer may be NULL with size 0; allocator may be NULL:
 * then the buffer is all there is. The caller keeps the buffer, which must
 * stay for as long as the writer is used. Never fails, allocates nothing. */
DW_API void dw_writer_init(dw_writer *w, void *buffer, size_t size, const dw_allocator *allocator);

/* Gives back what the allocator gave. The writer is as after dw_writer_init
 * then. Harmless on one that was set up and never used. */
DW_API void dw_writer_free(dw_writer *w);

/* Starts a bare body, without a header: what follows is written as in a
 * message whose body has this signature. order is DW_LITTLE, DW_BIG, or 0 for
 * that of the machine. The signature must stay until dw_finish. */
DW_API void dw_begin_body(dw_writer *w, const char *signature, char order);

/* Ends the message or body: all values there, all containers closed. Returns
 * 0, or the error that came first on the way:
 *   DW_E_NO_ROOM    the buffer is too small, and nothing else is wrong: any
 *                   other error, before it or after, goes first.
 *                   dw_writer_size tells the need
 *   DW_E_NO_MEMORY  the allocator gave nothing
 *   DW_E_STATE      a container left open, or closed that is not the innermost;
 *                   a value or a finish before a begin, a value after the finish
 *   DW_E_TYPE       a value of another type than the signature asks for, one
 *                   too many, or (found here) one too few
 *   DW_E_LIMIT, DW_E_DEPTH, and what the checks of the values say.
 * Calling it again returns the same. Section "Message Format". */
DW_API int dw_finish(dw_writer *w);

/* The finished message or body: its first byte, and in len (if not NULL) its
 * length in bytes. NULL and 0 before dw_finish, after an error, and where arrays
 * were put by dw_put_array_ref (see dw_writer_parts). It lives in the writer's
 * buffer until the next begin, dw_writer_free, or the caller's own write to it. */
DW_API const uint8_t *dw_writer_bytes(const dw_writer *w, size_t *len);

/* The finished message or body as the parts that it lies in, one behind the
 * other; one part where no array lies apart. Fills in parts and returns their
 * number, at most DW_MAX_PARTS; 0 before dw_finish and after an error. */
typedef struct dw_part {
    const void *p;
    size_t len;
} dw_part;

#define DW_MAX_PARTS (2 * DW_MAX_REFS + 1)

DW_API size_t dw_writer_parts(const dw_writer *w, dw_part parts[DW_MAX_PARTS]);

/* The size in bytes that the message has, or, after DW_E_NO_ROOM, would have
 * had: a buffer that large is enough. 0 after any other error. */
DW_API size_t dw_writer_size(const dw_writer *w);

/* What went wrong first and where; code 0 if nothing did. */
DW_API dw_fault dw_writer_fault(const dw_writer *w);

/* -- Basic types ----------------------------------------------------------
 *
 * Each writes one value of the type that it names. Strings are copied and
 * checked: UTF-8 without NUL (DW_E_UTF8), object paths (DW_E_PATH), signatures
 * (DW_E_SIGNATURE, DW_E_LIMIT, DW_E_DEPTH); NULL is DW_E_ARGUMENT. The _n forms
 * take n bytes that need no NUL behind them. Section "Basic types". */

static inline void dw_put_byte(dw_writer *w, uint8_t value);
static inline void dw_put_boolean(dw_writer *w, bool value);
static inline void dw_put_int16(dw_writer *w, int16_t value);
static inline void dw_put_uint16(dw_writer *w, uint16_t value);
static inline void dw_put_int32(dw_writer *w, int32_t value);
static inline void dw_put_uint32(dw_writer *w, uint32_t value);
static inline void dw_put_int64(dw_writer *w, int64_t value);
static inline void dw_put_uint64(dw_writer *w, uint64_t value);
static inline void dw_put_double(dw_writer *w, double value); /* bit by bit, NaNs included */

DW_API void dw_put_string(dw_writer *w, const char *s);
DW_API void dw_put_string_n(dw_writer *w, const char *p, size_t n);
DW_API void dw_put_object_path(dw_writer *w, const char *s);
DW_API void dw_put_object_path_n(dw_writer *w, const char *p, size_t n);
DW_API void dw_put_signature(dw_writer *w, const char *s);
DW_API void dw_put_signature_n(dw_writer *w, const char *p, size_t n);

/* A unix fd: the index of a descriptor in the list that dw_header.fds gave to
 * the message. One that is not below its count is DW_E_FDS. (In a bare body,
 * which has no such list, any index goes.) */
DW_API void dw_put_unix_fd(dw_writer *w, uint32_t index);

/* -- Containers -----------------------------------------------------------
 *
 * Each open has its close. The signature says what is inside, but for a
 * variant, whose content type is told: one single complete type, which must
 * stay until the variant is closed. Entries exist in arrays only. At most 64
 * may be open at once (DW_E_DEPTH). Section "Container types". */

DW_API void dw_open_array(dw_writer *w);
DW_API void dw_close_array(dw_writer *w); /* DW_E_LIMIT over 64 MiB */
static inline void dw_open_struct(dw_writer *w);
static inline void dw_close_struct(dw_writer *w);
static inline void dw_open_entry(dw_writer *w);
static inline void dw_close_entry(dw_writer *w);
DW_API void dw_open_variant(dw_writer *w, const char *signature);
DW_API void dw_close_variant(dw_writer *w);

/* -- Arrays in one call ---------------------------------------------------
 *
 * Each writes a whole array of n elements of the type that it names: one copy
 * in the own byte order, one vectorised pass in the foreign one. n may be 0,
 * values then NULL. Booleans are uint32_t here as on the wire, each 0 or 1
 * (DW_E_BOOLEAN); unix fds are indexes as above. dw_put_string_array writes
 * "as" from n C strings. DW_E_LIMIT over 64 MiB. */

static inline void dw_put_byte_array(dw_writer *w, const uint8_t *values, size_t n);
static inline void dw_put_boolean_array(dw_writer *w, const uint32_t *values, size_t n);
static inline void dw_put_int16_array(dw_writer *w, const int16_t *values, size_t n);
static inline void dw_put_uint16_array(dw_writer *w, const uint16_t *values, size_t n);
static inline void dw_put_int32_array(dw_writer *w, const int32_t *values, size_t n);
static inline void dw_put_uint32_array(dw_writer *w, const uint32_t *values, size_t n);
static inline void dw_put_int64_array(dw_writer *w, const int64_t *values, size_t n);
static inline void dw_put_uint64_array(dw_writer *w, const uint64_t *values, size_t n);
static inline void dw_put_double_array(dw_writer *w, const double *values, size_t n);
static inline void dw_put_unix_fd_array(dw_writer *w, const uint32_t *indexes, size_t n);
DW_API void dw_put_string_array(dw_writer *w, const char *const *strings, size_t n);

/* The one behind the ten: n values of the type that code names, which is one
 * of y b n q i u x t d h (else DW_E_ARGUMENT), laid out as its C type's. */
DW_API void dw_put_array(dw_writer *w, char code, const void *values, size_t n);

/* The same as dw_put_array, but the values are not copied: the message is sent
 * with them from where they lie. They must stay as they are until the message
 * has been written: until dw_send if dw_conn_queued says 0 after it, else until
 * dw_flush has returned 0 or dw_conn_queued says 0. Copied all the same are
 * arrays of less than 512 bytes, those of the foreign byte order, and those over
 * DW_MAX_REFS in a message. */
DW_API void dw_put_array_ref(dw_writer *w, char code, const void *values, size_t n);

/* -- Private from here on: the inlined fast paths ------------------------- */

/* What the fast path does not do: errors, growth, counting, the foreign byte
 * order. */
DW_API void dw_put_fixed_slow(dw_writer *w, char code, const void *value, size_t size);

DW_API void dw_open_slow(dw_writer *w, char code);
DW_API void dw_close_slow(dw_writer *w);

/* A complete type that is one byte long, or ends with this one, has been
 * written. In an array the element type comes once more. (Else the second u of
 * auu would be taken for an element.) */
static inline void dw_writer_step(dw_writer *w)
{
    const char *next = w->type + 1;
    w->type = next == w->wrap ? w->element : next;
}

/* One value of fixed size, which is a power of two and also its alignment. The
 * padding is zeroed without a branch: size bytes of zero from here on reach no
 * further than the value does. */
static inline void dw_put_fixed(dw_writer *w, char code, const void *value, size_t size)
{
    size_t at = (w->at + size - 1) & ~(size - 1);
    if (DW_LIKELY(*w->type == code && at + size <= w->fast)) {
        memset(w->buffer + w->at, 0, size);
        memcpy(w->buffer + at, value, size);
        w->at = at + size;
        dw_writer_step(w);
    } else {
        dw_put_fixed_slow(w, code, value, size);
    }
}

/* A struct or entry; code is the bracket that opens or closes it. */
static inline void dw_open_group(dw_writer *w, char code)
{
    if (DW_LIKELY(*w->type == code && w->at + 8 <= w->fast && w->depth < DW_MAX_DEPTH)) {
        memset(w->buffer + w->at, 0, 8);
        w->at = (w->at + 7) & ~(size_t)7;
        w->depth++;
        w->type++;
    } else {
        dw_open_slow(w, code);
    }
}

static inline void dw_close_group(dw_writer *w, char code)
{
    if (DW_LIKELY(*w->type == code)) {
        w->depth--;
        dw_writer_step(w);
    } else {
        dw_close_slow(w);
    }
}

static inline void dw_open_struct(dw_writer *w)
{
    dw_open_group(w, '(');
}

static inline void dw_close_struct(dw_writer *w)
{
    dw_close_group(w, ')');
}

static inline void dw_open_entry(dw_writer *w)
{
    dw_open_group(w, '{');
}

static inline void dw_close_entry(dw_writer *w)
{
    dw_close_group(w, '}');
}

#define DW_PUT_FIXED(name, type, code)                                                             \
    static inline void dw_put_##name(dw_writer *w, type value)                                     \
    {                                                                                              \
        dw_put_fixed(w, code, &value, sizeof value);                                               \
    }                                                                                              \
    static inline void dw_put_##name##_array(dw_writer *w, const type *values, size_t n)           \
    {                                                                                              \
        dw_put_array(w, code, values, n);                                                          \
    }

DW_PUT_FIXED(byte, uint8_t, 'y')
DW_PUT_FIXED(int16, int16_t, 'n')
DW_PUT_FIXED(uint16, uint16_t, 'q')
DW_PUT_FIXED(int32, int32_t, 'i')
DW_PUT_FIXED(uint32, uint32_t, 'u')
DW_PUT_FIXED(int64, int64_t, 'x')
DW_PUT_FIXED(uint64, uint64_t, 't')
DW_PUT_FIXED(double, double, 'd')
#undef DW_PUT_FIXED

static inline void dw_put_boolean(dw_writer *w, bool value)
{
    uint32_t wire = value;
    dw_put_fixed(w, 'b', &wire, sizeof wire);
}

static inline void dw_put_boolean_array(dw_writer *w, const uint32_t *values, size_t n)
{
    dw_put_array(w, 'b', values, n);
}

static inline void dw_put_unix_fd_array(dw_writer *w, const uint32_t *indexes, size_t n)
{
    dw_put_array(w, 'h', indexes, n);
}

#ifdef __cplusplus
}
#endif
#endif
