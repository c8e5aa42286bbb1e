/* rulings.c - the table of rulings. */

#include "rulings.h"

#include <string.h>

#include "dwire/message.h"

typedef bool condition(const item *i);

/* -- What must hold for a ruling to be the right one ------------------------------------ */

/* The other judge is of dwire's opinion. */
static bool other_agrees(const item *i)
{
    return i->other == (i->fault.code == 0);
}

/* A header field 10 of another type than o. */
static bool field_10(const item *i)
{
    dw_reader r;
    bool found = false;
    dw_reader_init_body(&r, "yyyyuua(yv)", i->t.p, i->t.n, i->t.p[0]);
    for (int k = 0; k < 6; k++)
        dw_skip(&r);
    dw_enter_array(&r);
    while (dw_more(&r)) {
        dw_enter_struct(&r);
        bool is_10 = dw_get_byte(&r) == 10;
        dw_string type = dw_enter_variant(&r);
        found = found || (is_10 && strcmp(type.p, "o") != 0);
        dw_leave_variant(&r);
        dw_leave_struct(&r);
    }
    return found;
}

static bool destination_or_sender(const item *i)
{
    return i->fault.field == DW_FIELD_DESTINATION || i->fault.field == DW_FIELD_SENDER;
}

/* An index in the body, where there is no such descriptor. */
static bool in_body(const item *i)
{
    return i->fault.field == 0;
}

static bool unique_name(const item *i)
{
    return *i->t.p == ':';
}

