/* main.c - from the command line to the tables. */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bus.h"
#include "external.h"
#include "options.h"
#include "pair.h"
#include "report.h"
#include "syscalls.h"

static void list(void)
{
    printf("workloads:\n");
    for (size_t i = 0; i < n_workloads; i++)
        printf("  %s\n", workloads[i].name);
    printf("libraries:\n");
    for (size_t i = 0; i < n_libraries; i++)
        printf("  %s\n", libraries[i]->name);
    for (size_t i = 0; missing_libraries[i]; i++)
        printf("  %s (missing when this was configured)\n", missing_libraries[i]);
}

static bool write_file(const char *path, void (*report)(FILE *, const rows *), const rows *all)
{
    FILE *f = fopen(path, "w");
    if (f) {
        report(f, all);
        if (fclose(f) == 0)
            return true;
    }
    perror(path);
    return false;
}

/* The first one ends the run in good order, the second one at once. */
static void interrupt(int number)
{
    interrupted = number;
    signal(number, SIG_DFL);
}

static bool needs_bus(const workload *w)
{
    return w->kind == SEND || w->kind == CALL_BUS;
}

static bool wanted(const bench *b, const workload *w)
{
    return !interrupted && listed(b->set->workloads, w->name);
}

/* Starts the bus when the first workload needs it. */
static bool bus_there(bench *b, bus *own)
{
    if (!b->bus_address && bus_start(own, b->set->bus, b->dir))
        b->bus_address = own->address;
    return b->bus_address != NULL;
}

/* Everything that was asked for, with a bus if one is needed. */
static void run(bench *b, const options *o, rows *all)
{
    bus own = {.control = -1};
    for (size_t i = 0; i < n_workloads; i++) {
        if (!wanted(b, &workloads[i]))
            continue;
        if (needs_bus(&workloads[i]) && !bus_there(b, &own)) {
            fprintf(stderr, "%s: %s does not start\n", workloads[i].name, b->set->bus);
            b->failed = true;
            continue;
        }
        measure(b, &workloads[i], all);
    }
    if (b->bus_address)
        printf("\nThe bus: %s.\n", b->set->bus);
    bus_stop(&own);
    for (size_t i = 0; i < o->n_peers && !interrupted; i++)
        external_measure(b, &o->peers[i], all);
}

int main(int argc, char **argv)
{
    options o;
    signal(SIGPIPE, SIG_IGN);
    if (argc == 4 && strcmp(argv[1], "--once") == 0)
        return once_main(argv[2], argv[3]);
    if (argc == 6 && strcmp(argv[1], "--serve") == 0)
        return serve_main(argv[2], argv[3], argv[4], atoi(argv[5]));
    if (!options_parse(&o, argc, argv))
        return 2;
    if (o.help)
        options_help();
    if (o.list)
        list();
    if (o.help || o.list)
        return 0;
    char dir[] = "/tmp/dwire-bench.XXXXXX";
    if (!workloads_init() || !mkdtemp(dir)) {
        perror(dir);
        return 1;
    }
    signal(SIGINT, interrupt);
    signal(SIGTERM, interrupt);
    o.set.progress = isatty(STDERR_FILENO);
    bench b = {.set = &o.set, .dir = dir};
    rows all = {0};
    run(&b, &o, &all);
    rmdir(dir);
    report_markdown(stdout, &all);
    if (o.json && !write_file(o.json, report_json, &all))
        b.failed = true;
    if (o.svg && !write_file(o.svg, report_svg, &all))
        b.failed = true;
    free(all.row);
    return b.failed;
}
