// Two sides, each an environment with one of its builds; their cells matched by name.
import { data, load, make, number, root, times } from "./dom";
import { startTables } from "./tables";
import * as state from "./state";

interface Side {
  id: string;
  name: string;
  builds: string[];
}
type Row = [
  suite: number,
  model: number,
  kind: number,
  workload: number,
  test: number,
  guest: number,
  mode: number,
  arm: number,
  build: number,
  median: number,
  lo: number | null,
  hi: number | null,
  trials: number,
  series: string,
];
interface First {
  side: string;
  older: string;
  newer: string;
}
interface Cells {
  texts: string[];
  cells: Row[];
}
interface Cell {
  names: string[]; // suite, model, kind, workload, test, guest, mode, arm
  median: number;
  lo: number | null;
  hi: number | null;
  trials: number;
  series: string;
}

const loaded = new Map<string, Cells>();

declare global {
  interface Window {
    capbenchData?: (id: string, cells: Cells) => void;
  }
}
window.capbenchData = (id, cells) => loaded.set(id, cells);

async function cellsOf(side: string, build: string): Promise<Map<string, Cell>> {
  if (!loaded.has(side)) await load(`compare/${side}.js`);
  const all = loaded.get(side);
  const cells = new Map<string, Cell>();
  for (const row of all?.cells ?? []) {
    if (all?.texts[row[8]] !== build) continue;
    const names = row.slice(0, 8).map((i) => all.texts[i as number] ?? "");
    cells.set(names.join("\0"), { names, median: row[9], lo: row[10], hi: row[11], trials: row[12], series: row[13] });
  }
  return cells;
}

// MOVER (Donner and Zou 2012) on logarithms: the interval of a ratio out of each side's own.
function ratio(a: Cell, b: Cell): { value: number; lo: number; hi: number } | { value: number; lo: null; hi: null } {
  const value = b.median / a.median;
  if (a.lo === null || a.hi === null || b.lo === null || b.hi === null) return { value, lo: null, hi: null };
  const [la, lb] = [Math.log(a.median), Math.log(b.median)];
  const down = Math.hypot(lb - Math.log(b.lo), Math.log(a.hi) - la);
  const up = Math.hypot(Math.log(b.hi) - lb, la - Math.log(a.lo));
  return { value, lo: value * Math.exp(-down), hi: value * Math.exp(up) };
}

function named(cell: Cell): string {
  const [suite, model, kind, workload, test, guest, mode, arm] = cell.names;
  const parts = [`${model}${kind === "twin" ? " (twin)" : ""}`, test, arm && arm !== mode ? `${mode} (${arm})` : mode, workload, suite];
  return [...parts, guest ? `guest: ${guest}` : ""].filter(Boolean).join(", ");
}

function speed(cell: Cell): HTMLElement {
  const box = make("span", {}, make("span", { class: "value" }, number(cell.median)));
  if (cell.lo !== null && cell.hi !== null) {
    box.append(" ", make("span", { class: "range" }, `[${number(cell.lo)}, ${number(cell.hi)}]`));
  }
  return box;
}

class Compare {
  private readonly result = make("div", { class: "result", "aria-live": "polite" });
  private readonly picks: { side: HTMLSelectElement; build: HTMLSelectElement }[] = [];
  private turn = 0;

  constructor(
    section: HTMLElement,
    private readonly sides: Side[],
    // What the page opens with.
    private readonly first: First | null,
  ) {
    const form = make("div", { class: "sides" });
    for (const name of ["A", "B"]) {
      const side = make("select", { id: `side-${name}` });
      sides.forEach((one, i) => side.append(make("option", { value: String(i) }, one.name)));
      const build = make("select", { id: `build-${name}` });
      side.addEventListener("change", () => {
        this.fillBuilds(side, build, "");
        this.changed();
      });
      build.addEventListener("change", () => this.changed());
      form.append(
        make(
          "fieldset",
          {},
          make("legend", {}, name === "A" ? "A, the base" : "B"),
          make("label", { for: side.id }, "Environment"),
          side,
          make("label", { for: build.id }, "Build"),
          build,
        ),
      );
      this.picks.push({ side, build });
    }
    const swap = make("button", { type: "button" }, "Swap");
    swap.addEventListener("click", () => {
      const [a, b] = [this.picked(0), this.picked(1)];
      this.pick(0, b.side, b.build);
      this.pick(1, a.side, a.build);
      this.changed();
    });
    section.append(form, make("p", {}, swap), this.result);
    this.fromAddress();
    state.onChange(() => this.fromAddress());
  }

  private fillBuilds(side: HTMLSelectElement, build: HTMLSelectElement, chosen: string): void {
    const builds = this.sides[Number(side.value)]?.builds ?? [];
    build.replaceChildren(...builds.map((name) => make("option", { value: name }, name || "(no build)")));
    if (builds.includes(chosen)) build.value = chosen;
  }

