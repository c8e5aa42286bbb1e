/* writer_string.c - C values into bytes: strings, object paths, signatures. See
 * dwire/writer.h. */

#include "wire.h"

/* After a string at start of which not all is ASCII, or which has not been
 * looked at yet. */
static DW_NOINLINE void check_string(dw_writer *w, size_t start, const char *p, size_t n)
{
    if (!dw_writer_failed(w) && !dw_utf8_valid(p, n)) {
        w->at = start;
        dw_writer_fail(w, DW_E_UTF8, 0);
    }
    if (!dw_writer_failed(w))
        dw_writer_step(w);
}

/* A text that is short enough, if not NULL; else that is the error. */
static bool usable(dw_writer *w, const char *p, size_t n)
{
    if (p && n <= DW_MAX_MESSAGE)
        return true;
    dw_writer_fail(w, p ? DW_E_LIMIT : DW_E_ARGUMENT, 0);
    return false;
}

void dw_put_string_n(dw_writer *w, const char *p, size_t n)
{
    if (!dw_writer_expect(w, 's') || !usable(w, p, n))
        return;
    size_t start = w->at;
    uint8_t *to = dw_writer_claim(w, 4, 4 + n + 1);
    bool ascii = false;
    if (to) {
        dw_store32_order(to, (uint32_t)n, w->swap);
        ascii = dw_ascii(to + 4, p, n);
        to[4 + n] = 0;
    }
    if (DW_LIKELY(ascii))
        dw_writer_step(w);
    else
        check_string(w, start, p, n);
}

void dw_writer_string(dw_writer *w, const char *p, size_t n)
{
    uint8_t *to = usable(w, p, n) ? dw_writer_claim(w, 4, 4 + n + 1) : NULL;
    if (!to)
        return;
    dw_store32_order(to, (uint32_t)n, w->swap);
    memcpy(to + 4, p, n);
    to[4 + n] = 0;
}

/* -- C strings, in one pass ------------------------------------------------
 *
 * With vectors, the end of a C string is found, the string is checked and copied,
 * all at once: what is looked for is the first byte that is not an ASCII character,
 * and if that is the NUL, the string is good. (If not, the slow path takes over.)
 * The loads are of whole aligned blocks of 16 bytes: such a block never crosses
 * into a page that the string has no byte in. What lies in a block before the
 * string or behind its NUL is masked out and never stored. */

static DW_NOINLINE void put_measured(dw_writer *w, const char *s)
{
    dw_put_string_n(w, s, s ? strlen(s) : 0);
}

#if DW_SSE2

DW_BLOCKWISE DW_INLINE __m128i load_block(uintptr_t at)
{
    return _mm_load_si128((const __m128i *)at);
}

/* One bit a byte: set where it is not an ASCII character, which as a signed byte
 * is one above 0. */
DW_INLINE unsigned odd_bytes(__m128i v)
{
    return (unsigned)_mm_movemask_epi8(_mm_cmpgt_epi8(v, _mm_setzero_si128())) ^ 0xffff;
}

DW_INLINE void move16(uint8_t *to, const char *from)
{
    _mm_storeu_si128((__m128i *)(void *)to, _mm_loadu_si128((const __m128i *)(const void *)from));
}

/* Copies a string of length n < 32 and its NUL, in moves that overlap. */
DW_INLINE void move_short(uint8_t *to, const char *from, size_t n)
{
    if (n >= 15) {
        move16(to, from);
        move16(to + n + 1 - 16, from + n + 1 - 16);
    } else if (n >= 7) {
        dw_store64(to, dw_load64(from));
        dw_store64(to + n + 1 - 8, dw_load64(from + n + 1 - 8));
    } else if (n >= 3) {
        dw_store32(to, dw_load32(from));
        dw_store32(to + n + 1 - 4, dw_load32(from + n + 1 - 4));
    } else {
        to[0] = (uint8_t)from[0];
        to[n / 2] = (uint8_t)from[n / 2];
        to[n] = 0;
    }
}

