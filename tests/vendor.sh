#!/bin/sh
# vendor.sh - the sources as a project has them that copies include/ and src/
# into its own tree: they compile in silence with nothing but the compiler, the
# headers each alone and also from C++, and a program links.
#     vendor.sh [SOURCE]
. "$(dirname "$0")/support/script.sh"

has()
{
    command -v "$1" >/dev/null
}

# silent COMMAND...: it succeeds and says nothing
silent()
{
    quietly "$@"
    [ ! -s "$scratch/said" ] || { cat "$scratch/said"; fail "not silent: $*"; }
}

# What meson builds and what lies there is the same.
for file in "$source"/src/*.c; do
    grep -q "'src/${file##*/}'" "$source/meson.build" || fail "${file##*/} is not in meson.build"
done

cat >"$scratch/program.c" <<'END'
#include <dwire.h>
int main(void)
{
    dw_writer w;
    dw_writer_init(&w, NULL, 0, dw_heap);
    dw_begin_signal(&w, "/a", "b.c", "D", "u");
    dw_put_uint32(&w, 7);
    int r = dw_finish(&w);
    dw_writer_free(&w);
    return r != 0;
}
END
cp "$scratch/program.c" "$scratch/program.cc"

plain="-std=c11 -Wall -Wextra -Wpedantic -Werror"
plus="-std=c++17 -Wall -Wextra -Wpedantic -Wconversion -Werror"

# The flags are words.
# shellcheck disable=SC2086
with_compiler()
{
    rm -rf "$scratch/copy"
    library "$scratch/copy"
    cd "$scratch/copy"
    silent $1 $plain -Iinclude -c src/*.c
    silent $1 $plain -DDWIRE_NO_SIMD -Iinclude -fsyntax-only src/*.c
    silent $1 $strict -Iinclude "$scratch/program.c" ./*.o -o program
    quietly ./program
    for header in $(cd include && echo *.h dwire/*.h); do
        echo "#include \"$header\"" | tee one.cc >one.c
        silent $1 $strict -Iinclude -fsyntax-only one.c
        ! has $2 || silent $2 $plus -Iinclude -fsyntax-only one.cc
    done
    if has $2; then
        silent $2 $plus -Iinclude "$scratch/program.cc" ./*.o -o program
        quietly ./program
    fi
}

has gcc || has clang || fail "neither gcc nor clang is here"
! has gcc || with_compiler gcc g++
! has clang || with_compiler clang clang++
