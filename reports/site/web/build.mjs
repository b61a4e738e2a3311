// Type-checks and bundles the scripts of the site and writes them, with the style sheet and the licences of what was
// bundled, as one C++ source: node build.mjs SOURCES MODULES OUT. MODULES is the folder node_modules of package-lock.json.
import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const [sources, modules, out] = process.argv.slice(2).map((path) => resolve(path));

// One folder with everything, so that neither tool looks anywhere else.
const work = mkdtempSync(join(tmpdir(), "capbench-site-"));
try {
  for (const name of readdirSync(sources)) {
    if (/\.(ts|css)$/.test(name) || name === "tsconfig.json") copyFileSync(join(sources, name), join(work, name));
  }
  symlinkSync(modules, join(work, "node_modules"));

  try {
    execFileSync(process.execPath, [join(modules, "typescript/bin/tsc"), "-p", work], { stdio: "pipe" });
  } catch (error) {
    process.stderr.write(`${error.stdout ?? ""}${error.stderr ?? ""}`);
    throw new Error("the scripts of the site have type errors (above)");
  }

  const { buildSync } = createRequire(join(modules, "esbuild/package.json"))("esbuild");
  const packages = new Set();
  // Classic scripts: modules do not load from a file.
  const bundle = (name) => {
    const result = buildSync({
      absWorkingDir: work,
      entryPoints: [name],
      bundle: true,
      minify: true,
      format: "iife",
      target: "es2020",
      legalComments: "none",
      write: false,
      metafile: true,
      preserveSymlinks: true,
      logLevel: "warning",
    });
    for (const input of Object.keys(result.metafile.inputs)) {
      const found = /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input);
      if (found) packages.add(found[1]);
    }
    return result.outputFiles[0].text;
  };
  const style = buildSync({ absWorkingDir: work, entryPoints: ["style.css"], minify: true, write: false }).outputFiles[0].text;
  const app = bundle("app.ts");
  const plots = bundle("plots.ts");

  let licences = "assets/plots.js holds these packages:\n";
  for (const name of [...packages].sort()) {
    const folder = join(modules, name);
    const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    licences += `\n${"=".repeat(72)}\n${name} ${version} (${license})\n\n`;
    const file = readdirSync(folder).find((one) => /^licen[sc]e/i.test(one));
    if (file && existsSync(join(folder, file))) licences += readFileSync(join(folder, file), "utf8").replaceAll("\r", "");
  }

  // Adjacent literals are one; compilers limit the length of each.
  const literal = (text) => {
    if (text.includes(')embedded"')) throw new Error("a text cannot be embedded");
    // Cutting between the halves of a character would lose it.
    if (/[\ud800-\udfff]/.test(text)) text = text.replace(/[\ud800-\udfff]/g, "?");
    let parts = "";
    for (let i = 0; i < text.length; i += 8000) parts += `R"embedded(${text.slice(i, i + 8000)})embedded"\n`;
    return parts;
  };
  const constant = (name, text) => `const std::string_view ${name} =\n${literal(text)};\n`;
  writeFileSync(
    out,
    `#include "reports/site/embedded.h"\nnamespace capbench::site {\n${constant("kStyle", style)}${constant("kApp", app)}` +
      `${constant("kPlots", plots)}${constant("kLicences", licences)}}\n`,
  );
} finally {
  rmSync(work, { recursive: true, force: true });
}
