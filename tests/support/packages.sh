# packages.sh - for the scripts that run on a bare machine: names what a Debian
# or Ubuntu lacks, and installs it where that is possible.

missing=

# need PACKAGE COMMAND...: the package is missing if the command fails
need()
{
    package=$1
    shift
    "$@" >/dev/null 2>&1 || missing="$missing $package"
}

has_program()
{
    command -v "$1"
}

# A compiler may be there without the headers of libc.
has_libc_headers()
{
    [ -e /usr/include/stdio.h ] || echo '#include <stdio.h>' | cc -E -
}

# has_library NAME PACKAGE: without pkg-config the package manager is asked
has_library()
{
    pkg-config --exists "$1" || dpkg-query -W -f '${Status}' "$2" | grep -q ' installed$'
}

# What both the tests and the benchmark are built with.
need_build_tools()
{
    missing=
    need gcc has_program gcc
    need libc6-dev has_libc_headers
    need meson has_program meson
    need ninja-build has_program ninja
    need pkg-config has_program pkg-config
    need dbus has_program dbus-daemon
    need libdbus-1-dev has_library dbus-1 libdbus-1-dev
}

# The libraries to be compared with.
want_peers()
{
    missing=
    need libsystemd-dev has_library libsystemd libsystemd-dev
    need libglib2.0-dev has_library gio-unix-2.0 libglib2.0-dev
}

as_root()
{
    if [ "$(id -u)" = 0 ]; then
        "$@"
    else
        sudo -n "$@"
    fi
}

apt()
{
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -y --no-install-recommends "$@" \
        </dev/null >&2
}

# Installs what is missing. The lists of packages may be there already, or too
# old. Fails where that is not possible.
install_missing()
{
    [ -n "$missing" ] || return 0
    command -v apt-get >/dev/null || return 1
    as_root true 2>/dev/null || return 1
    echo "Installing:$missing" >&2
    # The packages are words.
    # shellcheck disable=SC2086
    apt install $missing 2>/dev/null || { apt update && apt install $missing; }
}

# install_or_stop FUNCTION: the packages that it needs, or the end
install_or_stop()
{
    "$1"
    install_missing
    "$1"
    [ -n "$missing" ] || return 0
    echo "These packages are missing and cannot be installed from here:$missing" >&2
    exit 1
}

# install_or_go FUNCTION: the same, but what cannot be had is only named. Not
# each release has all of them: then each is tried alone.
install_or_go()
{
    "$1"
    wanted=$missing
    install_missing || for package in $wanted; do apt install "$package" 2>/dev/null; done
    "$1"
    [ -z "$missing" ] ||
        echo "Goes without these packages, which cannot be installed from here:$missing" >&2
}

# configure SOURCE BUILD OPTION...: meson setup, whether or not it was done before
configure()
{
    source=$1 build=$2
    shift 2
    mkdir -p "$build"
    log=$build/configure.log
    if [ -f "$build/build.ninja" ]; then
        meson setup --reconfigure "$@" "$build" "$source" >"$log" 2>&1 && return
        rm -rf "$build"
        mkdir "$build"
    fi
    meson setup "$@" "$build" "$source" >"$log" 2>&1 || { cat "$log" >&2; return 1; }
}
