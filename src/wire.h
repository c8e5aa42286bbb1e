/* wire.h - the one private header: what the floors of src/ share. Loads, stores
 * and swaps, alignment, and everything that a compiler or a processor decides. */

#ifndef DWIRE_WIRE_H
#define DWIRE_WIRE_H

#include <string.h>

#include "dwire/reader.h"
#include "dwire/signature.h"
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
/* The place of the lowest bit that is set in v, which is not 0. */
#define DW_LOWEST(v) ((unsigned)__builtin_ctz(v))
/* For loads of whole aligned blocks: they never reach into another page, but a
 * sanitizer sees that they reach past what the program has been given, or has
 * written, or has to itself. */
#if defined(__clang__)
#define DW_BLOCKWISE __attribute__((no_sanitize("address", "memory", "thread")))
#else
#define DW_BLOCKWISE __attribute__((no_sanitize_address, no_sanitize_thread))
#endif
#else
#define DW_UNLIKELY(x) (x)
#define DW_INLINE      static inline
#define DW_NOINLINE
#undef DW_SSE2
#undef DW_NEON
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

DW_INLINE void dw_store16(void *p, uint16_t v)
{
    memcpy(p, &v, sizeof v);
}
DW_INLINE void dw_store32(void *p, uint32_t v)
{
    memcpy(p, &v, sizeof v);
}
DW_INLINE void dw_store64(void *p, uint64_t v)
{
    memcpy(p, &v, sizeof v);
}

#if defined(__GNUC__)
DW_INLINE uint16_t dw_swap16(uint16_t v)
{
    return __builtin_bswap16(v);
}
DW_INLINE uint32_t dw_swap32(uint32_t v)
{
    return __builtin_bswap32(v);
}
DW_INLINE uint64_t dw_swap64(uint64_t v)
{
    return __builtin_bswap64(v);
}
#else
DW_INLINE uint16_t dw_swap16(uint16_t v)
{
    return (uint16_t)(v << 8 | v >> 8);
}
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
DW_INLINE size_t dw_align(size_t at, size_t align)
{
    return (at + align - 1) & ~(align - 1);
}

/* -- Bytes with the top bit set: what is not ASCII ------------------------- */

#define DW_TOPS UINT64_C(0x8080808080808080)
#define DW_ONES UINT64_C(0x0101010101010101)

/* Not 0 if one of the 8 bytes is not ASCII or is NUL. Where the subtraction
 * borrows into a byte that is not NUL, a lower one is, so the answer is right
 * for the word if not for each of its bytes. */
DW_INLINE uint64_t dw_word_odd(uint64_t v)
{
    return (v | (v - DW_ONES)) & DW_TOPS;
}

/* Whether n bytes are all ASCII and none is NUL, copying them to to if that is
 * not NULL (inlined, the question costs nothing). Moves of 16, 8 and 4 bytes
 * that overlap at the end cover any length without a loop over bytes, and touch
 * nothing beyond. */
DW_INLINE bool dw_ascii(uint8_t *to, const char *from, size_t n)
{
    uint64_t odd = 0;
    if (n > 8) {
        size_t i = 0;
#if DW_SSE2
        if (n >= 16) { /* as signed bytes, those wanted are the ones above 0 */
            const __m128i zero = _mm_setzero_si128();
            __m128i v = _mm_loadu_si128((const __m128i *)(const void *)(from + n - 16));
            __m128i good = _mm_cmpgt_epi8(v, zero);
            if (to)
                _mm_storeu_si128((__m128i *)(void *)(to + n - 16), v);
            for (; i < n - 16; i += 16) {
                v = _mm_loadu_si128((const __m128i *)(const void *)(from + i));
                good = _mm_and_si128(good, _mm_cmpgt_epi8(v, zero));
                if (to)
                    _mm_storeu_si128((__m128i *)(void *)(to + i), v);
            }
            return _mm_movemask_epi8(good) == 0xffff;
        }
#endif
        for (; i + 8 < n; i += 8) {
            uint64_t v = dw_load64(from + i);
            odd |= dw_word_odd(v);
            if (to)
                dw_store64(to + i, v);
        }
        uint64_t v = dw_load64(from + n - 8);
        odd |= dw_word_odd(v);
        if (to)
            dw_store64(to + n - 8, v);
    } else if (n >= 4) {
        uint32_t a = dw_load32(from), b = dw_load32(from + n - 4);
        odd = dw_word_odd((uint64_t)a << 32 | b);
        if (to) {
            dw_store32(to, a);
            dw_store32(to + n - 4, b);
        }
    } else if (n) {
        uint8_t a = (uint8_t)from[0], b = (uint8_t)from[n / 2], c = (uint8_t)from[n - 1];
        odd = dw_word_odd(DW_ONES << 24 | (uint64_t)a << 16 | (uint64_t)b << 8 | c);
        if (to) {
            to[0] = a;
            to[n / 2] = b;
            to[n - 1] = c;
        }
    }
    return odd == 0;
}

