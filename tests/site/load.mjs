// How long `capbench serve` takes for each kind of page: node load.mjs CAPBENCH DB [REQUESTS]. Every request asks for
// another page as long as there are others, so nothing comes out of the server's cache the first time. Prints a table; exits 1
// if the 95th percentile of a kind is over 50 ms.
import { spawn } from "node:child_process";
import { Agent, get } from "node:http";

const [program, db, wanted = "200"] = process.argv.slice(2);
const requests = Number(wanted);
const server = spawn(program, ["serve", "--db", db, "--listen", "127.0.0.1:0", "--read-only", "--read-rate", "0"], {
  stdio: ["ignore", "pipe", "inherit"],
});
const base = await new Promise((done, failed) => {
  server.stdout.once("data", (bytes) => done(bytes.toString().trim()));
  server.once("exit", (code) => failed(new Error(`capbench serve ended with ${code}`)));
});
const agent = new Agent({ keepAlive: true, maxSockets: 1 });

function fetch(path) {
  return new Promise((done, failed) => {
    const start = performance.now();
    get(base + path, { agent, headers: { "Accept-Encoding": "gzip" } }, (reply) => {
      let bytes = 0;
      const parts = [];
      reply.on("data", (part) => {
        bytes += part.length;
        parts.push(part);
      });
      reply.on("end", () => done({ status: reply.statusCode, took: performance.now() - start, bytes, body: Buffer.concat(parts), coding: reply.headers["content-encoding"] }));
    }).on("error", failed);
  });
}

const { gunzipSync } = await import("node:zlib");
const text = (reply) => (reply.coding === "gzip" ? gunzipSync(reply.body) : reply.body).toString();
const links = (html, pattern) => [...new Set([...html.matchAll(pattern)].map((found) => found[1]))];

let failed = false;
try {
  const first = await fetch("/");
  console.log(`first page, while the store is read: ${(first.took / 1000).toFixed(1)} s`);
  const parts = (stem, html) => Math.max(1, ...links(html, new RegExp(`${stem}-(\\d+)\\.html`, "g")).map(Number));
  const lists = [];
  const series = [];
  for (const stem of ["speedup", "history", "machines", "submissions"]) {
    const n = parts(stem, text(await fetch(`/${stem}.html`)));
    for (let i = 1; i <= n; i += 1) lists.push(i === 1 ? `/${stem}.html` : `/${stem}-${i}.html`);
  }
  for (const list of lists.filter((path) => path.startsWith("/history")).slice(0, 4)) {
    series.push(...links(text(await fetch(list)), /href="(history\/[0-9a-f]{16}\.html)"/g).map((path) => `/${path}`));
  }
  const trials = [];
  for (const path of series.slice(-8)) {
    trials.push(...links(text(await fetch(path)), /href="\.\.\/(trial\/[0-9a-f]{64}\.html)"/g).map((link) => `/${link}`));
  }
  const sides = [...text(await fetch("/compare.html")).matchAll(/"id":"([0-9a-f]{16})"/g)].map((found) => `/compare/${found[1]}.js`);
  const ablations = links(text(await fetch("/ablation.html")), /href="(ablation\/[0-9a-f]{16}\.html)"/g).map((path) => `/${path}`);
  const kinds = {
    overview: ["/"],
    "speedup, history, machines, submissions": lists,
    map: ["/map.html"],
    ablation: ["/ablation.html", ...ablations],
    "history of a series": series.slice(0, -8),
    trial: trials,
    compare: ["/compare.html"],
    "data to compare": sides,
  };
  console.log("| pages | different | requests | median ms | p95 ms | most ms | kB compressed |\n|---|--:|--:|--:|--:|--:|--:|");
  for (const [name, paths] of Object.entries(kinds)) {
    if (paths.length === 0) continue;
    const took = [];
    let bytes = 0;
    for (let i = 0; i < requests; i += 1) {
      const reply = await fetch(paths[i % paths.length]);
      if (reply.status !== 200) throw new Error(`${paths[i % paths.length]} answered ${reply.status}`);
      took.push(reply.took);
      bytes = Math.max(bytes, reply.bytes);
    }
    took.sort((a, b) => a - b);
    const at = (share) => took[Math.min(took.length - 1, Math.floor(share * took.length))].toFixed(1);
    if (Number(at(0.95)) > 50) failed = true;
    console.log(`| ${name} | ${paths.length} | ${requests} | ${at(0.5)} | ${at(0.95)} | ${at(1)} | ${(bytes / 1000).toFixed(0)} |`);
  }
} finally {
  agent.destroy();
  server.kill("SIGTERM");
}
process.exit(failed ? 1 : 0);
