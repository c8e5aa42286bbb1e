/* message.c - target: a message cut out of bytes, parsed, checked and read in
 * every way there is. The first byte of the input is the number of descriptors
 * at hand, the rest are the bytes. */

#include <string.h>

#include "fuzz.h"
#include "support/inspect.h"
#include "support/walk.h"

/* Bytes that come in piece by piece: what is said of the start stays true. */
static void check_frame(const uint8_t *data, size_t n)
{
    size_t whole, wanted;
    int all = dw_message_frame(data, n, &whole);
    if (n < 16) {
        fuzz_check(all == 0 && whole == 16, "of %zu bytes it says %d, %zu", n, all, whole);
        return;
    }
    block start = block_copy(data, 16, 3);
    int first = dw_message_frame(start.p, 16, &wanted);
    block_free(&start);
    fuzz_check((first < 0) == (all < 0) && (all < 0 || wanted == whole),
               "at first it says %d, %zu, then %d, %zu", first, wanted, all, whole);
    fuzz_check(all < 0 || (all == 1) == (whole <= n), "%d, %zu of %zu", all, whole, n);
}

/* A copy says the same as the message. */
static void check_copy(const dw_message *m)
{
    dw_message copy;
    text a = {0}, b = {0};
    fuzz_check(dw_message_copy(&copy, m, dw_heap) == 0, "no memory");
    fuzz_check(copy.len == m->len && memcmp(copy.bytes, m->bytes, m->len) == 0, "the bytes");
    fuzz_check(copy.signature.n == m->signature.n && strcmp(copy.signature.p, m->signature.p) == 0,
               "the signature");
    values_of_message(&a, m);
    values_of_message(&b, &copy);
    fuzz_check(text_equal(&a, &b), "%s, and the copy %s", text_string(&a), text_string(&b));
    text_free(&a);
    text_free(&b);
    dw_message_free(&copy, dw_heap);
}

/* The bytes lie where a sanitizer sees what is read behind them, aligned in any
 * way: the verdict is the same. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    feed f = {data, size};
    uint32_t n_fds = feed_byte(&f);
    dw_fault first = {0};
    check_frame(f.p, f.n);
    for (size_t shift = 0; shift < 8; shift += 1 + shift) {
        finding found;
        dw_message m;
        block b = block_copy(f.p, f.n, shift);
        inspect_message(&found, b.p, f.n, n_fds);
        fuzz_check(found.wrong.n == 0, "%s", text_string(&found.wrong));
        if (shift == 0)
            first = found.fault;
        fuzz_check(found.fault.code == first.code && found.fault.at == first.at &&
                       found.fault.field == first.field,
                   "%s at %u, and %s at %u when shifted by %zu", dw_error_name(first.code),
                   (unsigned)first.at, dw_error_name(found.fault.code), (unsigned)found.fault.at,
                   shift);
        if (shift == 1 && dw_message_parse(&m, b.p, f.n, n_fds) == 0)
            check_copy(&m);
        finding_free(&found);
        block_free(&b);
    }
    return 0;
}
