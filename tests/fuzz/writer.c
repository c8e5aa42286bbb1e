/* writer.c - target: a stream of writer operations. Either an error comes of it, or
 * a message that parses to the values that were put and that libdbus accepts; and
 * the same comes in a buffer of just its size, or where memory runs out.
 *
 * The input are messages, each a header, a signature up to its NUL, and operations.
 * All go through one writer, which is used again. */

#include <string.h>

#include "dwire/signature.h"
#include "fuzz.h"
#include "judges.h"
#include "support/failing.h"
#include "support/inspect.h"
#include "support/walk.h"

#define DEEPEST (DW_MAX_DEPTH + 2)
#define LARGE   1200 /* bytes of an array that is sent from where it lies */

/* A message on its way: the writer, what was put as walk.h writes it, and the
 * containers open: 'a', '(', '{', 'v', how many values are in each, and the bracket
 * that ends its text. */
typedef struct course {
    dw_writer *w;
    feed f;
    bool told; /* whether the text is wanted */
    text values;
    unsigned depth;
    char kinds[DEEPEST];
    char brackets[DEEPEST];
    unsigned counts[DEEPEST];
    text types[DEEPEST]; /* of the variants */
} course;

/* -- What was put ------------------------------------------------------------------ */

static void record_next(course *c)
{
    unsigned n = c->counts[c->depth]++;
    char kind = c->kinds[c->depth];
    if (n)
        text_put(&c->values, kind == '{' ? ":" : kind ? "," : " ");
}

static void record_fixed(course *c, char code, const void *value)
{
    if (!c->told)
        return;
    record_next(c);
    text_fixed(&c->values, code, value);
}

static void record_string(course *c, const void *p, size_t n)
{
    if (!c->told)
        return;
    record_next(c);
    text_put(&c->values, "\"");
    text_escape(&c->values, p, n);
    text_put(&c->values, "\"");
}

static void record_open(course *c, char kind, char opening, char closing)
{
    record_next(c);
    c->depth++;
    c->kinds[c->depth] = kind;
    c->counts[c->depth] = 0;
    c->brackets[c->depth] = closing;
    if (opening)
        text_add(&c->values, &opening, 1);
}

static void record_close(course *c)
{
    if (c->brackets[c->depth])
        text_add(&c->values, &c->brackets[c->depth], 1);
    c->depth--;
}

static bool failed(const course *c)
{
    int code = dw_writer_fault(c->w).code;
    return code && code != DW_E_NO_ROOM;
}

/* -- Operations ---------------------------------------------------------------------- */

#define PUT(code, type, name)                                                                      \
    case code: {                                                                                   \
        type value;                                                                                \
        memcpy(&value, &v, sizeof value);                                                          \
        dw_put_##name(c->w, value);                                                                \
        record_fixed(c, code, &value);                                                             \
        break;                                                                                     \
    }

static void put_fixed(course *c, char code)
{
    uint64_t v = feed_number(&c->f, dw_type_size(code));
    uint32_t truth = v & 1;
    switch (code) {
        PUT('y', uint8_t, byte)
        PUT('n', int16_t, int16)
        PUT('q', uint16_t, uint16)
        PUT('i', int32_t, int32)
        PUT('u', uint32_t, uint32)
        PUT('x', int64_t, int64)
        PUT('t', uint64_t, uint64)
        PUT('d', double, double)
        PUT('h', uint32_t, unix_fd)
    default:
        dw_put_boolean(c->w, truth);
        record_fixed(c, 'b', &truth);
        break;
    }
}

static void put_string(course *c, char code)
{
    text s = feed_string(&c->f);
    bool sized = s.n % 2;
    block b = block_copy(s.p, s.n, 0); /* no NUL behind it */
    const char *p = sized ? (const char *)b.p : text_string(&s);
    if (code == 's')
        sized ? dw_put_string_n(c->w, p, s.n) : dw_put_string(c->w, p);
    else if (code == 'o')
        sized ? dw_put_object_path_n(c->w, p, s.n) : dw_put_object_path(c->w, p);
    else
        sized ? dw_put_signature_n(c->w, p, s.n) : dw_put_signature(c->w, p);
    record_string(c, p, s.n);
    block_free(&b);
    text_free(&s);
}

