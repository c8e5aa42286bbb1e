/* failing.c - an allocator that fails when it is told to. */

#include "failing.h"

#include <stdlib.h>
#include <string.h>

/* Before each block its size, in the space that keeps it aligned. */
#define HEAD sizeof(max_align_t)

static size_t size_of(const uint8_t *block)
{
    size_t size;
    memcpy(&size, block, sizeof size);
    return size;
}

static void *resize(void *context, void *p, size_t old_size, size_t new_size)
{
    failing *f = context;
    uint8_t *old = p ? (uint8_t *)p - HEAD : NULL, *block = NULL;
    if ((old ? size_of(old) : 0) != old_size)
        f->mistold++;
    if (new_size) {
        f->asked++;
        if (f->fail_at && (f->asked == f->fail_at || (f->for_good && f->asked > f->fail_at)))
            return NULL;
        block = malloc(HEAD + new_size);
        if (!block)
            return NULL;
        memcpy(block, &new_size, sizeof new_size);
        memset(block + HEAD, 0xdb, new_size);
        f->live++;
        f->held += new_size;
        f->most = f->held > f->most ? f->held : f->most;
    }
    if (old) {
        if (block)
            memcpy(block + HEAD, p, old_size < new_size ? old_size : new_size);
        f->held -= size_of(old);
        f->live--;
        free(old);
    }
    return block ? block + HEAD : NULL;
}

void failing_init(failing *f, unsigned fail_at, bool for_good)
{
    *f = (failing){.fail_at = fail_at, .for_good = for_good, .allocator = {resize, f}};
}
