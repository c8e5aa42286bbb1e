/* message.c - whole messages: writing and parsing headers. See
 * dwire/message.h. */

#include "dwire/message.h"

#include "wire.h"

#include "dwire/names.h"

/* Bytes before the header fields: the fixed part, and the length of their array. */
#define FIELDS_AT 16

/* What the specification reserves, and a bus drops the sender for. */
static const char local_path[] = "/org/freedesktop/DBus/Local";
static const char local_interface[] = "org.freedesktop.DBus.Local";

/* Per field its name and type, per message type the fields that it needs. */
#define FIELD_NAME(code, name, type) [code] = #name,
#define FIELD_HEAD(code, name, type) [code] = {code, 1, type, 0},
static const char *const field_names[DW_FIELD_COUNT] = {DW_FIELDS(FIELD_NAME)};

/* How each field starts: its code, and the variant's signature, which is always of
 * one basic type. */
static const char heads[DW_FIELD_COUNT][4] = {DW_FIELDS(FIELD_HEAD)};

#define BIT(field) (1u << DW_FIELD_##field)
static const unsigned required[] = {
    [DW_METHOD_CALL] = BIT(PATH) | BIT(MEMBER),
    [DW_METHOD_RETURN] = BIT(REPLY_SERIAL),
    [DW_ERROR] = BIT(ERROR_NAME) | BIT(REPLY_SERIAL),
    [DW_SIGNAL] = BIT(PATH) | BIT(INTERFACE) | BIT(MEMBER),
};

/* The fields whose value is a string or path. */
#define STRINGS                                                                                    \
    (BIT(PATH) | BIT(INTERFACE) | BIT(MEMBER) | BIT(ERROR_NAME) | BIT(DESTINATION) | BIT(SENDER))

const char *dw_field_name(uint8_t field)
{
    return field < DW_FIELD_COUNT && field_names[field] ? field_names[field] : "";
}

/* The first required field that is not among those present, or 0. */
static uint8_t missing_field(uint8_t type, unsigned present)
{
    unsigned missing = type <= DW_SIGNAL ? required[type] & ~present : 0;
    for (uint8_t field = 1; field < DW_FIELD_COUNT; field++)
        if (missing & 1u << field)
            return field;
    return 0;
}

/* The rule for the value of a field that is a string. */
static int check_value(uint8_t field, const char *p, size_t n, size_t *error_at)
{
    *error_at = 0;
    switch (field) {
    case DW_FIELD_PATH:
        if (n == sizeof local_path - 1 && memcmp(p, local_path, n) == 0)
            return DW_E_HEADER;
        return dw_check_path(p, n, error_at);
    case DW_FIELD_INTERFACE:
        if (n == sizeof local_interface - 1 && memcmp(p, local_interface, n) == 0)
            return DW_E_HEADER;
        return dw_check_interface(p, n, error_at);
    case DW_FIELD_MEMBER: return dw_check_member(p, n, error_at);
    case DW_FIELD_ERROR_NAME: return dw_check_error_name(p, n, error_at);
    default: return dw_check_bus_name(p, n, error_at);
    }
}

/* -- Writing -------------------------------------------------------------- */

static void put_field(dw_writer *w, uint8_t field)
{
    uint8_t *p = dw_writer_claim(w, 8, 4);
    if (p)
        memcpy(p, heads[field], 4);
}

/* Messages that follow each other often have the same header. If the field lies
 * in the buffer already, from the last one, it has been checked and written. (Only
 * a field has the bytes of a head at a place that is a multiple of 8: no string
 * has a NUL.) If not, what follows is written anew. */
static bool written_before(dw_writer *w, uint8_t field, const char *value)
{
    const size_t at = dw_align(w->at, 8);
    if (at + 9 > w->known)
        return false;
    const uint8_t *p = w->buffer + at;
    const uint32_t n = dw_load32_order(p + 4, w->swap);
    if (dw_load32(p) != dw_load32(heads[field]) || n > w->known - at - 9 ||
        strcmp((const char *)p + 8, value) != 0)
        return false;
    w->at = at + 9 + n;
    return true;
}

