/* swap.c - arrays of the foreign byte order. The loops are plain enough for a
 * compiler to vectorise; memcpy makes them right at any alignment. */

#include "wire.h"

void dw_swap_copy(void *to, const void *from, size_t n, size_t size)
{
    uint8_t *t = to;
    const uint8_t *f = from;
    switch (size) {
    case 2:
        for (size_t i = 0; i < n; i++)
            dw_store16(t + 2 * i, dw_swap16(dw_load16(f + 2 * i)));
        break;
    case 4:
        for (size_t i = 0; i < n; i++)
            dw_store32(t + 4 * i, dw_swap32(dw_load32(f + 4 * i)));
        break;
    case 8:
        for (size_t i = 0; i < n; i++)
            dw_store64(t + 8 * i, dw_swap64(dw_load64(f + 8 * i)));
        break;
    default: memmove(t, f, n * size); break;
    }
}
