/* report.c - the rows as Markdown and JSON. */

#include "report.h"

#include <string.h>
#include <sys/utsname.h>

static void add_name(const char **out, size_t *n, size_t max, const char *name)
{
    for (size_t i = 0; i < *n; i++)
        if (strcmp(out[i], name) == 0)
            return;
    if (*n < max)
        out[(*n)++] = name;
}

size_t distinct_workloads(const rows *all, const char **out, size_t max)
{
    size_t n = 0;
    for (size_t i = 0; i < all->n; i++)
        add_name(out, &n, max, all->row[i].workload);
    return n;
}

size_t distinct_libraries(const rows *all, const char **out, size_t max)
{
    size_t n = 0;
    for (size_t i = 0; i < n_libraries; i++)
        for (size_t k = 0; k < all->n; k++)
            if (strcmp(all->row[k].library, libraries[i]->name) == 0)
                add_name(out, &n, max, libraries[i]->name);
    for (size_t i = 0; i < all->n; i++)
        add_name(out, &n, max, all->row[i].library);
    return n;
}

void format_time(char *out, size_t size, double ns)
{
    static const char *const units[] = {"ns", "µs", "ms", "s"};
    size_t unit = 0;
    while (ns >= 999.5 && unit < 3) {
        ns /= 1000;
        unit++;
    }
    int decimals = ns >= 99.95 || (unit == 0 && (ns >= 10 || ns <= 0)) ? 0 : ns >= 9.995 ? 1 : 2;
    snprintf(out, size, "%.*f %s", decimals, ns, units[unit]);
}

/* -- Markdown ------------------------------------------------------------- */

typedef double figure(const row *r);

static double figure_min(const row *r)
{
    return r->min;
}
static double figure_median(const row *r)
{
    return r->median;
}
static double figure_cpu(const row *r)
{
    return r->cpu;
}
static double figure_client_user(const row *r)
{
    return r->client_user;
}
static double figure_client_sys(const row *r)
{
    return r->client_sys;
}
static double figure_server_user(const row *r)
{
    return r->server_user;
}
static double figure_server_sys(const row *r)
{
    return r->server_sys;
}

/* One cell: the time, and in brackets how many times dwire's it is. */
static void cell(FILE *f, const rows *all, const row *r, figure *get)
{
    char text[32];
    if (!r) {
        fprintf(f, " |");
        return;
    }
    const row *ours = rows_find(all, r->workload, "dwire");
    double base = ours ? get(ours) : 0;
    format_time(text, sizeof text, get(r));
    fprintf(f, " %s", text);
    if (base > 0)
        fprintf(f, " (%.*f)",
                get(r) / base >= 99.5   ? 0
                : get(r) / base >= 9.95 ? 1
                                        : 2,
                get(r) / base);
    fprintf(f, " |");
}

static void head(FILE *f, const char *title, const char *const *columns, size_t n)
{
    fprintf(f, "\n| %s |", title);
    for (size_t i = 0; i < n; i++)
        fprintf(f, " %s |", columns[i]);
    fprintf(f, "\n|---|");
    for (size_t i = 0; i < n; i++)
        fprintf(f, "---:|");
    fprintf(f, "\n");
}

static void table(FILE *f, const rows *all, const char *title, figure *get)
{
    const char *columns[NAMES_MAX], *names[NAMES_MAX];
    size_t n_columns = distinct_workloads(all, columns, NAMES_MAX);
    size_t n_names = distinct_libraries(all, names, NAMES_MAX);
    head(f, title, columns, n_columns);
    for (size_t i = 0; i < n_names; i++) {
        fprintf(f, "| %s |", names[i]);
        for (size_t k = 0; k < n_columns; k++)
            cell(f, all, rows_find(all, columns[k], names[i]), get);
        fprintf(f, "\n");
    }
}

/* What one time does not tell of a workload of two processes: their CPU time. */
static void cpu_table(FILE *f, const rows *all, const char *of)
{
    static const char *const columns[] = {"wall",       "CPU, both sides", "client user",
                                          "client sys", "server user",     "server sys"};
    static figure *const gets[] = {figure_median,     figure_cpu,         figure_client_user,
                                   figure_client_sys, figure_server_user, figure_server_sys};
    const char *names[NAMES_MAX];
    size_t n = distinct_libraries(all, names, NAMES_MAX), n_columns = 0;
    char title[64];
    snprintf(title, sizeof title, "%s, median", of);
    for (size_t i = 0; i < n; i++) {
        const row *r = rows_find(all, of, names[i]);
        if (!r || r->cpu <= 0)
            continue;
        if (n_columns == 0) {
            n_columns = r->server_sys > 0 ? 6 : 2;
            head(f, title, columns, n_columns);
        }
        fprintf(f, "| %s |", names[i]);
        for (size_t k = 0; k < n_columns; k++)
            cell(f, all, r, gets[k]);
        fprintf(f, "\n");
    }
}

