# Shared by the scripts in this folder; sourced, never run. Messages go to stderr, data to stdout.
# shellcheck shell=bash

ROOT="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)"
if [[ -z "${HOME:-}" ]]; then
  HOME="$(getent passwd "$(id -u)" | cut -d: -f6)"
fi
export ROOT HOME

if [[ -t 2 ]]; then
  BOLD=$'\e[1m' RED=$'\e[31m' PLAIN=$'\e[0m'
else
  BOLD='' RED='' PLAIN=''
fi

say() { printf '%s==> %s%s\n' "$BOLD" "$*" "$PLAIN" >&2; }
note() { printf '    %s\n' "$*" >&2; }

# die STATUS MESSAGE: 2 wrong usage, 3 the machine cannot do it.
die() {
  local status=$1
  shift
  printf '%serror:%s %s\n' "$RED" "$PLAIN" "$*" >&2
  exit "$status"
}

# The comment at the top of a script is its help.
print_help() {
  awk 'NR == 1 { next } /^#/ { sub(/^# ?/, ""); print; next } { exit }' "$1"
}

bad_option() {
  die 2 "$(basename "$0"): unknown argument '$1'; try: scripts/$(basename "$0") --help"
}

have() { command -v "$1" >/dev/null 2>&1; }
on_macos() { [[ "$(uname -s)" == Darwin ]]; }

# SHA-256 of stdin, 64 hexadecimal digits.
digest() {
  if have sha256sum; then
    sha256sum | cut -d' ' -f1
  else
    shasum -a 256 | cut -d' ' -f1
  fi
}

# How many processors this process may use.
processors() { getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1; }

# Debian's `bazel` refuses a workspace whose .bazelversion it does not have, so its versioned program comes first.
bazel_program() {
  local name
  for name in bazel-4 bazelisk bazel; do
    if have "$name"; then
      echo "$name"
      return
    fi
  done
  die 3 "Bazel is missing; try: scripts/setup"
}

apt_installed() {
  [[ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" == installed ]]
}

as_root() {
  if [[ "$(id -u)" == 0 ]]; then
    "$@"
  elif have sudo; then
    sudo -- "$@"
  else
    die 3 "installing packages needs root and there is no sudo; try, as root: $*"
  fi
}

apt_get() {
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 "$@" \
    </dev/null >&2
}

apt_update() {
  apt_get update || note "apt-get update failed (its reason is above); going on with the package lists that are here"
}

# apt_install PACKAGE...: installs those that are missing; touches nothing when all are there.
apt_install() {
  local package missing=()
  for package in "$@"; do
    apt_installed "$package" || missing+=("$package")
  done
  if ((${#missing[@]} == 0)); then
    note "all ${#} packages are installed"
    return
  fi
  have apt-get || die 3 "this is neither Debian nor Ubuntu (no apt-get); install yourself: ${missing[*]}"
  note "installing: ${missing[*]}"
  # A fresh container has no package lists; old lists name packages that are gone, hence the second attempt.
  if ! apt-cache show "${missing[@]}" >/dev/null 2>&1; then
    apt_update
  fi
  if ! apt_get install --no-install-recommends "${missing[@]}"; then
    apt_update
    apt_get install --no-install-recommends "${missing[@]}" ||
      die 3 "apt-get could not install ${missing[*]} (its reason is above);" \
        "try: check the network and the sources in /etc/apt"
  fi
}

# apt_install_if_offered PACKAGE...: the same, but what this release does not have is left out with a note.
apt_install_if_offered() {
  local package offered=() updated=0
  for package in "$@"; do
    if ! apt_installed "$package" && ! apt-cache show "$package" >/dev/null 2>&1; then
      ((updated)) || apt_update
      updated=1
      if ! apt-cache show "$package" >/dev/null 2>&1; then
        note "left out, since this release does not have it: $package"
        continue
      fi
    fi
    offered+=("$package")
  done
  ((${#offered[@]} == 0)) || apt_install "${offered[@]}"
}
