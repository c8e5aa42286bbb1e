/* test_faults.c - what happens when room or memory runs out: every capacity from
 * 0 to what is needed, and every allocation failing once. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dwire/message.h"
#include "support/dice.h"
#include "support/failing.h"
#include "support/table.h"
#include "support/text.h"
#include "support/walk.h"

/* -- Messages to write ---------------------------------------------------------- */

/* A message as it was parsed: what is begun with its header, and its values put
 * in, is a message of the same length. */
static void write_again(dw_writer *w, const dw_message *m, unsigned how)
{
    dw_reader r;
#define TEXT(name) m->name.n ? m->name.p : NULL
    dw_begin(w, &(dw_header){.type = m->type,
                             .flags = m->flags,
                             .order = m->order,
                             .serial = m->serial,
                             .reply_serial = m->reply_serial,
                             .path = TEXT(path),
                             .interface = TEXT(interface),
                             .member = TEXT(member),
                             .error_name = TEXT(error_name),
                             .destination = TEXT(destination),
                             .sender = TEXT(sender),
                             .signature = TEXT(signature)});
#undef TEXT
    dw_reader_init(&r, m);
    if (how < 2)
        walk_values(&(walk){.r = &r, .w = w, .whole = how});
    else
        copy_values(&r, w);
}

typedef void try(const char *id, const dw_message *m);

static void each_message(try *one)
{
    table t;
    vector v;
    unsigned count = 0;
    assert_true(table_open(&t, VECTORS_FILE));
    while (table_next(&t, &v)) {
        text bytes = {0};
        dw_message m;
        if (strcmp(v.kind, "message") == 0 && strcmp(v.expected, "valid") == 0 &&
            text_from_hex(&bytes, v.input, strlen(v.input)) &&
            dw_message_parse(&m, bytes.p, bytes.n, 0) == 0 && m.type <= DW_SIGNAL && m.flags < 8) {
            one(v.id, &m);
            count++;
        }
        text_free(&bytes);
    }
    assert_true(table_close(&t));
    assert_in_range(count, 80, 10000);
}

/* -- Room -------------------------------------------------------------------------- */

#define CANARY 0xa5
#define BEHIND 24

/* Writes into a buffer of that capacity, behind which the block ends (no_canary),
 * or the canaries sit that must not be touched. */
static void write_into(const char *id, const dw_message *m, size_t capacity, size_t shift,
                       unsigned how, const text *whole)
{
    size_t behind = shift % 2 ? 0 : BEHIND;
    block b = block_copy(NULL, 0, shift + capacity + behind);
    uint8_t *buffer = b.base + shift;
    memset(b.base, CANARY, shift + capacity + behind);
    for (int grows = 0; grows < 2; grows++) {
        dw_writer w;
        size_t len;
        bool fits = capacity >= whole->n || grows;
        dw_writer_init(&w, buffer, capacity, grows ? dw_heap : NULL);
        write_again(&w, m, how);
        int code = dw_finish(&w);
        const uint8_t *p = dw_writer_bytes(&w, &len);
        if (code != (fits ? 0 : DW_E_NO_ROOM) || dw_writer_size(&w) != whole->n)
            fail_msg("%s into %zu bytes of %zu: %s, size %zu", id, capacity, whole->n,
                     dw_error_name(code), dw_writer_size(&w));
        if (fits ? len != whole->n || memcmp(p, whole->p, len) != 0 : p || len)
            fail_msg("%s into %zu bytes of %zu: other bytes", id, capacity, whole->n);
        if (!fits && dw_writer_fault(&w).at > capacity)
            fail_msg("%s into %zu bytes: full at %u", id, capacity,
                     (unsigned)dw_writer_fault(&w).at);
        for (size_t i = 0; i < shift; i++)
            assert_int_equal(b.base[i], CANARY);
        for (size_t i = 0; i < behind; i++)
            assert_int_equal(buffer[capacity + i], CANARY);
        dw_writer_free(&w);
    }
    block_free(&b);
}

static void into_every_capacity(const char *id, const dw_message *m)
{
    dw_writer w;
    size_t len;
    text whole = {0};
    dw_writer_init(&w, NULL, 0, dw_heap);
    write_again(&w, m, 0);
    assert_int_equal(dw_finish(&w), 0);
    const uint8_t *p = dw_writer_bytes(&w, &len);
    text_add(&whole, p, len);
    dw_writer_free(&w);
    for (size_t capacity = 0; capacity < whole.n + 3; capacity++)
        for (unsigned how = 0; how < 3; how++)
            write_into(id, m, capacity, (capacity + how) % 8, how, &whole);
    text_free(&whole);
}

