/* svg.c - the rows as bars on a logarithmic axis, one panel a workload. */

#include "report.h"

#include <math.h>
#include <string.h>

/* Sizes in pixels: the names stand left of the bars, the figures right. */
enum {
    WIDTH = 760,
    MARGIN = 16,
    NAME_WIDTH = 130,
    FIGURE_WIDTH = 150,
    BAR_LEFT = MARGIN + NAME_WIDTH,
    BAR_WIDTH = WIDTH - BAR_LEFT - FIGURE_WIDTH - MARGIN,
    TITLE_HEIGHT = 34,
    BAR_STEP = 22,
    BAR_HEIGHT = 14,
    AXIS_HEIGHT = 34
};

static const char style[] =
    "<style>\n"
    "text { font: 13px system-ui, sans-serif; fill: #24292f; stroke: #ffffff; stroke-width: 4px;\n"
    "    paint-order: stroke }\n"
    ".title { font-weight: 600; font-size: 15px }\n"
    ".tick { font-size: 11px; fill: #6e7781; text-anchor: middle }\n"
    ".name { text-anchor: end }\n"
    ".page { fill: #ffffff }\n"
    ".grid { stroke: #d0d7de; stroke-width: 1 }\n"
    ".bar { fill: #8c959f }\n"
    ".dwire { fill: #0969da }\n"
    ".floor { fill: #1a7f37 }\n"
    "@media (prefers-color-scheme: dark) {\n"
    "text { fill: #e6edf3; stroke: #0d1117 }\n"
    ".tick { fill: #8b949e }\n"
    ".page { fill: #0d1117 }\n"
    ".grid { stroke: #30363d }\n"
    ".bar { fill: #6e7681 }\n"
    ".dwire { fill: #58a6ff }\n"
    ".floor { fill: #3fb950 }\n"
    "}\n"
    "</style>\n";

/* A panel: the rows of one workload, and the powers of ten they lie between. */
typedef struct panel {
    const char *title;
    const row *row[NAMES_MAX];
    size_t n;
    int low, high;
} panel;

static void escaped(FILE *f, const char *text)
{
    for (; *text; text++) {
        if (*text == '<')
            fputs("&lt;", f);
        else if (*text == '&')
            fputs("&amp;", f);
        else
            fputc(*text, f);
    }
}

static panel make_panel(const rows *all, const char *title)
{
    panel p = {.title = title};
    const char *names[NAMES_MAX];
    size_t n = distinct_libraries(all, names, NAMES_MAX);
    double least = INFINITY, most = 0;
    for (size_t i = 0; i < n; i++) {
        const row *r = rows_find(all, title, names[i]);
        if (!r)
            continue;
        p.row[p.n++] = r;
        least = fmin(least, r->min);
        most = fmax(most, r->min);
    }
    /* A bar has some length even where all are alike or one is at a power. */
    p.low = (int)floor(log10(fmax(least, 0.1) * 0.8));
    p.high = (int)ceil(log10(fmax(most, 1)));
    if (p.high <= p.low)
        p.high = p.low + 1;
    return p;
}

static int panel_height(const panel *p)
{
    return TITLE_HEIGHT + (int)p->n * BAR_STEP + AXIS_HEIGHT;
}

static double bar_length(const panel *p, double ns)
{
    double part = (log10(fmax(ns, 0.1)) - p->low) / (p->high - p->low);
    return fmax(1, part * BAR_WIDTH);
}

static void draw_axis(FILE *f, const panel *p, int top)
{
    int bottom = top + TITLE_HEIGHT + (int)p->n * BAR_STEP;
    for (int power = p->low; power <= p->high; power++) {
        char text[32];
        double x = BAR_LEFT + (double)BAR_WIDTH * (power - p->low) / (p->high - p->low);
        format_time(text, sizeof text, pow(10, power));
        /* "1.00 s" says no more than "1 s" here. */
        char *point = strchr(text, '.'), *space = strchr(text, ' ');
        if (point && space)
            memmove(point, space, strlen(space) + 1);
        fprintf(f, "<line class=\"grid\" x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\"/>\n", x,
                top + TITLE_HEIGHT - 6, x, bottom);
        fprintf(f, "<text class=\"tick\" x=\"%.1f\" y=\"%d\">%s</text>\n", x, bottom + 14, text);
    }
}

static void draw_bar(FILE *f, const rows *all, const row *r, const panel *p, int y)
{
    const row *ours = rows_find(all, r->workload, "dwire");
    const char *class = strcmp(r->library, "dwire") == 0   ? "dwire"
                        : strcmp(r->library, "limit") == 0 ? "floor"
                                                           : "bar";
    char text[32];
    double length = bar_length(p, r->min);
    format_time(text, sizeof text, r->min);
    fprintf(f, "<text class=\"name\" x=\"%d\" y=\"%d\">", BAR_LEFT - 8, y + BAR_HEIGHT - 2);
    escaped(f, r->library);
    fprintf(
        f,
        "</text>\n<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" rx=\"2\"/>\n",
        class, BAR_LEFT, y, length, BAR_HEIGHT);
    fprintf(f, "<text x=\"%.1f\" y=\"%d\">%s", BAR_LEFT + length + 6, y + BAR_HEIGHT - 2, text);
    if (ours && ours != r && ours->min > 0)
        fprintf(f, " (× %.*f)", r->min / ours->min >= 9.95 ? 0 : 2, r->min / ours->min);
    fprintf(f, "</text>\n");
}

static void draw_panel(FILE *f, const rows *all, const panel *p, int top)
{
    fprintf(f, "<text class=\"title\" x=\"%d\" y=\"%d\">", MARGIN, top + 20);
    escaped(f, p->title);
    fprintf(f, "</text>\n");
    draw_axis(f, p, top);
    for (size_t i = 0; i < p->n; i++)
        draw_bar(f, all, p->row[i], p, top + TITLE_HEIGHT + (int)i * BAR_STEP);
}

void report_svg(FILE *f, const rows *all)
{
    const char *names[NAMES_MAX];
    panel panels[NAMES_MAX];
    size_t n = distinct_workloads(all, names, NAMES_MAX);
    int height = 2 * MARGIN, top = MARGIN;
    for (size_t i = 0; i < n; i++) {
        panels[i] = make_panel(all, names[i]);
        height += panel_height(&panels[i]);
    }
    fprintf(f,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "viewBox=\"0 0 %d %d\" role=\"img\">\n<title>Least time, logarithmic: shorter is "
            "faster</title>\n%s<rect class=\"page\" width=\"%d\" height=\"%d\"/>\n",
            WIDTH, height, WIDTH, height, style, WIDTH, height);
    for (size_t i = 0; i < n; i++) {
        draw_panel(f, all, &panels[i], top);
        top += panel_height(&panels[i]);
    }
    fprintf(f, "</svg>\n");
}
