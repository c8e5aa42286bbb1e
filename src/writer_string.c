/* writer_string.c - C values into bytes: strings, object paths, signatures. See
 * dwire/writer.h. */

#include "wire.h"

#include "dwire/signature.h"

/* -- A C string in one pass ------------------------------------------------
 *
 * Finds the end of a C string, copies it and looks for what is not ASCII, all
 * at once. The loads are of whole aligned blocks of 16 bytes: such a block never
 * crosses into a page that the string has no byte in. What lies in a block
 * before the string or behind its NUL is masked out and never stored. */

#define NO_ROOM SIZE_MAX

#if DW_SSE2

DW_BLOCKWISE static inline __m128i load_block(uintptr_t at)
{
    return _mm_load_si128((const __m128i *)at);
}

static inline unsigned zero_bytes(__m128i v)
{
    return (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(v, _mm_setzero_si128()));
}

static inline unsigned high_bytes(__m128i v)
{
    return (unsigned)_mm_movemask_epi8(v);
}

static inline void move16(uint8_t *to, const char *from)
{
    _mm_storeu_si128((__m128i *)(void *)to, _mm_loadu_si128((const __m128i *)(const void *)from));
}

/* Copies a string of length n < 32 and its NUL, in moves that overlap. */
static inline void move_short(uint8_t *to, const char *from, size_t n)
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

/* The room is at least 32 bytes. Returns the length, or NO_ROOM if the string
 * and its NUL do not fit for sure. */
DW_BLOCKWISE static inline size_t copy_cstring(uint8_t *to, size_t room, const char *s, bool *ascii)
{
    size_t before = (uintptr_t)s & 15;
    uintptr_t block = (uintptr_t)s - before;
    __m128i v = load_block(block);
    unsigned zero = zero_bytes(v) >> before, high = high_bytes(v) >> before;
    size_t n = 0;
    if (!zero) {
        n = 16 - before;
        v = load_block(block + 16);
        zero = zero_bytes(v);
        if (zero)
            high |= high_bytes(v) << n;
    }
    if (DW_LIKELY(zero)) {
        n += DW_LOWEST(zero);
        *ascii = (high & ((1u << n) - 1)) == 0;
        move_short(to, s, n);
        return n;
    }
    __m128i all = v;
    move16(to, s);
    for (;;) {
        _mm_storeu_si128((__m128i *)(void *)(to + n), v);
        n += 16;
        if (room - n < 16)
            return NO_ROOM;
        v = load_block((uintptr_t)s + n);
        zero = zero_bytes(v);
        if (zero)
            break;
        all = _mm_or_si128(all, v);
    }
    unsigned end = DW_LOWEST(zero);
    high |= high_bytes(all) | (high_bytes(v) & ((1u << end) - 1));
    *ascii = high == 0;
    n += end;
    move16(to + n + 1 - 16, s + n + 1 - 16);
    return n;
}

#else

static inline size_t copy_cstring(uint8_t *to, size_t room, const char *s, bool *ascii)
{
    size_t n = strlen(s);
    if (n >= room)
        return NO_ROOM;
    *ascii = dw_ascii(to, s, n);
    to[n] = 0;
    return n;
}

#endif

/* -- Strings -------------------------------------------------------------- */

/* After a string at start of which not all is ASCII, or which has not been
 * looked at yet. */
static DW_NOINLINE void check_string(dw_writer *w, size_t start, const char *p, size_t n)
{
    if (dw_writer_failed(w) || dw_utf8_valid(p, n))
        return;
    w->at = start;
    dw_writer_fail(w, DW_E_UTF8, 0);
}

DW_BLOCKWISE void dw_put_string(dw_writer *w, const char *s)
{
    size_t at = dw_align(w->at, 4);
    if (DW_LIKELY(*w->type == 's' && s && at + 4 + 32 <= w->room)) {
        bool ascii;
        size_t start = w->at;
        uint8_t *to = w->buffer + at;
        dw_store32(w->buffer + start, 0);
        size_t n = copy_cstring(to + 4, w->room - at - 4, s, &ascii);
        if (DW_LIKELY(n != NO_ROOM)) {
            dw_store32_order(to, (uint32_t)n, w->swap);
            w->at = at + 4 + n + 1;
            if (DW_UNLIKELY(!ascii))
                check_string(w, start, s, n);
            if (DW_LIKELY(!dw_writer_failed(w)))
                dw_writer_step(w);
            return;
        }
    }
    dw_put_string_n(w, s, s ? strlen(s) : 0);
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
    if (DW_UNLIKELY(!ascii))
        check_string(w, start, p, n);
    if (!dw_writer_failed(w))
        dw_writer_step(w);
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
