/* body.c - target: a body read in every way there is. The input is a byte whose
 * lowest bit is the byte order, a signature up to its NUL, and the body. */

#include "fuzz.h"
#include "support/inspect.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    feed f = {data, size};
    char order = feed_byte(&f) & 1 ? DW_BIG : DW_LITTLE;
    text signature = feed_string(&f);
    dw_fault first = {0};
    for (size_t shift = 0; shift < 8; shift += 1 + shift) {
        finding found;
        block b = block_copy(f.p, f.n, shift);
        inspect_body(&found, text_string(&signature), b.p, f.n, order);
        fuzz_check(found.wrong.n == 0, "%s", text_string(&found.wrong));
        if (shift == 0)
            first = found.fault;
        fuzz_check(found.fault.code == first.code && found.fault.at == first.at,
                   "%s at %u, and %s at %u when shifted by %zu", dw_error_name(first.code),
                   (unsigned)first.at, dw_error_name(found.fault.code), (unsigned)found.fault.at,
                   shift);
        finding_free(&found);
        block_free(&b);
    }
    text_free(&signature);
    return 0;
}
