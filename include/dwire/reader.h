/* reader.h - bytes into C values.
 *
 * A reader walks the body of a message along its signature. Getters return the
 * value; after the first error, which sticks, they return 0 or "", dw_more
 * says no, and dw_reader_finish tells. So nothing in between needs a check of
 * its own. Every byte is checked as it is read: lengths, padding, booleans,
 * UTF-8, paths, signatures, nesting.
 *
 * Nothing is copied: strings and arrays are views into the message and live as
 * long as its bytes do. Nothing here blocks or allocates.
 *
 * Specification: "Marshaling (Wire Format)". */

#ifndef DWIRE_READER_H
#define DWIRE_READER_H

#include <string.h>

#include "dwire/base.h"
#include "dwire/writer.h"

#ifdef __cplusplus
extern "C" {
#endif

struct dw_message;

/* An array or variant that has been entered, and what was around it. (A struct
 * or entry needs no memory: the brackets in the signature tell.) */
typedef struct dw_reader_frame {
    const char *element; /* as they were around it */
    const char *resume;  /* where the signature goes on after it */
    const char *wrap;
    uint32_t end;  /* where what encloses it ends */
    uint8_t depth; /* containers entered, this one included */
    char kind;     /* 'a', 'v', or 0 for the body itself */
} dw_reader_frame;

/* A reader. All of it is private; the struct is public so that it can live on
 * the stack and the fast paths can be inlined. A copy is a bookmark: it reads on
 * from where it was made. (For the order of the fields see dw_writer.) */
typedef struct dw_reader {
    const char *type;     /* next in the signature; an empty string after an error */
    const char *element;  /* in an array: where its element type starts, to come */
    const uint8_t *bytes; /*  back to after each, and */
    const char *wrap;     /*  where that type ends */
    size_t at;
    size_t fast;    /* end for the inline paths: 0 for what needs the slow ones */
    uint32_t depth; /* containers entered */
    uint32_t n_fds;
    size_t end;     /* of the innermost array, or of the body */
    uint32_t level; /* those of the containers that have a frame */
    bool swap;      /* foreign byte order */
    size_t size;    /* bytes at bytes, of which those behind end may be loaded too */
    dw_fault fault;
    dw_reader_frame frames[DW_MAX_DEPTH + 1];
} dw_reader;

/* Starts reading the body of a message that dw_message_parse or dw_receive
 * filled in. Of one that could not be parsed nothing can be read: its error is
 * the reader's. (DW_E_STATE for one that is all zeros, as after dw_message_free.) */
DW_API void dw_reader_init(dw_reader *r, const struct dw_message *m);

/* Starts reading a bare body: len bytes of that signature, which must be
 * NUL-terminated, in that byte order (DW_LITTLE, DW_BIG, or 0 for that of the
 * machine); both must stay for as long as they are read. body may be NULL where
 * len is 0. Alignment counts from the first byte. unix fds may have any index. A
 * signature that is not valid is the reader's first error, as is one of these
 * arguments (DW_E_ARGUMENT; DW_E_LIMIT where len is over 128 MiB). */
DW_API void dw_reader_init_body(dw_reader *r, const char *signature, const void *body, size_t len,
                                char order);

/* Ends the reading: what has not been read is skipped, checking it, open
 * containers too. Returns 0 if the whole body is valid, else the first error:
 *   DW_E_TYPE     a getter asked for another type than is there
 *   DW_E_STATE    a leave without its enter
 *   DW_E_BOUNDS   a length that does not fit, bytes missing or left over; also
 *                 a getter behind the last element of an array
 *   DW_E_NO_ROOM, DW_E_ARGUMENT  of dw_copy_array and its kin
 *   DW_E_PADDING, DW_E_BOOLEAN, DW_E_UTF8, DW_E_PATH, DW_E_SIGNATURE,
 *   DW_E_DEPTH, DW_E_LIMIT, DW_E_FDS, and DW_E_VIEW from the array views. */
DW_API int dw_reader_finish(dw_reader *r);

/* What went wrong first and where, at any time; code 0 if nothing did. */
DW_API dw_fault dw_reader_fault(const dw_reader *r);

/* -- Basic types ----------------------------------------------------------
 *
 * Each reads one value of the type that it names. Strings come as views, n
 * without the NUL that follows them. Section "Basic types". */

static inline uint8_t dw_get_byte(dw_reader *r);
static inline bool dw_get_boolean(dw_reader *r);
static inline int16_t dw_get_int16(dw_reader *r);
static inline uint16_t dw_get_uint16(dw_reader *r);
static inline int32_t dw_get_int32(dw_reader *r);
static inline uint32_t dw_get_uint32(dw_reader *r);
static inline int64_t dw_get_int64(dw_reader *r);
static inline uint64_t dw_get_uint64(dw_reader *r);
static inline double dw_get_double(dw_reader *r); /* bit by bit, NaNs included */
static inline dw_string dw_get_string(dw_reader *r);
DW_API dw_string dw_get_object_path(dw_reader *r);
DW_API dw_string dw_get_signature(dw_reader *r);

/* A unix fd: the index of a descriptor among those that came with the message.
 * DW_E_FDS where there are not that many. Section "Header Fields". */
DW_API uint32_t dw_get_unix_fd(dw_reader *r);

/* -- Containers -----------------------------------------------------------
 *
 * Each enter has its leave. A leave skips what has not been read of its
 * container, checking it. dw_enter_variant returns the signature of what is
 * inside, a view. dw_enter_array returns the length of its elements in bytes.
 * Section "Container types". */

DW_API size_t dw_enter_array(dw_reader *r);
DW_API void dw_leave_array(dw_reader *r);
static inline void dw_enter_struct(dw_reader *r);
static inline void dw_leave_struct(dw_reader *r);
static inline void dw_enter_entry(dw_reader *r);
static inline void dw_leave_entry(dw_reader *r);
DW_API dw_string dw_enter_variant(dw_reader *r);
DW_API void dw_leave_variant(dw_reader *r);

/* Whether there is more to read: in an array another element, elsewhere
 * another value. False after an error. */
static inline bool dw_more(const dw_reader *r);

/* The code of the type that comes next: one of y b n q i u x t d h s o g,
 * a ( { v, or 0 where the container or body ends and after an error. In an
 * array it is the element's also when there is no further element. */
static inline char dw_next_code(const dw_reader *r);

/* Skips one complete value of any type, checking it as reading it would. */
DW_API void dw_skip(dw_reader *r);

/* -- Arrays in one call ---------------------------------------------------
 *
 * dw_get_uint64_array and its kin read a whole array as a view in place: n
 * elements, NULL only after an error. The elements are checked as one by one
 * (booleans are uint32_t as on the wire, each 0 or 1; unix fds are indexes).
 * DW_E_VIEW where the message has the foreign byte order or the bytes are not
 * aligned for the type; they are if the message starts 8-aligned, as those of
 * dw_receive do.
 *
 * dw_copy_uint64_array and its kin always work: they copy the elements to out,
 * which has place for max, in the own byte order, and return their number.
 * More than max is DW_E_NO_ROOM, with nothing copied. */

static inline const uint8_t *dw_get_byte_array(dw_reader *r, size_t *n);
static inline const uint32_t *dw_get_boolean_array(dw_reader *r, size_t *n);
static inline const int16_t *dw_get_int16_array(dw_reader *r, size_t *n);
static inline const uint16_t *dw_get_uint16_array(dw_reader *r, size_t *n);
static inline const int32_t *dw_get_int32_array(dw_reader *r, size_t *n);
static inline const uint32_t *dw_get_uint32_array(dw_reader *r, size_t *n);
static inline const int64_t *dw_get_int64_array(dw_reader *r, size_t *n);
static inline const uint64_t *dw_get_uint64_array(dw_reader *r, size_t *n);
static inline const double *dw_get_double_array(dw_reader *r, size_t *n);
static inline const uint32_t *dw_get_unix_fd_array(dw_reader *r, size_t *n);

static inline size_t dw_copy_byte_array(dw_reader *r, uint8_t *out, size_t max);
static inline size_t dw_copy_boolean_array(dw_reader *r, uint32_t *out, size_t max);
static inline size_t dw_copy_int16_array(dw_reader *r, int16_t *out, size_t max);
static inline size_t dw_copy_uint16_array(dw_reader *r, uint16_t *out, size_t max);
static inline size_t dw_copy_int32_array(dw_reader *r, int32_t *out, size_t max);
static inline size_t dw_copy_uint32_array(dw_reader *r, uint32_t *out, size_t max);
static inline size_t dw_copy_int64_array(dw_reader *r, int64_t *out, size_t max);
static inline size_t dw_copy_uint64_array(dw_reader *r, uint64_t *out, size_t max);
static inline size_t dw_copy_double_array(dw_reader *r, double *out, size_t max);
static inline size_t dw_copy_unix_fd_array(dw_reader *r, uint32_t *out, size_t max);

/* The ones behind them: code is one of y b n q i u x t d h, else DW_E_ARGUMENT. */
DW_API const void *dw_get_array(dw_reader *r, char code, size_t *n);
DW_API size_t dw_copy_array(dw_reader *r, char code, void *out, size_t max);

/* -- From message to message ----------------------------------------------
 *
 * Copies one complete value, whatever its type, from the reader to the writer,
 * whatever their byte orders: for a program that passes on what it does not
 * understand. The value is checked as reading it would, and the writer's
 * signature must ask for the same type. An error of the one becomes the
 * other's too. Returns 0 or the code: 0 also where the writer only counts. */
DW_API int dw_copy(dw_reader *r, dw_writer *w);

/* -- Private from here on: the inlined fast paths ------------------------- */

/* What the fast path does not do: errors and the foreign byte order. Writes
 * the value, or zero. */
DW_API void dw_get_fixed_slow(dw_reader *r, char code, void *value, size_t size);
DW_API void dw_enter_slow(dw_reader *r, char code);
DW_API void dw_leave_slow(dw_reader *r, char code);

/* A complete type that is one byte long, or ends with this one, has been read.
 * In an array the element type comes once more. */
static inline void dw_reader_step(dw_reader *r)
{
    const char *next = r->type + 1;
    r->type = next == r->wrap ? r->element : next;
}

/* Whether one of the pad bytes at p is not zero, without a branch: size bytes
 * can be read there, and pad is less than size, which is 1, 2, 4 or 8. */
static inline bool dw_padding_odd(const uint8_t *p, size_t pad, size_t size)
{
    uint64_t word = 0;
    memcpy(&word, p, size);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return (word >> (56 - 8 * pad) >> 8) != 0;
#else
    return (word & (((uint64_t)1 << (8 * pad)) - 1)) != 0;
#endif
}

/* The same for where there is mostly some padding or mostly none, as at one place
 * of a program, so that a branch is cheaper. */
static inline bool dw_padding_bad(const uint8_t *p, size_t pad, size_t size)
{
    return pad != 0 && dw_padding_odd(p, pad, size);
}

/* One value of fixed size, which is a power of two and also its alignment. */
static inline void dw_get_fixed(dw_reader *r, char code, void *value, size_t size)
{
    size_t at = (r->at + size - 1) & ~(size - 1);
    if (DW_LIKELY(*r->type == code && at + size <= r->fast &&
                  !dw_padding_bad(r->bytes + r->at, at - r->at, size))) {
        memcpy(value, r->bytes + at, size);
        r->at = at + size;
        dw_reader_step(r);
    } else {
        dw_get_fixed_slow(r, code, value, size);
    }
}

DW_API dw_string dw_get_string_slow(dw_reader *r);

/* A string of less than 8 bytes in the own byte order, as most names and keys
 * are: one load of 8 bytes has all of it and its NUL. odd gets the top bit of each
 * byte that is not ASCII or is NUL; a borrow from a NUL falsifies only what is
 * above it. So the lowest bit that is set must be that of byte n, and not come
 * from the byte's own top bit. */
static inline dw_string dw_get_string(dw_reader *r)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    size_t at = (r->at + 3) & ~(size_t)3;
    if (DW_LIKELY(*r->type == 's' && at + 12 <= r->fast)) {
        const uint8_t *p = r->bytes + at;
        uint32_t n;
        uint64_t word;
        memcpy(&n, p, 4);
        memcpy(&word, p + 4, 8);
        if (n < 8) {
            uint64_t odd =
                (word | (word - UINT64_C(0x0101010101010101))) & UINT64_C(0x8080808080808080);
            uint64_t nul = UINT64_C(0x80) << (8 * n);
            if (DW_LIKELY((((odd & (0 - odd)) ^ nul) | (word & nul)) == 0 &&
                          !dw_padding_bad(r->bytes + r->at, at - r->at, 4))) {
                dw_string s = {(const char *)p + 4, n};
                r->at = at + 5 + n;
                dw_reader_step(r);
                return s;
            }
        }
    }
#endif
    return dw_get_string_slow(r);
}

