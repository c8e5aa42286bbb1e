# script.sh - what the test scripts share. Sourced with $1 the source folder.
# Gives: source, scratch (a folder of its own, removed at the end), fail,
# quietly, library.

set -eu

me=${0##*/}
source=$(cd "${1:-$(dirname "$0")/..}" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM

strict="-std=c11 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror"

fail()
{
    echo "$me: $*" >&2
    exit 1
}

# quietly COMMAND...: what it says matters only when it fails
quietly()
{
    "$@" >"$scratch/said" 2>&1 || { cat "$scratch/said"; fail "failed: $*"; }
}

# library FOLDER: what another project needs of this one
library()
{
    mkdir -p "$1"
    cp -R "$source/include" "$source/src" "$source/meson.build" "$1"
}

# install_library PREFIX: builds it in scratch and installs it, under $DESTDIR
install_library()
{
    library "$scratch/library"
    mkdir "$scratch/library/tests" "$scratch/library/bench"
    touch "$scratch/library/tests/meson.build" "$scratch/library/bench/meson.build"
    quietly meson setup --prefix="$1" --libdir=lib "$scratch/library/build" "$scratch/library"
    quietly meson install -C "$scratch/library/build"
}
