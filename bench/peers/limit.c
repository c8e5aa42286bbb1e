/* limit.c - what the machine allows: the bytes of these very messages stored
 * by hand. Writing, each string costs its strlen and its memcpy, and nothing
 * is checked, the buffer's size included. Reading, lengths are held against
 * what is left, and strings must be ASCII and end in their only NUL. */

#include "limit.h"

#include <stdlib.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "dwire/base.h"

/* -- Writing -------------------------------------------------------------- */

/* Zeroes are stored ahead without asking how many are needed: what comes next
 * overwrites those that were too many. */
static inline uint8_t *align(uint8_t *p, const uint8_t *start, size_t n)
{
    memset(p, 0, n);
    return p + (-(size_t)(p - start) & (n - 1));
}

static inline uint8_t *put_uint32(uint8_t *p, uint32_t value)
{
    memcpy(p, &value, sizeof value);
    return p + sizeof value;
}

static inline uint8_t *put_uint64(uint8_t *p, uint64_t value)
{
    memcpy(p, &value, sizeof value);
    return p + sizeof value;
}

static inline uint8_t *put_text(uint8_t *p, const char *s)
{
    size_t n = strlen(s);
    p = put_uint32(p, (uint32_t)n);
    memcpy(p, s, n + 1);
    return p + n + 1;
}

static inline uint8_t *put_field(uint8_t *p, const uint8_t *start, uint8_t code, char type)
{
    const uint8_t head[4] = {code, 1, (uint8_t)type, 0};
    p = align(p, start, 8);
    memcpy(p, head, 4);
    return p + 4;
}

static uint8_t *put_header(uint8_t *start, const body *b)
{
    static const uint8_t head[4] = {DW_NATIVE, 4, 0, 1};
    memcpy(start, head, 4);
    put_uint32(start + 8, 1);
    uint8_t *p = put_text(put_field(start + 16, start, 1, 'o'), b->path);
    p = put_text(put_field(p, start, 2, 's'), b->interface);
    p = put_text(put_field(p, start, 3, 's'), b->member);
    p = put_field(p, start, 8, 'g');
    size_t n = strlen(b->signature);
    *p++ = (uint8_t)n;
    memcpy(p, b->signature, n + 1);
    p += n + 1;
    put_uint32(start + 12, (uint32_t)(p - start - 16));
    return align(p, start, 8);
}

static uint8_t *put_group(uint8_t *p, const uint8_t *start, const body *b)
{
    p = put_text(align(p, start, 4), b->string);
    p = put_uint64(align(p, start, 8), b->number);
    p = put_uint64(p, b->struct_number);
    p = put_text(p, b->struct_string);

    uint8_t *len_at = align(p, start, 4);
    uint8_t *first = p = align(len_at + 4, start, 8);
    for (size_t i = 0; i < b->n_dict; i++) {
        p = put_text(align(p, start, 8), b->dict[i].key);
        p = put_uint32(align(p, start, 4), (uint32_t)b->dict[i].value);
    }
    put_uint32(len_at, (uint32_t)(p - first));

    p = put_uint32(p, (uint32_t)(8 * b->n_ints));
    p = align(p, start, 8);
    memcpy(p, b->ints, 8 * b->n_ints);
    p += 8 * b->n_ints;

    len_at = p;
    first = p = p + 4;
    for (size_t i = 0; i < b->n_strings; i++)
        p = put_text(align(p, start, 4), b->strings[i]);
    put_uint32(len_at, (uint32_t)(p - first));
    return p;
}

size_t limit_put_message(uint8_t *start, const body *b)
{
    uint8_t *p = put_header(start, b);
    const uint8_t *body_at = p;
    for (size_t i = 0; i < b->repeat; i++)
        p = put_group(p, start, b);
    put_uint32(start + 4, (uint32_t)(p - body_at));
    return (size_t)(p - start);
}

typedef struct writing {
    const body *b;
    size_t len;
    uint8_t buffer[]; /* that large, and room for the zeroes stored ahead */
} writing;

static void *writing_open(const body *b)
{
    writing *w = malloc(sizeof *w + b->message_len + LIMIT_SLACK);
    if (w)
        w->b = b;
    return w;
}

static bool writing_run(void *state)
{
    writing *w = state;
    w->len = limit_put_message(w->buffer, w->b);
    return true;
}

static const uint8_t *writing_bytes(void *state, size_t *len)
{
    writing *w = state;
    *len = w->len;
    return w->buffer;
}

/* -- Reading -------------------------------------------------------------- */

/* Whether n bytes are ASCII without NUL. What is shorter than a step is looked
 * at by two that overlap. */
static inline bool ascii_words(const uint8_t *p, size_t n)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t word, bad = 0;
    if (n >= 8) {
        for (size_t i = 0; i < n - 8; i += 8) {
            memcpy(&word, p + i, 8);
            bad |= (word - ones) | word;
        }
        memcpy(&word, p + n - 8, 8);
        bad |= (word - ones) | word;
    } else {
        for (size_t i = 0; i < n; i++)
            bad |= (uint64_t)(uint8_t)(p[i] - 1) | p[i];
    }
    return !(bad & ones << 7);
}