/* A struct or entry; code is the bracket that opens or closes it. */
static inline void dw_enter_group(dw_reader *r, char code)
{
    size_t at = (r->at + 7) & ~(size_t)7;
    if (DW_LIKELY(*r->type == code && r->at + 8 <= r->fast && r->depth < DW_MAX_DEPTH &&
                  !dw_padding_bad(r->bytes + r->at, at - r->at, 8))) {
        r->at = at;
        r->depth++;
        r->type++;
    } else {
        dw_enter_slow(r, code);
    }
}

static inline void dw_leave_group(dw_reader *r, char code)
{
    if (DW_LIKELY(*r->type == code)) {
        r->depth--;
        dw_reader_step(r);
    } else {
        dw_leave_slow(r, code);
    }
}

static inline void dw_enter_struct(dw_reader *r)
{
    dw_enter_group(r, '(');
}

static inline void dw_leave_struct(dw_reader *r)
{
    dw_leave_group(r, ')');
}

static inline void dw_enter_entry(dw_reader *r)
{
    dw_enter_group(r, '{');
}

static inline void dw_leave_entry(dw_reader *r)
{
    dw_leave_group(r, '}');
}

#define DW_GET_ARRAY(name, type, code)                                                             \
    static inline const type *dw_get_##name##_array(dw_reader *r, size_t *n)                       \
    {                                                                                              \
        return (const type *)dw_get_array(r, code, n);                                             \
    }                                                                                              \
    static inline size_t dw_copy_##name##_array(dw_reader *r, type *out, size_t max)               \
    {                                                                                              \
        return dw_copy_array(r, code, out, max);                                                   \
    }

