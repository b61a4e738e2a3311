# shellcheck shell=sh disable=SC2034
# What the stand-in programs share. Each plays one tool whose guest is this machine: a command runs in a real sh, in the
# folder that plays the guest's home, with none of the caller's environment.
#
#   STANDIN_GUEST   folder: the guest's home (required)
#   STANDIN_LOG     file: every argument of every call is appended to it as <argument>, one call after another
#   STANDIN_STATE   running (the default) or stopped
#   STANDIN_ADDRESS the guest's address; empty: it has none
#   STANDIN_BROKEN  not empty: the tool itself fails, in its own way
#   STANDIN_FLAKY   file holding a number: so many calls fail before one works
#   STANDIN_SECOND  how long a second of the tool's own time limits lasts, in seconds (default 1)
: "${STANDIN_GUEST:?names the folder that plays the guest}"
state=${STANDIN_STATE-running}
address=${STANDIN_ADDRESS-192.168.64.7}
broken=${STANDIN_BROKEN-}

if [ -n "${STANDIN_LOG-}" ]; then
  printf '<%s>\n' "${0##*/}" "$@" >>"$STANDIN_LOG"
fi

# Replaces this process by a program of the guest's, with the guest's own small environment.
become_guest() {
  cd "${guest_cwd-$STANDIN_GUEST}" || exit 1
  exec env -i HOME="${guest_home-$STANDIN_GUEST}" PATH=/usr/bin:/bin:/usr/sbin SHELL=/bin/sh "$@"
}

in_guest() { (become_guest "$@"); }

# One word of sh, whatever it holds. The command substitution that takes it drops no byte: it ends in a quote.
quoted() { printf '%s\n' "$1" | sed "s/'/'\\\\''/g; 1s/^/'/; \$s/\$/'/"; }

# True while the calls that fail are not used up.
flaky() {
  [ -n "${STANDIN_FLAKY-}" ] || return 1
  left=$(cat "$STANDIN_FLAKY")
  [ "$left" -gt 0 ] || return 1
  echo $((left - 1)) >"$STANDIN_FLAKY"
}

# fail STATUS TEXT: TEXT to stderr.
fail() {
  printf '%s\n' "$2" >&2
  exit "$1"
}

wrong_usage() { fail 64 "Error: unexpected argument: $*"; }

needs_running() { [ "$state" = running ] || fail 1 "Error: VM \"$1\" is not running"; }
