/* test_hostile.c - every valid message and body of the table of vectors, cut at
 * every byte and with every byte changed, in a block of its exact size: an error
 * or a valid message, the same whichever way it is read, and never a read beyond
 * the block (which the sanitizers and valgrind see). */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/inspect.h"
#include "support/table.h"

/* Longer ones are few and say nothing new, but take long. */
#define LONGEST 600

typedef void try(const vector *v, const text *bytes);

static bool body(const vector *v)
{
    return strcmp(v->kind, "body") == 0;
}

/* Every row that is valid, or may be: what is changed need not have been. */
static void each_valid_row(try *one)
{
    table t;
    vector v;
    unsigned messages = 0, bodies = 0;
    assert_true(table_open(&t, VECTORS_FILE));
    while (table_next(&t, &v)) {
        if ((strcmp(v.kind, "message") != 0 && !body(&v)) || strcmp(v.expected, "valid") != 0 ||
            strchr(v.input, '{'))
            continue;
        text bytes = {0};
        assert_true(text_from_hex(&bytes, v.input, strlen(v.input)));
        if (bytes.n <= LONGEST) {
            one(&v, &bytes);
            body(&v) ? bodies++ : messages++;
        }
        text_free(&bytes);
    }
    assert_true(table_close(&t));
    assert_in_range(messages, 100, 10000);
    assert_in_range(bodies, 150, 10000);
}

static void inspect(finding *f, const vector *v, const uint8_t *p, size_t n)
{
    if (body(v))
        inspect_body(f, v->signature, p, n, *v->endian == 'B' ? DW_BIG : DW_LITTLE);
    else
        inspect_message(f, p, n, 0);
}

static void agrees(const finding *f, const vector *v, const char *how, size_t at, unsigned to)
{
    if (f->wrong.n)
        fail_msg("%s, %s byte %zu (%02x): %s", v->id, how, at, to, text_string(&f->wrong));
}

/* What is cut is never valid. */
static void cut(const vector *v, const text *bytes)
{
    for (size_t n = 0; n < bytes->n; n++) {
        block b = block_copy(bytes->p, n, n % 3);
        finding f;
        inspect(&f, v, b.p, n);
        agrees(&f, v, "cut at", n, 0);
        if (f.fault.code == 0 || (!body(v) && !f.incomplete))
            fail_msg("%s, cut at byte %zu: not noticed", v->id, n);
        finding_free(&f);
        block_free(&b);
    }
}

static void cuts_are_noticed(void **state)
{
    (void)state;
    each_valid_row(cut);
}

/* Behind a whole message the next one may start; alone it is too long. */
static void lengthen(const vector *v, const text *bytes)
{
    for (size_t more = 1; more < 9; more++) {
        text longer = {0};
        text_add(&longer, bytes->p, bytes->n);
        text_add(&longer, "\0\0\0\0\0\0\0\0", more);
        block b = block_copy(longer.p, longer.n, 0);
        finding f;
        inspect(&f, v, b.p, longer.n);
        agrees(&f, v, "with more", more, 0);
        if (f.fault.code == 0)
            fail_msg("%s, with %zu bytes more: not noticed", v->id, more);
        if (!body(v)) {
            size_t whole;
            assert_int_equal(dw_message_frame(b.p, longer.n, &whole), 1);
            assert_int_equal(whole, bytes->n);
        }
        finding_free(&f);
        block_free(&b);
        text_free(&longer);
    }
}

static void bytes_too_many_are_noticed(void **state)
{
    (void)state;
    each_valid_row(lengthen);
}

/* Each bit of each byte, and the byte set to what is special in some place. */
static void flip(const vector *v, const text *bytes)
{
    static const uint8_t special[] = {0, 1, 'a', 'v', '(', '{', 0x7f, 0x80, 0xff};
    block b = block_copy(bytes->p, bytes->n, 0);
    for (size_t at = 0; at < bytes->n; at++) {
        uint8_t was = b.p[at];
        for (size_t i = 0; i < 8 + sizeof special; i++) {
            finding f;
            if (i < 8)
                b.p[at] = (uint8_t)(was ^ 1u << i);
            else
                b.p[at] = special[i - 8];
            inspect(&f, v, b.p, bytes->n);
            agrees(&f, v, "with changed", at, b.p[at]);
            finding_free(&f);
        }
        b.p[at] = was;
    }
    block_free(&b);
}

static void changes_are_taken_or_refused(void **state)
{
    (void)state;
    each_valid_row(flip);
}

/* Two bytes at once reach what one byte cannot: a length and what it covers. */
static void flip_pairs(const vector *v, const text *bytes)
{
    if (bytes->n > 48)
        return;
    block b = block_copy(bytes->p, bytes->n, 1);
    for (size_t i = 0; i < bytes->n; i++) {
        for (size_t j = i + 1; j < bytes->n; j++) {
            for (unsigned change = 0; change < 4; change++) {
                finding f;
                uint8_t one = b.p[i], two = b.p[j];
                b.p[i] = change & 1 ? 0xff : (uint8_t)(one + 1);
                b.p[j] = change & 2 ? 0 : (uint8_t)(two - 1);
                inspect(&f, v, b.p, bytes->n);
                agrees(&f, v, "with two changed from", i, b.p[i]);
                finding_free(&f);
                b.p[i] = one;
                b.p[j] = two;
            }
        }
    }
    block_free(&b);
}

static void pairs_of_changes_too(void **state)
{
    (void)state;
    each_valid_row(flip_pairs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cuts_are_noticed),
        cmocka_unit_test(bytes_too_many_are_noticed),
        cmocka_unit_test(changes_are_taken_or_refused),
        cmocka_unit_test(pairs_of_changes_too),
    };
    return cmocka_run_group_tests_name("hostile", tests, NULL, NULL);
}
