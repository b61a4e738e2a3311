#!/bin/sh
# link.sh ARCH SOURCE OUTPUT STUBS [LINKER OPTION...]: compiles SOURCE for macOS 13 and links it against the text stubs in
# the folder STUBS. Works on any machine with clang and LLVM's linker for Mach-O; version 19 is preferred.
set -eu
arch=$1
source=$2
output=$3
stubs=$4
shift 4
compiler=$(command -v clang-19 || command -v clang) || { echo "link.sh: no clang; try: install clang-19" >&2; exit 1; }
linker=$(command -v ld64.lld-19 || command -v ld64.lld) ||
  { echo "link.sh: no ld64.lld; try: install lld-19" >&2; exit 1; }
"$compiler" -target "$arch-apple-macos13.0" -O1 -fno-objc-arc -Wno-objc-root-class -c "$source" -o "$output.o"
"$linker" -arch "$arch" -platform_version macos 13.0 13.3 -o "$output" "$output.o" "$stubs/libSystem.tbd" \
  "$stubs/libobjc.tbd" -adhoc_codesign "$@"
rm "$output.o"
