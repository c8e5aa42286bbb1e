/* external.c - libraries in other languages. */

#include "external.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process.h"
#include "verify.h"

/* -- Rows out of JSON ------------------------------------------------------ */

/* Where reading goes on; NULL after something that is not understood. */
typedef struct json {
    const char *p;
} json;

static bool next_is(json *j, char c)
{
    if (!j->p)
        return false;
    j->p += strspn(j->p, " \t\r\n");
    if (*j->p != c)
        return false;
    j->p++;
    return true;
}

static void want(json *j, char c)
{
    if (!next_is(j, c))
        j->p = NULL;
}

/* A string without escapes but those of one character; cut where it is longer. */
static void get_string(json *j, char *out, size_t size)
{
    size_t n = 0;
    want(j, '"');
    while (j->p && *j->p != '"') {
        if (*j->p == '\\')
            j->p++;
        if (*j->p == 0) {
            j->p = NULL;
            break;
        }
        if (n + 1 < size)
            out[n++] = *j->p;
        j->p++;
    }
    out[n] = 0;
    want(j, '"');
}

static double get_number(json *j)
{
    char *end = NULL;
    double value = j->p ? strtod(j->p, &end) : 0;
    if (j->p && end == j->p)
        end = NULL;
    j->p = end;
    return value;
}

static void set_number(row *r, const char *key, double value)
{
    const struct {
        const char *key;
        double *to;
    } doubles[] = {{"min", &r->min},
                   {"median", &r->median},
                   {"cpu_ns", &r->cpu},
                   {"client_user_ns", &r->client_user},
                   {"client_sys_ns", &r->client_sys},
                   {"server_user_ns", &r->server_user},
                   {"server_sys_ns", &r->server_sys}};
    for (size_t i = 0; i < sizeof doubles / sizeof doubles[0]; i++)
        if (strcmp(key, doubles[i].key) == 0)
            *doubles[i].to = value;
    if (!(value >= 0 && value < 1e18))
        return;
    if (strcmp(key, "samples") == 0)
        r->samples = (size_t)value;
    else if (strcmp(key, "iterations") == 0)
        r->iterations = (uint64_t)value;
    else if (strcmp(key, "bytes") == 0)
        r->bytes = (uint64_t)value;
    else if (strcmp(key, "syscalls") == 0 && value < 1e9)
        r->syscalls = (unsigned)value;
}

static void get_row(json *j, row *r)
{
    char key[32], text[sizeof r->library];
    do {
        get_string(j, key, sizeof key);
        want(j, ':');
        if (j->p)
            j->p += strspn(j->p, " \t\r\n");
        if (j->p && *j->p == '"') {
            get_string(j, text, sizeof text);
            if (strcmp(key, "workload") == 0)
                memcpy(r->workload, text, sizeof text);
            else if (strcmp(key, "library") == 0)
                memcpy(r->library, text, sizeof text);
        } else {
            set_number(r, key, get_number(j));
        }
    } while (next_is(j, ','));
    want(j, '}');
}

bool rows_parse(rows *out, const char *text)
{
    json j = {text};
    want(&j, '[');
    if (next_is(&j, ']'))
        return true;
    do {
        want(&j, '{');
        if (j.p)
            get_row(&j, rows_add(out));
    } while (next_is(&j, ','));
    want(&j, ']');
    return j.p != NULL;
}

/* -- The program ----------------------------------------------------------- */

static void say(bench *b, const peer *p, const workload *w, const char *what)
{
    b->failed = true;
    fprintf(stderr, "%s, %s: %s\n", w->name, p->name, what);
}

/* All that a descriptor gives until its end, NUL-terminated; NULL for more
 * than fits. */
static char *read_text(int fd, size_t size, size_t *len)
{
    char *text = malloc(size);
    size_t n = 0;
    ssize_t got = 1;
    while (text && n < size - 1 && (got = read(fd, text + n, size - 1 - n)) > 0)
        n += (size_t)got;
    if (!text || got != 0) {
        free(text);
        return NULL;
    }
    text[n] = 0;
    *len = n;
    return text;
}

static char *run_command(const bench *b, const peer *p, const workload *w)
{
    char command[1024];
    size_t len;
    int ends[2];
    if (snprintf(command, sizeof command, "%s --workload %s --samples %zu --min-time %g",
                 p->command, w->name, samples_of(b->set, w),
                 b->set->min_time_ms) >= (int)sizeof command ||
        pipe2(ends, O_CLOEXEC) != 0)
        return NULL;
    char *argv[] = {"sh", "-c", command, NULL};
    pid_t pid = process_start(argv, -1, ends[1], false);
    close(ends[1]);
    char *text = pid > 0 ? read_text(ends[0], 1 << 20, &len) : NULL;
    close(ends[0]);
    if (pid > 0 && process_wait(pid) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

/* Whether the bytes that a library left in the directory are right. */
static bool dump_right(bench *b, const peer *p, const workload *w, const char *name)
{
    char path[256], why[200] = "it left no bytes to be verified", what[300];
    size_t len;
    snprintf(path, sizeof path, "%s/%s.%s", b->dir, name, w->name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *bytes = fd >= 0 ? read_text(fd, 2 * w->body->message_len + 2, &len) : NULL;
    if (fd >= 0)
        close(fd);
    unlink(path);
    bool good = bytes && verify_signal(w->body, (const uint8_t *)bytes, len, why, sizeof why);
    free(bytes);
    if (!good) {
        snprintf(what, sizeof what, "%s: %s", name, why);
        say(b, p, w, what);
    }
    return good;
}

static void take_rows(bench *b, const peer *p, const workload *w, const char *text, rows *out)
{
    rows theirs = {0};
    if (!rows_parse(&theirs, text))
        say(b, p, w, "its output is not understood");
    for (size_t i = 0; i < theirs.n; i++) {
        row *r = &theirs.row[i];
        if (!r->library[0])
            memcpy(r->library, p->name, sizeof r->library);
        if (strcmp(r->workload, w->name) != 0 || r->min <= 0 || strchr(r->library, '/') ||
            rows_find(out, w->name, r->library))
            say(b, p, w, "a row of it makes no sense");
        else if (w->kind != MARSHAL || dump_right(b, p, w, r->library))
            *rows_add(out) = *r;
    }
    free(theirs.row);
}

void external_measure(bench *b, const peer *p, rows *out)
{
    if (!listed(b->set->libraries, p->name))
        return;
    setenv("DWIRE_BENCH_DUMP", b->dir, 1);
    for (size_t i = 0; i < n_workloads && !interrupted; i++) {
        const workload *w = &workloads[i];
        if (!listed(b->set->workloads, w->name))
            continue;
        char *text = run_command(b, p, w);
        if (text)
            take_rows(b, p, w, text, out);
        else
            say(b, p, w, "its program failed");
        free(text);
    }
}
