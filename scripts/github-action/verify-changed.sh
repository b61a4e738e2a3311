#!/usr/bin/env bash
# Runs `capbench verify` on every bundle that differs between a commit and the
# checkout, and writes a summary for people. The step of action.yml; works
# without GitHub as well.
#
# In the environment (all optional but CAPBENCH_BASE):
#   CAPBENCH_BASE        the commit to compare with
#   CAPBENCH             the program
#   CAPBENCH_SIGNERS     a file of allowed signers
#   GITHUB_STEP_SUMMARY  where the Markdown goes (default: nowhere)
#   GITHUB_OUTPUT        where "verified=N" and "failed=N" go (default: nowhere)
#
# Exit status: 0 no check failed; 1 one did; 2 wrong usage, or a bundle that
# cannot be read.
#
# Names and contents of bundles are a stranger's: they reach no command line
# but behind "--", no Markdown but as escaped text, and no log but where it
# takes no commands.
set -euo pipefail

summary="${GITHUB_STEP_SUMMARY:-/dev/null}"
output="${GITHUB_OUTPUT:-/dev/null}"

die() {
  printf 'error: %s\n' "$*" >&2
  exit 2
}

# The program of this checkout, if it is built, else the one on the PATH.
find_program() {
  local here
  here="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)"
  if [[ -n "${CAPBENCH:-}" ]]; then
    printf '%s\n' "$CAPBENCH"
  elif [[ -x "$here/../../bin/capbench" ]]; then
    printf '%s\n' "$here/../../bin/capbench"
  else
    command -v capbench ||
      die "capbench is neither built here nor on the PATH; try: scripts/setup, or the input 'capbench'"
  fi
}

# Text as HTML that Markdown leaves alone; what is not printable ASCII becomes "?".
escaped() {
  LC_ALL=C tr -c '[:print:]\n' '?' | LC_ALL=C sed -e 's/&/\&amp;/g' -e 's/</\&lt;/g' -e 's/>/\&gt;/g' \
    -e 's/|/\&#124;/g' -e 's/`/\&#96;/g' -e 's/\*/\&#42;/g' -e 's/_/\&#95;/g' -e 's/~/\&#126;/g' \
    -e 's/\[/\&#91;/g' -e 's/\]/\&#93;/g' -e 's/\\/\&#92;/g' -e 's/@/\&#64;/g' -e 's/:/\&#58;/g'
}

# A name on one line.
escaped_name() { printf '%s' "$1" | tr '\n' '?' | escaped; }

# A name as a property of a workflow command.
property() {
  local text=$1
  text=${text//'%'/%25}
  text=${text//$'\r'/%0D}
  text=${text//$'\n'/%0A}
  text=${text//:/%3A}
  printf '%s' "${text//,/%2C}"
}

[[ -n "${CAPBENCH_BASE:-}" ]] || die "no commit to compare with; try: CAPBENCH_BASE=origin/main"
git rev-parse --quiet --verify --end-of-options "$CAPBENCH_BASE^{commit}" >/dev/null ||
  die "the commit $(printf '%q' "$CAPBENCH_BASE") is not here; try: actions/checkout with fetch-depth: 0"
cd "$(git rev-parse --show-toplevel)"
program="$(find_program)"
options=()
[[ -z "${CAPBENCH_SIGNERS:-}" ]] || options+=(--signers "$CAPBENCH_SIGNERS")

# What the branch itself changed, if its history is here; else all that differs.
since="$(git merge-base "$CAPBENCH_BASE" HEAD 2>/dev/null || git rev-parse "$CAPBENCH_BASE^{commit}")"
bundles=()
while IFS= read -r -d '' name; do bundles+=("$name"); done < <(
  git diff -z --name-only --no-renames --diff-filter=d "$since" HEAD -- ':(glob)**/*.capbundle'
)

# Commands in what a bundle says must not reach the runner.
token="$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')"
report="$(mktemp)"
trap 'rm -f "$report"' EXIT
verified=0
failed=0
status=0
rows=""
details=""
for name in ${bundles[@]+"${bundles[@]}"}; do
  verified=$((verified + 1))
  result=0
  if [[ -L "$name" || ! -f "$name" ]]; then
    echo "not a regular file" >"$report"
    result=1
  else
    "$program" verify ${options[@]+"${options[@]}"} -- "./$name" >"$report" 2>&1 || result=$?
  fi
  # The last line of those that begin as a verdict does; a file's name may begin so, too.
  verdict="$(grep -aE '^(FAILED|consistent|self-reported):' "$report" | tail -n 1 || true)"
  mark="passed"
  if [[ $result -ne 0 ]]; then
    mark="**failed**"
    failed=$((failed + 1))
    [[ $result -eq 1 ]] || result=2
    [[ $result -le $status ]] || status=$result
    printf '::error file=%s::capbench verify: a check failed; the summary of this step says which\n' \
      "$(property "$name")"
  fi
  [[ -n "$verdict" ]] || verdict="$(head -n 1 "$report")"
  printf '::stop-commands::%s\n' "$token"
  cat "$report"
  printf '\n::%s::\n' "$token"
  rows+="| <code>$(escaped_name "$name")</code> | $mark | $(escaped_name "$verdict") |"$'\n'
  details+="<details><summary><code>$(escaped_name "$name")</code></summary>"$'\n\n'
  details+="<pre>$(escaped <"$report")"$'\n'"</pre>"$'\n\n'"</details>"$'\n\n'
done

{
  echo '## capbench verify'
  echo
  if [[ $verified -eq 0 ]]; then
    echo 'No bundle was added or changed.'
  else
    echo '| bundle | | verdict |'
    echo '|---|---|---|'
    printf '%s\n' "$rows"
    printf '%s' "$details"
    echo '*consistent* means that nothing in a bundle contradicts itself, not that nobody lied.'
  fi
} >>"$summary"
printf 'verified=%s\nfailed=%s\n' "$verified" "$failed" >>"$output"
printf '%s bundles, %s failed\n' "$verified" "$failed"
exit "$status"
