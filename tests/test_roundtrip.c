/* test_roundtrip.c - random values of random types, written, read, copied and
 * compared, in both byte orders. The variable SEED runs a single one again. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "dwire/message.h"
#include "dwire/signature.h"
#include "support/dice.h"
#include "support/inspect.h"
#include "support/walk.h"

/* How many seeds there are: in a slow place, as under valgrind, fewer will do. */
static uint64_t rounds(void)
{
    const char *told = getenv("ROUNDS");
    return told ? strtoull(told, NULL, 10) : 1500;
}

typedef struct written {
    dw_writer w;
    const uint8_t *p;
    size_t len;
    text values;
} written;

/* The seed's values in a byte order, as a body: valid however it is asked. */
static void write_and_read(written *x, const char *signature, dice d, char order, uint64_t seed)
{
    *x = (written){.values = {0}};
    dw_writer_init(&x->w, NULL, 0, dw_heap);
    dw_begin_body(&x->w, signature, order);
    dice_put(&d, &x->w, signature);
    int code = dw_finish(&x->w);
    x->p = dw_writer_bytes(&x->w, &x->len);
    if (code < 0)
        fail_msg("seed %llu, \"%s\": writing fails with %s", (unsigned long long)seed, signature,
                 dw_error_name(code));
    for (size_t shift = 0; shift < 8; shift += 1 + shift % 3) {
        block b = block_copy(x->p, x->len, shift);
        finding f;
        inspect_body(&f, signature, b.p, x->len, order);
        if (f.fault.code < 0 || f.wrong.n)
            fail_msg("seed %llu, \"%s\": %s at %u %s", (unsigned long long)seed, signature,
                     dw_error_name(f.fault.code), (unsigned)f.fault.at, text_string(&f.wrong));
        finding_free(&f);
        block_free(&b);
    }
    values_of_body(&x->values, signature, x->p, x->len, order);
}

/* dw_copy from the one order to the other gives what was written in that one. */
static void copy_is(const written *from, char order, const written *to, char other,
                    const char *signature, uint64_t seed)
{
    dw_writer w;
    dw_reader r;
    size_t len;
    dw_writer_init(&w, NULL, 0, dw_heap);
    dw_begin_body(&w, signature, other);
    dw_reader_init_body(&r, signature, from->p, from->len, order);
    copy_values(&r, &w);
    assert_int_equal(dw_reader_finish(&r), 0);
    assert_int_equal(dw_finish(&w), 0);
    const uint8_t *p = dw_writer_bytes(&w, &len);
    if (len != to->len || (len && memcmp(p, to->p, len) != 0))
        fail_msg("seed %llu, \"%s\": copied from %c to %c it is another", (unsigned long long)seed,
                 signature, order, other);
    dw_writer_free(&w);
}

/* The same in a message. */
static void message_is(const written *x, char order, const char *signature, dice d, uint64_t seed)
{
    dw_writer w;
    dw_message m;
    size_t len;
    text values = {0};
    const int fds[1] = {0};
    dw_writer_init(&w, NULL, 0, dw_heap);
    dw_begin(&w, &(dw_header){.type = DW_SIGNAL,
                              .order = order,
                              .path = "/a",
                              .interface = "a.b",
                              .member = "M",
                              .signature = signature,
                              .fds = fds,
                              .n_fds = UINT32_MAX});
    dice_put(&d, &w, signature);
    assert_int_equal(dw_finish(&w), 0);
    const uint8_t *p = dw_writer_bytes(&w, &len);
    block b = block_copy(p, len, 1);
    assert_int_equal(dw_message_parse(&m, b.p, len, UINT32_MAX), 0);
    values_of_message(&values, &m);
    if (m.body_len != x->len || (x->len && memcmp(m.body, x->p, x->len) != 0) ||
        !text_equal(&values, &x->values))
        fail_msg("seed %llu, \"%s\": in a message it is another", (unsigned long long)seed,
                 signature);
    text_free(&values);
    block_free(&b);
    dw_writer_free(&w);
}

static void round_trip(uint64_t seed)
{
    dice d = {seed};
    char signature[256];
    written little, big;
    dice_signature(&d, signature);
    if (dw_check_signature(signature, strlen(signature), NULL) < 0)
        fail_msg("seed %llu: \"%s\" is refused", (unsigned long long)seed, signature);
    write_and_read(&little, signature, d, DW_LITTLE, seed);
    write_and_read(&big, signature, d, DW_BIG, seed);
    if (!text_equal(&little.values, &big.values))
        fail_msg("seed %llu, \"%s\": the byte orders differ: %s, %s", (unsigned long long)seed,
                 signature, text_string(&little.values), text_string(&big.values));
    copy_is(&little, DW_LITTLE, &big, DW_BIG, signature, seed);
    copy_is(&big, DW_BIG, &little, DW_LITTLE, signature, seed);
    message_is(&little, DW_LITTLE, signature, d, seed);
    message_is(&big, DW_BIG, signature, d, seed);
    dw_writer_free(&little.w);
    dw_writer_free(&big.w);
    text_free(&little.values);
    text_free(&big.values);
}

static void random_values_come_back(void **state)
{
    (void)state;
    const char *seed = getenv("SEED");
    if (seed)
        round_trip(strtoull(seed, NULL, 10));
    for (uint64_t i = 0; !seed && i < rounds(); i++)
        round_trip(i);
}

/* The dice show every type code, empty and large containers, and variants in
 * variants: else the test above would say less than it seems to. */
static void dice_show_everything(void **state)
{
    (void)state;
    unsigned codes[128] = {0}, empty = 0, in_variant = 0, large = 0;
    for (uint64_t seed = 0; seed < rounds(); seed++) {
        dice d = {seed};
        char signature[256];
        dice_signature(&d, signature);
        for (const char *c = signature; *c; c++)
            codes[(unsigned char)*c]++;
        written x;
        write_and_read(&x, signature, d, DW_NATIVE, seed);
        empty += strstr(text_string(&x.values), "[]") || strstr(text_string(&x.values), "{}");
        in_variant += strstr(text_string(&x.values), "<v <") != NULL;
        large += x.len > 4096;
        dw_writer_free(&x.w);
        text_free(&x.values);
    }
    for (const char *c = "ybnqiuxtdhsogav({"; *c; c++)
        assert_in_range(codes[(unsigned char)*c], 20, UINT32_MAX);
    assert_in_range(empty, 20, UINT32_MAX);
    assert_in_range(in_variant, 20, UINT32_MAX);
    assert_in_range(large, 20, UINT32_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_values_come_back),
        cmocka_unit_test(dice_show_everything),
    };
    return cmocka_run_group_tests_name("roundtrip", tests, NULL, NULL);
}
