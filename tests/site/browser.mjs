// The site in a real browser: node browser.mjs MODULES CHROMIUM SITE [SHOTS] [--url BASE]. SITE is a folder; with --url the
// pages come from a server instead. Prints a line for each check that fails and exits 1 if there is one.
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { extname, join, normalize, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";

const [modules, program, site, shots] = process.argv.slice(2);
const url = process.argv.includes("--url") ? process.argv[process.argv.indexOf("--url") + 1] : null;
const need = createRequire(join(resolve(modules), "playwright-core/package.json"));
const { chromium } = need("playwright-core");
const axe = readFileSync(join(resolve(modules), "axe-core/axe.min.js"), "utf8");

let failures = 0;
let checks = 0;
function check(holds, what) {
  checks += 1;
  if (holds) return;
  failures += 1;
  console.log(`FAILED: ${what}`);
}

// As `capbench serve` and GitHub Pages would send them.
const types = { ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml" };
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'";
let sent = 0;
const server = createServer((request, response) => {
  const path = normalize(decodeURIComponent(new URL(request.url, "http://x").pathname)).replace(/^(\.\.[/\\])+/, "");
  const file = join(site, path.endsWith("/") ? join(path, "index.html") : path);
  if (!file.startsWith(site) || !existsSync(file) || !statSync(file).isFile()) {
    response.writeHead(404).end("no");
    return;
  }
  const body = gzipSync(readFileSync(file));
  sent += body.length;
  response.writeHead(200, {
    "Content-Type": types[extname(file)] ?? "text/plain",
    "Content-Encoding": "gzip",
    "Content-Security-Policy": policy,
    "X-Content-Type-Options": "nosniff",
  });
  response.end(body);
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const base = url ?? `http://127.0.0.1:${server.address().port}/`;

const browser = await chromium.launch({
  executablePath: program,
  args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
});

// A page whose every complaint counts.
async function open(path, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, bypassCSP: false, ...options });
  const page = await context.newPage();
  const complaints = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("requestfailed", (request) => complaints.push(`${request.url()} failed`));
  page.on("request", (request) => {
    const target = request.url();
    if (!target.startsWith(base) && !target.startsWith("data:") && !target.startsWith("file:")) complaints.push(`asked ${target}`);
  });
  await page.goto(/^[a-z]+:/.test(path) ? path : base + path, { waitUntil: "load" });
  return { page, complaints, close: () => context.close() };
}

async function figuresDrawn(page) {
  const all = page.locator("figure.plot:visible");
  for (let i = 0; i < (await all.count()); i += 1) await all.nth(i).scrollIntoViewIfNeeded();
  await page
    .waitForFunction(() => [...document.querySelectorAll("figure.plot")].every((f) => f.offsetParent === null || f.dataset.drawn), null, {
      timeout: 30000,
    })
    .catch(() => {});
  return page.evaluate(() =>
    [...document.querySelectorAll("figure.plot")].filter((f) => f.offsetParent !== null && !f.dataset.drawn).map((f) => f.id + ": " + f.textContent.slice(0, 200)),
  );
}

const overflow = (page) => page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);

async function accessible(page, name) {
  // By the debugger, not by the page: its policy forbids scripts of others.
  await page.evaluate(axe);
  const found = await page.evaluate(() => axe.run(document, { resultTypes: ["violations"] }));
  for (const one of found.violations.filter((v) => v.impact === "serious" || v.impact === "critical")) {
    check(false, `${name}: axe ${one.id}: ${one.help}: ${one.nodes.slice(0, 3).map((n) => n.html.slice(0, 160)).join(" | ")}`);
  }
  checks += 1;
}

const first = (folder) => {
  const path = join(site, folder);
  const names = existsSync(path) ? readdirSync(path).filter((name) => name.endsWith(".html")).sort() : [];
  return names.length > 0 ? `${folder}/${names[0]}` : null;
};

// One of each kind. Of series the one with the most to see.
async function onePage(index, selector) {
  const { page, close } = await open(index);
  const href = await page.locator(selector).first().getAttribute("href").catch(() => null);
  await close();
  return href;
}
const history = (await onePage("index.html", "#changes-table tbody th a")) ?? first("history");
const failed = await onePage("not-counted.html", "#failed tbody th a");
const pages = ["index.html", "speedup.html", "ablation.html", "history.html", "compare.html", "map.html", "machines.html", "submissions.html", "not-counted.html"];
for (const path of [first("ablation"), history, first("submission"), first("trial"), failed]) if (path) pages.push(path);
if (shots) mkdirSync(shots, { recursive: true });

// Some at a time: the browser draws on one thread a page, and waits between.
async function inTurn(works, most = 4) {
  const left = [...works];
  const worker = async () => {
    for (let work = left.shift(); work; work = left.shift()) await work();
  };
  await Promise.all(Array.from({ length: most }, worker));
}
async function shoot(page, path, look) {
  if (!shots) return;
  await page.evaluate(() => scrollTo(0, 0));
  await page.screenshot({ path: join(shots, `${path.replace(/\/.*/, "-one").replace(".html", "")}-${look}.png`), fullPage: true, timeout: 120000 });
}
async function inspect(page, path, look) {
  const name = `${path} (${look})`;
  for (const missing of await figuresDrawn(page)) check(false, `${name}: figure not drawn: ${missing}`);
  // A plot that has no room beside its labels is drawn, and shows nothing.
  const narrowOnes = () =>
    page.evaluate(() =>
      [...document.querySelectorAll("figure.plot svg")]
        .filter((svg) => svg.checkVisibility() && svg.querySelector(".role-frame.root path.background").getBBox().width < 0.4 * svg.viewBox.baseVal.width)
        .map((svg) => svg.closest("figure").id),
    );
  // After the window changed, figures are drawn anew a moment later.
  let narrow = await narrowOnes();
  for (let i = 0; i < 30 && narrow.length > 0; i += 1) {
    await page.waitForTimeout(100);
    narrow = await narrowOnes();
  }
  check(narrow.length === 0, `${name}: figures without room for their plot: ${narrow.join(" ")}`);
  check((await overflow(page)) <= 0, `${name}: wider than the window by ${await overflow(page)} px`);
}

// What is on paper is on white, complete, and no wider than it.
async function inspectPrint(page, path) {
  const name = `${path} (print)`;
  await page.emulateMedia({ media: "print", colorScheme: "dark" });
  await page.setViewportSize({ width: 718, height: 1000 }); // A4 less its margins
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  await inspect(page, path, "print");
  const faults = await page.evaluate(() => {
    const found = [];
    const luminance = (colour) => {
      const [r, g, b] = (colour.match(/[\d.]+/g) ?? ["0", "0", "0"]).map(Number);
      return (0.2126 * r + 0.7152 * g + 0.0722 * b) / 255;
    };
    const shown = (element) => element.getClientRects().length > 0;
    if (luminance(getComputedStyle(document.body).backgroundColor) < 0.99) found.push("the page is not white");
    for (const text of document.querySelectorAll("figure.plot svg text")) {
      if (shown(text) && text.textContent && luminance(getComputedStyle(text).fill) > 0.5) found.push(`pale in a figure: ${text.textContent}`);
    }
    for (const element of document.querySelectorAll("main p, main td, main th, main li, main h2")) {
      if (shown(element) && luminance(getComputedStyle(element).color) > 0.5) found.push(`pale: ${element.textContent.slice(0, 60)}`);
    }
    for (const box of document.querySelectorAll(".scroll, pre.raw, figure.plot .canvas")) {
      if (shown(box) && (box.scrollWidth > box.clientWidth + 1 || (box.matches("pre") && box.scrollHeight > box.clientHeight + 1))) {
        found.push(`cut off: ${box.className} ${box.textContent.slice(0, 60)}`);
      }
    }
    for (const closed of document.querySelectorAll("details:not([open])")) if (shown(closed)) found.push(`closed: ${closed.textContent.slice(0, 60)}`);
    for (const control of document.querySelectorAll("nav, button:not(thead button), .filter, .radios")) if (shown(control)) found.push(`on paper: ${control.className}`);
    for (const heading of document.querySelectorAll("table.data thead th")) {
      if (shown(heading) && !heading.innerText.trim()) found.push(`a column of ${heading.closest("table").id} without its heading`);
    }
    return found;
  });
  for (const fault of faults.slice(0, 5)) check(false, `${name}: ${fault}`);
  checks += 1;
  await shoot(page, path, "print");
}

async function visitDesktop(path) {
  const { page, complaints, close } = await open(path, { colorScheme: "light" });
  await inspect(page, path, "light");
  await accessible(page, `${path} (light)`);
  await shoot(page, path, "light");
  await page.emulateMedia({ colorScheme: "dark" });
  await page.waitForTimeout(50);
  await inspect(page, path, "dark");
  await accessible(page, `${path} (dark)`);
  await shoot(page, path, "dark");
  await inspectPrint(page, path);
  check(complaints.length === 0, `${path}: ${complaints.slice(0, 3).join("; ")}`);
  await close();
}
async function visitPhone(path) {
  const { page, complaints, close } = await open(path, {
    colorScheme: "light", viewport: { width: 390, height: 844 }, deviceScaleFactor: shots ? 2 : 1, isMobile: true, hasTouch: true,
  });
  await inspect(page, path, "phone");
  await shoot(page, path, "phone");
  check(complaints.length === 0, `${path} (phone): ${complaints.slice(0, 3).join("; ")}`);
  await close();
}

// The first view: what is sent and how long it takes, plots left aside since they come later.
if (!url) {
  sent = 0;
  const { page, close } = await open("index.html");
  const took = await page.evaluate(() => {
    const [entry] = performance.getEntriesByType("navigation");
    const [paint] = performance.getEntriesByName("first-contentful-paint");
    return Math.max(entry.domContentLoadedEventEnd, paint?.startTime ?? Infinity);
  });
  await figuresDrawn(page);
  // What comes later has its room kept: of nothing that is read does much move (the bound is the one of Core Web Vitals).
  const moved = await page.evaluate(
    () =>
      new Promise((done) => {
        let sum = 0;
        new PerformanceObserver((list) => {
          for (const one of list.getEntries()) sum += one.value;
        }).observe({ type: "layout-shift", buffered: true });
        setTimeout(() => done(sum), 200);
      }),
  );
  check(moved < 0.1, `first view: a layout shift of ${moved.toFixed(3)} when figures are drawn`);
  check(sent < 1_000_000, `first view: ${sent} bytes compressed, plots included`);
  check(took < 1000, `first view: ${took.toFixed(0)} ms`);
  console.log(`first view: ${took.toFixed(0)} ms; ${(sent / 1000).toFixed(0)} kB compressed with its plots; layout shift ${moved.toFixed(3)}`);
  await close();
}

// The explorer's switches change what is said, the plot and the address; a link keeps the state; keys do the same.
const ablation = first("ablation");
async function explorer() {
  if (!ablation) return;
  const { page, complaints, close } = await open(ablation);
  await figuresDrawn(page);
  const said = () => page.locator(".found .big").innerText();
  const chosen = () => page.locator("section.test:visible figure.plot").first().getAttribute("data-chosen");
  const drawing = () => page.locator("section.test:visible figure.plot svg").first().innerHTML();
  const before = [await said(), await chosen(), await drawing()];
  const switches = page.locator(".switch input");
  check((await switches.count()) > 0, "explorer: no switch");
  await switches.first().focus();
  await page.keyboard.press("Space");
  await page.waitForURL(/levels=/, { timeout: 10000 }).catch(() => {});
  // Drawn anew a moment later.
  for (let i = 0; i < 50 && (await drawing()) === before[2]; i += 1) await page.waitForTimeout(100);
  const after = [await said(), await chosen(), await drawing()];
  check(after[0] !== before[0], `explorer: a switch changes nothing: ${after[0]}`);
  check(after[1] !== before[1], "explorer: a switch does not change the chosen arm");
  check(after[2] !== before[2], "explorer: a switch does not change the plot");
  check(page.url().includes("levels="), "explorer: the address does not keep the switches");
  const again = await open(page.url());
  check((await again.page.locator(".found .big").innerText()) === after[0], "explorer: a link does not restore the switches");
  await again.close();
  check(complaints.length === 0, `explorer: ${complaints[0]}`);
  await close();
}

// A bar is as long as its number says, and lies beside the others: not on top of them, nor at their end.
async function bars() {
  const { page, close } = await open("speedup.html");
  await figuresDrawn(page);
  const figures = await page.evaluate(() =>
    [...document.querySelectorAll("figure.plot")].map((figure) =>
      [...figure.querySelectorAll(".mark-rect.role-mark path")].map(({ __data__: item }) => ({ x: item.x, y: item.y, width: item.width, speed: item.datum.speed })),
    ),
  );
  check(figures.length > 0 && figures.every((one) => one.length > 1), "speedup: figures without bars");
  for (const one of figures) {
    const scale = Math.max(...one.map((bar) => bar.width)) / Math.max(...one.map((bar) => bar.speed));
    check(one.every((bar) => bar.x === 0 && Math.abs(bar.width - scale * bar.speed) < 0.5), "speedup: a bar is not as long as its number");
    check(new Set(one.map((bar) => bar.y)).size === one.length, "speedup: bars lie on one another");
  }
  await page.locator("figure.plot .mark-rect.role-mark path").first().hover();
  const tip = page.locator("#vg-tooltip-element.visible");
  await tip.waitFor({ timeout: 5000 }).catch(() => {});
  check(/tokens\/s/.test(await tip.innerText().catch(() => "")), "speedup: a bar says nothing when it is pointed at");
  await close();
}

// Colours follow the theme, without another drawing.
async function themes() {
  const { page, close } = await open("speedup.html");
  await figuresDrawn(page);
  const colours = () =>
    page.evaluate(() => {
      const figure = document.querySelector("figure.plot");
      return [".mark-rect.role-mark path", ".role-axis-label text"].map((one) => getComputedStyle(figure.querySelector(one)).fill);
    });
  const seen = [];
  for (const theme of ["light", "dark"]) {
    for (let i = 0; i < 3 && (await page.evaluate(() => document.documentElement.dataset.theme)) !== theme; i += 1) await page.locator("button.theme").click();
    seen.push(await colours());
  }
  check(seen.flat().every((colour) => /^rgb/.test(colour) && colour !== "rgb(0, 0, 0)"), `themes: a colour of the style sheet is not known: ${seen.flat().join(" ")}`);
  check(seen[0].every((colour, i) => colour !== seen[1][i]), "themes: a figure keeps its colours");
  await close();
}

// A point opens its trial, with raw output and what had changed; the axis can be changed and is kept.
async function historyPage() {
  if (!history) return;
  const { page, complaints, close } = await open(history);
  await figuresDrawn(page);
  for (const [label, axis] of [["OS builds", "systems"], ["dates", "runs"]]) {
    await page.getByLabel(label).check();
    check(page.url().includes(`axis=${axis}`), "history: the address does not keep the axis");
    check(await page.locator(`#history-${axis}`).isVisible(), `history: no figure over ${axis}`);
    check((await page.locator("figure.plot:visible").count()) === 1, "history: more than one axis is shown");
    for (const missing of await figuresDrawn(page)) check(false, `history, ${axis}: figure not drawn: ${missing}`);
  }
  await page.getByLabel("llama.cpp builds").check();
  await page.locator("#history-builds").scrollIntoViewIfNeeded();
  const point = page.locator("#history-builds svg [aria-roledescription=\"point\"]").last();
  await point.click();
  await page.waitForURL(/trial\//, { timeout: 5000 }).catch(() => {});
  check(/trial\//.test(page.url()), `history: a click on a point opened ${page.url()}`);
  check(await page.getByRole("heading", { name: "Raw output" }).isVisible(), "trial: no raw output");
  check(await page.getByRole("heading", { name: "Environment, against the one before" }).isVisible(), "trial: no environment difference");
  check(complaints.length === 0, `history: ${complaints[0]}`);
  await close();
}

// Two sides compared; what has no match is said.
async function compared() {
  const { page, complaints, close } = await open("compare.html");
  await page.waitForSelector("#compared", { timeout: 5000 }).catch(() => {});
  check((await page.locator("#compared tbody tr").count()) > 0, "compare: what it shows at first has nothing that matches");
  check(await page.getByRole("heading", { name: "Unmatched" }).isVisible(), "compare: unmatched cells are not listed");
  const before = await page.locator(".result").innerText();
  await page.getByRole("button", { name: "Swap" }).click();
  for (let i = 0; i < 50 && (await page.locator(".result").innerText()) === before; i += 1) await page.waitForTimeout(100);
  check((await page.locator(".result").innerText()) !== before, "compare: swapping changes nothing");
  check(page.url().includes("a="), "compare: the address does not keep the sides");
  check(complaints.length === 0, `compare: ${complaints[0]}`);
  await close();
}

// Tables: sorted and filtered by keyboard, kept in the address.
async function tables() {
  const { page, close } = await open("history.html");
  const names = () => page.locator("#series tbody tr:not([hidden])").count();
  const before = await names();
  await page.locator("#filter-series").fill("stock");
  check((await names()) < before && (await names()) > 0, "tables: the filter filters nothing");
  await page.locator("#series thead button").nth(5).focus();
  await page.keyboard.press("Enter");
  check((await page.locator("#series th[aria-sort]").count()) === 1, "tables: Enter does not sort");
  check(/filter-series=stock/.test(page.url()) && /sort-series=5/.test(page.url()), "tables: the address keeps neither");
  await close();
}

// From a disk, and without scripts.
async function bareCopy() {
  if (url) return;
  const { page, complaints, close } = await open(pathToFileURL(join(resolve(site), "index.html")).href);
  check((await figuresDrawn(page)).length === 0, "from a disk: figures are not drawn");
  check(complaints.length === 0, `from a disk: ${complaints[0]}`);
  await close();
  const bare = await open("speedup.html", { javaScriptEnabled: false });
  check((await bare.page.locator("#speedup tbody tr").count()) > 0, "without scripts: no table");
  await bare.close();
}

// What is typed and clicked is watched one after another, what is only looked at side by side.
for (const use of [explorer, bars, themes, historyPage, compared, tables, bareCopy]) await use();
await inTurn([...pages.map((path) => () => visitDesktop(path)), ...pages.map((path) => () => visitPhone(path))]);
await browser.close();
server.close();
console.log(`${checks} checks, ${failures} failed`);
process.exit(failures > 0 ? 1 : 0);