/* Values that lie still, for arrays that are sent from where they lie. */
static const uint64_t still[LARGE / 8];

static void put_whole(course *c, char code, bool in_place)
{
    size_t size = dw_type_size(code);
    feed part = {(const uint8_t *)still, LARGE};
    if (!in_place)
        part = feed_part(&c->f, feed_byte(&c->f));
    size_t n = part.n / size;
    block b = block_copy(part.p, n * size, 1); /* any bytes, of any alignment */
    if (in_place)
        dw_put_array_ref(c->w, code, still, n);
    else
        dw_put_array(c->w, code, b.p, n);
    record_open(c, 'a', '[', ']');
    for (size_t i = 0; i < n; i++)
        record_fixed(c, code, b.p + i * size);
    record_close(c);
    block_free(&b);
}

static void put_strings(course *c)
{
    const char *strings[4];
    text texts[4];
    size_t n = feed_byte(&c->f) % 5;
    for (size_t i = 0; i < n; i++) {
        texts[i] = feed_string(&c->f);
        strings[i] = text_string(&texts[i]);
    }
    dw_put_string_array(c->w, strings, n);
    record_open(c, 'a', '[', ']');
    for (size_t i = 0; i < n; i++) {
        record_string(c, strings[i], texts[i].n);
        text_free(&texts[i]);
    }
    record_close(c);
}

/* Whether the place is free for one more: else the writer must say so. */
static bool may_record_open(const course *c)
{
    return !failed(c) && c->depth + 1 < DEEPEST;
}

static void open_variant(course *c)
{
    text type = feed_string(&c->f);
    dw_open_variant(c->w, text_string(&type));
    if (may_record_open(c)) {
        record_open(c, 'v', '<', '>');
        text_printf(&c->values, "%s ", text_string(&type));
        text_free(&c->types[c->depth]);
        c->types[c->depth] = type;
    } else {
        text_free(&type);
    }
}

static void open_container(course *c, char code)
{
    char element = *c->w->type == 'a' ? c->w->type[1] : 0;
    switch (code) {
    case 'a': dw_open_array(c->w); break;
    case '(': dw_open_struct(c->w); break;
    default: dw_open_entry(c->w); break;
    }
    if (!may_record_open(c))
        return;
    if (code == '(')
        record_open(c, '(', '(', ')');
    else if (code == '{')
        record_open(c, '{', 0, 0);
    else
        record_open(c, 'a', element == '{' ? '{' : '[', element == '{' ? '}' : ']');
}

static void close_container(course *c, char kind)
{
    bool innermost = c->depth && c->kinds[c->depth] == kind;
    switch (kind) {
    case 'a': dw_close_array(c->w); break;
    case '(': dw_close_struct(c->w); break;
    case '{': dw_close_entry(c->w); break;
    default: dw_close_variant(c->w); break;
    }
    fuzz_check(innermost || failed(c), "%c is closed where %c is open", kind, c->kinds[c->depth]);
    if (!failed(c))
        record_close(c);
}

/* The operation of a code in a signature, or of the end of it. */
static void operate(course *c, char code, uint8_t how)
{
    switch (code) {
    case 's':
    case 'o':
    case 'g': put_string(c, code); break;
    case '(':
    case '{': open_container(c, code); break;
    case ')': close_container(c, '('); break;
    case '}': close_container(c, '{'); break;
    case 'v': open_variant(c); break;
    case '\0': close_container(c, 'v'); break;
    case 'a':
        if (how % 3 == 0 && dw_type_size(c->w->type[*c->w->type == 'a']))
            put_whole(c, c->w->type[*c->w->type == 'a'], how % 9 == 0);
        else if (how % 3 == 1 && c->w->type[*c->w->type == 'a'] == 's')
            put_strings(c);
        else
            open_container(c, 'a');
        break;
    default: put_fixed(c, code); break;
    }
}

