/* vectors.c - reads tables of vectors and judges every row:
 *     vectors [FILE.tsv ...]
 * Without a file it reads the project's own, tests/data/vectors.tsv. Prints the
 * rows whose verdict is not the expected one, and a count; fails if one is. */

#include "vectors.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- What the specification leaves open ------------------------------------ */

static const struct {
    const char *id; /* a pattern */
    const char *verdict;
    const char *why;
} choices[] = {
    {"msg.dup.*", "invalid",
     "a field twice is refused, as libdbus does: no two readers may disagree"},
    {"msg.badvalue.7.31.*", "invalid", "a unique name has two elements, as the specification says"},
    {"msg.badvalue.5.zero.*", "invalid", "no message has serial 0, so none can be answered"},
    {"msg.local.*", "invalid",
     "what is reserved is refused in every type of message, as by libdbus"},
    {"msg.hdrnest.62.*", "valid", "64 containers, those of the header included, are allowed"},
    {"body.depth.dictstruct32.*", "valid", "only what is there counts against the depth of 64"},
    {"body.dict.dup.*", "valid", "a dict is an array of entries; its meaning is its reader's"},
    {"busname.057", "invalid", "a unique name has two elements, as the specification says"},
    {"busname.059", "invalid", "no element of a name is empty, as the specification says"},
    {"signature.164", "valid", "a signature's limits are those of its arrays and of its structs"},
    {"address.034", "invalid", "a value may not be empty, as in libdbus"},
    {"address.035", "valid", "an entry without keys is well formed; its transport may refuse it"},
    {"address.036", "valid", "keys are handed out as they come; the transport judges them"},
    {"address.038", "valid", "nothing after the last comma is no key, as in libdbus"},
    {"address.039", "valid", "what a value means is its transport's to judge"},
    {"address.04[12]", "invalid", "an empty entry names no transport"},
    {"address.04[34]", "valid", "the grammar gives no rule for the letters of a transport or key"},
    {"address.046", "valid", "what a value means is its transport's to judge"},
};

outcome settle(const vector *v, const char *verdict)
{
    const char *expected = v->expected;
    if (strcmp(expected, "may") == 0) {
        expected = verdict;
        for (size_t i = 0; i < sizeof choices / sizeof *choices; i++)
            if (fnmatch(choices[i].id, v->id, 0) == 0)
                expected = choices[i].verdict;
    }
    return strcmp(expected, verdict) == 0 ? PASSED : FAILED;
}

bool values_agree(const vector *v, const text *came, text *got)
{
    if (!*v->values || strcmp(v->values, "-") == 0)
        return true;
    text a = {0}, b = {0};
    text_from_escaped(&a, v->values, strlen(v->values));
    text_from_escaped(&b, text_string(came), came->n);
    bool same = text_equal(&a, &b);
    if (!same)
        text_printf(got, ", values %.400s where %.400s was expected", text_string(came), v->values);
    text_free(&a);
    text_free(&b);
    return same;
}

size_t shifts_for(size_t len)
{
    return len < 65536 ? 8 : len < 16777216 ? 2 : 1;
}

/* -- Rows ------------------------------------------------------------------ */

static const struct {
    const char *kind;
    judge *judge;
} kinds[] = {
    {"message", judge_message},
    {"prefix", judge_prefix},
    {"body", judge_body},
    {"signature", judge_signature},
    {"single", judge_single},
    {"path", judge_path},
    {"interface", judge_interface},
    {"member", judge_member},
    {"error", judge_error},
    {"busname", judge_busname},
    {"utf8", judge_utf8},
    {"address", judge_address},
    {"escape", judge_escape},
    {"auth-server", judge_auth_server},
    {"auth-client", judge_auth_client},
    {"fds", judge_fds},
};

static outcome judge_row(const vector *v, text *got)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].kind, v->kind) == 0)
            return kinds[i].judge(v, got);
    text_put(got, "an unknown kind");
    return SKIPPED;
}

static bool judge_file(const char *name, unsigned count[3])
{
    table t;
    vector v;
    if (!table_open(&t, name)) {
        perror(name);
        return false;
    }
    while (table_next(&t, &v)) {
        text got = {0};
        outcome o = judge_row(&v, &got);
        count[o]++;
        if (o != PASSED)
            printf("%s: %s (%s): expected %.400s, came %s\n", o == FAILED ? "failed" : "skipped",
                   v.id, v.kind, v.expected, text_string(&got));
        text_free(&got);
    }
    return table_close(&t);
}

int main(int argc, char **argv)
{
    unsigned count[3] = {0, 0, 0};
    bool all_read = true;
    if (argc < 2)
        all_read = judge_file(VECTORS_FILE, count);
    for (int i = 1; i < argc; i++)
        all_read = judge_file(argv[i], count) && all_read;
    printf("%u passed, %u failed, %u skipped\n", count[PASSED], count[FAILED], count[SKIPPED]);
    return all_read && count[FAILED] == 0 ? 0 : 1;
}
