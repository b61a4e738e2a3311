// The ablation explorer: a switch for each factor, and the arm that was measured with exactly those.
import { data, make, number, times } from "./dom";
import { figure } from "./figures";
import * as state from "./state";

interface Estimate {
  value: number;
  label: string;
  lo?: number;
  hi?: number;
}
interface Arm {
  name: string;
  mode: string;
  status: string;
  treatment: string;
  quality: string;
  trials: number;
  speed: Estimate | null;
  stock: Estimate | null;
  bare?: number;
}
interface Factor {
  name: string;
  label: string;
  levels: string[];
  depends?: string;
  why?: string;
  condition?: string;
}
interface Family {
  place: string;
  sentence: string;
  factors: Factor[];
  cells: { arm: number; levels: number[] }[];
}
interface Test {
  test: string;
  figure: string;
  section: string;
  arms: Arm[];
  families: Family[];
}

function interval(estimate: Estimate, text: (value: number) => string): string {
  if (estimate.lo === undefined || estimate.hi === undefined) return estimate.label;
  return `[${text(estimate.lo)}, ${text(estimate.hi)}] ${estimate.label}`;
}

class Explorer {
  private test = 0;
  private family = 0;
  private levels: number[] = [];
  private readonly switches = make("div", { class: "switches" });
  private readonly choices = make("div", { class: "choices" });
  private readonly found = make("div", { class: "found", role: "status" });

  constructor(
    section: HTMLElement,
    private readonly tests: Test[],
  ) {
    section.append(this.choices, this.switches, this.found);
    section.hidden = false;
    for (const test of tests) figure(test.figure)?.drawn.push(() => this.mark());
    this.fromAddress();
    state.onChange(() => this.fromAddress());
  }

  private current(): Family | undefined {
    return this.tests[this.test]?.families[this.family];
  }

  private fromAddress(): void {
    const test = this.tests.findIndex((one) => one.test === state.get("test"));
    this.test = test < 0 ? 0 : test;
    const families = this.tests[this.test]?.families ?? [];
    const family = Number(state.get("place") ?? 0);
    this.family = families[family] ? family : 0;
    const factors = this.current()?.factors ?? [];
    const kept = state.get("levels");
    const given = kept ? kept.split(".").map(Number) : [];
    // Everything unlocked, unless the address says something else.
    this.levels = factors.map((factor, i) => {
      const level = given.length === factors.length ? given[i] : undefined;
      return level !== undefined && factor.levels[level] !== undefined ? level : factor.levels.length - 1;
    });
    this.build();
  }

  private changed(): void {
    const family = this.current();
    const unlocked = family?.factors.every((factor, i) => this.levels[i] === factor.levels.length - 1);
    state.set({
      test: this.test > 0 ? (this.tests[this.test]?.test ?? null) : null,
      place: this.family > 0 ? String(this.family) : null,
      levels: unlocked ? null : this.levels.join("."),
    });
    this.show();
  }

  private radios(name: string, legend: string, labels: string[], chosen: number, picked: (i: number) => void): void {
    if (labels.length < 2) return;
    const set = make("fieldset", { class: "radios" }, make("legend", {}, legend));
    labels.forEach((text, i) => {
      const input = make("input", { type: "radio", name, value: String(i) });
      input.checked = i === chosen;
      input.addEventListener("change", () => picked(i));
      set.append(make("label", {}, input, make("span", {}, text)));
    });
    this.choices.append(set);
  }

  private build(): void {
    this.choices.replaceChildren();
    this.switches.replaceChildren();
    this.radios("test", "Test", this.tests.map((one) => one.test), this.test, (i) => {
      this.test = i;
      this.family = this.current() ? this.family : 0;
      this.changed();
    });
    const families = this.tests[this.test]?.families ?? [];
    this.radios("place", "Factors", families.map((one) => one.place || one.factors.map((f) => f.label).join(", ")), this.family, (i) => {
      this.family = i;
      this.levels = (this.current()?.factors ?? []).map((factor) => factor.levels.length - 1);
      this.changed();
      this.build();
    });
    this.current()?.factors.forEach((factor, i) => this.switches.append(this.control(factor, i)));
    this.show();
  }

