/* measure.c - calibrate, take samples in turn, sum up. */

#include "measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

volatile sig_atomic_t interrupted;

double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double timeval_ns(struct timeval t)
{
    return (double)t.tv_sec * 1e9 + (double)t.tv_usec * 1e3;
}

cpu cpu_used(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (cpu){timeval_ns(u.ru_utime), timeval_ns(u.ru_stime)};
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double median(double *values, size_t n)
{
    qsort(values, n, sizeof *values, compare);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

bool listed(const char *list, const char *name)
{
    if (!list)
        return true;
    size_t n = strlen(name);
    for (const char *p = list;; p++) {
        size_t len = strcspn(p, ",");
        if (len == n && memcmp(p, name, n) == 0)
            return true;
        p += len;
        if (!*p)
            return false;
    }
}

row *rows_add(rows *all)
{
    row *grown = realloc(all->row, (all->n + 1) * sizeof *grown);
    if (!grown)
        abort();
    all->row = grown;
    grown[all->n] = (row){0};
    return &grown[all->n++];
}

const row *rows_find(const rows *all, const char *workload_name, const char *library_name)
{
    for (size_t i = 0; i < all->n; i++)
        if (strcmp(all->row[i].workload, workload_name) == 0 &&
            strcmp(all->row[i].library, library_name) == 0)
            return &all->row[i];
    return NULL;
}

void complain(bench *b, const task *t, const char *why)
{
    b->failed = true;
    fprintf(stderr, "%s%s, %s: %s\n", b->set->progress ? "\r\033[K" : "", t->w->name, t->lib->name,
            why);
}

static void progress(const bench *b, const workload *w, const char *what, size_t done, size_t all)
{
    if (b->set->progress)
        fprintf(stderr, "\r\033[K%s: %s %zu/%zu", w->name, what, done, all);
}

static const kind *kind_of(const workload *w)
{
    static const kind *const kinds[] = {
        [MARSHAL] = &marshal_kind, [UNMARSHAL] = &unmarshal_kind, [SEND] = &send_kind,
        [STREAM] = &stream_kind,   [CALL] = &call_kind,           [CALL_BUS] = &call_kind};
    return kinds[w->kind];
}

static double timed(const kind *k, task *t, uint64_t iterations, size_t sample)
{
    double took = k->run(t, iterations, sample);
    if (took < 0)
        t->failed = true;
    return took;
}

/* Finds how many iterations take at least the least time; warms up by it. */
static void calibrate(bench *b, const kind *k, task *t)
{
    double wanted = b->set->min_time_ms * 1e6;
    t->iterations = 1;
    while (!k->once && !t->failed && !interrupted) {
        double took = timed(k, t, t->iterations, 0);
        if (took >= wanted)
            break;
        double factor = took < wanted / 100 ? 10 : 1.1 * wanted / took;
        t->iterations = (uint64_t)((double)t->iterations * factor) + 1;
    }
}

/* The medians of what both sides used. Overwrites the samples. */
static void finish_cpu(const task *t, size_t samples, row *r)
{
    double *medians[] = {&r->client_user, &r->client_sys, &r->server_user, &r->server_sys, &r->cpu};
    for (size_t which = 0; which < 5; which++) {
        for (size_t i = 0; i < samples; i++) {
            cpu here = t->sides[i].client, there = t->sides[i].server;
            double each[] = {here.user, here.sys, there.user, there.sys,
                             here.user + here.sys + there.user + there.sys};
            t->sample[i] = each[which] / (double)t->iterations;
        }
        *medians[which] = median(t->sample, samples);
    }
}

static void finish(const task *t, size_t samples, rows *out)
{
    row *r = rows_add(out);
    snprintf(r->workload, sizeof r->workload, "%s", t->w->name);
    snprintf(r->library, sizeof r->library, "%s", t->lib->name);
    r->samples = samples;
    r->iterations = t->iterations;
    r->bytes = t->bytes;
    r->syscalls = t->syscalls;
    r->median = median(t->sample, samples);
    r->min = t->sample[0]; /* sorted by now */
    if (t->w->kind == STREAM || t->w->kind == CALL || t->w->kind == CALL_BUS)
        finish_cpu(t, samples, r);
}

static size_t open_tasks(bench *b, const kind *k, const workload *w, size_t samples, task *tasks)
{
    size_t n = 0;
    for (size_t i = 0; i < n_libraries; i++) {
        if (interrupted || !listed(b->set->libraries, libraries[i]->name) ||
            !library_does(libraries[i], w->kind))
            continue;
        task *t = &tasks[n];
        *t = (task){.lib = libraries[i], .w = w};
        progress(b, w, libraries[i]->name, i + 1, n_libraries);
        t->sample = calloc(samples, sizeof *t->sample);
        t->sides = calloc(samples, sizeof *t->sides);
        if (!t->sample || !t->sides)
            abort();
        if (k->open(b, t)) {
            calibrate(b, k, t);
            n++;
        } else {
            free(t->sample);
            free(t->sides);
        }
    }
    return n;
}

size_t samples_of(const settings *set, const workload *w)
{
    return w->kind != STREAM ? set->samples : set->samples < 7 ? 1 : set->samples / 7;
}

void measure(bench *b, const workload *w, rows *out)
{
    const kind *k = kind_of(w);
    size_t samples = samples_of(b->set, w);
    task *tasks = calloc(n_libraries, sizeof *tasks);
    if (!tasks)
        abort();
    size_t n = open_tasks(b, k, w, samples, tasks);
    for (size_t s = 0; s < samples; s++) {
        for (size_t i = 0; i < n && !interrupted; i++) {
            task *t = &tasks[i];
            progress(b, w, t->lib->name, s + 1, samples);
            if (!t->failed)
                t->sample[s] = timed(k, t, t->iterations, s) / (double)t->iterations;
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (interrupted)
            b->failed = true;
        else if (tasks[i].failed)
            complain(b, &tasks[i], "failed while it was timed");
        else
            finish(&tasks[i], samples, out);
        k->close(&tasks[i]);
        free(tasks[i].sample);
        free(tasks[i].sides);
    }
    free(tasks);
    if (b->set->progress)
        fprintf(stderr, "\r\033[K");
}
