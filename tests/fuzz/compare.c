/* compare.c - messages, signatures, names and addresses, made up and mutated, and
 * judged by dwire, libdbus and GDBus. Where they disagree there must be a ruling.
 *     compare N [SEED] */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dwire/address.h"
#include "dwire/names.h"
#include "dwire/signature.h"
#include "judges.h"
#include "rulings.h"
#include "support/craft.h"
#include "support/dice.h"
#include "support/inspect.h"
#include "support/table.h"

static const judge *const judges[N_JUDGES] = {&judge_libdbus, &judge_gdbus};

#define MATTER_NAME(name, member) #member,
static const char *const matter_names[N_MATTERS] = {MATTERS(MATTER_NAME)};

/* -- What there is to start from ------------------------------------------------------- */

typedef struct stock {
    text *items[N_MATTERS];
    size_t n[N_MATTERS];
} stock;

static void stock_add(stock *s, matter what, const text *t)
{
    if (!(s->n[what] & (s->n[what] - 1))) {
        size_t room = s->n[what] ? 2 * s->n[what] : 1;
        s->items[what] = realloc(s->items[what], room * sizeof(text));
        if (!s->items[what])
            exit(2);
    }
    s->items[what][s->n[what]++] = *t;
}

/* The rows of the table of vectors. */
static bool stock_fill(stock *s)
{
    static const char *const kinds[N_MATTERS] = {"message",   "signature", "single", "path",
                                                 "interface", "member",    "error",  "busname",
                                                 "utf8",      "address"};
    table t;
    vector v;
    if (!table_open(&t, VECTORS_FILE))
        return false;
    while (table_next(&t, &v)) {
        text bytes = {0};
        int what = 0;
        while (what < N_MATTERS && strcmp(v.kind, kinds[what]) != 0)
            what++;
        if (what == MESSAGE)
            text_from_hex(&bytes, v.input, strlen(v.input));
        else if (what < N_MATTERS)
            text_from_escaped(&bytes, v.input, strlen(v.input));
        if (what < N_MATTERS && bytes.n < 2000) {
            text_room(&bytes, 0);
            stock_add(s, (matter)what, &bytes);
        } else {
            text_free(&bytes);
        }
    }
    bool good = table_close(&t);
    for (int what = 0; what < N_MATTERS; what++)
        good = good && s->n[what];
    return good;
}

static void stock_free(stock *s)
{
    for (int what = 0; what < N_MATTERS; what++) {
        for (size_t i = 0; i < s->n[what]; i++)
            text_free(&s->items[what][i]);
        free(s->items[what]);
    }
}

/* -- Making up -------------------------------------------------------------------------- */

/* A valid message with random values. */
static void make_message(dice *d, text *out)
{
    static const char *const names[] = {"a.b", ":1.2", "x-y.z_", ":1-_.a"};
    char signature[256];
    dw_writer w;
    size_t len;
    uint8_t type = (uint8_t)(1 + dice_roll(d, 4));
    do
        dice_signature(d, signature);
    while (strchr(signature, 'h')); /* there are no descriptors */
    dw_writer_init(&w, NULL, 0, dw_heap);
    dw_begin(&w, &(dw_header){.type = type,
                              .flags = (uint8_t)dice_roll(d, 8),
                              .order = dice_roll(d, 2) ? DW_BIG : DW_LITTLE,
                              .serial = 1 + dice_roll(d, 1000),
                              .path = "/a/b",
                              .interface = "a.b",
                              .member = "M",
                              .error_name = type == DW_ERROR ? "a.b" : NULL,
                              .reply_serial = type == DW_METHOD_CALL ? 0 : 1 + dice_roll(d, 9),
                              .destination = dice_roll(d, 2) ? names[dice_roll(d, 4)] : NULL,
                              .sender = dice_roll(d, 2) ? names[dice_roll(d, 4)] : NULL,
                              .signature = signature});
    dice_put(d, &w, signature);
    dw_finish(&w);
    const uint8_t *p = dw_writer_bytes(&w, &len);
    text_add(out, p, len);
    dw_writer_free(&w);
}

/* Characters that mean something in one or the other. */
static const char telling[] =
    "/.:_-,;=%*\\ 0a9zAZ(){}vsyao\x01\x7f\x80\xbf\xc0\xc2\xe0\xed\xef\xf0\xf4\xff";

