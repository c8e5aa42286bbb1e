/* test_writer_ref.c - arrays that are sent from where they lie: the parts are
 * the message that copying them would have given, and so they arrive. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dwire/connection.h"
#include "support/ends.h"

enum { PLENTY = 70000 };

static uint64_t storage[PLENTY / 8];

typedef void put_array(dw_writer *w, char code, const void *values, size_t n);

/* All parts behind one another. The caller frees it. */
static uint8_t *join(const dw_writer *w, size_t *len, size_t *n_parts)
{
    dw_part parts[DW_MAX_PARTS];
    uint8_t *all = malloc(dw_writer_size(w) + 1);
    assert_non_null(all);
    *n_parts = dw_writer_parts(w, parts);
    *len = 0;
    for (size_t i = 0; i < *n_parts; i++) {
        memcpy(all + *len, parts[i].p, parts[i].len);
        *len += parts[i].len;
    }
    return all;
}

/* A message of several arrays, at all alignments, one inside another. */
static void write(dw_writer *w, put_array *put, size_t n, char order)
{
    const uint8_t *bytes = (const uint8_t *)storage;
    dw_begin(w, &(dw_header){.type = DW_SIGNAL,
                             .order = order,
                             .path = "/o",
                             .interface = "org.example.Test",
                             .member = "Member",
                             .signature = "sayyaataqv"});
    dw_put_string(w, "before");
    put(w, 'y', bytes, n);
    dw_put_byte(w, 7);
    dw_open_array(w);
    put(w, 't', storage, n / 8);
    put(w, 't', storage, 3);
    put(w, 't', storage + 1, n / 8 - 1);
    dw_close_array(w);
    put(w, 'q', bytes + n % 3 * 2, n / 2);
    dw_open_variant(w, "ay");
    put(w, 'y', bytes + 3, n - 3);
    dw_close_variant(w);
}

static void compare(size_t n, char order, const dw_allocator *allocator, void *room, size_t size)
{
    dw_writer copied, apart;
    dw_writer_init(&copied, NULL, 0, dw_heap);
    dw_writer_init(&apart, room, size, allocator);
    write(&copied, dw_put_array, n, order);
    write(&apart, dw_put_array_ref, n, order);
    assert_int_equal(dw_finish(&copied), 0);
    assert_int_equal(dw_finish(&apart), 0);
    size_t wanted, came, n_parts;
    const uint8_t *expected = dw_writer_bytes(&copied, &wanted);
    uint8_t *all = join(&apart, &came, &n_parts);
    assert_int_equal(came, wanted);
    assert_int_equal(dw_writer_size(&apart), wanted);
    assert_memory_equal(all, expected, wanted);
    bool by_parts = n >= 2048 && (order == 0 || order == DW_NATIVE);
    assert_true(by_parts ? n_parts > 9 : n_parts >= 1);
    assert_true(by_parts == (dw_writer_bytes(&apart, NULL) == NULL) || n_parts > 1);
    free(all);
    dw_writer_free(&copied);
    dw_writer_free(&apart);
}

static void parts_are_the_message(void **state)
{
    static uint8_t room[4096];
    (void)state;
    for (size_t n = 2048; n < 2080; n++) {
        compare(n, 0, dw_heap, NULL, 0);
        compare(n, 0, NULL, room + n % 8, sizeof room - 8);
        compare(n, DW_NATIVE == DW_BIG ? DW_LITTLE : DW_BIG, dw_heap, NULL, 0);
    }
    for (size_t n = 16; n < 1040; n += 7)
        compare(n, 0, dw_heap, NULL, 0);
    compare(PLENTY - 8, 0, dw_heap, NULL, 0);
}

/* One more than can lie apart is copied. */
static void too_many_are_copied(void **state)
{
    (void)state;
    dw_writer w;
    dw_writer_init(&w, NULL, 0, dw_heap);
    dw_begin_body(&w, "aay", 0);
    dw_open_array(&w);
    for (size_t i = 0; i < DW_MAX_REFS + 3; i++)
        dw_put_array_ref(&w, 'y', storage, 1000 + i);
    dw_close_array(&w);
    assert_int_equal(dw_finish(&w), 0);
    size_t len, n_parts, n;
    uint8_t *all = join(&w, &len, &n_parts);
    assert_int_equal(n_parts, 2 * DW_MAX_REFS + 1);
    dw_reader r;
    dw_reader_init_body(&r, "aay", all, len, 0);
    dw_enter_array(&r);
    for (size_t i = 0; i < DW_MAX_REFS + 3; i++) {
        assert_non_null(dw_get_byte_array(&r, &n));
        assert_int_equal(n, 1000 + i);
    }
    assert_int_equal(dw_reader_finish(&r), 0);
    free(all);
    dw_writer_free(&w);
}

static void refused(const char *signature, char code, const void *values, size_t n, int error)
{
    dw_writer w;
    dw_part parts[DW_MAX_PARTS];
    dw_writer_init(&w, NULL, 0, dw_heap);
    dw_begin_body(&w, signature, 0);
    dw_put_array_ref(&w, code, values, n);
    assert_int_equal(dw_finish(&w), error);
    assert_int_equal(dw_writer_parts(&w, parts), 0);
    dw_writer_free(&w);
}