#ifdef __SSE2__
static inline bool ascii(const uint8_t *p, size_t n)
{
    if (n < 16)
        return ascii_words(p, n);
    /* As signed bytes, those from 1 to 127 are the ones above 0. */
    const __m128i zero = _mm_setzero_si128();
    __m128i good = _mm_cmpgt_epi8(_mm_loadu_si128((const __m128i *)(p + n - 16)), zero);
    for (size_t i = 0; i < n - 16; i += 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(p + i));
        good = _mm_and_si128(good, _mm_cmpgt_epi8(bytes, zero));
    }
    return _mm_movemask_epi8(good) == 0xffff;
}
#else
#define ascii ascii_words
#endif

/* What is left to read. at goes behind len only through an align at the end,
 * which the next comparison catches. */
typedef struct input {
    const uint8_t *bytes;
    size_t at, len;
    digest d;
} input;

static inline bool room(const input *in, size_t n)
{
    return in->at <= in->len && n <= in->len - in->at;
}

static inline void skip_pad(input *in, size_t n)
{
    in->at = (in->at + n - 1) & ~(n - 1);
}

static inline bool get_uint32(input *in, uint32_t *value)
{
    skip_pad(in, 4);
    if (!room(in, 4))
        return false;
    memcpy(value, in->bytes + in->at, 4);
    in->at += 4;
    return true;
}

static inline bool get_uint64(input *in)
{
    uint64_t value;
    skip_pad(in, 8);
    if (!room(in, 8))
        return false;
    memcpy(&value, in->bytes + in->at, 8);
    in->at += 8;
    in->d.integers += value;
    return true;
}

static inline bool get_chars(input *in, size_t n)
{
    const uint8_t *p = in->bytes + in->at;
    if (!room(in, n + 1) || p[n] != 0 || !ascii(p, n))
        return false;
    in->at += n + 1;
    return true;
}

static inline bool get_text(input *in)
{
    uint32_t n;
    if (!get_uint32(in, &n) || !get_chars(in, n))
        return false;
    in->d.lengths += n;
    return true;
}

/* An array's length, and where it ends. */
static inline bool get_end(input *in, size_t elements_align, size_t *end)
{
    uint32_t n;
    if (!get_uint32(in, &n))
        return false;
    skip_pad(in, elements_align);
    *end = in->at + n;
    return room(in, n);
}

static bool get_dict(input *in)
{
    size_t end;
    uint32_t value;
    if (!get_end(in, 8, &end))
        return false;
    while (in->at < end) {
        skip_pad(in, 8);
        if (!get_text(in) || !get_uint32(in, &value))
            return false;
        in->d.integers += (uint64_t)(int64_t)(int32_t)value;
    }
    return in->at == end;
}

static bool get_ints(input *in)
{
    size_t end;
    if (!get_end(in, 8, &end) || (end - in->at) % 8)
        return false;
    digest_ints(&in->d, in->bytes + in->at, (end - in->at) / 8);
    in->at = end;
    return true;
}

static bool get_strings(input *in)
{
    size_t end;
    if (!get_end(in, 4, &end))
        return false;
    while (in->at < end)
        if (!get_text(in))
            return false;
    return in->at == end;
}

static bool get_header(input *in)
{
    size_t end;
    uint32_t head, n;
    in->at = 12;
    if (in->len < 16 || !get_end(in, 8, &end))
        return false;
    while (in->at < end) {
        skip_pad(in, 8);
        if (!get_uint32(in, &head))
            return false;
        if (in->bytes[in->at - 2] == 'g')
            n = room(in, 1) ? in->bytes[in->at++] : UINT32_MAX;
        else if (!get_uint32(in, &n))
            return false;
        if (!get_chars(in, n))
            return false;
    }
    skip_pad(in, 8);
    memcpy(&n, in->bytes + 4, 4);
    return in->at <= in->len && n == in->len - in->at;
}

typedef struct reading {
    const body *b;
    const uint8_t *bytes;
    size_t len;
} reading;

static void *reading_open(const body *b, const uint8_t *bytes, size_t len)
{
    reading *r = malloc(sizeof *r);
    if (r)
        *r = (reading){b, bytes, len};
    return r;
}

static bool reading_run(void *state, digest *d)
{
    const reading *r = state;
    input in = {.bytes = r->bytes, .len = r->len};
    if (!get_header(&in))
        return false;
    for (size_t i = 0; i < r->b->repeat; i++) {
        bool good = get_text(&in) && get_uint64(&in);
        skip_pad(&in, 8);
        good = good && get_uint64(&in) && get_text(&in);
        if (!good || !get_dict(&in) || !get_ints(&in) || !get_strings(&in))
            return false;
    }
    d->integers += in.d.integers;
    d->lengths += in.d.lengths;
    return in.at == in.len;
}

const library library_limit = {
    .name = "limit",
    .note = "hand-written for these messages alone, nothing checked that need not be",
    .marshal = {writing_open, writing_run, writing_bytes, free},
    .unmarshal = {reading_open, reading_run, free},
    .send = {limit_send_open, limit_send_run, free},
    .link = {limit_serve, limit_dial, limit_stream, limit_call, limit_hang_up},
};
