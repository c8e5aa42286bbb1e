/* reader.c - target: a stream of reader operations, apt and not. However a body is
 * read, dw_reader_finish says the same of it, unless what was asked for was wrong.
 *
 * The input: a byte order and a shift, a signature up to its NUL, the number of
 * operations, a byte each, and the body. */

#include <string.h>

#include "dwire/signature.h"
#include "fuzz.h"

/* An error of the program, not of the body. */
static bool misused(int code)
{
    return code == DW_E_TYPE || code == DW_E_STATE || code == DW_E_VIEW || code == DW_E_NO_ROOM ||
           code == DW_E_ARGUMENT;
}

/* A whole array as a view and as a copy: the same elements. */
static void get_array(dw_reader *r, char code, char order, size_t len)
{
    dw_reader copy = *r, small = *r;
    size_t n, size = dw_type_size(code), max = size ? len / size : 0;
    bool good = !dw_reader_fault(r).code;
    block elements = block_copy(NULL, 0, max * size);
    size_t copied = dw_copy_array(&copy, code, elements.base, max);
    const uint8_t *view = dw_get_array(r, code, &n);
    int viewed = dw_reader_fault(r).code, came = dw_reader_fault(&copy).code;
    fuzz_check((view != NULL) == (viewed == 0), "%s, and a view", dw_error_name(viewed));
    fuzz_check(viewed == came || viewed == DW_E_VIEW, "the view says %s, the copy %s",
               dw_error_name(viewed), dw_error_name(came));
    fuzz_check(viewed || (n == copied && (!n || memcmp(view, elements.base, n * size) == 0)),
               "%zu elements in view, %zu copied", n, copied);
    fuzz_check(!good || viewed != DW_E_VIEW || size > 1 || order == DW_NATIVE,
               "bytes have no order");
    if (!came && copied) {
        block fewer = block_copy(NULL, 0, (copied - 1) * size);
        fuzz_check(dw_copy_array(&small, code, fewer.base, copied - 1) == 0 &&
                       dw_reader_fault(&small).code == DW_E_NO_ROOM,
                   "no room for %zu", copied);
        block_free(&fewer);
    }
    block_free(&elements);
}

#define GET(type, name)                                                                            \
    case type:                                                                                     \
        fuzz_check(!dw_##name(r) || !dw_reader_fault(r).code, "a value of nothing");               \
        break;

#define STRING(type, name)                                                                         \
    case type: {                                                                                   \
        dw_string s = dw_##name(r);                                                                \
        fuzz_check(s.p[s.n] == '\0', "no NUL");                                                    \
        fuzz_check(!s.n || !dw_reader_fault(r).code, "a string of nothing");                       \
        break;                                                                                     \
    }

/* Reads what the code in a signature stands for; the end of one leaves a variant. */
static void get(dw_reader *r, char code)
{
    switch (code) {
        GET('y', get_byte)
        GET('b', get_boolean)
        GET('n', get_int16)
        GET('q', get_uint16)
        GET('i', get_int32)
        GET('u', get_uint32)
        GET('x', get_int64)
        GET('t', get_uint64)
        GET('h', get_unix_fd)
        STRING('s', get_string)
        STRING('o', get_object_path)
        STRING('g', get_signature)
        STRING('v', enter_variant)
    case 'd': dw_get_double(r); break;
    case 'a': dw_enter_array(r); break;
    case 'A': dw_leave_array(r); break;
    case '(': dw_enter_struct(r); break;
    case ')': dw_leave_struct(r); break;
    case '{': dw_enter_entry(r); break;
    case '}': dw_leave_entry(r); break;
    default: dw_leave_variant(r); break;
    }
}

static void operate(dw_reader *r, uint8_t op, char order, size_t len)
{
    static const char codes[] = "ybnqiuxtdhsogvaA(){}";
    char next = dw_next_code(r);
    if (op < 160 && next == 'a' && op % 2) {
        dw_reader inside = *r;
        dw_enter_array(&inside);
        if (dw_type_size(dw_next_code(&inside)))
            get_array(r, dw_next_code(&inside), order, len);
        else
            get(r, 'a');
    } else if (op < 160 && next) {
        get(r, next);
    } else if (op < 190) {
        dw_skip(r);
    } else if (op < 200) {
        get_array(r, codes[op % (sizeof codes - 1)], order, len);
    } else {
        get(r, codes[op % sizeof codes]);
    }
    fuzz_check(!dw_reader_fault(r).code || (!dw_more(r) && !dw_next_code(r)),
               "more after an error");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    feed f = {data, size};
    uint8_t how = feed_byte(&f);
    char order = how & 1 ? DW_BIG : DW_LITTLE;
    text signature = feed_string(&f);
    feed ops = feed_part(&f, feed_byte(&f));
    block b = block_copy(f.p, f.n, how >> 1 & 7);
    dw_reader r, whole;
    dw_reader_init_body(&whole, text_string(&signature), b.p, f.n, order);
    dw_reader_init_body(&r, text_string(&signature), b.p, f.n, order);
    bool beyond = false; /* an element was asked for where the array has no more */
    while (ops.n) {
        bool more = dw_more(&r);
        uint32_t depth = r.depth;
        operate(&r, feed_byte(&ops), order, f.n);
        beyond = beyond || (!more && r.depth >= depth);
    }
    int expected = dw_reader_finish(&whole), code = dw_reader_finish(&r);
    fuzz_check(misused(code) || beyond || (code == 0) == (expected == 0),
               "it says %s, and all at once %s", dw_error_name(code), dw_error_name(expected));
    text_free(&signature);
    block_free(&b);
    return 0;
}
