// usage: node test_report.mjs EVENTS EXPECTED CASES
//
// Reads what `bazel test --build_event_json_file=EVENTS` said and the XML of every test, prints each failed case with its
// log and each skipped one with its reason, and appends a line "passed|failed|skipped<TAB>NAME" per case to CASES.
// EXPECTED lists the labels that had to run, one a line; one that did not is a failed case.
import fs from 'node:fs';
import { fileURLToPath } from 'node:url';
import { readCases } from './junit.mjs';

const LOG_LINES = 200;

function readLocal(uri) {
  try {
    return uri?.startsWith('file:') ? fs.readFileSync(fileURLToPath(uri), 'utf8') : null;
  } catch {
    return null;
  }
}

function lines(text) {
  return text.split('\n').map((line) => line.trim()).filter((line) => line !== '');
}

// Without the three lines that Bazel puts before a test's own output.
function lastLines(text) {
  const all = text.replace(/^exec \$\{PAGER.*\n.*\n-+\n/, '').trimEnd().split('\n');
  const cut = all.length - LOG_LINES;
  return cut > 0 ? `[${cut} lines left out]\n${all.slice(cut).join('\n')}` : all.join('\n');
}

// {results: Map of "label shard run" -> the last attempt's testResult, notBuilt: Map of label -> why}
function readEvents(file) {
  const results = new Map();
  const notBuilt = new Map();
  const aborted = new Map();
  const explained = new Set();
  // A Bazel that was killed leaves a last line cut short, and one that never started leaves no file.
  const text = fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : '';
  for (const line of lines(text)) {
    let event;
    try {
      event = JSON.parse(line);
    } catch {
      continue;
    }
    const { testResult: test, targetCompleted: target, configuredLabel, unconfiguredLabel } = event.id ?? {};
    if (test && event.testResult) {
      const key = `${test.label} ${test.shard ?? 1} ${test.run ?? 1}`;
      const attempt = test.attempt ?? 1;
      if ((results.get(key)?.attempt ?? 0) <= attempt) results.set(key, { label: test.label, attempt, ...event.testResult });
    } else if (target && !event.completed?.success) {
      const causes = (event.children ?? []).map((child) => (child.configuredLabel ?? child.unconfiguredLabel)?.label);
      notBuilt.set(target.label, { why: event.aborted?.description, causes });
      for (const cause of causes) explained.add(cause);
    } else if ((configuredLabel || unconfiguredLabel) && event.aborted) {
      aborted.set((configuredLabel ?? unconfiguredLabel).label, event.aborted.description);
    }
  }
  for (const [label, { why, causes }] of notBuilt) {
    const cause = causes.map((each) => aborted.get(each)).find((each) => each);
    notBuilt.set(label, why || cause || 'it did not build (the messages are above)');
  }
  // What a target above names as its cause is no case of its own.
  for (const [label, why] of aborted) {
    if (!explained.has(label) && !notBuilt.has(label)) notBuilt.set(label, why || 'it could not be analysed');
  }
  return { results, notBuilt };
}

// The cases of one test program, never empty: what was killed or says nothing counts as one failed case.
function casesOf(result) {
  const file = (name) => readLocal((result.testActionOutput ?? []).find((output) => output.name === name)?.uri);
  const log = file('test.log') ?? '';
  const ended = `the test program ended as ${result.status}`;
  let cases = [];
  let damage = '';
  try {
    const xml = file('test.xml');
    if (xml !== null) cases = readCases(xml);
  } catch (error) {
    damage = error.message;
  }
  if (result.status !== 'PASSED') {
    if (!cases.some((one) => one.status === 'failed')) {
      cases = cases.filter((one) => one.gtest);
      cases.push({ name: '', status: 'failed', why: damage ? `${ended}; ${damage}` : ended });
    }
    return { cases, log };
  }
  if (damage) cases = [{ name: '', status: 'failed', why: damage }];
  if (cases.length === 0) cases = [{ name: '', status: 'failed', why: 'the test program ran no test case' }];
  // A shell test cannot tell Bazel that it skipped; its last line can.
  const skipped = /^SKIPPED: (.*)$/.exec(lines(log).at(-1) ?? '');
  if (skipped && cases.length === 1 && !cases[0].gtest && cases[0].status === 'passed') {
    cases[0] = { ...cases[0], status: 'skipped', why: skipped[1] };
  }
  return { cases, log };
}

function main([eventsFile, expectedFile, casesFile]) {
  const { results, notBuilt } = readEvents(eventsFile);
  const all = [];
  const logs = new Map();
  for (const [, result] of [...results].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const { cases, log } = casesOf(result);
    for (const one of cases) {
      const name = one.gtest ? `${result.label} ${one.name}` : result.label;
      all.push({ name, status: one.status, why: one.why });
    }
    if (cases.some((one) => one.status === 'failed')) logs.set(result.label, log);
  }
  for (const [label, why] of notBuilt) all.push({ name: label, status: 'failed', why });
  const ran = new Set([...[...results.values()].map((result) => result.label), ...notBuilt.keys()]);
  for (const label of lines(fs.readFileSync(expectedFile, 'utf8'))) {
    if (!ran.has(label)) all.push({ name: label, status: 'failed', why: 'it did not run' });
  }

  const out = [];
  for (const [label, log] of logs) out.push(`--- log of ${label}`, lastLines(log));
  for (const status of ['failed', 'skipped']) {
    for (const one of all.filter((each) => each.status === status)) {
      out.push(`${status.toUpperCase()} ${one.name}`, ...lines(one.why).map((line) => `    ${line}`));
    }
  }
  if (out.length > 0) fs.writeSync(1, `${out.join('\n')}\n`);
  fs.appendFileSync(casesFile, all.map((one) => `${one.status}\t${one.name}\n`).join(''));
}

main(process.argv.slice(2));
