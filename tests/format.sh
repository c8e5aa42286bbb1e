#!/bin/sh
# format.sh - the C sources are as clang-format leaves them. Its versions differ
# in their taste; the one that counts is 14.
#     format.sh [SOURCE]
set -eu

cd "${1:-$(dirname "$0")/..}"
for tool in clang-format-14 clang-format; do
    case $($tool --version 2>/dev/null) in
    *" 14."*)
        find include src tests bench -name '*.[ch]' -exec "$tool" --dry-run --Werror {} +
        exit
        ;;
    esac
done
echo "skipped: clang-format 14 is not here"
exit 77
