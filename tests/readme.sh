#!/bin/sh
# readme.sh - what README.md says can be done as it says. Each block of C names
# its file in its first line and is compiled as it stands; the shell blocks run
# in order, with the library installed and a bus of their own; a block of text
# behind a shell block is what that one prints.
#     readme.sh [SOURCE]
. "$(dirname "$0")/support/script.sh"

command -v dbus-run-session >/dev/null || { echo "skipped: dbus-run-session is not here"; exit 77; }

# Cuts the blocks out: 01.c, 02.sh, 03.text ... in their order.
mkdir "$scratch/block"
awk -v folder="$scratch/block" '
    /^```/ && !file { file = sprintf("%s/%02d.%s", folder, ++n, substr($0, 4)); next }
    /^```$/ { close(file); file = ""; next }
    file { print > file }
    END { exit file != "" || n == 0 }
' "$source/README.md" || fail "a block has no end, or there is none"

install_library "$scratch/root"
export PKG_CONFIG_PATH="$scratch/root/lib/pkgconfig" LD_LIBRARY_PATH="$scratch/root/lib"

# The reader's folder: the files that the blocks name, and dwire beside them.
library "$scratch/home/dwire"
cd "$scratch/home"

put_program()
{
    name=$(sed -n '1s,^/\* \([a-z]*\.c\) .*,\1,p' "$1")
    [ -n "$name" ] || fail "${1##*/} does not name its file in its first line"
    cp "$1" "$name"
    # The flags are words.
    # shellcheck disable=SC2086
    cc $strict -Idwire/include -fsyntax-only "$name" || fail "$name does not compile"
}

# The scripts of the project run this test themselves: that they are there is
# enough.
run_shell()
{
    if grep -qE '^(tests|bench)/run' "$1"; then
        while read -r script rest; do
            [ -x "$source/$script" ] || fail "there is no $script${rest:+ (for $rest)}"
        done <"$1"
    else
        dbus-run-session -- sh -eu "$1" >"$scratch/printed" || fail "failed: $(cat "$1")"
    fi
}

# A fragment of a meson.build, in a project that has dwire as a subproject.
build_with_meson()
{
    { echo "project('reader', 'c')"; cat "$1"; } >meson.build
    mkdir subprojects
    ln -s ../dwire subprojects/dwire
    quietly meson setup --wrap-mode=forcefallback built
    quietly ninja -C built
}

for block in "$scratch"/block/*; do
    case $block in
    *.c) put_program "$block" ;;
    *.sh) run_shell "$block" ;;
    *.meson) build_with_meson "$block" ;;
    *.text) diff "$block" "$scratch/printed" || fail "README shows (<) other than what comes (>)" ;;
    *) fail "${block##*/} is a block of no known kind" ;;
    esac
done