static void table_into_every_capacity(void **state)
{
    (void)state;
    each_message(into_every_capacity);
}

/* Bodies of every shape too, in both byte orders; of those without descriptors. */
static void random_into_every_capacity(void **state)
{
    (void)state;
    unsigned count = 0;
    for (uint64_t seed = 0; seed < 400; seed++) {
        dice d = {seed};
        char signature[256], id[32];
        dw_writer w;
        dw_message m;
        size_t len;
        dice_signature(&d, signature);
        dw_writer_init(&w, NULL, 0, dw_heap);
        dw_begin(&w, &(dw_header){.type = DW_METHOD_RETURN,
                                  .order = seed % 2 ? DW_BIG : DW_LITTLE,
                                  .reply_serial = 1,
                                  .signature = signature});
        dice_put(&d, &w, signature);
        int code = dw_finish(&w);
        if (code < 0 || dw_writer_size(&w) > 400) {
            assert_true(code == 0 || code == DW_E_FDS);
            dw_writer_free(&w);
            continue;
        }
        const uint8_t *p = dw_writer_bytes(&w, &len);
        assert_int_equal(dw_message_parse(&m, p, len, 0), 0);
        snprintf(id, sizeof id, "seed %u", (unsigned)seed);
        into_every_capacity(id, &m);
        dw_writer_free(&w);
        count++;
    }
    assert_in_range(count, 100, 400);
}

/* While counting, what is wrong is still found, and is the error. */
static void errors_are_found_without_room(void **state)
{
    (void)state;
    uint8_t buffer[6];
    dw_writer w;
    for (size_t size = 0; size < sizeof buffer; size++) {
        dw_writer_init(&w, buffer, size, NULL);
        dw_begin_body(&w, "usy", 0);
        dw_put_uint32(&w, 1);
        dw_put_string(&w, "abc");
        assert_int_equal(dw_writer_fault(&w).code, DW_E_NO_ROOM);
        dw_put_string(&w, "abc");
        assert_int_equal(dw_finish(&w), DW_E_TYPE);
        assert_int_equal(dw_writer_fault(&w).at, 12);
        assert_int_equal(dw_writer_size(&w), 0);
        dw_begin_body(&w, "us", 0);
        dw_put_uint32(&w, 1);
        dw_put_string(&w, "ab\xff");
        assert_int_equal(dw_finish(&w), DW_E_UTF8);
    }
}

/* -- Memory --------------------------------------------------------------------------- */

static const dw_message *subject;

/* The operations that allocate. Each returns its code, checks that nothing came
 * of it if that is not 0, and gives everything back. */
typedef int operation(const dw_allocator *allocator);

static int finish(dw_writer *w, bool whole)
{
    size_t len;
    int code = dw_finish(w);
    const uint8_t *p = dw_writer_bytes(w, &len);
    if (code < 0) {
        assert_null(p);
        assert_int_equal(dw_writer_size(w), 0);
        assert_int_equal(dw_writer_fault(w).code, code);
    } else if (whole) {
        assert_int_equal(len, subject->len);
        assert_memory_equal(p, subject->bytes, len);
    }
    return code;
}

static int write_growing(const dw_allocator *allocator)
{
    dw_writer w;
    dw_writer_init(&w, NULL, 0, allocator);
    write_again(&w, subject, 0);
    int code = finish(&w, true);
    dw_writer_free(&w);
    return code;
}

static int write_at_once(const dw_allocator *allocator)
{
    dw_writer w;
    dw_writer_init(&w, NULL, 0, allocator);
    write_again(&w, subject, 1);
    int code = finish(&w, true);
    dw_writer_free(&w);
    return code;
}

static int write_from_a_buffer(const dw_allocator *allocator)
{
    dw_writer w;
    uint8_t buffer[41];
    dw_writer_init(&w, buffer, sizeof buffer, allocator);
    write_again(&w, subject, 0);
    int code = finish(&w, true);
    dw_writer_free(&w);
    return code;
}

/* Failing once does not spoil the writer, nor the next message. */
static int write_twice(const dw_allocator *allocator)
{
    dw_writer w;
    dw_writer_init(&w, NULL, 0, allocator);
    dw_begin_body(&w, "y", 0);
    dw_put_byte(&w, 1);
    int first = finish(&w, false);
    write_again(&w, subject, 0);
    int second = finish(&w, true);
    dw_writer_free(&w);
    return first ? first : second;
}

