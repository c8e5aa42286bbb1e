/* test_successive.c - messages that follow each other on a connection: whatever
 * the last one was, each is handed out as parsing it alone gives it. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "dwire/connection.h"
#include "support/ends.h"

static const dw_header headers[] = {
    {.type = DW_SIGNAL, .path = "/a", .interface = "a.b", .member = "M"},
    {.type = DW_SIGNAL, .path = "/a", .interface = "a.b", .member = "N"},
    {.type = DW_SIGNAL, .path = "/a", .interface = "a.b", .member = "M", .signature = "ay"},
    {.type = DW_SIGNAL, .path = "/a", .interface = "a.b", .member = "M", .signature = "an"},
    {.type = DW_SIGNAL, .order = DW_BIG, .path = "/a", .interface = "a.b", .member = "M"},
    {.type = DW_SIGNAL, .order = DW_LITTLE, .path = "/a", .interface = "a.b", .member = "M"},
    {.type = DW_SIGNAL, .flags = 1, .path = "/a", .interface = "a.b", .member = "M"},
    {.type = DW_METHOD_CALL, .path = "/a", .interface = "a.b", .member = "M"},
    {.type = DW_METHOD_RETURN, .reply_serial = 7},
    {.type = DW_ERROR, .error_name = "a.b", .reply_serial = 7, .sender = ":1.1"},
    {.type = DW_SIGNAL, .path = "/a", .interface = "a.b", .member = "M", .sender = ":1.1"},
};

enum { HEADERS = sizeof headers / sizeof *headers };

static void write_message(dw_writer *w, size_t i, size_t n)
{
    static const uint16_t values[8];
    dw_begin(w, &headers[i]);
    if (headers[i].signature)
        dw_put_array(w, headers[i].signature[1], values, n % 8);
    assert_int_equal(dw_finish(w), 0);
}

static void expect_text(dw_string came, dw_string wanted)
{
    assert_int_equal(came.n, wanted.n);
    assert_memory_equal(came.p, wanted.p, wanted.n + 1);
}

/* Everything in a message that is not where it lies. */
static void expect_same(const dw_message *came)
{
    dw_message alone;
    assert_int_equal(dw_message_parse(&alone, came->bytes, came->len, 0), 0);
    assert_int_equal(came->type, alone.type);
    assert_int_equal(came->flags, alone.flags);
    assert_int_equal(came->order, alone.order);
    assert_int_equal(came->serial, alone.serial);
    assert_int_equal(came->reply_serial, alone.reply_serial);
    assert_int_equal(came->unix_fds, alone.unix_fds);
    expect_text(came->path, alone.path);
    expect_text(came->interface, alone.interface);
    expect_text(came->member, alone.member);
    expect_text(came->error_name, alone.error_name);
    expect_text(came->destination, alone.destination);
    expect_text(came->sender, alone.sender);
    expect_text(came->signature, alone.signature);
    assert_ptr_equal(came->body, alone.body);
    assert_int_equal(came->body_len, alone.body_len);
    assert_int_equal(dw_message_check(came, NULL), 0);
}

static void are_as_if_alone(void **state)
{
    (void)state;
    ends e;
    dw_writer w;
    dw_message m;
    ends_open(&e, NULL, NULL);
    ends_ready(&e);
    dw_writer_init(&w, NULL, 0, dw_heap);
    for (size_t i = 0; i < 4 * HEADERS * HEADERS; i++) {
        for (size_t k = 0; k < 2; k++) {
            size_t which = k ? i / HEADERS % HEADERS : i % HEADERS;
            write_message(&w, which, i + k);
            expect_code(dw_queue(e.client, &w, NULL), 0);
        }
        expect_code(dw_flush(e.client, DW_TIMEOUT_DEFAULT), 0);
        for (size_t k = 0; k < 2; k++) {
            expect_code(dw_receive(e.server, &m, DW_TIMEOUT_DEFAULT), 1);
            expect_same(&m);
        }
    }
    dw_writer_free(&w);
    ends_close(&e);
}

/* A second message of the kind of the first, with a byte of its header changed,
 * is judged as it is. */
static void are_not_trusted(void **state)
{
    (void)state;
    dw_writer w;
    dw_writer_init(&w, NULL, 0, dw_heap);
    write_message(&w, 2, 5);
    size_t len;
    const uint8_t *good = dw_writer_bytes(&w, &len);
    uint8_t *bad = malloc(len);
    assert_non_null(bad);
    for (size_t at = 0; at < len; at++) {
        dw_conn *c;
        dw_message m, alone;
        size_t whole;
        int fd[2];
        make_sockets(fd);
        expect_code(dw_conn_from_fd(&c, fd[0], DW_CONN_NO_AUTH | DW_CONN_SERVER), 0);
        memcpy(bad, good, len);
        bad[at] ^= 0x21;
        assert_int_equal(write(fd[1], good, len), len);
        assert_int_equal(write(fd[1], bad, len), len);
        close(fd[1]);
        expect_code(dw_receive(c, &m, DW_TIMEOUT_DEFAULT), 1);
        int wanted = dw_message_frame(bad, len, &whole);
        if (wanted > 0 && whole == len) {
            wanted = dw_message_parse(&alone, bad, len, 0);
            if (wanted == 0) /* what is of an unknown type is dropped */
                wanted = alone.type > DW_SIGNAL ? DW_E_CLOSED : 1;
            expect_code(dw_receive(c, &m, DW_TIMEOUT_DEFAULT), wanted);
        }
        dw_conn_close(c);
    }
    free(bad);
    dw_writer_free(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(are_as_if_alone),
        cmocka_unit_test(are_not_trusted),
    };
    return cmocka_run_group_tests_name("successive", tests, NULL, NULL);
}