/* Most operations are what the signature asks for. (That is why the target looks
 * where the writer stands.) Others are not, and are errors. */
static void run(course *c)
{
    static const char others[] = "ybnqiuxtdhsoga({v)}";
    while (c->f.n && !failed(c)) {
        uint8_t op = feed_byte(&c->f);
        char next = *c->w->type;
        bool between = c->kinds[c->depth] == 'a' && c->w->type == c->w->element;
        if (op == 255 || (!next && !c->depth))
            break;
        if (op >= 240)
            operate(c, others[feed_byte(&c->f) % sizeof others], op);
        else if (between && op % 4 == 3)
            close_container(c, 'a');
        else
            operate(c, next, op);
    }
}

/* -- Messages ------------------------------------------------------------------------ */

/* A string for a header field: one that is known to be good, or any. */
static const char *header_string(feed *f, const char *good, text *keep)
{
    if (feed_byte(f) % 8)
        return good;
    *keep = feed_string(f);
    return text_string(keep);
}

typedef struct letter {
    dw_header header;
    text strings[7];
} letter;

static const int no_fds[3];

static void read_header(letter *l, feed *f)
{
    uint8_t kind = feed_byte(f), fields = feed_byte(f);
    dw_header *h = &l->header;
    *l = (letter){.header = {.type = kind & 7, .order = kind & 8 ? DW_BIG : DW_LITTLE}};
    h->flags = kind >> 4 & (kind & 128 ? 15 : 7);
    h->serial = feed_byte(f);
    h->n_fds = feed_byte(f) % 4;
    h->fds = no_fds;
    h->path = fields & 1 ? header_string(f, "/org/example", &l->strings[0]) : NULL;
    h->interface = fields & 2 ? header_string(f, "org.example.A", &l->strings[1]) : NULL;
    h->member = fields & 4 ? header_string(f, "Member", &l->strings[2]) : NULL;
    h->error_name = fields & 8 ? header_string(f, "org.example.Error", &l->strings[3]) : NULL;
    h->destination = fields & 16 ? header_string(f, ":1.7", &l->strings[4]) : NULL;
    h->sender = fields & 32 ? header_string(f, "org.example.Sender", &l->strings[5]) : NULL;
    h->reply_serial = fields & 64 ? 1u + feed_byte(f) : 0;
    l->strings[6] = feed_string(f);
    h->signature = text_string(&l->strings[6]);
}

/* Writes one message; the feed is behind it then. */
static int write_message(course *c, dw_writer *w, const letter *l, feed f, bool told)
{
    *c = (course){.w = w, .f = f, .told = told};
    dw_begin(w, &l->header);
    run(c);
    int code = dw_finish(w);
    fuzz_check(code || !c->depth, "finished with %u containers open", c->depth);
    for (size_t i = 0; i < DEEPEST; i++)
        text_free(&c->types[i]);
    return code;
}

static void same_string(const char *what, const char *given, dw_string read)
{
    given = given ? given : "";
    fuzz_check(strlen(given) == read.n && strcmp(given, read.p) == 0,
               "%s: \"%s\" has become \"%s\"", what, given, read.p);
}

static void check_message(const text *bytes, const letter *l, const text *values)
{
    const dw_header *h = &l->header;
    finding found;
    dw_message m;
    text read = {0};
    block b = block_copy(bytes->p, bytes->n, 0);
    inspect_message(&found, b.p, bytes->n, h->n_fds);
    fuzz_check(!found.fault.code && !found.incomplete && !found.wrong.n, "written, and %s at %u %s",
               dw_error_name(found.fault.code), (unsigned)found.fault.at,
               text_string(&found.wrong));
    dw_message_parse(&m, b.p, bytes->n, h->n_fds);
    fuzz_check(m.type == h->type && m.flags == h->flags && m.order == h->order &&
                   m.serial == (h->serial ? h->serial : 1) && m.reply_serial == h->reply_serial &&
                   m.unix_fds == h->n_fds,
               "another header");
    same_string("path", h->path, m.path);
    same_string("interface", h->interface, m.interface);
    same_string("member", h->member, m.member);
    same_string("error name", h->error_name, m.error_name);
    same_string("destination", h->destination, m.destination);
    same_string("sender", h->sender, m.sender);
    same_string("signature", h->signature, m.signature);
    values_of_message(&read, &m);
    fuzz_check(text_equal(&read, values), "put %s, and read %s", text_string(values),
               text_string(&read));
#ifdef HAVE_LIBDBUS
    fuzz_check(h->n_fds || judge_libdbus.message(b.p, bytes->n), "libdbus refuses it");
#endif
    text_free(&read);
    block_free(&b);
    finding_free(&found);
}