/* Arrays with something between them, which libdbus counts anew then. */
static bool arrays_apart(const item *i)
{
    size_t n = 0, run = 0, longest = 0;
    for (const char *p = i->t.p; *p; p++) {
        n += *p == 'a';
        run = *p == 'a' ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    return n > DW_MAX_ARRAYS && longest <= DW_MAX_ARRAYS;
}

static bool entry_without_transport(const item *i)
{
    return *i->t.p == ':' || strstr(i->t.p, ";:");
}

static bool too_long(const item *i)
{
    return i->t.n > DW_MAX_NAME;
}

/* GDBus ends an array of structs or entries 4 bytes early where there is padding
 * before the first: the last one is missed if it is no longer than that. */
static bool array_of_structs(const item *i)
{
    for (size_t at = 0; at + 1 < i->t.n; at++)
        if (i->t.p[at] == 'a' && (i->t.p[at + 1] == '(' || i->t.p[at + 1] == '{'))
            return other_agrees(i);
    return false;
}

/* GVariant has types that D-Bus has not. */
static bool of_gvariant(const item *i)
{
    const char *p = i->t.p;
    for (const char *c = p; (c = strchr(c, '{')); c++)
        if (c == p || c[-1] != 'a')
            return true;
    return strstr(p, "()") != NULL;
}

/* -- The table ---------------------------------------------------------------------------- */

typedef struct ruling {
    enum who who;
    matter matter;
    int code; /* what dwire says: 0 is valid */
    condition *holds;
    const char *section, *why;
} ruling;

#define ALIGNED "Marshaling (Wire Format)"

static const ruling rulings[] = {
    {LIBDBUS, MESSAGE, 0, field_10, "Header Fields",
     "field 10 is one that is not known yet, of any type: it is ignored"},
    {LIBDBUS, MESSAGE, DW_E_NAME, destination_or_sender, "Valid Names: Bus names",
     "also unique names have two elements or more, and none is empty"},
    {LIBDBUS, MESSAGE, DW_E_FDS, in_body, "Basic types",
     "a unix fd is the index of a descriptor that came with the message"},
    {GDBUS, MESSAGE, DW_E_FDS, in_body, "Basic types",
     "a unix fd is the index of a descriptor that came with the message"},
    {LIBDBUS, BUS_NAME, DW_E_NAME, unique_name, "Valid Names: Bus names",
     "also unique names have two elements or more, and none is empty"},
    {LIBDBUS, SIGNATURE, DW_E_DEPTH, arrays_apart, "Valid Signatures",
     "32 arrays are the most, also with structs between them"},
    {LIBDBUS, SINGLE, DW_E_DEPTH, arrays_apart, "Valid Signatures",
     "32 arrays are the most, also with structs between them"},
    {LIBDBUS, ADDRESS, DW_E_ADDRESS, entry_without_transport, "Server Addresses",
     "before the colon stands the name of a transport"},

    {GDBUS, ADDRESS, 0, other_agrees, "Server Addresses",
     "what a transport does not know is its own to judge; a comma at the end is none"},
    {GDBUS, ADDRESS, DW_E_ADDRESS, other_agrees, "Server Addresses",
     "values are not empty, and all but the optionally escaped bytes are escaped"},
    {GDBUS, BUS_NAME, DW_E_NAME, unique_name, "Valid Names: Bus names",
     "elements of unique names are not empty"},
    {GDBUS, MEMBER, DW_E_NAME, too_long, "Valid Names: Member names", "255 bytes are the most"},
    {GDBUS, SIGNATURE, DW_E_DEPTH, NULL, "Valid Signatures",
     "32 arrays and 32 structs are the most"},
    {GDBUS, SINGLE, DW_E_DEPTH, NULL, "Valid Signatures", "32 arrays and 32 structs are the most"},
    {GDBUS, SIGNATURE, DW_E_LIMIT, too_long, "Valid Signatures", "255 bytes are the most"},
    {GDBUS, SINGLE, DW_E_LIMIT, too_long, "Valid Signatures", "255 bytes are the most"},
    {GDBUS, SIGNATURE, DW_E_SIGNATURE, of_gvariant, "Container types",
     "structs are not empty, and dict entries stand in arrays only"},
    {GDBUS, SINGLE, DW_E_SIGNATURE, of_gvariant, "Container types",
     "structs are not empty, and dict entries stand in arrays only"},

    {GDBUS, MESSAGE, 0, array_of_structs, ALIGNED,
     "the length of an array does not count the padding before its first element"},
    {GDBUS, MESSAGE, DW_E_PADDING, other_agrees, ALIGNED, "padding is zero"},
    {GDBUS, MESSAGE, DW_E_BOOLEAN, other_agrees, "Basic types", "booleans are 0 or 1"},
    {GDBUS, MESSAGE, DW_E_BOUNDS, other_agrees, ALIGNED,
     "nothing crosses the end of what holds it, and no bytes are left over"},
    {GDBUS, MESSAGE, DW_E_UTF8, other_agrees, "Basic types", "strings hold no NUL"},
    {GDBUS, MESSAGE, DW_E_PATH, other_agrees, "Valid Object Paths", "paths hold no NUL"},
    {GDBUS, MESSAGE, DW_E_NAME, NULL, "Valid Names", "names in header fields are valid ones"},
    {GDBUS, MESSAGE, DW_E_HEADER, other_agrees, "Header Fields",
     "fields have their types, come once, and serials are not 0"},
    {GDBUS, MESSAGE, DW_E_FDS, other_agrees, "Header Fields",
     "there are as many descriptors as UNIX_FDS says"},
    {GDBUS, MESSAGE, DW_E_SIGNATURE, other_agrees, "Valid Signatures",
     "structs are not empty, dict entries stand in arrays only"},
    {GDBUS, MESSAGE, DW_E_LIMIT, other_agrees, "Message Format", "64 MiB an array"},
};

#define RULINGS (sizeof rulings / sizeof *rulings)

size_t count_rulings(void)
{
    return RULINGS;
}

int find_ruling(enum who who, const item *i)
{
    for (size_t n = 0; n < RULINGS; n++) {
        const ruling *r = &rulings[n];
        if (r->who == who && r->matter == i->matter && r->code == i->fault.code &&
            (!r->holds || r->holds(i)))
            return (int)n;
    }
    return -1;
}

void tell_rulings(text *out, const unsigned long *counts)
{
    static const char *const names[N_JUDGES] = {"libdbus", "GDBus"};
#define MATTER_NAME(name, member) #member,
    static const char *const matters[N_MATTERS] = {MATTERS(MATTER_NAME)};
    for (size_t n = 0; n < RULINGS; n++)
        text_printf(out, "%9lu  %s, %s: %s (%s)\n", counts[n], names[rulings[n].who],
                    matters[rulings[n].matter], rulings[n].why, rulings[n].section);
}