static void put_string_field(dw_writer *w, uint8_t field, const char *value, unsigned *present)
{
    size_t n, error_at;
    if (!value)
        return;
    *present |= 1u << field;
    if (written_before(w, field, value))
        return;
    w->known = 0;
    n = strlen(value);
    int r = n > DW_MAX_ARRAY ? DW_E_LIMIT : check_value(field, value, n, &error_at);
    if (r)
        dw_writer_fail(w, r, field);
    put_field(w, field);
    dw_writer_string(w, value, n);
}

static void put_uint32_field(dw_writer *w, uint8_t field, uint32_t value, unsigned *present)
{
    if (!value)
        return;
    put_field(w, field);
    uint8_t *p = dw_writer_claim(w, 4, 4);
    if (p)
        dw_store32_order(p, value, w->swap);
    *present |= 1u << field;
}

static void put_signature_field(dw_writer *w, const char *signature)
{
    size_t n = strlen(signature);
    int r = dw_writer_check(w, signature, n);
    w->known = 0;
    if (r)
        dw_writer_fail(w, r, DW_FIELD_SIGNATURE);
    if (!n || r)
        return;
    put_field(w, DW_FIELD_SIGNATURE);
    dw_writer_signature(w, signature, n);
}

void dw_begin(dw_writer *w, const dw_header *h)
{
    const uint8_t flags =
        DW_NO_REPLY_EXPECTED | DW_NO_AUTO_START | DW_ALLOW_INTERACTIVE_AUTHORIZATION;
    const char *signature = h->signature ? h->signature : "";
    const char order = h->order ? h->order : DW_NATIVE;
    const uint32_t known = w->known && w->buffer[0] == (uint8_t)order ? w->known : 0;
    unsigned present = 0;
    bool good = dw_writer_reset(w, h->order);
    w->known = known;
    if (!good || !h->type || h->type > DW_SIGNAL || h->flags & ~flags)
        dw_writer_fail(w, DW_E_HEADER, 0);
    w->fds = h->fds;
    w->n_fds = h->n_fds;

    uint8_t *p = dw_writer_claim(w, 1, FIELDS_AT);
    if (p) {
        p[0] = (uint8_t)order;
        p[1] = h->type;
        p[2] = h->flags;
        p[3] = 1;
        dw_store32_order(p + 8, h->serial ? h->serial : 1, w->swap);
    }
    put_string_field(w, DW_FIELD_PATH, h->path, &present);
    put_string_field(w, DW_FIELD_INTERFACE, h->interface, &present);
    put_string_field(w, DW_FIELD_MEMBER, h->member, &present);
    put_string_field(w, DW_FIELD_ERROR_NAME, h->error_name, &present);
    put_uint32_field(w, DW_FIELD_REPLY_SERIAL, h->reply_serial, &present);
    put_string_field(w, DW_FIELD_DESTINATION, h->destination, &present);
    put_string_field(w, DW_FIELD_SENDER, h->sender, &present);
    put_signature_field(w, signature);
    put_uint32_field(w, DW_FIELD_UNIX_FDS, h->n_fds, &present);

    uint8_t missing = missing_field(h->type, present);
    if (missing)
        dw_writer_fail(w, DW_E_HEADER, missing);
    uint32_t fields_len = (uint32_t)w->at - FIELDS_AT;
    if (fields_len > DW_MAX_ARRAY) /* no other field can be that long */
        dw_writer_fail(w, DW_E_LIMIT, DW_FIELD_PATH);
    dw_writer_claim(w, 8, 0);
    bool written = !dw_writer_failed(w) && !w->full;
    if (written)
        dw_store32_order(w->buffer + 12, fields_len, w->swap);
    w->known = written && w->own ? (uint32_t)w->at : 0;
    dw_writer_start_body(w, signature);
}