/* -- Vectors of 16 bytes -------------------------------------------------- */

#if DW_SSE2 || DW_NEON
#define DW_VECTOR 1

/* Operators work on each byte; comparing gives 255 for true and 0 for false. */
typedef uint8_t dw_vector __attribute__((vector_size(16)));

DW_INLINE dw_vector dw_load_vector(const void *p)
{
    dw_vector v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* Both halves of a vector, from words that may overlap in memory. */
DW_INLINE dw_vector dw_pair_vector(uint64_t low, uint64_t high)
{
    typedef uint64_t words __attribute__((vector_size(16)));
    return (dw_vector)(words){low, high};
}

/* Whether a byte of the vector has its top bit set. */
DW_INLINE bool dw_vector_tops(dw_vector v)
{
#if DW_SSE2
    return _mm_movemask_epi8((__m128i)v) != 0;
#else
    return vmaxvq_u8((uint8x16_t)v) >= 128;
#endif
}
#endif

/* The same for n < 16 where 16 bytes can be loaded: without a branch. */
DW_INLINE bool dw_ascii_short(const uint8_t *p, size_t n)
{
#if DW_SSE2
    __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
    unsigned good = (unsigned)_mm_movemask_epi8(_mm_cmpgt_epi8(v, _mm_setzero_si128()));
    return (~good & ((1u << n) - 1)) == 0;
#else
    return dw_ascii(NULL, (const char *)p, n);
#endif
}

/* -- Texts ------------------------------------------------------------------ */

DW_INLINE bool dw_string_is(dw_string s, const char *text)
{
    return s.n == strlen(text) && memcmp(s.p, text, s.n) == 0;
}

/* The value of a hex digit, -1 for what is none. */
DW_INLINE int dw_hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* -- Shared between files -------------------------------------------------- */

/* signature.c: what there is to know of a type code. */
typedef struct dw_type_traits {
    uint8_t align;
    uint8_t size;   /* where it is fixed */
    uint8_t simple; /* 2: a basic type; 1: the variant, also complete by itself */
    int8_t nest;    /* 1 for an opening bracket, -1 for a closing one */
} dw_type_traits;

extern const dw_type_traits dw_types[256];

DW_INLINE const dw_type_traits *dw_traits(char code)
{
    return &dw_types[(unsigned char)code];
}

/* The end of a complete type in a valid signature. */
DW_INLINE const char *dw_type_end(const char *type)
{
    int open = 0;
    while (*type == 'a')
        type++;
    do
        open += dw_traits(*type++)->nest;
    while (open > 0);
    return type;
}

/* message.c: copies the header of a parsed message to room, and views it there; and
 * parses a framed message whose header is the same but for the length of the body
 * and the serial. False: it is not, or something is wrong; dw_message_parse tells. */
struct dw_message;
void dw_message_keep_header(struct dw_message *kept, const struct dw_message *m, uint8_t *room);
bool dw_message_parse_like(struct dw_message *m, const struct dw_message *like, const void *bytes,
                           size_t len, uint32_t n_fds);

/* utf8.c: whether n bytes are a valid string (UTF-8 without NUL). */
bool dw_utf8_valid(const char *p, size_t n);

/* names.c: whether n bytes are a valid object path. */
bool dw_path_valid(const char *p, size_t n);

/* swap.c: copies n elements of size bytes (1, 2, 4 or 8), reversing the bytes of
 * each. from and to must not overlap unless they are the same. */
void dw_swap_copy(void *to, const void *from, size_t n, size_t size);

/* How many bytes a message can have in the buffer. */
DW_INLINE size_t dw_writer_limit(const dw_writer *w)
{
    return DW_MAX_MESSAGE - w->apart;
}

/* The one function that makes room. Moves on to the next multiple of align and
 * over len bytes from there, zeroing the padding: 8 bytes at once where that
 * stays inside the buffer. Returns where the len bytes are, or NULL after an
 * error and while counting. len is at most DW_MAX_MESSAGE and a little. */
uint8_t *dw_writer_claim_slow(dw_writer *w, size_t align, size_t len);

DW_INLINE uint8_t *dw_writer_claim(dw_writer *w, size_t align, size_t len)
{
    size_t at = dw_align(w->at, align);
    if (DW_UNLIKELY(at + len + 8 > w->room))
        return dw_writer_claim_slow(w, align, len);
    if (align > 1)
        dw_store64(w->buffer + w->at, 0);
    w->at = at + len;
    return w->buffer + at;
}

/* writer_string.c: a string's length, bytes and NUL, without looking at the signature
 * or at the bytes. */
void dw_writer_string(dw_writer *w, const char *p, size_t n);

/* writer_string.c: a signature's length, bytes and NUL, likewise. */
void dw_writer_signature(dw_writer *w, const char *p, size_t n);

/* writer_container.c: claims a whole array of n elements of fixed size, writing its
 * length. Returns where the elements go, NULL as dw_writer_claim. */
uint8_t *dw_writer_claim_array(dw_writer *w, char code, size_t n);

/* Counting is not failing: the signature is still being followed. */
DW_INLINE bool dw_writer_failed(const dw_writer *w)
{
    return w->fault.code && !w->full;
}

/* writer.c: whether a value of this type may come now; if not, that is the error. */
bool dw_writer_expect(dw_writer *w, char code);

/* writer.c: checks the signature of a message, unless it is as the last one's. */
int dw_writer_check(dw_writer *w, const char *signature, size_t n);

/* writer.c: starts anew, in the given byte order; notes an error, of a header
 * field if not 0; starts the body, whose signature has been checked. */
bool dw_writer_reset(dw_writer *w, char order);
void dw_writer_fail(dw_writer *w, int code, uint8_t field);
void dw_writer_start_body(dw_writer *w, const char *signature);

/* The one function that takes bytes. Moves on to the next multiple of align,
 * checking that the padding is zero (8 bytes at once where there are as many),
 * and over len bytes from there. Returns where those are, or NULL after an
 * error. */
const uint8_t *dw_reader_take_slow(dw_reader *r, size_t align, size_t len);

DW_INLINE const uint8_t *dw_reader_take(dw_reader *r, size_t align, size_t len)
{
    size_t at = dw_align(r->at, align), need = align > 1 && len < 8 ? 8 : len;
    if (DW_UNLIKELY(at > r->end || need > r->end - at ||
                    (align > 1 && dw_padding_bad(r->bytes + r->at, at - r->at, 8))))
        return dw_reader_take_slow(r, align, len);
    r->at = at + len;
    return r->bytes + at;
}

DW_INLINE uint32_t dw_reader_uint32(dw_reader *r)
{
    const uint8_t *p = dw_reader_take(r, 4, 4);
    return p ? dw_load32_order(p, r->swap) : 0;
}

/* reader.c: a string's length and bytes, which are not looked at but for the
 * NUL; a checked signature; both without looking at the reader's own. */
dw_string dw_reader_text(dw_reader *r);
dw_string dw_reader_signature(dw_reader *r);

/* reader_container.c: takes a whole array of fixed-size elements, all of them checked.
 * Returns the first, in the message's byte order, or NULL after an error. */
const uint8_t *dw_reader_take_array(dw_reader *r, char code, size_t *n);

/* reader.c: whether a value of this type comes next; if not, that is the error. */
bool dw_reader_expect(dw_reader *r, char code);

/* reader.c: sets up for len bytes of a message from at on; notes an error. */
void dw_reader_start(dw_reader *r, const char *type, const void *bytes, size_t at, size_t len,
                     bool swap);
void dw_reader_fail(dw_reader *r, int code, size_t at);

#endif
