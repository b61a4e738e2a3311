// usage: bazel aquery --output=jsonproto 'mnemonic("CppCompile", ...)' | node compile_commands.mjs ROOT OUTPUT_BASE EXECUTION_ROOT
//
// Prints compile_commands.json for clang's tools. Bazel compiles in a folder of links; here sources and headers are named
// where they really lie, so that an editor finds them.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

// What only GCC knows, and -Werror, since clang's tools see other warnings than the build does.
const GCC_ONLY = new Set(['-fno-canonical-system-headers', '-fno-gnu-unique', '-Werror', '-Wno-free-nonheap-object', '-Wunused-but-set-parameter']);
const WITH_PATH = ['-iquote', '-isystem', '-I', '-include'];
const LEFT_OUT_WITH_VALUE = new Set(['-o', '-MF']);

// GNU's Objective-C headers lie among GCC's own, where clang does not look.
function objectiveCHeaders() {
  try {
    return ['-idirafter', execFileSync('gcc', ['-print-file-name=include'], { encoding: 'utf8' }).trim()];
  } catch {
    return [];
  }
}

function main([root, outputBase, executionRoot]) {
  const real = (file) => {
    if (file.startsWith('external/')) return path.join(outputBase, file);
    if (file.startsWith('bazel-out/')) return path.join(executionRoot, file);
    return file;
  };
  const { actions = [] } = JSON.parse(fs.readFileSync(0, 'utf8'));
  const commands = new Map();
  const objectiveC = objectiveCHeaders();
  for (const { arguments: given = [] } of actions) {
    const kept = [];
    let file = null;
    for (let i = 0; i < given.length; i += 1) {
      const word = given[i];
      if (word === '-c') {
        file = given[(i += 1)];
        kept.push('-c', real(file));
      } else if (LEFT_OUT_WITH_VALUE.has(word)) {
        i += 1;
      } else if (WITH_PATH.includes(word)) {
        kept.push(word, real(given[(i += 1)]));
      } else if (word === '-MD' || GCC_ONLY.has(word) || word.startsWith('-frandom-seed=')) {
        continue;
      } else {
        const flag = WITH_PATH.find((prefix) => word.startsWith(prefix));
        kept.push(flag ? flag + real(word.slice(flag.length)) : word);
      }
    }
    // Position-independent and plain objects of one file differ in nothing that a reader of the source would see.
    if (file !== null && file.startsWith('shim/metal/')) kept.push(...objectiveC);
    if (file !== null && !commands.has(file)) commands.set(file, { directory: root, file: real(file), arguments: kept });
  }
  const sorted = [...commands.keys()].sort().map((file) => commands.get(file));
  fs.writeSync(1, `${JSON.stringify(sorted, null, 1)}\n`);
}

main(process.argv.slice(2));
