/* replay.c - a target without libFuzzer: runs it over files, and over all files
 * of directories.
 *     replay-TARGET FILE|DIRECTORY... */

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

static unsigned replayed;

/* The input lies in a block of its own size, so that reading beyond it shows. */
static bool replay_file(const char *name)
{
    text input = {0};
    char part[4096];
    size_t n;
    FILE *file = fopen(name, "rb");
    if (!file)
        return false;
    while ((n = fread(part, 1, sizeof part, file)) > 0)
        text_add(&input, part, n);
    bool good = !ferror(file);
    fclose(file);
    if (good) {
        block b = block_copy(input.p, input.n, 0);
        LLVMFuzzerTestOneInput(b.p, input.n);
        block_free(&b);
        replayed++;
    }
    text_free(&input);
    return good;
}

static bool replay_directory(DIR *directory, const char *name)
{
    bool good = true;
    const struct dirent *entry;
    while (good && (entry = readdir(directory))) {
        text path = {0};
        text_printf(&path, "%s/%s", name, entry->d_name);
        good = entry->d_name[0] == '.' || replay_file(text_string(&path));
        text_free(&path);
    }
    closedir(directory);
    return good;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        DIR *directory = opendir(argv[i]);
        if (!(directory ? replay_directory(directory, argv[i]) : replay_file(argv[i]))) {
            fprintf(stderr, "%s: %s\n", argv[i], strerror(errno));
            return 1;
        }
    }
    if (!replayed) {
        fprintf(stderr, "nothing was replayed\n");
        return 1;
    }
    return 0;
}