static char some_char(dice *d, matter what)
{
    static const char types[] = "ybnqiuxtdhsogav(){}";
    if ((what == SIGNATURE || what == SINGLE) && dice_roll(d, 8))
        return types[dice_roll(d, sizeof types - 1)];
    if (what == MESSAGE && dice_roll(d, 2))
        return (char)dice_roll(d, 4);
    return dice_roll(d, 4) ? telling[dice_roll(d, sizeof telling - 1)] : (char)dice_roll(d, 256);
}

static void text_cut(text *t, size_t at, size_t n)
{
    memmove(t->p + at, t->p + at + n, t->n - at - n);
    t->n -= n;
    t->p[t->n] = '\0';
}

static void text_insert(text *t, size_t at, const char *p, size_t n)
{
    text_room(t, n);
    memmove(t->p + at + n, t->p + at, t->n - at);
    memcpy(t->p + at, p, n);
    t->n += n;
    t->p[t->n] = '\0';
}

/* Something of it once more, many times, or of another one. */
static void repeat_part(dice *d, const stock *s, item *i, size_t at)
{
    char part[64];
    const text *from =
        dice_roll(d, 2) ? &i->t : &s->items[i->matter][dice_roll(d, (uint32_t)s->n[i->matter])];
    if (!from->n)
        return;
    size_t start = dice_roll(d, (uint32_t)from->n),
           n = 1 + dice_roll(d, dice_roll(d, 2) ? 2 : sizeof part);
    n = n < from->n - start ? n : from->n - start;
    memcpy(part, from->p + start, n);
    for (uint32_t times = dice_roll(d, 8) ? 1 : 1 + dice_roll(d, 40); times; times--)
        text_insert(&i->t, at, part, n);
}

static void mutate(dice *d, const stock *s, item *i)
{
    text *t = &i->t;
    size_t at = t->n ? dice_roll(d, (uint32_t)t->n) : 0;
    char c = some_char(d, i->matter);
    uint32_t way = t->n ? dice_roll(d, i->matter == MESSAGE ? 12 : 7) : 0;
    switch (way) {
    case 0:
    case 1: text_insert(t, at, &c, 1); break;
    case 2: text_cut(t, at, 1); break;
    case 3: text_cut(t, at, dice_roll(d, (uint32_t)(t->n - at)) + 1); break;
    case 4: repeat_part(d, s, i, at); break;
    case 5: t->p[at] = (char)(t->p[at] ^ 1 << dice_roll(d, 8)); break;
    default: t->p[at] = c; break;
    }
}

/* The lengths in the fixed part of a message such that its size is right. */
static void mend_length(text *t)
{
    size_t whole;
    uint8_t *p = (uint8_t *)t->p;
    if (t->n < 16 || (dw_message_frame(p, t->n, &whole) < 0))
        return;
    bool little = p[0] == DW_LITTLE;
    uint32_t body = 0, n;
    for (int k = 0; k < 4; k++)
        body |= (uint32_t)p[4 + k] << (little ? 8 * k : 24 - 8 * k);
    n = body + (uint32_t)(t->n - whole);
    for (int k = 0; k < 4; k++)
        p[4 + k] = (uint8_t)(n >> (little ? 8 * k : 24 - 8 * k));
}

static void make(dice *d, const stock *s, item *i)
{
    char signature[256];
    i->matter = dice_roll(d, 3) ? (matter)dice_roll(d, N_MATTERS) : MESSAGE;
    i->t.n = 0;
    if (i->matter == MESSAGE && dice_roll(d, 4) == 0) {
        make_message(d, &i->t);
    } else if ((i->matter == SIGNATURE || i->matter == SINGLE) && dice_roll(d, 2)) {
        dice_signature(d, signature);
        text_put(&i->t, signature);
    } else {
        matter what = i->matter == SINGLE && dice_roll(d, 2) ? SIGNATURE : i->matter;
        const text *from = &s->items[what][dice_roll(d, (uint32_t)s->n[what])];
        text_add(&i->t, from->p, from->n);
    }
    for (uint32_t n = dice_roll(d, 4); n; n--)
        mutate(d, s, i);
    if (i->matter == MESSAGE && dice_roll(d, 4))
        mend_length(&i->t);
    if (i->matter != MESSAGE)
        i->t.n = strlen(text_string(&i->t));
}