void dw_begin_signal(dw_writer *w, const char *path, const char *interface, const char *member,
                     const char *signature)
{
    dw_begin(w, &(dw_header){.type = DW_SIGNAL,
                             .path = path,
                             .interface = interface,
                             .member = member,
                             .signature = signature});
}

void dw_begin_call(dw_writer *w, const char *destination, const char *path, const char *interface,
                   const char *member, const char *signature)
{
    dw_begin(w, &(dw_header){.type = DW_METHOD_CALL,
                             .destination = destination,
                             .path = path,
                             .interface = interface,
                             .member = member,
                             .signature = signature});
}

void dw_begin_reply(dw_writer *w, const dw_message *call, const char *signature)
{
    dw_begin(w, &(dw_header){.type = DW_METHOD_RETURN,
                             .reply_serial = call->serial,
                             .destination = call->sender.n ? call->sender.p : NULL,
                             .signature = signature});
}

void dw_begin_error(dw_writer *w, const dw_message *call, const char *error_name,
                    const char *signature)
{
    dw_begin(w, &(dw_header){.type = DW_ERROR,
                             .error_name = error_name,
                             .reply_serial = call->serial,
                             .destination = call->sender.n ? call->sender.p : NULL,
                             .signature = signature});
}

/* -- Reading -------------------------------------------------------------- */

int dw_message_frame(const void *bytes, size_t len, size_t *whole)
{
    const uint8_t *p = bytes;
    *whole = FIELDS_AT;
    if (len < FIELDS_AT)
        return 0;
    if (p[0] != DW_LITTLE && p[0] != DW_BIG)
        return DW_E_HEADER;
    bool swap = p[0] != DW_NATIVE;
    if (p[1] == 0 || p[3] != 1 || dw_load32(p + 8) == 0)
        return DW_E_HEADER;
    uint64_t fields = dw_load32_order(p + 12, swap);
    uint64_t total = FIELDS_AT + ((fields + 7) & ~UINT64_C(7)) + dw_load32_order(p + 4, swap);
    if (fields > DW_MAX_ARRAY || total > DW_MAX_MESSAGE)
        return DW_E_LIMIT;
    *whole = (size_t)total;
    return len >= *whole;
}

/* Where a field that is a string goes. */
static dw_string *string_field(dw_message *m, uint8_t field)
{
    static const size_t places[DW_FIELD_COUNT] = {
        [DW_FIELD_PATH] = offsetof(dw_message, path),
        [DW_FIELD_INTERFACE] = offsetof(dw_message, interface),
        [DW_FIELD_MEMBER] = offsetof(dw_message, member),
        [DW_FIELD_ERROR_NAME] = offsetof(dw_message, error_name),
        [DW_FIELD_DESTINATION] = offsetof(dw_message, destination),
        [DW_FIELD_SENDER] = offsetof(dw_message, sender),
    };
    return (dw_string *)(void *)((char *)m + places[field]);
}

/* The value of a known field, whose type has been found right. */
static void read_value(dw_message *m, dw_reader *r, uint8_t field)
{
    size_t error_at, at = r->at;
    switch (field) {
    case DW_FIELD_REPLY_SERIAL:
        m->reply_serial = dw_reader_uint32(r);
        if (m->reply_serial == 0)
            dw_reader_fail(r, DW_E_HEADER, at);
        return;
    case DW_FIELD_UNIX_FDS: m->unix_fds = dw_reader_uint32(r); return;
    case DW_FIELD_SIGNATURE: m->signature = dw_reader_signature(r); return;
    default: {
        dw_string s = dw_reader_text(r);
        int e = r->fault.code ? 0 : check_value(field, s.p, s.n, &error_at);
        if (e)
            dw_reader_fail(r, e, at + 4 + error_at);
        *string_field(m, field) = s;
    }
    }
}

/* Most fields are a good string: that is found out at once. Where it is not so,
 * nothing is read. */
