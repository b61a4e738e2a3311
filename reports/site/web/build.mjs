// Compiles the plots, type-checks and bundles the scripts of the site and writes them, with the style sheet and the licences
// of what was bundled, as one C++ source: node build.mjs SOURCES MODULES PLOTS OUT. MODULES is the folder node_modules of
// package-lock.json; PLOTS has the Vega-Lite specifications by name (print_plots.cc).
import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [sources, modules, plotsFile, out] = process.argv.slice(2).map((path) => resolve(path));

const imported = (name, file) => import(pathToFileURL(join(modules, name, file)));
const { compile } = await imported("vega-lite", "build/index.js");
const vega = await imported("vega", "index.js");

// Each specification as the dataflow that Vega runs, so that a browser needs neither Vega-Lite nor Vega's parser. What a
// compiler complains about is an error here, but that a plot is as high as its rows are many.
function compiled(name, specification) {
  const complaints = [];
  const complain = (...texts) => {
    complaints.push(texts.join(" "));
    return logger;
  };
  const logger = { level: () => logger, error: complain, warn: complain, info: () => logger, debug: () => logger };
  const { spec } = compile(specification, { logger });
  const real = complaints.filter((text) => !/^Dropping "fit-y" because spec has discrete height/.test(text));
  if (real.length > 0) throw new Error(`plot ${name}: ${real.join("; ")}`);
  // What the compiler did not understand it leaves as it is, and no figure would say so.
  JSON.stringify(spec, (key, value) => {
    if (value && Object.keys(value).join() === "expr") throw new Error(`plot ${name}: ${key} cannot be the expression ${value.expr}`);
    return value;
  });
  return vega.parse(spec, {}, { ast: true, logger });
}

// The kinds of operators in a dataflow.
function kinds(value, found) {
  if (!value || typeof value !== "object") return found;
  if (typeof value.type === "string" && "id" in value) found.add(value.type);
  for (const inner of Object.values(value)) kinds(inner, found);
  return found;
}

const specifications = JSON.parse(readFileSync(plotsFile, "utf8"));
const dataflows = Object.fromEntries(Object.entries(specifications).map(([name, one]) => [name, compiled(name, one)]));

// Those transforms alone that the plots use: each by the package that has it.
const used = kinds(dataflows, new Set());
let transforms = "";
const registered = [];
for (const name of ["vega-transforms", "vega-view-transforms", "vega-encode"]) {
  const has = Object.keys(await imported(name, "index.js")).filter((kind) => used.has(kind));
  transforms += `import { ${has.join(", ")} } from "${name}";\n`;
  registered.push(...has);
}
transforms += `export const used = { ${registered.join(", ")} };\n`;
// The rest is Vega's own; what is not is a transform of a package that nobody named here.
const own = new Set(["operator", "resize"]);
const missing = [...used].filter((kind) => !registered.includes(kind) && !own.has(kind));
if (missing.length > 0) throw new Error(`plots use transforms of another package: ${missing.join(", ")}`);

// One folder with everything, so that neither tool looks anywhere else.
const work = mkdtempSync(join(tmpdir(), "capbench-site-"));
try {
  for (const name of readdirSync(sources)) {
    if (/\.(ts|css)$/.test(name) || name === "tsconfig.json") copyFileSync(join(sources, name), join(work, name));
  }
  symlinkSync(modules, join(work, "node_modules"));
  writeFileSync(join(work, "transforms.js"), transforms);
  writeFileSync(join(work, "transforms.d.ts"), "export const used: Record<string, unknown>;\n");

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
  const scripts = { app: bundle("app.ts"), plots: bundle("plots.ts") };
  // Each by itself, and as a text, which is read faster than what it says would be.
  for (const [name, one] of Object.entries(dataflows)) {
    const text = JSON.stringify(one).replaceAll("\\", "\\\\").replaceAll("'", "\\'");
    scripts[`plot-${name}`] = `capbenchPlot("${name}",'${text}');\n`;
  }

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
    `#include "reports/site/embedded.h"\nnamespace capbench::site {\n${constant("kStyle", style)}${constant("kLicences", licences)}` +
      `namespace {\nconst Script kScripts[] = {\n` +
      Object.entries(scripts).map(([name, text]) => `{"assets/${name}.js",\n${literal(text)}},\n`).join("") +
      `};\n}\nstd::span<const Script> scripts() { return kScripts; }\n}\n`,
  );
} finally {
  rmSync(work, { recursive: true, force: true });
}