/* -- Judging ------------------------------------------------------------------------------ */

static int dwire_says(item *i)
{
    const char *p = text_string(&i->t);
    size_t n = i->t.n;
    switch (i->matter) {
    case SIGNATURE: return dw_check_signature(p, n, NULL);
    case SINGLE: return dw_check_single(p, n, NULL);
    case PATH: return dw_check_path(p, n, NULL);
    case INTERFACE: return dw_check_interface(p, n, NULL);
    case MEMBER: return dw_check_member(p, n, NULL);
    case ERROR_NAME: return dw_check_error_name(p, n, NULL);
    case BUS_NAME: return dw_check_bus_name(p, n, NULL);
    case UTF8: return dw_check_utf8(p, n, NULL);
    default: return dw_check_address(p, NULL);
    }
}

static void judge_message(item *i)
{
    dw_message m;
    i->fault = (dw_fault){0};
    if (dw_message_parse(&m, text_string(&i->t), i->t.n, 0) != 0)
        i->fault = m.fault;
    else
        dw_message_check(&m, &i->fault);
}

/* Whether a judge says that it is valid. */
static bool judge_says(const judge *j, const item *i)
{
    const char *p = text_string(&i->t);
    switch (i->matter) {
    case MESSAGE: return j->message(p, i->t.n);
#define ASK(name, member)                                                                          \
    case name: return j->member(p);
        ASK(SIGNATURE, signature)
        ASK(SINGLE, single)
        ASK(PATH, path)
        ASK(INTERFACE, interface)
        ASK(MEMBER, member)
        ASK(ERROR_NAME, error_name)
        ASK(BUS_NAME, bus_name)
        ASK(UTF8, utf8)
    default: return j->address(p);
    }
}

static void print_item(const item *i)
{
    text t = {0};
    if (i->matter == MESSAGE) {
        for (size_t k = 0; k < i->t.n; k++)
            text_printf(&t, "%02x", (uint8_t)i->t.p[k]);
    } else {
        text_escape(&t, i->t.p, i->t.n);
    }
    printf("    %s\n", text_string(&t));
    text_free(&t);
}

/* The number of disagreements that nothing decides. */
static unsigned judge_item(item *i, unsigned long *counts)
{
    unsigned open = 0;
    if (i->matter == MESSAGE)
        judge_message(i);
    else
        i->fault = (dw_fault){.code = dwire_says(i)};
    bool ours = i->fault.code == 0, says[N_JUDGES];
    for (int who = 0; who < N_JUDGES; who++)
        says[who] = judge_says(judges[who], i);
    for (int who = 0; who < N_JUDGES; who++) {
        i->other = says[!who];
        if (says[who] == ours)
            continue;
        int ruling = find_ruling((enum who)who, i);
        if (ruling >= 0) {
            counts[ruling]++;
            continue;
        }
        open++;
        printf("%s: dwire says %s at %u, field %u, and %s %s\n", matter_names[i->matter],
               i->fault.code ? dw_error_name(i->fault.code) : "valid", (unsigned)i->fault.at,
               (unsigned)i->fault.field, judges[who]->name,
               i->fault.code ? "takes it" : "refuses it");
        print_item(i);
    }
    return open;
}

int main(int argc, char **argv)
{
    unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 10) : 0, open = 0, valid = 0;
    dice d = {argc > 2 ? strtoul(argv[2], NULL, 10) : 1};
    unsigned long *counts = calloc(count_rulings(), sizeof *counts);
    stock s = {.n = {0}};
    item i = {.t = {0}};
    text told = {0};
    if (!n || !counts || !stock_fill(&s)) {
        fprintf(stderr, "usage: compare N [SEED], with %s at hand\n", VECTORS_FILE);
        return 2;
    }
    for (unsigned long k = 0; k < n && open < 20; k++) {
        make(&d, &s, &i);
        open += judge_item(&i, counts);
        valid += i.fault.code == 0;
    }
    tell_rulings(&told, counts);
    printf("%s%lu judged, %lu of them valid, %lu disagreements that nothing decides\n",
           text_string(&told), n, valid, open);
    text_free(&told);
    text_free(&i.t);
    stock_free(&s);
    free(counts);
    return open != 0;
}
