// How long `capbench serve` takes for each kind of page: node load.mjs CAPBENCH DB [REQUESTS [MODULES CHROMIUM]]. Every
// request asks for another page as long as there are others, spread over all there are, so nothing comes out of the server's
// cache the first time. Prints a table; exits 1 if the 95th percentile of a kind is over 50 ms. With a browser, the first view
// of a page of each kind too, by a visitor who has nothing in the cache: exits 1 if it takes, with the figures that can be
// seen, over 1 s or over 1 MB.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { Agent, get } from "node:http";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";

const [program, db, wanted = "200", modules = "", chromium = ""] = process.argv.slice(2);
const requests = Number(wanted);
const server = spawn(program, ["serve", "--db", db, "--listen", "127.0.0.1:0", "--read-only", "--read-rate", "0"], {
  stdio: ["ignore", "pipe", "inherit"],
});
const base = await new Promise((done, failed) => {
  server.stdout.once("data", (bytes) => done(bytes.toString().trim()));
  server.once("exit", (code) => failed(new Error(`capbench serve ended with ${code}`)));
});
const agent = new Agent({ keepAlive: true, maxSockets: 1 });

// What the first request of each page gave: the next one is answered from the cache.
const firsts = new Map();
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
      reply.on("end", () => {
        const answer = { status: reply.statusCode, took: performance.now() - start, bytes, body: Buffer.concat(parts), coding: reply.headers["content-encoding"] };
        if (!firsts.has(path)) firsts.set(path, answer);
        done(answer);
      });
    }).on("error", failed);
  });
}

const { gunzipSync } = await import("node:zlib");
const text = (reply) => (reply.coding === "gzip" ? gunzipSync(reply.body) : reply.body).toString();
const links = (html, pattern) => [...new Set([...html.matchAll(pattern)].map((found) => found[1]))];

let failed = false;