static bool read_good_string(dw_message *m, dw_reader *r, unsigned *present)
{
    const size_t at = dw_align(r->at, 8);
    size_t error_at;
    if (r->end < 9 || at > r->end - 9)
        return false;
    const uint8_t *p = r->bytes + at;
    const uint8_t field = p[0];
    const uint32_t n = dw_load32_order(p + 4, r->swap);
    if (field == 0 || field >= DW_FIELD_COUNT || dw_load32(p) != dw_load32(heads[field]) ||
        !(STRINGS & 1u << field) || *present & 1u << field || n > r->end - at - 9 ||
        p[8 + n] != 0 || dw_padding_bad(r->bytes + r->at, at - r->at, 8))
        return false;
    const dw_string s = {(const char *)p + 8, n};
    if (check_value(field, s.p, s.n, &error_at))
        return false;
    *string_field(m, field) = s;
    *present |= 1u << field;
    r->at = at + 9 + n;
    return true;
}

/* One element of the array of header fields. An unknown field must be well-formed
 * and is otherwise ignored. */
static void read_field(dw_message *m, dw_reader *r, unsigned *present)
{
    if (read_good_string(m, r, present))
        return;
    const uint8_t *p = dw_reader_take(r, 8, 1);
    if (!p)
        return;
    uint8_t field = *p;
    size_t at = r->at;
    if (field == 0) {
        dw_reader_fail(r, DW_E_HEADER, at - 1);
    } else if (field >= DW_FIELD_COUNT) {
        r->type = "v";
        dw_skip(r);
    } else {
        p = dw_reader_take(r, 1, 3);
        if (p && memcmp(p, heads[field] + 1, 3) != 0)
            dw_reader_fail(r, DW_E_HEADER, at);
        else if (p && *present & 1u << field)
            dw_reader_fail(r, DW_E_HEADER, at - 1);
        else if (p)
            read_value(m, r, field);
        *present |= 1u << field;
    }
    if (r->fault.code)
        m->fault = (dw_fault){r->fault.code, field, r->fault.at};
}

static int parse_fault(dw_message *m, int code, uint8_t field, size_t at)
{
    m->fault = (dw_fault){code, field, (uint32_t)at};
    return code;
}

/* What the fields must be together. */
static int check_fields(dw_message *m, unsigned present, uint32_t n_fds)
{
    uint8_t missing = missing_field(m->type, present);
    if (missing)
        return parse_fault(m, DW_E_HEADER, missing, FIELDS_AT);
    if (m->body_len && !m->signature.n)
        return parse_fault(m, DW_E_HEADER, DW_FIELD_SIGNATURE, FIELDS_AT);
    if (m->unix_fds > n_fds)
        return parse_fault(m, DW_E_FDS, DW_FIELD_UNIX_FDS, FIELDS_AT);
    return 0;
}

int dw_message_parse(dw_message *m, const void *bytes, size_t len, uint32_t n_fds)
{
    const dw_string none = {"", 0};
    const uint8_t *p = bytes;
    size_t whole;
    *m = (dw_message){.path = none,
                      .interface = none,
                      .member = none,
                      .error_name = none,
                      .destination = none,
                      .sender = none,
                      .signature = none,
                      .bytes = bytes,
                      .len = len};
    int framed = dw_message_frame(bytes, len, &whole);
    if (framed < 0)
        return parse_fault(m, framed, 0, 0);
    if (len != whole)
        return parse_fault(m, DW_E_BOUNDS, 0, len < whole ? len : whole);
    m->order = (char)p[0];
    m->type = p[1];
    m->flags = p[2];
    bool swap = m->order != DW_NATIVE;
    m->serial = dw_load32_order(p + 8, swap);
    uint32_t fields_len = dw_load32_order(p + 12, swap);
    unsigned present = 0;

    dw_reader r;
    dw_reader_start(&r, "", bytes, FIELDS_AT, fields_len, swap);
    r.depth = 2; /* the array and the struct around each field */
    while (r.at < r.end)
        read_field(m, &r, &present);
    size_t fields_end = r.at;
    r.end = dw_align(fields_end, 8);
    if (!m->fault.code && !dw_reader_take(&r, 8, 0))
        m->fault = r.fault;
    if (m->fault.code)
        return m->fault.code;
    m->body_len = dw_load32_order(p + 4, swap);
    m->body = p + (len - m->body_len);
    return check_fields(m, present, n_fds);
}

