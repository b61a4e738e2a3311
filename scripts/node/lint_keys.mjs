// usage: node lint_keys.mjs ROOT SALT COMMANDS < FILES
//
// For each source file on stdin, a path relative to ROOT, prints "KEY<TAB>FILE": a SHA-256 over SALT, the file, every header
// of ours that it includes, however deep, and its command in COMMANDS (compile_commands.json). A file without a command
// gets the key "-": nothing on this machine compiles it.
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';

function main([root, salt, commandsFile]) {
  const commands = new Map(JSON.parse(fs.readFileSync(commandsFile, 'utf8')).map((one) => [one.file, one.arguments]));
  const texts = new Map();
  const textOf = (file) => {
    if (!texts.has(file)) {
      const full = path.join(root, file);
      texts.set(file, fs.existsSync(full) ? fs.readFileSync(full, 'utf8') : null);
    }
    return texts.get(file);
  };
  const closureOf = (file) => {
    const seen = new Set([file]);
    for (const each of seen) {
      for (const [, included] of (textOf(each) ?? '').matchAll(/^[ \t]*#[ \t]*include[ \t]*"([^"]+)"/gm)) {
        if (textOf(included) !== null) seen.add(included);
      }
    }
    return [...seen].sort();
  };
  for (const file of fs.readFileSync(0, 'utf8').split('\n').filter((line) => line !== '')) {
    const command = commands.get(file);
    if (!command) {
      console.log(`-\t${file}`);
      continue;
    }
    const hash = crypto.createHash('sha256').update(JSON.stringify([salt, command]));
    for (const each of closureOf(file)) hash.update(JSON.stringify([each, textOf(each)]));
    console.log(`${hash.digest('hex')}\t${file}`);
  }
}

main(process.argv.slice(2));
