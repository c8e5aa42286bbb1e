/* options.c - what the command line says. */

#include "options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool number(const char *text, double least, double *out)
{
    char *end;
    *out = strtod(text, &end);
    if (end != text && *end == 0 && *out >= least)
        return true;
    fprintf(stderr, "dwire-bench: \"%s\" is not a number of %g or more\n", text, least);
    return false;
}

static bool add_peer(options *o, const char *text)
{
    const char *equals = strchr(text, '=');
    peer *p = &o->peers[o->n_peers];
    if (!equals || equals == text || !equals[1] || o->n_peers == PEERS_MAX ||
        (size_t)(equals - text) >= sizeof p->name) {
        fprintf(stderr, "dwire-bench: --peer takes NAME=COMMAND\n");
        return false;
    }
    memcpy(p->name, text, (size_t)(equals - text));
    p->command = equals + 1;
    o->n_peers++;
    return true;
}

static bool known_workloads(const char *list)
{
    for (const char *p = list; p && *p; p += strcspn(p, ","), p += *p == ',') {
        size_t n = strcspn(p, ","), i = 0;
        while (i < n_workloads &&
               !(strlen(workloads[i].name) == n && memcmp(workloads[i].name, p, n) == 0))
            i++;
        if (i == n_workloads) {
            fprintf(stderr, "dwire-bench: there is no workload %.*s; --list tells which\n", (int)n,
                    p);
            return false;
        }
    }
    return true;
}

static bool known_libraries(const options *o)
{
    char name[64];
    for (const char *p = o->set.libraries; p && *p; p += strcspn(p, ","), p += *p == ',') {
        snprintf(name, sizeof name, "%.*s", (int)strcspn(p, ","), p);
        bool known = library_find(name) != NULL;
        for (size_t i = 0; i < o->n_peers; i++)
            known = known || strcmp(o->peers[i].name, name) == 0;
        if (!known) {
            fprintf(stderr, "dwire-bench: there is no library %s; --list tells which\n", name);
            return false;
        }
    }
    return true;
}

static bool take_option(options *o, int c)
{
    double value;
    switch (c) {
    case 'w': o->set.workloads = optarg; return known_workloads(optarg);
    case 'l': o->set.libraries = optarg; return true;
    case 's':
        if (!number(optarg, 1, &value))
            return false;
        o->set.samples = (size_t)value;
        return true;
    case 'm': return number(optarg, 0, &o->set.min_time_ms);
    case 'j': o->json = optarg; return true;
    case 'g': o->svg = optarg; return true;
    case 'p': return add_peer(o, optarg);
    case 'b':
        o->set.bus = optarg;
        if (strcmp(optarg, "dbus-daemon") == 0 || strcmp(optarg, "dbus-broker") == 0)
            return true;
        fprintf(stderr, "dwire-bench: the bus is dbus-daemon or dbus-broker\n");
        return false;
    case 'L': o->list = true; return true;
    case 'h': o->help = true; return true;
    default: return false;
    }
}

bool options_parse(options *o, int argc, char **argv)
{
    static const struct option known[] = {{"workload", required_argument, NULL, 'w'},
                                          {"library", required_argument, NULL, 'l'},
                                          {"samples", required_argument, NULL, 's'},
                                          {"min-time", required_argument, NULL, 'm'},
                                          {"json", required_argument, NULL, 'j'},
                                          {"svg", required_argument, NULL, 'g'},
                                          {"peer", required_argument, NULL, 'p'},
                                          {"bus", required_argument, NULL, 'b'},
                                          {"list", no_argument, NULL, 'L'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    *o = (options){.set = {.samples = 21, .min_time_ms = 20, .bus = "dbus-daemon"}};
    int c;
    while ((c = getopt_long(argc, argv, "", known, NULL)) != -1)
        if (!take_option(o, c))
            return false;
    if (optind < argc) {
        fprintf(stderr, "dwire-bench: what is \"%s\"?\n", argv[optind]);
        return false;
    }
    return known_libraries(o);
}

void options_help(void)
{
    printf("dwire-bench [OPTION...]\n"
           "  --workload A,B       only these workloads\n"
           "  --library A,B        only these libraries\n"
           "  --samples N          how many samples (21); of Stream a seventh of that\n"
           "  --min-time MS        least time of a sample, in milliseconds (20)\n"
           "  --json FILE          also write the figures as JSON\n"
           "  --svg FILE           also draw them\n"
           "  --peer NAME=COMMAND  add a program that measures a library of its own\n"
           "  --bus PROGRAM        dbus-daemon (the default) or dbus-broker\n"
           "  --list               list workloads and libraries\n");
}