  private control(factor: Factor, i: number): HTMLElement {
    const level = make("span", { class: "level" });
    if (factor.levels.length === 2) {
      const input = make("input", { type: "checkbox", role: "switch", "data-factor": factor.name });
      input.checked = this.levels[i] === 1;
      const say = () => (level.textContent = factor.levels[this.levels[i] ?? 0] ?? "");
      say();
      input.addEventListener("change", () => {
        this.levels[i] = input.checked ? 1 : 0;
        say();
        this.changed();
      });
      return make("label", { class: "switch", title: factor.name }, input, make("span", { class: "name" }, factor.label), level);
    }
    const select = make("select", { "data-factor": factor.name });
    factor.levels.forEach((text, value) => select.append(make("option", { value: String(value) }, text)));
    select.value = String(this.levels[i] ?? 0);
    select.addEventListener("change", () => {
      this.levels[i] = Number(select.value);
      this.changed();
    });
    return make("label", { class: "switch", title: factor.name }, make("span", { class: "name" }, factor.label), select);
  }

  private arm(): Arm | undefined {
    const cell = this.current()?.cells.find((one) => one.levels.every((level, i) => level === this.levels[i]));
    return cell ? this.tests[this.test]?.arms[cell.arm] : undefined;
  }

  // Which arms differ in the fewest switches from what is chosen.
  private nearest(): string[] {
    const family = this.current();
    const test = this.tests[this.test];
    if (!family || !test) return [];
    const distance = (levels: number[]) => levels.filter((level, i) => level !== this.levels[i]).length;
    const least = Math.min(...family.cells.map((cell) => distance(cell.levels)));
    return family.cells.filter((cell) => distance(cell.levels) === least).map((cell) => test.arms[cell.arm]?.name ?? "");
  }

  private show(): void {
    for (const [i, test] of this.tests.entries()) {
      const section = document.getElementById(test.section);
      if (section) section.hidden = i !== this.test;
    }
    const arm = this.arm();
    this.found.replaceChildren();
    if (!arm) {
      this.found.append(
        make("p", { class: "big" }, "Not measured"),
        make("p", {}, `No arm has exactly these. Nearest: ${this.nearest().slice(0, 4).join("; ")}.`),
      );
    } else if (!arm.speed) {
      this.found.append(make("p", { class: "big" }, arm.status), make("p", {}, `Arm ${arm.name} gave no number.`));
    } else {
      const speed = arm.speed;
      this.found.append(
        make("p", { class: "big" }, number(speed.value), make("span", { class: "unit" }, " tokens/s")),
        make("p", { class: "range" }, interval(speed, number)),
        make("p", {}, make("strong", {}, arm.name), `, ${arm.trials} ${arm.trials === 1 ? "trial" : "trials"}, ${arm.treatment}`),
      );
      if (arm.stock) {
        this.found.append(make("p", {}, `${times(arm.stock.value)} stock ${interval(arm.stock, times)}`));
      }
      if (arm.bare !== undefined) this.found.append(make("p", {}, `${arm.bare.toFixed(1)} % of bare metal`));
      if (arm.quality === "wrong") this.found.append(make("p", { class: "worse" }, "Its output is wrong."));
    }
    this.found.append(this.dependencies());
    this.mark();
  }

  private dependencies(): HTMLElement {
    const list = make("ul", { class: "depends" });
    for (const factor of this.current()?.factors ?? []) {
      if (!factor.depends) continue;
      const kind = factor.depends === "yes" ? "key-yes" : factor.depends === "no" ? "" : "warn";
      list.append(
        make(
          "li",
          {},
          make("strong", {}, factor.label),
          " ",
          make("span", { class: `badge ${kind}` }, factor.depends),
          ` ${[factor.why, factor.condition].filter(Boolean).join("; ")}`,
        ),
      );
    }
    const sentence = this.current()?.sentence;
    return make("div", { class: "depends-on" }, make("h3", {}, "Depends on"), ...(sentence ? [make("p", {}, `${sentence}.`)] : []), list);
  }

  // In the figure as well.
  private mark(): void {
    const test = this.tests[this.test];
    const one = test ? figure(test.figure) : undefined;
    if (!one) return;
    one.element.dataset["chosen"] = this.arm()?.name ?? "";
    one.view?.signal("chosen", this.arm()?.name ?? "").run();
  }
}

export function startExplorer(): void {
  const section = document.querySelector<HTMLElement>("[data-explorer]");
  const given = section ? data<{ tests: Test[] }>(section.dataset["explorer"] ?? "") : null;
  if (!section || !given || given.tests.every((test) => test.families.length === 0)) return;
  new Explorer(section, given.tests);
}