static void errors(void **state)
{
    (void)state;
    static uint32_t booleans[1000];
    booleans[999] = 2;
    refused("ay", 'y', NULL, 1000, DW_E_ARGUMENT);
    refused("ay", 's', storage, 1000, DW_E_ARGUMENT);
    refused("at", 'y', storage, 1000, DW_E_TYPE);
    refused("y", 'y', storage, 1000, DW_E_TYPE);
    refused("ab", 'b', booleans, 1000, DW_E_BOOLEAN);
    refused("ay", 'y', storage, (size_t)DW_MAX_ARRAY + 1, DW_E_LIMIT);
    refused("at", 't', storage, SIZE_MAX / 2, DW_E_LIMIT);
}

/* What lies apart counts for the limits of arrays and messages. */
static void limits(void **state)
{
    (void)state;
    uint8_t *large = calloc(1, DW_MAX_ARRAY);
    assert_non_null(large);
    dw_writer w;
    dw_writer_init(&w, NULL, 0, dw_heap);
    dw_begin_body(&w, "aay", 0);
    dw_open_array(&w);
    dw_put_array_ref(&w, 'y', large, DW_MAX_ARRAY);
    dw_close_array(&w);
    assert_int_equal(dw_finish(&w), DW_E_LIMIT);
    dw_begin_body(&w, "ayay", 0);
    dw_put_array_ref(&w, 'y', large, DW_MAX_ARRAY);
    dw_put_array_ref(&w, 'y', large, DW_MAX_ARRAY - 8);
    assert_int_equal(dw_finish(&w), 0);
    assert_int_equal(dw_writer_size(&w), DW_MAX_MESSAGE);
    dw_begin_body(&w, "ayay", 0);
    dw_put_array_ref(&w, 'y', large, DW_MAX_ARRAY);
    dw_put_array_ref(&w, 'y', large, DW_MAX_ARRAY - 7);
    assert_int_equal(dw_finish(&w), DW_E_LIMIT);
    dw_writer_free(&w);
    free(large);
}

/* A full buffer counts what it and the arrays would take. */
static void counts_when_full(void **state)
{
    (void)state;
    dw_writer whole, small;
    uint8_t room[4096];
    dw_writer_init(&whole, NULL, 0, dw_heap);
    write(&whole, dw_put_array, 2051, 0);
    assert_int_equal(dw_finish(&whole), 0);
    for (size_t size = 0; size < 400; size++) {
        dw_writer_init(&small, room, size, NULL);
        write(&small, dw_put_array_ref, 2051, 0);
        int code = dw_finish(&small);
        assert_true(code == DW_E_NO_ROOM || code == 0);
        assert_int_equal(dw_writer_size(&small), dw_writer_size(&whole));
    }
    dw_writer_free(&whole);
}

/* Many messages at once, more than the socket takes: what waits is sent from
 * where it lies, whatever byte a write ends at. */
static void arrives(void **state)
{
    (void)state;
    enum { MESSAGES = 200 };
    ends e;
    ends_open(&e, NULL, NULL);
    ends_ready(&e);
    dw_writer w;
    dw_message m;
    dw_reader r;
    size_t n, received = 0;
    for (size_t i = 0; i < PLENTY; i++)
        ((uint8_t *)storage)[i] = (uint8_t)(i * 7 + i / 256);
    dw_writer_init(&w, NULL, 0, dw_heap);
    for (size_t i = 0; i < MESSAGES; i++) {
        dw_begin_signal(&w, "/o", "org.example.Test", "Member", "uayt");
        dw_put_uint32(&w, (uint32_t)i);
        dw_put_array_ref(&w, 'y', storage, 4000 + i * 97);
        dw_put_uint64(&w, i);
        dw_finish(&w);
        expect_code(i % 3 ? dw_queue(e.client, &w, NULL) : dw_send(e.client, &w, NULL), 0);
    }
    assert_true(dw_conn_queued(e.client) > 0);
    while (received < MESSAGES) {
        int code = dw_flush(e.client, 0);
        assert_true(code == 0 || code == DW_E_TIMEOUT);
        while (received < MESSAGES && dw_receive(e.server, &m, 0) > 0) {
            dw_reader_init(&r, &m);
            assert_int_equal(dw_get_uint32(&r), received);
            const uint8_t *values = dw_get_byte_array(&r, &n);
            assert_int_equal(n, 4000 + received * 97);
            assert_memory_equal(values, storage, n);
            assert_int_equal(dw_get_uint64(&r), received);
            assert_int_equal(dw_reader_finish(&r), 0);
            received++;
        }
    }
    assert_int_equal(dw_conn_queued(e.client), 0);
    dw_writer_free(&w);
    ends_close(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_the_message),
        cmocka_unit_test(too_many_are_copied),
        cmocka_unit_test(errors),
        cmocka_unit_test(limits),
        cmocka_unit_test(counts_when_full),
        cmocka_unit_test(arrives),
    };
    return cmocka_run_group_tests_name("writer_ref", tests, NULL, NULL);
}
