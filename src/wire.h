/* wire.h - the one private header: what the floors of src/ share. Loads, stores
 * and swaps, alignment, and everything that a compiler or a processor decides. */

#ifndef DWIRE_WIRE_H
#define DWIRE_WIRE_H

#include <string.h>

#include "dwire/reader.h"
#include "dwire/writer.h"

/* Which vectors the compiler may use. -DDWIRE_NO_SIMD forces the fallback, which
 * works on words of 8 bytes and is there on every machine. */
#if !defined(DWIRE_NO_SIMD) && defined(__SSE2__)
#define DW_SSE2 1
#include <emmintrin.h>
#elif !defined(DWIRE_NO_SIMD) && defined(__ARM_NEON) && defined(__aarch64__)
#define DW_NEON 1
#include <arm_neon.h>
#endif

#if defined(__GNUC__)
#define DW_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define DW_INLINE      static inline __attribute__((always_inline, unused))
#define DW_NOINLINE    __attribute__((noinline))
#else
#define DW_UNLIKELY(x) (x)
#define DW_INLINE      static inline
#define DW_NOINLINE
#endif

/* -- Words ---------------------------------------------------------------- */

DW_INLINE uint16_t dw_load16(const void *p)
{
    uint16_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

DW_INLINE uint32_t dw_load32(const void *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

DW_INLINE uint64_t dw_load64(const void *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

DW_INLINE void dw_store16(void *p, uint16_t v) { memcpy(p, &v, sizeof v); }
DW_INLINE void dw_store32(void *p, uint32_t v) { memcpy(p, &v, sizeof v); }
DW_INLINE void dw_store64(void *p, uint64_t v) { memcpy(p, &v, sizeof v); }

#if defined(__GNUC__)
DW_INLINE uint16_t dw_swap16(uint16_t v) { return __builtin_bswap16(v); }
DW_INLINE uint32_t dw_swap32(uint32_t v) { return __builtin_bswap32(v); }
DW_INLINE uint64_t dw_swap64(uint64_t v) { return __builtin_bswap64(v); }
#else
DW_INLINE uint16_t dw_swap16(uint16_t v) { return (uint16_t)(v << 8 | v >> 8); }
DW_INLINE uint32_t dw_swap32(uint32_t v)
{
    return (uint32_t)dw_swap16((uint16_t)v) << 16 | dw_swap16((uint16_t)(v >> 16));
}
DW_INLINE uint64_t dw_swap64(uint64_t v)
{
    return (uint64_t)dw_swap32((uint32_t)v) << 32 | dw_swap32((uint32_t)(v >> 32));
}
#endif

/* A 32-bit number of the given byte order, from and to the wire. */
DW_INLINE uint32_t dw_load32_order(const void *p, bool swap)
{
    uint32_t v = dw_load32(p);
    return swap ? dw_swap32(v) : v;
}

DW_INLINE void dw_store32_order(void *p, uint32_t v, bool swap)
{
    dw_store32(p, swap ? dw_swap32(v) : v);
}

/* The next multiple of align, a power of two. */
DW_INLINE size_t dw_align(size_t at, size_t align) { return (at + align - 1) & ~(align - 1); }

/* -- Bytes with the top bit set: what is not ASCII ------------------------- */

#define DW_TOPS UINT64_C(0x8080808080808080)
#define DW_ONES UINT64_C(0x0101010101010101)

/* Not 0 if one of the 8 bytes is not ASCII or is NUL. Where the subtraction
 * borrows into a byte that is not NUL, a lower one is, so the answer is right
 * for the word if not for each of its bytes. */
DW_INLINE uint64_t dw_word_odd(uint64_t v) { return (v | (v - DW_ONES)) & DW_TOPS; }

/* -- Shared between files -------------------------------------------------- */

/* utf8.c: whether n bytes are a valid string (UTF-8 without NUL). */
bool dw_utf8_valid(const char *p, size_t n);

/* names.c: whether n bytes are a valid object path. */
bool dw_path_valid(const char *p, size_t n);

/* swap.c: copies n elements of size bytes (1, 2, 4 or 8), reversing the bytes of
 * each. from and to must not overlap unless they are the same. */
void dw_swap_copy(void *to, const void *from, size_t n, size_t size);

/* writer.c: the one function that makes room. Moves on to the next multiple of
 * align and over len bytes from there, zeroing the padding. Returns where those
 * are, or NULL after an error and while counting. */
uint8_t *dw_writer_claim(dw_writer *w, size_t align, size_t len);

/* writer.c: a string's length, bytes and NUL, without looking at the signature
 * or at the bytes. */
void dw_writer_string(dw_writer *w, const char *p, size_t n);

/* writer.c: a signature's length, bytes and NUL, likewise. */
void dw_writer_signature(dw_writer *w, const char *p, size_t n);

/* writer_container.c: claims a whole array of n elements of fixed size, writing its
 * length. Returns where the elements go, NULL as dw_writer_claim. */
uint8_t *dw_writer_claim_array(dw_writer *w, char code, size_t n);

/* writer.c: starts anew, in the given byte order; notes an error, of a header
 * field if not 0; starts the body, whose signature has been checked. */
bool dw_writer_reset(dw_writer *w, char order);
bool dw_writer_begun(const dw_writer *w);
bool dw_writer_failed(const dw_writer *w);
void dw_writer_fail(dw_writer *w, int code, uint8_t field);
void dw_writer_start_body(dw_writer *w, const char *signature);

/* reader.c: the one function that takes bytes. Moves on to the next multiple of
 * align, checking that the padding is zero, and over len bytes from there.
 * Returns where those are, or NULL after an error. */
const uint8_t *dw_reader_take(dw_reader *r, size_t align, size_t len);

/* reader.c: a string's length and bytes, which are not looked at but for the
 * NUL; a checked signature; a 32-bit number; all without looking at the
 * reader's own signature. */
dw_string dw_reader_text(dw_reader *r);
dw_string dw_reader_signature(dw_reader *r);
uint32_t dw_reader_uint32(dw_reader *r);

/* reader.c: takes a whole array of fixed-size elements, all of them checked.
 * Returns the first, in the message's byte order, or NULL after an error. */
const uint8_t *dw_reader_take_array(dw_reader *r, char code, size_t *n);

/* reader.c: sets up for len bytes of a message from at on; notes an error. */
void dw_reader_start(dw_reader *r, const char *type, const void *bytes, size_t at, size_t len,
                     bool swap);
void dw_reader_fail(dw_reader *r, int code, size_t at);

#endif