  private picked(i: number): { side: string; build: string } {
    const pick = this.picks[i];
    return { side: this.sides[Number(pick?.side.value)]?.id ?? "", build: pick?.build.value ?? "" };
  }

  private pick(i: number, side: string, build: string): void {
    const pick = this.picks[i];
    if (!pick) return;
    const place = this.sides.findIndex((one) => one.id === side);
    pick.side.value = String(place < 0 ? Math.min(i, this.sides.length - 1) : place);
    this.fillBuilds(pick.side, pick.build, build);
  }

  private fromAddress(): void {
    this.pick(0, state.get("a") ?? "", state.get("abuild") ?? "");
    this.pick(1, state.get("b") ?? "", state.get("bbuild") ?? "");
    // At first two builds that have something in common: two environments often have nothing that matches.
    if (!state.get("a") && !state.get("b") && this.first) {
      this.pick(0, this.first.side, this.first.older);
      this.pick(1, this.first.side, this.first.newer);
    }
    void this.show();
  }

  private changed(): void {
    const [a, b] = [this.picked(0), this.picked(1)];
    state.set({ a: a.side, abuild: a.build, b: b.side, bbuild: b.build });
    void this.show();
  }

  private async show(): Promise<void> {
    const mine = ++this.turn;
    const [a, b] = [this.picked(0), this.picked(1)];
    try {
      const [left, right] = await Promise.all([cellsOf(a.side, a.build), cellsOf(b.side, b.build)]);
      if (mine === this.turn) this.fill(left, right);
    } catch (error) {
      this.result.textContent = error instanceof Error ? error.message : String(error);
    }
  }

  // The choice itself is not on paper.
  private names(): HTMLElement[] {
    return [0, 1].map((i) => {
      const { side, build } = this.picked(i);
      return make("span", { class: "range" }, `${i === 0 ? "A" : "B"}: ${this.sides.find((one) => one.id === side)?.name ?? ""}, ${build || "(no build)"}`);
    });
  }

  private fill(left: Map<string, Cell>, right: Map<string, Cell>): void {
    const body = make("tbody");
    const matched = [...left].filter(([key]) => right.has(key));
    for (const [key, a] of matched) {
      const b = right.get(key);
      if (!b) continue;
      const r = ratio(a, b);
      const sure = r.lo !== null && (r.lo > 1 || r.hi < 1);
      const row = make("tr");
      row.append(
        make("th", { scope: "row", class: "wide", "data-label": "Cell" }, a.series ? make("a", { href: `${root}history/${a.series}.html` }, named(a)) : named(a)),
        make("td", { class: "num", "data-label": "A", "data-sort": String(a.median) }, speed(a)),
        make("td", { class: "num", "data-label": "B", "data-sort": String(b.median) }, speed(b)),
        make(
          "td",
          { class: `num key ${sure ? (r.value < 1 ? "worse" : "better") : ""}`, "data-label": "B over A", "data-sort": String(r.value) },
          make("span", { class: "value" }, times(r.value)),
          " ",
          make("span", { class: "range" }, r.lo === null ? "no interval" : `[${times(r.lo)}, ${times(r.hi)}]`),
        ),
      );
      body.append(row);
    }
    const columns = [
      ["Cell", "wide"],
      ["A", "num"],
      ["B", "num"],
      ["B over A", "num"],
    ] as const;
    const table = make(
      "table",
      { class: "data", id: "compared", "data-filter": "" },
      make("caption", {}, `${matched.length} matched ${matched.length === 1 ? "cell" : "cells"}, tokens per second`, ...this.names()),
      make("thead", {}, make("tr", {}, ...columns.map(([name, kind]) => make("th", { scope: "col", class: kind }, name)))),
      body,
    );
    const scroll = make("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": "Comparison" }, table);
    const only = (name: string, own: Map<string, Cell>, other: Map<string, Cell>) => {
      const cells = [...own].filter(([key]) => !other.has(key)).map(([, cell]) => cell);
      if (cells.length === 0) return make("p", {}, `Every cell of ${name} has a match.`);
      const list = make("ul", { class: "notes" });
      for (const cell of cells.slice(0, 500)) list.append(make("li", {}, `${named(cell)}: ${number(cell.median)}`));
      const open = make("details", cells.length <= 20 ? { open: "" } : {}, make("summary", {}, `Only in ${name}: ${cells.length} without a match`), list);
      if (cells.length > 500) open.append(make("p", {}, `The first 500 of ${cells.length}.`));
      return open;
    };
    this.result.replaceChildren(scroll, make("h2", {}, "Unmatched"), only("A", left, right), only("B", right, left));
    startTables(this.result);
  }
}

export function startCompare(): void {
  const section = document.querySelector<HTMLElement>("[data-compare]");
  const given = section ? data<{ sides: Side[]; first: First | null }>(section.dataset["compare"] ?? "") : null;
  if (section && given && given.sides.length > 0) new Compare(section, given.sides, given.first);
}