static void syscall_line(FILE *f, const rows *all)
{
    const char *before = "\nSystem calls for one MarshalSend: ";
    for (size_t i = 0; i < all->n; i++) {
        if (!all->row[i].syscalls)
            continue;
        fprintf(f, "%s%s %u", before, all->row[i].library, all->row[i].syscalls);
        before = ", ";
    }
    if (*before == ',')
        fprintf(f, ".\n");
}

/* Its model, where the system tells. */
static void processor(FILE *f)
{
    static const char key[] = "model name";
    char line[256];
    FILE *info = fopen("/proc/cpuinfo", "r");
    while (info && fgets(line, sizeof line, info)) {
        const char *colon = strchr(line, ':');
        if (colon && strncmp(line, key, sizeof key - 1) == 0) {
            fprintf(f, ",%.*s", (int)strcspn(colon + 1, "\n"), colon + 1);
            break;
        }
    }
    if (info)
        fclose(info);
}

/* What the figures are of: versions, and in what a library differs. */
static void small_print(FILE *f, const rows *all)
{
    const char *names[NAMES_MAX];
    size_t n = distinct_libraries(all, names, NAMES_MAX);
    struct utsname u;
    fprintf(f, "\nIn brackets: as a multiple of dwire.");
    for (size_t i = 0; i < n; i++) {
        const library *lib = library_find(names[i]);
        if (lib && lib->version)
            fprintf(f, " %s %s,", lib->name, lib->version);
    }
    fprintf(f, " " BENCH_BUILD);
    if (uname(&u) == 0)
        fprintf(f, ", %s %s %s", u.sysname, u.release, u.machine);
    processor(f);
    fprintf(f, ".\n");
    for (size_t i = 0; missing_libraries[i]; i++)
        fprintf(f, "\n%s: missing when this was configured.\n", missing_libraries[i]);
    for (size_t i = 0; i < n; i++) {
        const library *lib = library_find(names[i]);
        if (lib && lib->note)
            fprintf(f, "\n%s: %s.\n", lib->name, lib->note);
    }
}

void report_markdown(FILE *f, const rows *all)
{
    if (all->n == 0)
        return;
    table(f, all, "minimum", figure_min);
    table(f, all, "median", figure_median);
    const char *names[NAMES_MAX];
    size_t n = distinct_workloads(all, names, NAMES_MAX);
    for (size_t i = 0; i < n; i++)
        cpu_table(f, all, names[i]);
    syscall_line(f, all);
    small_print(f, all);
}

/* -- JSON ----------------------------------------------------------------- */

static void json_text(FILE *f, const char *key, const char *value)
{
    fprintf(f, "\"%s\":\"", key);
    for (const char *p = value; *p; p++) {
        if (*p == '"' || *p == '\\')
            fputc('\\', f);
        if ((unsigned char)*p >= 0x20)
            fputc(*p, f);
    }
    fputc('"', f);
}

/* Tenths of a nanosecond below a microsecond, where they matter. */
static void json_number(FILE *f, const char *key, double value)
{
    fprintf(f, ",\"%s\":%.*f", key, value < 1000 ? 1 : 0, value);
}

static void json_row(FILE *f, const row *r)
{
    fprintf(f, "{");
    json_text(f, "workload", r->workload);
    fprintf(f, ",");
    json_text(f, "library", r->library);
    fprintf(f, ",\"unit\":\"ns\"");
    json_number(f, "min", r->min);
    json_number(f, "median", r->median);
    fprintf(f, ",\"samples\":%zu,\"iterations\":%llu,\"bytes\":%llu", r->samples,
            (unsigned long long)r->iterations, (unsigned long long)r->bytes);
    if (r->cpu > 0)
        json_number(f, "cpu_ns", r->cpu);
    if (r->server_sys > 0) {
        json_number(f, "wall_ns", r->median);
        json_number(f, "client_user_ns", r->client_user);
        json_number(f, "client_sys_ns", r->client_sys);
        json_number(f, "server_user_ns", r->server_user);
        json_number(f, "server_sys_ns", r->server_sys);
    }
    if (r->syscalls)
        fprintf(f, ",\"syscalls\":%u", r->syscalls);
    fprintf(f, "}");
}

void report_json(FILE *f, const rows *all)
{
    fprintf(f, "[");
    for (size_t i = 0; i < all->n; i++) {
        fprintf(f, i ? ",\n " : "\n ");
        json_row(f, &all->row[i]);
    }
    fprintf(f, "\n]\n");
}