/* A string whose first two blocks are ASCII. It is stored block by block while
 * there is room for a whole one and the string's end. */
DW_BLOCKWISE static DW_NOINLINE void put_long(dw_writer *w, const char *s)
{
    const size_t start = w->at, at = dw_align(start, 4);
    const size_t room = w->fast - at - 4;
    uint8_t *to = w->buffer + at + 4;
    __m128i v;
    unsigned odd;
    size_t n = 16 - ((uintptr_t)s & 15);
    move16(to, s);
    for (;; n += 16) {
        if (DW_UNLIKELY(room - n < 32)) {
            put_measured(w, s);
            return;
        }
        v = load_block((uintptr_t)s + n);
        odd = odd_bytes(v);
        if (odd)
            break;
        _mm_storeu_si128((__m128i *)(void *)(to + n), v);
    }
    n += DW_LOWEST(odd);
    if (DW_UNLIKELY(s[n])) {
        put_measured(w, s);
        return;
    }
    move16(to + n + 1 - 16, s + n + 1 - 16);
    dw_store32(w->buffer + start, 0);
    dw_store32(to - 4, (uint32_t)n);
    w->at = at + 4 + n + 1;
    dw_writer_step(w);
}

/* Short strings are most, and end in their first block or the second. */
DW_BLOCKWISE void dw_put_string(dw_writer *w, const char *s)
{
    const size_t start = w->at, at = dw_align(start, 4);
    if (DW_UNLIKELY(*w->type != 's' || !s || at + 4 + 48 > w->fast)) {
        put_measured(w, s);
        return;
    }
    const size_t before = (uintptr_t)s & 15;
    const uintptr_t block = (uintptr_t)s - before;
    unsigned odd = odd_bytes(load_block(block)) >> before;
    size_t n = 0;
    if (!odd) {
        n = 16 - before;
        odd = odd_bytes(load_block(block + 16));
        if (!odd) {
            put_long(w, s);
            return;
        }
    }
    n += DW_LOWEST(odd);
    if (DW_UNLIKELY(s[n])) {
        put_measured(w, s);
        return;
    }
    uint8_t *to = w->buffer;
    dw_store32(to + start, 0);
    dw_store32(to + at, (uint32_t)n);
    move_short(to + at + 4, s, n);
    w->at = at + 4 + n + 1;
    dw_writer_step(w);
}

#else

void dw_put_string(dw_writer *w, const char *s)
{
    put_measured(w, s);
}

#endif

/* -- Object paths --------------------------------------------------------- */

void dw_put_object_path(dw_writer *w, const char *s)
{
    dw_put_object_path_n(w, s, s ? strlen(s) : 0);
}

void dw_put_object_path_n(dw_writer *w, const char *p, size_t n)
{
    if (!dw_writer_expect(w, 'o') || !usable(w, p, n))
        return;
    if (dw_path_valid(p, n))
        dw_writer_string(w, p, n);
    else
        dw_writer_fail(w, DW_E_PATH, 0);
    if (!dw_writer_failed(w))
        dw_writer_step(w);
}

/* -- Signatures ----------------------------------------------------------- */

void dw_writer_signature(dw_writer *w, const char *p, size_t n)
{
    uint8_t *to = dw_writer_claim(w, 1, 1 + n + 1);
    if (!to)
        return;
    to[0] = (uint8_t)n;
    memcpy(to + 1, p, n);
    to[1 + n] = 0;
}

void dw_put_signature(dw_writer *w, const char *s)
{
    dw_put_signature_n(w, s, s ? strlen(s) : 0);
}

void dw_put_signature_n(dw_writer *w, const char *p, size_t n)
{
    if (!dw_writer_expect(w, 'g'))
        return;
    int r = p ? dw_check_signature(p, n, NULL) : DW_E_ARGUMENT;
    if (r)
        dw_writer_fail(w, r, 0);
    else
        dw_writer_signature(w, p, n);
    if (!dw_writer_failed(w))
        dw_writer_step(w);
}
