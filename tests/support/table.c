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
    char *column[12];
    for (size_t i = 0; i < sizeof column / sizeof *column; i++) {
        size_t n = strcspn(line, "\t");
        column[i] = line;
        line += n;
        if (*line)
            *line++ = '\0';
    }
    return (vector){.id = column[0],
                    .kind = column[1],
                    .endian = column[2],
                    .signature = column[3],
                    .input = column[4],
                    .expected = column[5],
                    .values = column[6],
                    .others = {column[9], column[10], column[11]}};
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