// In a fresh profile each, by the page's own clock, which starts when the browser is told to go there: until its text and tables
// are painted and their scripts have run; and until the figures that can be seen are drawn too, which is what the bound is
// for.
async function firstViews(kinds) {
  const driver = createRequire(join(resolve(modules), "playwright-core/package.json"))("playwright-core");
  const browser = await driver.chromium.launch({ executablePath: chromium, args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"] });
  console.log("| first view | different | median ms | most ms | figures too, most ms | most kB | under 1 s, under 1 MB |");
  console.log("|---|--:|--:|--:|--:|--:|---|");
  for (const [name, paths] of Object.entries(kinds)) {
    if (!paths[0]?.endsWith(".html") && paths[0] !== "/") continue;
    const took = [];
    let most = 0;
    let mostDrawn = 0;
    for (const path of spread(paths, 5)) {
      const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
      const page = await context.newPage();
      await page.addInitScript(() => {
        globalThis.drawnAt = new Map();
        new MutationObserver((changes) => {
          for (const { target } of changes) globalThis.drawnAt.set(target, performance.now());
        }).observe(document, { subtree: true, attributeFilter: ["data-drawn"] });
      });
      // A window that was just opened loads the browser's own pages beside ours, for about a second.
      await page.waitForTimeout(1500);
      await page.goto(base + path, { waitUntil: "load" });
      const viewed = await page.waitForFunction(() => {
        const seen = [...document.querySelectorAll("figure.plot")].filter((figure) => {
          const place = figure.getBoundingClientRect();
          return figure.offsetParent !== null && place.top < innerHeight && place.bottom > 0;
        });
        const paint = performance.getEntriesByName("first-contentful-paint")[0];
        if (!paint || seen.some((figure) => !globalThis.drawnAt.has(figure))) return 0;
        const [{ domContentLoadedEventEnd }] = performance.getEntriesByType("navigation");
        const first = Math.max(domContentLoadedEventEnd, paint.startTime);
        return { first, drawn: Math.max(first, ...seen.map((figure) => globalThis.drawnAt.get(figure))) };
      });
      const { first, drawn } = await viewed.jsonValue();
      took.push(first);
      mostDrawn = Math.max(mostDrawn, drawn);
      const bytes = await page.evaluate(() =>
        [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")].reduce((sum, one) => sum + one.transferSize, 0),
      );
      most = Math.max(most, bytes);
      await context.close();
    }
    took.sort((a, b) => a - b);
    const holds = mostDrawn < 1000 && most < 1_000_000;
    if (!holds) failed = true;
    console.log(`| ${name} | ${took.length} | ${took[Math.floor(took.length / 2)].toFixed(0)} | ${took.at(-1).toFixed(0)} | ${mostDrawn.toFixed(0)} | ${(most / 1000).toFixed(0)} | ${holds ? "pass" : "FAIL"} |`);
  }
  await browser.close();
}

// As many as are asked, spread over all.
const spread = (all, most) => all.filter((_, i) => Math.floor((i * most) / all.length) !== Math.floor(((i - 1) * most) / all.length));
try {
  // The store is read when the program starts; until then pages say so, and everything else is answered.
  const start = performance.now();
  let health = 0;
  let first;
  do {
    health = Math.max(health, (await fetch("/healthz")).took);
    first = await fetch("/index.html");
    firsts.clear();
  } while (first.status === 503);
  console.log(`first page: ${((performance.now() - start) / 1000).toFixed(1)} s after the start; meanwhile /healthz was answered in ${health.toFixed(1)} ms at most`);
  const parts = (stem, html) => Math.max(1, ...links(html, new RegExp(`${stem}-(\\d+)\\.html`, "g")).map(Number));
  const listed = {};
  for (const stem of ["speedup", "history", "machines", "submissions", "not-counted"]) {
    const n = parts(stem, text(await fetch(`/${stem}.html`)));
    listed[stem] = Array.from({ length: n }, (_, i) => (i === 0 ? `/${stem}.html` : `/${stem}-${i + 1}.html`));
  }
  const linked = async (lists, pattern, most) => {
    const found = [];
    for (const list of spread(lists, most)) found.push(...links(text(await fetch(list)), pattern).map((path) => `/${path}`));
    return [...new Set(found)];
  };
  const lists = (stem) => spread(listed[stem], requests);
  const series = spread(await linked(listed.history, /href="(history\/[0-9a-f]{16}\.html)"/g, 12), 2 * requests);
  const trials = spread(await linked(series.slice(0, 30), /href="\.\.\/(trial\/[0-9a-f]{64}\.html)"/g, 30), requests);
  const failures = spread(await linked(listed["not-counted"], /href="(trial\/[0-9a-f]{64}\.html)"/g, 4), requests);
  const submissions = spread(await linked(listed.submissions, /href="(submission\/[0-9a-f]{64}\.html)"/g, 4), requests);
  const sides = spread([...text(await fetch("/compare.html")).matchAll(/"id":"([0-9a-f]{16})"/g)].map((found) => `/compare/${found[1]}.js`), requests);
  const ablations = links(text(await fetch("/ablation.html")), /href="(ablation\/[0-9a-f]{16}\.html)"/g).map((path) => `/${path}`);
  const kinds = {
    overview: ["/"],
    speedup: lists("speedup"),
    "history, the list": lists("history"),
    "history of a series": series,
    trial: trials,
    "trial that failed": failures,
    ablation: ["/ablation.html", ...ablations],
    map: ["/map.html"],
    machines: lists("machines"),
    compare: ["/compare.html"],
    "data to compare": sides,
    submissions: lists("submissions"),
    "one submission": submissions,
    "not counted": lists("not-counted"),
  };
  console.log("| pages | different | requests | median ms | p95 ms | most ms | kB compressed | p95 under 50 ms, under 1 MB |");
  console.log("|---|--:|--:|--:|--:|--:|--:|---|");
  for (const [name, paths] of Object.entries(kinds)) {
    if (paths.length === 0) continue;
    const took = [];
    let bytes = 0;
    const n = Math.min(requests, paths.length);
    for (let i = 0; i < n; i += 1) {
      const reply = firsts.get(paths[i]) ?? (await fetch(paths[i]));
      if (reply.status !== 200) throw new Error(`${paths[i]} answered ${reply.status}`);
      took.push(reply.took);
      bytes = Math.max(bytes, reply.bytes);
    }
    took.sort((a, b) => a - b);
    const at = (share) => took[Math.min(took.length - 1, Math.floor(share * took.length))].toFixed(1);
    const holds = Number(at(0.95)) < 50 && bytes < 1_000_000;
    if (!holds) failed = true;
    console.log(`| ${name} | ${paths.length} | ${n} | ${at(0.5)} | ${at(0.95)} | ${at(1)} | ${(bytes / 1000).toFixed(0)} | ${holds ? "pass" : "FAIL"} |`);
  }
  if (chromium !== "" && existsSync(join(modules, "playwright-core"))) await firstViews(kinds);
  else console.log("first views: not measured, Chromium or playwright-core is missing");
} finally {
  agent.destroy();
  server.kill("SIGTERM");
}
process.exit(failed ? 1 : 0);
