#!/usr/bin/env bash
# The shell step of action.yml, run as GitHub runs it, on branches with good and bad bundles.
# shellcheck disable=SC2016  # names that a shell could expand
set -euo pipefail

if ! command -v git >/dev/null; then
  echo "SKIPPED: git is missing"
  exit 0
fi

action="$PWD/scripts/github-action"
export CAPBENCH="$PWD/harness/cli/capbench"
work="$TEST_TMPDIR"
export HOME="$work" GIT_CONFIG_NOSYSTEM=1 GITHUB_ACTION_PATH="$action"
harness/verify/write_test_bundles "$work"
failures=0

fail() {
  printf 'FAILED %s\n' "$*"
  failures=$((failures + 1))
}

expect() { [[ "$2" == "$3" ]] || fail "$1: expected '$2', got '$3'"; }
expect_in() { grep -qF -- "$2" "$3" || fail "$1: no '$2' in $(cat "$3")"; }
expect_not_in() { ! grep -qF -- "$2" "$3" || fail "$1: '$2' in $(cat "$3")"; }

# What stands behind `run:` in the action's only step.
step="$(sed -n "s/^ *run: '\(.*\)'\$/\1/p" "$action/action.yml")"
expect "one step" 1 "$(printf '%s\n' "$step" | grep -c .)"

# branch: a new repository with one commit, and another for the pull request.
branch() {
  rm -rf "$work/repository"
  git init -q "$work/repository"
  cd "$work/repository"
  git config user.email test@example.org
  git config user.name test
  mkdir results
  echo results >results/README.md
  cp "$work/bad.capbundle" results/old.capbundle
  git add .
  git commit -qm base
  CAPBENCH_BASE="$(git rev-parse HEAD)"
  export CAPBENCH_BASE
}

# run: commits what is there and runs the step; sets `status`.
run() {
  git add -A
  git commit -qm change --allow-empty
  export GITHUB_STEP_SUMMARY="$work/summary" GITHUB_OUTPUT="$work/output"
  : >"$GITHUB_STEP_SUMMARY"
  : >"$GITHUB_OUTPUT"
  status=0
  bash --noprofile --norc -eo pipefail -c "$step" >"$work/log" 2>&1 || status=$?
}

branch
run
expect "no bundle: status" 0 "$status"
expect_in "no bundle" "No bundle was added or changed" "$work/summary"
expect_in "no bundle" "verified=0" "$work/output"

# One that was there before is not looked at, however bad it is.
branch
cp "$work/good.capbundle" results/new.capbundle
run
expect "good: status" 0 "$status"
expect_in "good" "results/new.capbundle</code> | passed | consistent" "$work/summary"
expect_not_in "good" "old.capbundle" "$work/summary"
expect_in "good" "failed=0" "$work/output"

branch
cp "$work/good.capbundle" results/new.capbundle
cp "$work/bad.capbundle" "results/a bad one.capbundle"
cp "$work/damaged.capbundle" damaged.capbundle
run
expect "bad: status" 1 "$status"
expect_in "bad" "results/a bad one.capbundle</code> | **failed** | FAILED" "$work/summary"
expect_in "bad" "samples" "$work/summary"
expect_in "bad" "::error file=results/a bad one.capbundle::" "$work/log"
expect_in "bad" "<code>damaged.capbundle</code> | **failed** | FAILED" "$work/summary"
expect_in "bad" "results/new.capbundle</code> | passed" "$work/summary"
expect_in "bad" "verified=3" "$work/output"
expect_in "bad" "failed=2" "$work/output"

# A bundle that is changed, moved or deleted.
branch
cp "$work/good.capbundle" results/old.capbundle
run
expect "changed: status" 0 "$status"
expect_in "changed" "old.capbundle</code> | passed" "$work/summary"
branch
git mv results/old.capbundle results/moved.capbundle
run
expect "moved: status" 1 "$status"
expect_in "moved" "moved.capbundle</code> | **failed**" "$work/summary"
branch
git rm -q results/old.capbundle
run
expect "deleted: status" 0 "$status"

# Names that would be options, commands, HTML, Markdown or lines of their own.
branch
cp "$work/good.capbundle" -- "--help.capbundle"
cp "$work/bad.capbundle" $'x\n::set-output name=a::b.capbundle'
cp "$work/bad.capbundle" '<img src=x onerror=alert(1)>|[a](b)`c`.capbundle'
mkdir '$(touch pwned)'
cp "$work/good.capbundle" '$(touch pwned)/;touch pwned;.capbundle'
ln -s /etc/passwd link.capbundle
run
expect "names: status" 1 "$status"
expect_in "names" "verified=5" "$work/output"
expect_in "names" "failed=3" "$work/output"
expect_not_in "names" "<img" "$work/summary"
expect_not_in "names" "[a](b)" "$work/summary"
expect "names: commands in the log" 0 "$(grep -c '^ *::set-output' "$work/log" || true)"
expect "names: rows of the table" 5 "$(grep -c '^| <code>' "$work/summary")"
expect_in "names" "not a regular file" "$work/summary"
[[ ! -e pwned ]] || fail "a name was executed"

# What the bundle itself says.
branch
cp "$work/rude.capbundle" rude.capbundle
run
expect "rude: status" 1 "$status"
expect_not_in "rude" "<script>" "$work/summary"
expect_not_in "rude" "</pre><" "$work/summary"
stopped="$(sed -n 's/^::stop-commands::\([0-9a-f]\{32\}\)$/\1/p' "$work/log")"
expect "rude: commands are stopped" 32 "${#stopped}"
expect "rude: and go on" 1 "$(grep -c "^::$stopped::\$" "$work/log")"

# A list of signers.
branch
cp "$work/good.capbundle" results/new.capbundle
: >"$work/signers"
CAPBENCH_SIGNERS="$work/signers" run
expect "signers: status" 0 "$status"
expect_in "signers" "flagged  signer" "$work/summary"

# Wrong usage.
branch
CAPBENCH_BASE=0000000000000000000000000000000000000000 run
expect "base: status" 2 "$status"
expect_in "base" "fetch-depth: 0" "$work/log"
CAPBENCH_BASE='' run
expect "no base: status" 2 "$status"

[[ $failures -eq 0 ]] || exit 1
echo "all passed"
