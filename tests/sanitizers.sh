#!/bin/sh
# sanitizers.sh - C strings are loaded in blocks that reach past their ends, into
# what may not be written yet or belong to another thread. No sanitizer is to take
# that for an error of the program that links us.
#     sanitizers.sh [SOURCE]
. "$(dirname "$0")/support/script.sh"

cat >"$scratch/program.c" <<'END'
#include <dwire.h>
#include <pthread.h>
#include <stdlib.h>

static struct {
    _Alignas(16) char s[8];
    char others[8];
} shared = {"abc", ""};

static void *other_thread(void *context)
{
    for (int i = 0; i < 10000; i++)
        ((volatile char *)shared.others)[0] = (char)i;
    return context;
}

static int put(dw_writer *w, const char *s)
{
    dw_begin_body(w, "s", 0);
    dw_put_string(w, s);
    return dw_finish(w);
}

int main(void)
{
    dw_writer w;
    pthread_t thread;
    int bad = pthread_create(&thread, NULL, other_thread, NULL);
    dw_writer_init(&w, NULL, 0, dw_heap);
    for (int i = 0; i < 10000; i++)
        bad |= put(&w, shared.s);
    pthread_join(thread, NULL);
    for (size_t n = 0; n < 100; n++) {
        char *s = malloc(n + 1);
        if (s == NULL)
            return 1;
        for (size_t i = 0; i < n; i++)
            s[i] = 'x';
        s[n] = 0;
        bad |= put(&w, s);
        free(s);
    }
    dw_writer_free(&w);
    return bad != 0;
}
END

library "$scratch/copy"
cd "$scratch/copy"
ran=0
for compiler in gcc clang; do
    for kind in address memory thread; do
        # Not every compiler has every one of them.
        flags="-std=c11 -O1 -g -fsanitize=$kind"
        echo 'int main(void) { return 0; }' >empty.c
        # The flags are words.
        # shellcheck disable=SC2086
        $compiler $flags empty.c -o empty 2>/dev/null && ./empty || continue
        # shellcheck disable=SC2086
        quietly $compiler $flags -Iinclude src/*.c "$scratch/program.c" -o program -pthread
        quietly ./program
        ran=$((ran + 1))
    done
done
[ "$ran" -gt 0 ] || { echo "skipped: no compiler with a sanitizer is here"; exit 77; }
