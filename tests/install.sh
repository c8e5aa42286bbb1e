#!/bin/sh
# install.sh - the library as a user meets it: installed and found by
# pkg-config, and as a subproject of another meson project.
#     install.sh [SOURCE]
. "$(dirname "$0")/support/script.sh"

# -- What is installed ----------------------------------------------------------

export DESTDIR="$scratch/root"
install_library /opt/dwire
unset DESTDIR

root=$scratch/root/opt/dwire
version=$(sed -n 's/^#define DW_VERSION  *"\(.*\)"$/\1/p' "$source/include/dwire.h")
{
    echo include/dwire.h
    (cd "$source" && ls include/dwire/*.h)
    echo lib/libdwire.a
    echo lib/libdwire.so
    echo lib/libdwire.so.0
    echo "lib/libdwire.so.$version"
    echo lib/pkgconfig/dwire.pc
} | sort >"$scratch/wanted"
(cd "$root" && find . ! -type d) | sed 's,^\./,,' | sort >"$scratch/installed"
diff "$scratch/wanted" "$scratch/installed" || fail "other files are installed (>) than wanted (<)"

# The shared library exports just what the headers mark; the static one defines
# no other kind of name either.
nm -D --defined-only "$root/lib/libdwire.so" | awk '{ print $3 }' | sort >"$scratch/shared"
nm -g --defined-only "$root/lib/libdwire.a" | awk 'NF == 3 { print $3 }' | sort >"$scratch/static"
sed -n 's/^DW_API [^(]*\(dw_[a-z0-9_]*\) *[[(].*/\1/p' "$source"/include/dwire/*.h |
    sort >"$scratch/marked"
diff "$scratch/marked" "$scratch/shared" || fail "other names are exported (>) than marked (<)"
! grep -v '^dw_' "$scratch/static" || fail "the static library defines these names"

# -- A program that finds it by pkg-config --------------------------------------

cat >"$scratch/program.c" <<'END'
#include <dwire.h>
#include <stdio.h>
int main(void)
{
    char buffer[256];
    dw_writer w;
    dw_writer_init(&w, buffer, sizeof buffer, NULL);
    dw_begin_signal(&w, "/a", "b.c", "D", "s");
    dw_put_string(&w, "x");
    puts(DW_VERSION);
    return dw_finish(&w) != 0;
}
END
export PKG_CONFIG_SYSROOT_DIR="$scratch/root"
export PKG_CONFIG_PATH="$root/lib/pkgconfig"
[ "$(pkg-config --modversion dwire)" = "$version" ] || fail "dwire.pc is not of version $version"
# The flags are words.
# shellcheck disable=SC2046
quietly cc "$scratch/program.c" $(pkg-config --cflags --libs dwire) -o "$scratch/with-shared"
LD_LIBRARY_PATH=$root/lib quietly "$scratch/with-shared"
# shellcheck disable=SC2046
quietly cc "$scratch/program.c" $(pkg-config --cflags dwire) "$root/lib/libdwire.a" \
    -o "$scratch/with-static"
quietly "$scratch/with-static"

# -- Another meson project ------------------------------------------------------

mkdir -p "$scratch/other/subprojects"
cp "$scratch/program.c" "$scratch/other"
cat >"$scratch/other/meson.build" <<'END'
project('other', 'c')
dwire_dep = dependency('dwire', fallback: ['dwire', 'dwire_dep'])
test('program', executable('program', 'program.c', dependencies: dwire_dep))
END
library "$scratch/other/subprojects/dwire"
for mode in forcefallback nofallback; do
    build=$scratch/other/$mode
    quietly meson setup --wrap-mode=$mode "$build" "$scratch/other"
    LD_LIBRARY_PATH=$root/lib quietly meson test -C "$build"
done
