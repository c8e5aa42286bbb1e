/* utf8.c - UTF-8 without NUL, as every string of the wire is. See dwire/names.h. */

#include "dwire/names.h"
#include "wire.h"

/* A finite automaton over bytes. A state is a bit offset, and a byte's row holds at
 * the offset of each state the state that the byte leads to. So a step is a load,
 * which does not wait for the state, and a shift. */
enum {
    REJECT = 0, /* for good: the lowest bits of every row are 0 */
    ACCEPT = 6, /* between characters */
    TAIL1 = 12, /* one continuation byte is to come */
    TAIL2 = 18,
    TAIL3 = 24,
    AFTER_E0 = 30, /* as TAIL2, but not what makes it overlong */
    AFTER_ED = 36, /* as TAIL2, but not a surrogate */
    AFTER_F0 = 42, /* as TAIL3, but not what makes it overlong */
    AFTER_F4 = 48, /* as TAIL3, but nothing above U+10FFFF */
    STATE = 63     /* the bits that hold a state */
};

#define GO(from, to) ((uint64_t)(to) << (from))
#define TAIL         (GO(TAIL1, ACCEPT) | GO(TAIL2, TAIL1) | GO(TAIL3, TAIL2))

#define ROWS3(row)  row, row, row
#define ROWS4(row)  row, row, row, row
#define ROWS12(row) ROWS4(row), ROWS4(row), ROWS4(row)
#define ROWS16(row) ROWS12(row), ROWS4(row)

static const uint64_t rows[256] = {
    [0x01] = ROWS3(GO(ACCEPT, ACCEPT)),
    [0x04] = ROWS12(GO(ACCEPT, ACCEPT)),
    [0x10] = ROWS16(GO(ACCEPT, ACCEPT)),
    [0x20] = ROWS16(GO(ACCEPT, ACCEPT)),
    [0x30] = ROWS16(GO(ACCEPT, ACCEPT)),
    [0x40] = ROWS16(GO(ACCEPT, ACCEPT)),
    [0x50] = ROWS16(GO(ACCEPT, ACCEPT)),
    [0x60] = ROWS16(GO(ACCEPT, ACCEPT)),
    [0x70] = ROWS16(GO(ACCEPT, ACCEPT)),
    [0x80] = ROWS16(TAIL | GO(AFTER_ED, TAIL1) | GO(AFTER_F4, TAIL2)),
    [0x90] = ROWS16(TAIL | GO(AFTER_ED, TAIL1) | GO(AFTER_F0, TAIL2)),
    [0xa0] = ROWS16(TAIL | GO(AFTER_E0, TAIL1) | GO(AFTER_F0, TAIL2)),
    [0xb0] = ROWS16(TAIL | GO(AFTER_E0, TAIL1) | GO(AFTER_F0, TAIL2)),
    [0xc2] = ROWS3(GO(ACCEPT, TAIL1)),
    [0xc5] = ROWS3(GO(ACCEPT, TAIL1)),
    [0xc8] = ROWS4(GO(ACCEPT, TAIL1)),
    [0xcc] = ROWS4(GO(ACCEPT, TAIL1)),
    [0xd0] = ROWS16(GO(ACCEPT, TAIL1)),
    [0xe0] = GO(ACCEPT, AFTER_E0),
    [0xe1] = ROWS12(GO(ACCEPT, TAIL2)),
    [0xed] = GO(ACCEPT, AFTER_ED),
    [0xee] = GO(ACCEPT, TAIL2),
    [0xef] = GO(ACCEPT, TAIL2),
    [0xf0] = GO(ACCEPT, AFTER_F0),
    [0xf1] = ROWS3(GO(ACCEPT, TAIL3)),
    [0xf4] = GO(ACCEPT, AFTER_F4),
};

DW_INLINE uint64_t step(uint64_t state, char byte)
{
    return rows[(unsigned char)byte] >> (state & STATE);
}

/* The automaton over n bytes, ASCII eight at a time. Returns the state at the end. */
static uint64_t run(const char *p, size_t n)
{
    uint64_t state = ACCEPT;
    size_t at = 0;
    for (; n - at >= 8; at += 8) {
        if ((state & STATE) == ACCEPT && !dw_word_odd(dw_load64(p + at)))
            continue;
        for (size_t i = 0; i < 8; i++)
            state = step(state, p[at + i]);
    }
    for (; at < n; at++)
        state = step(state, p[at]);
    return state & STATE;
}

#if DW_VECTOR
/* A byte of a block is judged by itself and the three before it. */
enum { BLOCK = sizeof(dw_vector), BEFORE = 3 };

/* The bytes that are wrong where they stand, in their top bits. */
DW_INLINE dw_vector wrong(const char *p)
{
    dw_vector v = dw_load_vector(p), before = dw_load_vector(p - 1);
    dw_vector due = (dw_vector)(before >= 0xc0) | (dw_vector)(dw_load_vector(p - 2) >= 0xe0) |
                    (dw_vector)(dw_load_vector(p - 3) >= 0xf0);
    dw_vector tail = (dw_vector)((v & 0xc0) == 0x80);
    dw_vector from90 = (dw_vector)(v >= 0x90), froma0 = (dw_vector)(v >= 0xa0);
    dw_vector never =
        (dw_vector)(v == 0) | (dw_vector)((v & 0xfe) == 0xc0) | (dw_vector)(v >= 0xf5);
    dw_vector narrow =
        ((dw_vector)(before == 0xe0) & ~froma0) | ((dw_vector)(before == 0xed) & froma0) |
        ((dw_vector)(before == 0xf0) & ~from90) | ((dw_vector)(before == 0xf4) & from90);
    return (due ^ tail) | never | narrow;
}

/* Whether the bytes before p end inside a character. */
DW_INLINE bool unfinished(const char *p)
{
    const unsigned char *u = (const unsigned char *)p;
    return u[-1] >= 0xc0 || u[-2] >= 0xe0 || u[-3] >= 0xf0;
}

/* At least BEFORE + BLOCK bytes; the last block overlaps the one before. */
static bool blocks_valid(const char *p, size_t n)
{
    dw_vector bad = {0};
    for (size_t at = BEFORE; n - at > BLOCK; at += BLOCK)
        if (!dw_ascii(NULL, p + at, BLOCK) || unfinished(p + at))
            bad |= wrong(p + at);
    bad |= wrong(p + n - BLOCK);
    return run(p, BEFORE) != REJECT && !dw_vector_tops(bad) && !unfinished(p + n);
}
#endif

bool dw_utf8_valid(const char *p, size_t n)
{
#if DW_VECTOR
    if (n >= BEFORE + BLOCK)
        return blocks_valid(p, n);
#endif
    return run(p, n) == ACCEPT;
}

int dw_check_utf8(const char *p, size_t n, size_t *error_at)
{
    if (DW_LIKELY(dw_ascii(NULL, p, n)) || dw_utf8_valid(p, n))
        return 0;
    size_t at = 0;
    for (uint64_t state = ACCEPT; at < n; at++) {
        state = step(state, p[at]);
        if ((state & STATE) == REJECT)
            break;
    }
    if (error_at)
        *error_at = at;
    return DW_E_UTF8;
}
