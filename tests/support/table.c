/* table.c - reads tables of vectors. */

#include "table.h"

#include <stdlib.h>
#include <string.h>

bool table_open(table *t, const char *name)
{
    *t = (table){.file = fopen(name, "r")};
    return t->file != NULL;
}

/* Cuts a line at its tabs. Columns that are missing are empty. */
static vector split(char *line)
{
    char *column[7];
    for (size_t i = 0; i < 7; i++) {
        size_t n = strcspn(line, "\t");
        column[i] = line;
        line += n;
        if (*line)
            *line++ = '\0';
    }
    return (vector){column[0], column[1], column[2], column[3], column[4], column[5], column[6]};
}

bool table_next(table *t, vector *v)
{
    while (getline(&t->line, &t->size, t->file) > 0) {
        t->line[strcspn(t->line, "\r\n")] = '\0';
        *v = split(t->line);
        if (*v->id && strcmp(v->id, "id") != 0)
            return true;
    }
    return false;
}

bool table_close(table *t)
{
    bool read_all = !ferror(t->file);
    free(t->line);
    fclose(t->file);
    return read_all;
}
