/* copy.c - target: dw_copy of anything into the other byte order and back, into
 * places that are aligned in another way, and into buffers that are too small. The
 * input is that of body.c. */

#include <string.h>

#include "dwire/signature.h"
#include "fuzz.h"
#include "support/inspect.h"
#include "support/walk.h"

static char other(char order)
{
    return order == DW_LITTLE ? DW_BIG : DW_LITTLE;
}

typedef struct body {
    const char *signature;
    const uint8_t *p;
    size_t len;
    char order;
} body;

static void start(dw_reader *r, const body *b)
{
    dw_reader_init_body(r, b->signature, b->p, b->len, b->order);
}

/* Copies a body into a byte order. The code is the reader's. */
static text copied(const body *b, char order, int *code)
{
    dw_writer w;
    dw_reader r;
    dw_writer_init(&w, NULL, 0, dw_heap);
    dw_begin_body(&w, b->signature, order);
    start(&r, b);
    copy_values(&r, &w);
    *code = dw_reader_finish(&r);
    int written = dw_finish(&w);
    /* bytes left over are seen by the reader only */
    fuzz_check(*code ? written == *code || *code == DW_E_BOUNDS : written == 0,
               "\"%s\": the reader says %s, the writer %s", b->signature, dw_error_name(*code),
               dw_error_name(written));
    text t = fuzz_written(&w);
    dw_writer_free(&w);
    return t;
}

/* Into a buffer of each size around what it takes. */
static void copy_small(const body *b, size_t size)
{
    dw_writer w;
    dw_reader r;
    block room = block_copy(NULL, 0, size); /* the room is all of its base */
    dw_writer_init(&w, room.base, size, NULL);
    dw_begin_body(&w, b->signature, b->order);
    start(&r, b);
    copy_values(&r, &w);
    int code = dw_finish(&w);
    fuzz_check(code == (size < b->len ? DW_E_NO_ROOM : 0), "%zu of %zu bytes: %s", size, b->len,
               dw_error_name(code));
    fuzz_check(code || !b->len || memcmp(room.base, b->p, b->len) == 0, "other bytes");
    block_free(&room);
}

/* As values of another place: behind a byte, and each in a variant of its own. The
 * values are the same. */
static void copy_elsewhere(const body *b)
{
    dw_writer w;
    dw_reader r;
    text signature = {0}, before = {0}, after = {0};
    text_printf(&signature, "y%s", b->signature);
    if (dw_check_signature(signature.p, signature.n, NULL) != 0) { /* one byte too long */
        text_free(&signature);
        return;
    }
    dw_writer_init(&w, NULL, 0, dw_heap);
    dw_begin_body(&w, signature.p, other(b->order));
    dw_put_byte(&w, 7);
    start(&r, b);
    copy_values(&r, &w);
    fuzz_check(dw_reader_finish(&r) == 0 && dw_finish(&w) == 0, "\"%s\"", b->signature);
    text there = fuzz_written(&w);
    values_of_body(&after, signature.p, there.p, there.n, other(b->order));
    text_put(&before, b->signature[0] ? "7 " : "7");
    values_of_body(&before, b->signature, b->p, b->len, b->order);
    fuzz_check(text_equal(&before, &after), "%s has become %s", before.p, after.p);
    text_free(&signature);
    text_free(&before);
    text_free(&after);
    text_free(&there);
    dw_writer_free(&w);
}

static void copy_into_variants(const body *b)
{
    dw_writer w;
    dw_reader r, inside;
    text types = {0};
    dw_writer_init(&w, NULL, 0, dw_heap);
    dw_begin_body(&w, "av", b->order);
    dw_open_array(&w);
    start(&r, b);
    for (dw_string t = dw_next_type(b->signature); t.n; t = dw_next_type(t.p + t.n)) {
        types.n = 0;
        text_add(&types, t.p, t.n);
        dw_open_variant(&w, types.p);
        dw_copy(&r, &w);
        dw_close_variant(&w);
    }
    dw_close_array(&w);
    int code = dw_finish(&w);
    fuzz_check(dw_reader_finish(&r) == code, "\"%s\"", b->signature);
    fuzz_check(code == 0 || code == DW_E_DEPTH, "\"%s\": %s", b->signature, dw_error_name(code));
    if (code == 0) {
        text there = fuzz_written(&w), back;
        dw_reader_init_body(&inside, "av", there.p, there.n, b->order);
        dw_writer copy;
        dw_writer_init(&copy, NULL, 0, dw_heap);
        dw_begin_body(&copy, b->signature, b->order);
        dw_enter_array(&inside);
        while (dw_more(&inside)) {
            dw_enter_variant(&inside);
            dw_copy(&inside, &copy);
            dw_leave_variant(&inside);
        }
        dw_leave_array(&inside);
        fuzz_check(dw_reader_finish(&inside) == 0 && dw_finish(&copy) == 0, "\"%s\"", b->signature);
        back = fuzz_written(&copy);
        fuzz_check(back.n == b->len &&
                       memcmp(back.p, b->len ? b->p : (const uint8_t *)"", back.n) == 0,
                   "\"%s\": other bytes out of variants", b->signature);
        text_free(&there);
        text_free(&back);
        dw_writer_free(&copy);
    }
    text_free(&types);
    dw_writer_free(&w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    feed f = {data, size};
    char order = feed_byte(&f) & 1 ? DW_BIG : DW_LITTLE;
    text signature = feed_string(&f);
    block b = block_copy(f.p, f.n, 1);
    dw_reader r;
    int code, again;
    const body from = {text_string(&signature), b.p, f.n, order};
    start(&r, &from);
    int read = dw_reader_finish(&r);
    text there = copied(&from, other(order), &code);
    fuzz_check(code == read, "copying says %s, reading %s", dw_error_name(code),
               dw_error_name(read));
    if (code == 0) {
        const body through = {from.signature, (const uint8_t *)there.p, there.n, other(order)};
        text back = copied(&through, order, &again);
        fuzz_check(again == 0, "%s on the way back", dw_error_name(again));
        fuzz_check(back.n == f.n && (!f.n || memcmp(back.p, b.p, f.n) == 0), "other bytes");
        text_free(&back);
        for (size_t less = 0; less < 10; less++)
            if (less <= f.n)
                copy_small(&from, f.n - less);
        copy_small(&from, f.n / 2);
        copy_elsewhere(&from);
        copy_into_variants(&from);
    }
    text_free(&there);
    text_free(&signature);
    block_free(&b);
    return 0;
}
