#!/usr/bin/env bash
# What scripts/test counts: every kind of outcome once, and files that were cut short.
set -euo pipefail

if ! command -v node >/dev/null; then
  echo "SKIPPED: node is missing; scripts/setup installs it"
  exit 0
fi

report="$PWD/scripts/node/test_report.mjs"
work="$TEST_TMPDIR"
failures=0

expect() {
  if [[ "$2" != "$3" ]]; then
    printf 'FAILED %s\n  expected: %s\n  got:      %s\n' "$1" "$2" "$3"
    failures=$((failures + 1))
  fi
}

# event LABEL STATUS LOG XML: one test's result, as Bazel reports it.
event() {
  printf '%s' "$3" >"$work/$1.log"
  printf '%s' "$4" >"$work/$1.xml"
  printf '{"id":{"testResult":{"label":"//t:%s","run":1,"shard":1,"attempt":1}},"testResult":{"status":"%s",' "$1" "$2"
  printf '"testActionOutput":[{"name":"test.log","uri":"file://%s"},{"name":"test.xml","uri":"file://%s"}]}}\n' \
    "$work/$1.log" "$work/$1.xml"
}

# count STATUS: how many cases have it.
count() { grep -c "^$1"$'\t' "$work/cases" || true; }

# run EXPECTED...: reads $work/events; the counts as "passed failed skipped".
run() {
  printf '%s\n' "$@" >"$work/expected"
  : >"$work/cases"
  node "$report" "$work/events" "$work/expected" "$work/cases" >"$work/out"
  printf '%s %s %s' "$(count passed)" "$(count failed)" "$(count skipped)"
}

gtest_ok='<testsuites tests="3"><testsuite name="A"><testcase name="One" status="run" result="completed" classname="A" />'
gtest_ok+='<testcase name="Two" status="run" result="skipped" classname="A"><skipped message="no &quot;X&quot;&#x0A;here"><![CDATA[<testcase>]]></skipped></testcase>'
gtest_ok+='<testcase name="DISABLED_Three" status="notrun" result="suppressed" classname="A" /></testsuite></testsuites>'
gtest_bad="${gtest_ok/'<testcase name="One" status="run" result="completed" classname="A" />'/'<testcase name="One" status="run" result="completed" classname="A"><failure message="1 &lt; 2"/></testcase>'}"
shell_ok='<testsuites><testsuite name="t" tests="1"><testcase name="t" status="run"></testcase></testsuite></testsuites>'
shell_bad='<testsuites><testsuite name="t" tests="1"><testcase name="t" status="run"><error message="exited with error code 1"></error></testcase></testsuite></testsuites>'

event gtest PASSED "" "$gtest_ok" >"$work/events"
expect "one passed, one skipped, one disabled" "1 0 2" "$(run //t:gtest)"
expect "the reason of a skip is printed" 'here' "$(grep -o 'here' "$work/out")"

event gtest FAILED "the log" "$gtest_bad" >"$work/events"
expect "one failed case of three" "0 1 2" "$(run //t:gtest)"
expect "the failed case's log is printed" "the log" "$(grep -x 'the log' "$work/out")"

event gtest FAILED "" "$gtest_ok" >"$work/events"
expect "a program that fails after its cases passed" "1 1 2" "$(run //t:gtest)"

event gtest TIMEOUT "" "${gtest_ok:0:150}" >"$work/events"
expect "a program that was killed" "0 1 0" "$(run //t:gtest)"

event gtest PASSED "" "${gtest_ok:0:150}" >"$work/events"
expect "XML that is cut short" "0 1 0" "$(run //t:gtest)"

event gtest PASSED "" '<testsuites tests="0"></testsuites>' >"$work/events"
expect "a program without a case" "0 1 0" "$(run //t:gtest)"

event shell PASSED "hello" "$shell_ok" >"$work/events"
expect "a shell test" "1 0 0" "$(run //t:shell)"

event shell PASSED $'x\nSKIPPED: no GPU\n' "$shell_ok" >"$work/events"
expect "a shell test that skipped" "0 0 1" "$(run //t:shell)"

event shell FAILED $'SKIPPED: no GPU\n' "$shell_bad" >"$work/events"
expect "a shell test that failed" "0 1 0" "$(run //t:shell)"

{
  event shell PASSED "" "$shell_ok"
  printf '{"id":{"targetCompleted":{"label":"//t:broken"}},"completed":{}}\n'
  printf '{"id":{"targetCompleted":{"label":"//t:shell"}},"completed":{"success":true}}\n'
  printf '{"id":{"configuredLabel":{"label":"//t:no_rule"}},"aborted":{"reason":"ANALYSIS_FAILURE"}}\n'
  printf '{"id":{"cut sh'
} >"$work/events"
expect "what did not build, was not analysed, did not run" "1 3 0" "$(run //t:shell //t:broken //t:absent)"

{
  printf '{"id":{"configuredLabel":{"label":"//gone:dep"}},"aborted":{"description":"no such package"}}\n'
  printf '{"id":{"targetCompleted":{"label":"//t:user"}},"children":[{"configuredLabel":{"label":"//gone:dep"}}],"aborted":{}}\n'
} >"$work/events"
expect "a dependency that is missing counts once" "0 1 0" "$(run //t:user)"
expect "and is the reason" "    no such package" "$(grep 'no such package' "$work/out")"

rm "$work/events"
expect "Bazel that never started" "0 1 0" "$(run //t:gtest)"

if ((failures > 0)); then exit 1; fi
echo "all outcomes are counted"
