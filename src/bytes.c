/* bytes.c - the queues of bytes that connections are made of. See conn.h. */

#include "conn.h"

void dw_bytes_init(dw_bytes *b, void *small, size_t size)
{
    *b = (dw_bytes){.p = small, .size = size, .small = small, .small_size = size};
}

void dw_bytes_free(dw_bytes *b, const dw_allocator *allocator)
{
    if (b->p != b->small)
        allocator->resize(allocator->context, b->p, b->size, 0);
    dw_bytes_init(b, b->small, b->small_size);
}

bool dw_bytes_reserve(dw_bytes *b, size_t n, size_t least, const dw_allocator *allocator)
{
    size_t len = dw_bytes_len(b);
    if (DW_LIKELY(n <= b->size - b->end))
        return true;
    /* Moving what is there must pay: as much has been taken since the last time. */
    if (n <= b->size - len && b->at >= len) {
        memmove(b->p, b->p + b->at, len);
    } else {
        size_t size = 2 * len > least ? 2 * len : least;
        if (size < len + n)
            size = len + n;
        /* A new block, not a grown one: what lies before b->at need not move. */
        uint8_t *p = allocator->resize(allocator->context, NULL, 0, size);
        if (p == NULL)
            return false;
        if (len > 0)
            memcpy(p, b->p + b->at, len);
        if (b->p != b->small)
            allocator->resize(allocator->context, b->p, b->size, 0);
        b->p = p;
        b->size = size;
    }
    b->at = 0;
    b->end = len;
    return true;
}

void dw_bytes_put(dw_bytes *b, const void *p, size_t n)
{
    if (n > 0)
        memcpy(b->p + b->end, p, n);
    b->end += n;
    if (b->end > b->peak)
        b->peak = b->end;
}

void dw_bytes_take(dw_bytes *b, size_t n)
{
    b->at += n;
    if (b->at == b->end)
        b->at = b->end = 0;
}

/* Larger blocks than this are not kept for the sake of fewer reads. */
#define LARGE 262144u

void dw_bytes_rest(dw_bytes *b, bool silent, const dw_allocator *allocator)
{
    if (b->peak < b->past)
        b->peak = b->past;
    if (dw_bytes_idle(b) &&
        (silent || b->peak <= b->small_size || (b->size > LARGE && b->peak < b->size / 8)))
        dw_bytes_free(b, allocator);
    b->past = b->peak - b->peak / 8;
    b->peak = 0;
}
