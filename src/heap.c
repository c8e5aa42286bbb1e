/* heap.c - the allocator that malloc stands behind; the only file that names it. */

#include <stdlib.h>

#include "dwire/base.h"

static void *resize(void *context, void *p, size_t old_size, size_t new_size)
{
    (void)context;
    (void)old_size;
    if (new_size)
        return realloc(p, new_size);
    free(p);
    return NULL;
}

const dw_allocator dw_heap[1] = {{resize, NULL}};