/* The same message in a buffer that may not grow. */
static void in_buffer(size_t size, int code, dw_fault fault, const letter *l, feed f,
                      const text *bytes)
{
    course c;
    dw_writer w;
    block room = block_copy(NULL, 0, size); /* the room is all of its base */
    dw_writer_init(&w, room.base, size, NULL);
    int expected = code ? code : size < bytes->n ? DW_E_NO_ROOM : 0;
    int came = write_message(&c, &w, l, f, false);
    dw_part parts[DW_MAX_PARTS];
    bool apart = dw_writer_parts(&w, parts) > 1; /* then less is enough */
    fuzz_check(came == expected || (apart && came == 0), "%s in %zu of %zu bytes, not %s",
               dw_error_name(came), size, bytes->n, dw_error_name(expected));
    dw_fault now = dw_writer_fault(&w);
    fuzz_check(!code || (now.at == fault.at && now.field == fault.field), "%s at %u, not %u",
               dw_error_name(code), (unsigned)now.at, (unsigned)fault.at);
    fuzz_check(code || dw_writer_size(&w) == bytes->n, "%zu counted of %zu", dw_writer_size(&w),
               bytes->n);
    text again = fuzz_written(&w);
    fuzz_check(came || text_equal(&again, bytes), "other bytes in a buffer");
    text_free(&again);
    text_free(&c.values);
    block_free(&room);
}

/* The same message where an allocation fails. */
static void without_memory(unsigned fail_at, int code, const letter *l, feed f, const text *bytes)
{
    course c;
    dw_writer w;
    failing memory;
    failing_init(&memory, fail_at, false);
    dw_writer_init(&w, NULL, 0, &memory.allocator);
    int came = write_message(&c, &w, l, f, false);
    fuzz_check(came == (memory.asked >= fail_at ? DW_E_NO_MEMORY : code) || came == code, "%s",
               dw_error_name(came));
    text again = fuzz_written(&w);
    fuzz_check(came || text_equal(&again, bytes), "other bytes");
    dw_writer_free(&w);
    fuzz_check(!memory.live && !memory.mistold, "memory is lost");
    text_free(&again);
    text_free(&c.values);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    feed f = {data, size};
    dw_writer w;
    dw_writer_init(&w, NULL, 0, dw_heap);
    while (f.n) {
        letter l;
        course c;
        read_header(&l, &f);
        int code = write_message(&c, &w, &l, f, true);
        text bytes = fuzz_written(&w);
        dw_fault fault = dw_writer_fault(&w);
        if (code == 0)
            check_message(&bytes, &l, &c.values);
        else
            fuzz_check(!bytes.n && !dw_writer_size(&w), "bytes after an error");
        in_buffer(0, code, fault, &l, f, &bytes);
        in_buffer(bytes.n, code, fault, &l, f, &bytes);
        in_buffer(bytes.n ? bytes.n - 1 : 0, code, fault, &l, f, &bytes);
        in_buffer(bytes.n / 2, code, fault, &l, f, &bytes);
        without_memory(1, code, &l, f, &bytes);
        without_memory(2, code, &l, f, &bytes);
        f = c.f;
        text_free(&c.values);
        text_free(&bytes);
        for (size_t i = 0; i < sizeof l.strings / sizeof *l.strings; i++)
            text_free(&l.strings[i]);
    }
    dw_writer_free(&w);
    return 0;
}