#define DW_GET_FIXED(name, type, code)                                                             \
    static inline type dw_get_##name(dw_reader *r)                                                 \
    {                                                                                              \
        type value;                                                                                \
        dw_get_fixed(r, code, &value, sizeof value);                                               \
        return value;                                                                              \
    }                                                                                              \
    DW_GET_ARRAY(name, type, code)

DW_GET_FIXED(byte, uint8_t, 'y')
DW_GET_FIXED(int16, int16_t, 'n')
DW_GET_FIXED(uint16, uint16_t, 'q')
DW_GET_FIXED(int32, int32_t, 'i')
DW_GET_FIXED(uint32, uint32_t, 'u')
DW_GET_FIXED(int64, int64_t, 'x')
DW_GET_FIXED(uint64, uint64_t, 't')
DW_GET_FIXED(double, double, 'd')
DW_GET_ARRAY(boolean, uint32_t, 'b')
DW_GET_ARRAY(unix_fd, uint32_t, 'h')
#undef DW_GET_FIXED
#undef DW_GET_ARRAY

/* The boolean just read is neither 0 nor 1: makes that the reader's error. False. */
DW_API bool dw_refuse_boolean(dw_reader *r);

static inline bool dw_get_boolean(dw_reader *r)
{
    uint32_t wire;
    dw_get_fixed(r, 'b', &wire, sizeof wire);
    return wire != 0 && (DW_LIKELY(wire == 1) || dw_refuse_boolean(r));
}

static inline bool dw_more(const dw_reader *r)
{
    if (r->type == r->element)
        return r->at < r->end;
    return *r->type != 0 && *r->type != ')' && *r->type != '}';
}

static inline char dw_next_code(const dw_reader *r)
{
    return *r->type == ')' || *r->type == '}' ? '\0' : *r->type;
}

#ifdef __cplusplus
}
#endif
#endif
