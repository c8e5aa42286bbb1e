#!/bin/sh
# run.sh - what is too long for the suite; for tests/run, which is to be called.
#     run.sh --fuzz SECONDS      each target that long. What it learns is kept in
#                                .build-fuzz/corpus, what fails in .build-fuzz/failed
#     run.sh --compare N [SEED]  N cases for dwire, libdbus and GDBus
# It ends with the line "N passed, N failed, N skipped", and with an error if
# anything failed.
set -u

cd "$(dirname "$0")/../.." || exit 1
. tests/support/packages.sh

can_fuzz()
{
    echo 'int LLVMFuzzerTestOneInput(const char *p, unsigned long n) { return p && n && 0; }' |
        clang -fsanitize=fuzzer,address,undefined -x c -o /dev/null -
}

need_fuzzer()
{
    need_build_tools
    need clang has_program clang
    need "libclang-rt-$(clang -dumpversion | cut -d. -f1)-dev" can_fuzz
}

need_judges()
{
    need_build_tools
    need libglib2.0-dev has_library gio-2.0 libglib2.0-dev
}

# fuzz_target NAME PROGRAM SECONDS
fuzz_target()
{
    mkdir -p "$build/corpus/$1" "$build/failed"
    printf '\n== %s ==\n' "$1"
    "$2" -max_total_time="$3" -max_len=1000 -timeout=60 -print_final_stats=1 \
        -artifact_prefix="$build/failed/$1-" \
        "$build/corpus/$1" "tests/fuzz/corpus/$1" >"$build/$1.log" 2>&1
    status=$?
    if [ $status -eq 0 ]; then
        grep '^stat::number_of_executed_units' "$build/$1.log"
    else
        tail -n 60 "$build/$1.log"
    fi
    return $status
}

fuzz()
{
    build=.build-fuzz CC=clang
    export CC
    configure . $build --buildtype=debugoptimized -Ddefault_library=static -Db_lundef=false \
        -Db_sanitize=address,undefined -Dc_args=-fsanitize=fuzzer-no-link || return
    ninja -C $build fuzzers >$build/build.log || { cat $build/build.log; return 1; }
    for program in $build/tests/fuzz/fuzz-*; do
        [ -f "$program" ] || continue
        if fuzz_target "${program##*/fuzz-}" "$program" "$1"; then
            passed=$((passed + 1))
        else
            failed=$((failed + 1))
        fi
    done
    [ $passed -gt 0 ] || [ $failed -gt 0 ]
}

compare()
{
    build=.build-compare CC=gcc
    export CC
    configure . $build || return
    ninja -C $build tests/fuzz/compare >$build/build.log || { cat $build/build.log; return 1; }
    if $build/tests/fuzz/compare "$@"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
    fi
}

export ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
passed=0 failed=0
what=${1-}
[ $# -lt 2 ] || shift
case $what,${1-} in
--fuzz,[1-9]*)
    install_or_stop need_fuzzer
    fuzz "$@" || failed=$((failed + 1))
    ;;
--compare,[1-9]*)
    install_or_stop need_judges
    compare "$@" || failed=$((failed + 1))
    ;;
*)
    sed -n '2,8s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac

printf '\n%d passed, %d failed, 0 skipped\n' $passed $failed
[ $failed -eq 0 ]