/* A view of the same place in a copy of the bytes. An empty one may be a view
 * into them too, of the signature. */
static dw_string moved(dw_string s, const dw_message *from, const uint8_t *to)
{
    if (!s.n)
        return (dw_string){"", 0};
    return (dw_string){(const char *)to + (s.p - (const char *)from->bytes), s.n};
}

/* Makes the views of a message those of the same bytes elsewhere. */
static void move_views(dw_message *m, const uint8_t *to)
{
    m->path = moved(m->path, m, to);
    m->interface = moved(m->interface, m, to);
    m->member = moved(m->member, m, to);
    m->error_name = moved(m->error_name, m, to);
    m->destination = moved(m->destination, m, to);
    m->sender = moved(m->sender, m, to);
    m->signature = moved(m->signature, m, to);
    m->body = to + (m->len - m->body_len);
    m->bytes = to;
}

/* The header's fixed part but for what tells the one message from the other: the
 * length of the body and the serial. */
static bool same_kind(const uint8_t *a, const uint8_t *b)
{
    return dw_load32(a) == dw_load32(b) && dw_load32(a + 12) == dw_load32(b + 12);
}

bool dw_message_parse_like(dw_message *m, const dw_message *like, const void *bytes, size_t len,
                           uint32_t n_fds)
{
    const uint8_t *p = bytes;
    const size_t header_len = like->len;
    if (len < header_len || !same_kind(p, like->bytes) ||
        memcmp(p + FIELDS_AT, like->bytes + FIELDS_AT, header_len - FIELDS_AT) != 0)
        return false;
    const bool swap = like->order != DW_NATIVE;
    *m = *like;
    move_views(m, p);
    m->serial = dw_load32_order(p + 8, swap);
    m->len = len;
    m->body_len = len - header_len;
    m->body = p + header_len;
    return m->unix_fds <= n_fds && (m->signature.n || !m->body_len);
}

void dw_message_keep_header(dw_message *kept, const dw_message *m, uint8_t *room)
{
    *kept = *m;
    kept->fds = NULL;
    kept->len = m->len - m->body_len;
    kept->body_len = 0;
    memcpy(room, m->bytes, kept->len);
    move_views(kept, room);
}

int dw_message_check(const dw_message *m, dw_fault *fault)
{
    dw_reader r;
    dw_reader_init(&r, m);
    int e = dw_reader_finish(&r);
    if (fault)
        *fault = r.fault;
    return e;
}

/* -- Keeping -------------------------------------------------------------- */

int dw_message_copy(dw_message *copy, const dw_message *m, const dw_allocator *allocator)
{
    uint8_t *bytes = m->len ? allocator->resize(allocator->context, NULL, 0, m->len) : NULL;
    if (!bytes) {
        int code = m->len ? DW_E_NO_MEMORY : DW_E_STATE;
        *copy = (dw_message){0}; /* no views of what may not outlive it */
        return parse_fault(copy, code, 0, 0);
    }
    *copy = *m;
    copy->fds = NULL;
    memcpy(bytes, m->bytes, m->len);
    move_views(copy, bytes);
    return 0;
}

void dw_message_free(dw_message *copy, const dw_allocator *allocator)
{
    if (copy->bytes)
        allocator->resize(allocator->context, (void *)(uintptr_t)copy->bytes, copy->len, 0);
    *copy = (dw_message){0};
}

int dw_take_fd(dw_message *m, uint32_t index)
{
    if (!m->fds || index >= m->unix_fds || m->fds[index] < 0)
        return DW_E_FDS;
    int fd = m->fds[index];
    m->fds[index] = -1;
    return fd;
}