static int copy_values_over(const dw_allocator *allocator)
{
    dw_writer w;
    dw_reader r;
    dw_writer_init(&w, NULL, 0, allocator);
    dw_begin_body(&w, subject->signature.p, DW_LITTLE);
    dw_reader_init(&r, subject);
    copy_values(&r, &w);
    int code = finish(&w, false);
    assert_int_equal(dw_reader_finish(&r), code);
    dw_writer_free(&w);
    return code;
}

static int copy_message(const dw_allocator *allocator)
{
    dw_message copy;
    int code = dw_message_copy(&copy, subject, allocator);
    if (code == 0) {
        assert_int_equal(dw_message_check(&copy, NULL), 0);
        assert_memory_equal(copy.bytes, subject->bytes, subject->len);
    } else {
        dw_reader r;
        dw_reader_init(&r, &copy);
        assert_false(dw_more(&r));
        assert_int_equal(dw_reader_finish(&r), DW_E_NO_MEMORY);
        assert_null(copy.path.p); /* nothing of the subject's */
        assert_null(copy.signature.p);
    }
    dw_message_free(&copy, allocator);
    dw_message_free(&copy, allocator);
    return code;
}

/* Fails the 1st, 2nd, 3rd ... allocation, once or for good, until the operation
 * succeeds. Returns how many there were. */
static unsigned survive(operation *op, bool for_good)
{
    for (unsigned n = 1;; n++) {
        failing f;
        failing_init(&f, n, for_good);
        int code = op(&f.allocator);
        assert_int_equal(f.live, 0);
        assert_int_equal(f.mistold, 0);
        if (f.asked < n) {
            assert_int_equal(code, 0);
            return n - 1;
        }
        assert_string_equal(dw_error_name(code), "DW_E_NO_MEMORY");
    }
}

static void survives_every_failure(void **state)
{
    (void)state;
    dw_writer w;
    dw_message m;
    size_t len;
    dw_writer_init(&w, NULL, 0, dw_heap);
    dw_begin_signal(&w, "/a", "a.b", "M", "asa{sv}at");
    dw_open_array(&w);
    for (int i = 0; i < 300; i++)
        dw_put_string(&w, "a string of some bytes");
    dw_close_array(&w);
    dw_open_array(&w);
    for (int i = 0; i < 300; i++) {
        dw_open_entry(&w);
        dw_put_string(&w, "key");
        dw_open_variant(&w, "u");
        dw_put_uint32(&w, 7);
        dw_close_variant(&w);
        dw_close_entry(&w);
    }
    dw_close_array(&w);
    static const uint64_t numbers[5000];
    dw_put_uint64_array(&w, numbers, 5000);
    assert_int_equal(dw_finish(&w), 0);
    const uint8_t *p = dw_writer_bytes(&w, &len);
    assert_int_equal(dw_message_parse(&m, p, len, 0), 0);
    subject = &m;

    static operation *const operations[] = {write_growing, write_at_once,    write_from_a_buffer,
                                            write_twice,   copy_values_over, copy_message};
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        unsigned once = survive(operations[i], false), for_good = survive(operations[i], true);
        assert_int_equal(once, for_good);
        assert_in_range(once, operations[i] == copy_message ? 1 : 4, 30);
    }
    dw_writer_free(&w);
}

/* A writer that has grown does not ask again. */
static void steady_state_allocates_nothing(void **state)
{
    (void)state;
    failing f;
    dw_writer w;
    failing_init(&f, 0, false);
    dw_writer_init(&w, NULL, 0, &f.allocator);
    unsigned asked = 0;
    for (int i = 0; i < 10; i++) {
        dw_begin_signal(&w, "/a", "a.b", "M", "as");
        dw_open_array(&w);
        for (int k = 0; k < 1000; k++)
            dw_put_string(&w, "a string");
        dw_close_array(&w);
        assert_int_equal(dw_finish(&w), 0);
        if (i == 0)
            asked = f.asked;
        assert_int_equal(f.asked, asked);
    }
    dw_writer_free(&w);
    assert_int_equal(f.live, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_into_every_capacity),
        cmocka_unit_test(random_into_every_capacity),
        cmocka_unit_test(errors_are_found_without_room),
        cmocka_unit_test(survives_every_failure),
        cmocka_unit_test(steady_state_allocates_nothing),
    };
    return cmocka_run_group_tests_name("faults", tests, NULL, NULL);
}
