// The test cases in the XML files that GoogleTest and Bazel write. Not a general XML reader: tags, attributes, text and
// CDATA are all that occurs there.

const ENTITIES = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };

function decode(text) {
  return text.replace(/&(#x[0-9a-fA-F]+|#[0-9]+|[a-z]+);/g, (whole, name) => {
    if (!name.startsWith('#')) return ENTITIES[name] ?? whole;
    const code = name[1] === 'x' ? Number.parseInt(name.slice(2), 16) : Number.parseInt(name.slice(1), 10);
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}

function attributes(text) {
  const found = {};
  for (const [, name, double, single] of text.matchAll(/([\w:.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g)) {
    found[name] = decode(double ?? single);
  }
  return found;
}

// [{name, status: 'passed' | 'failed' | 'skipped', why, gtest}]. `gtest` tells GoogleTest's own cases from the single one
// that Bazel makes up for a program without XML. Throws on a file that is cut short: its missing cases may have failed.
export function readCases(xml) {
  const cases = [];
  let depth = 0;
  let suites = 0;
  let current = null;
  const token = /<!\[CDATA\[[\s\S]*?\]\]>|<!--[\s\S]*?-->|<\?[\s\S]*?\?>|<(\/?)([\w:.-]+)((?:"[^"]*"|'[^']*'|[^>"'])*?)(\/?)>/g;
  for (const [, closing, tag, rest, empty] of xml.matchAll(token)) {
    if (tag === undefined) continue;
    if (closing) {
      depth -= 1;
      if (tag === 'testcase') current = null;
      continue;
    }
    if (!empty) depth += 1;
    if (tag === 'testsuites' || tag === 'testsuite') suites += 1;
    const found = attributes(rest);
    if (tag === 'testcase') {
      const gtest = found.classname !== undefined;
      const disabled = found.status === 'notrun' || found.result === 'suppressed';
      current = {
        name: gtest ? `${found.classname}.${found.name}` : found.name ?? '',
        status: disabled || found.result === 'skipped' ? 'skipped' : 'passed',
        why: disabled ? 'disabled in the source' : '',
        gtest,
      };
      cases.push(current);
      if (empty) current = null;
    } else if (current && (tag === 'failure' || tag === 'error')) {
      current.why = current.status === 'failed' ? `${current.why}\n${found.message ?? ''}` : found.message ?? '';
      current.status = 'failed';
    } else if (current && tag === 'skipped' && current.status !== 'failed') {
      current.status = 'skipped';
      current.why = found.message ?? '';
    }
  }
  if (depth !== 0 || suites === 0) throw new Error('the XML is cut short');
  return cases;
}
