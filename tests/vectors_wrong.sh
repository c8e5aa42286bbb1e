#!/bin/sh
# Judges a table whose every row expects what is not so: a judge that passes one
# of them would pass anything.
#     vectors_wrong.sh VECTORS WRONG.TSV
set -u
rows=$(($(wc -l <"$2") - 1))
if out=$("$1" "$2"); then
    echo "no failure reported for $2"
    exit 1
fi
case $(printf '%s\n' "$out" | tail -n 1) in
"0 passed, $rows failed, 0 skipped") exit 0 ;;
esac
printf '%s\n' "$out" | grep -v '^failed' | tail -n 20
printf '%s\n' "$out" | sed -n 's/^failed: \([^ ]*\) .*/\1/p' >"${TMPDIR:-/tmp}/failed.$$"
cut -f1 "$2" | tail -n +2 | grep -vxFf "${TMPDIR:-/tmp}/failed.$$" | sed 's/^/passes, and should not: /'
rm -f "${TMPDIR:-/tmp}/failed.$$"
exit 1
