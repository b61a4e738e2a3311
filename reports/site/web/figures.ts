// Draws the page's figures when they come into view, in the colours of the page.
import type { Result } from "vega-embed";
import type {} from "./plots";
import { data, load } from "./dom";

export interface Figure {
  element: HTMLElement;
  canvas: HTMLElement;
  // What is drawn: the block in the page, changed by whoever changes the figure.
  spec: Record<string, unknown>;
  result: Result | null;
  // Told after each drawing.
  drawn: ((result: Result) => void)[];
}

const all = new Map<string, Figure>();

export function figure(id: string): Figure | undefined {
  return all.get(id);
}
export function figures(): Iterable<Figure> {
  return all.values();
}

function property(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// "var(--stock)" anywhere in the specification becomes what the style sheet says.
function coloured(value: unknown): unknown {
  if (typeof value === "string") {
    const name = /^var\((--[a-z]+)\)$/.exec(value)?.[1];
    return name ? property(name) : value;
  }
  if (Array.isArray(value)) return value.map(coloured);
  if (value && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, coloured(inner)]));
  }
  return value;
}

function config(width: number): unknown {
  const ink = property("--ink");
  const soft = property("--soft");
  const line = property("--line");
  const font = getComputedStyle(document.body).fontFamily;
  return {
    background: "transparent",
    font,
    view: { stroke: null },
    axis: {
      labelColor: ink,
      titleColor: soft,
      gridColor: line,
      domainColor: line,
      tickColor: line,
      labelFontSize: 12,
      titleFontSize: 12,
      titleFontWeight: "normal",
    },
    axisY: { labelLimit: width < 560 ? Math.max(90, width * 0.36) : 300 },
    legend: { labelColor: ink, titleColor: soft, labelFontSize: 12, symbolType: "circle", rowPadding: 4, columns: width < 560 ? 1 : 0 },
  };
}

// Narrow figures get their labels cut where the specification would let them run.
function fitted(spec: Record<string, unknown>, width: number): unknown {
  if (width >= 560) return spec;
  return JSON.parse(JSON.stringify(spec), (key, value: unknown) =>
    key === "labelLimit" && typeof value === "number" ? Math.min(value, Math.max(90, width * 0.36)) : value,
  );
}

export async function draw(one: Figure): Promise<void> {
  await load("assets/plots.js");
  if (!window.capbenchPlots) throw new Error("assets/plots.js did not start");
  one.result?.finalize();
  const width = one.canvas.clientWidth;
  const spec = coloured(fitted(one.spec, width)) as Record<string, unknown>;
  one.result = await window.capbenchPlots.draw(one.canvas, spec, config(width));
  one.canvas.style.minHeight = "";
  one.canvas.querySelector("svg")?.setAttribute("aria-label", one.element.querySelector("figcaption")?.textContent ?? "");
  for (const told of one.drawn) told(one.result);
  one.element.dataset["drawn"] = "true";
}

function fail(one: Figure, error: unknown): void {
  one.canvas.style.minHeight = "";
  one.canvas.textContent = `This figure could not be drawn: ${error instanceof Error ? error.message : String(error)}`;
}

export function redrawAll(): void {
  for (const one of all.values()) {
    if (one.result) draw(one).catch((error: unknown) => fail(one, error));
  }
}

// About how high the specification will be drawn, so that nothing below it moves when it is: pixels.
function room(spec: Record<string, unknown>): number {
  const axes = 80; // with titles and the key
  if (typeof spec["height"] === "number") return spec["height"] + axes;
  const step = (spec["height"] as { step?: number } | undefined)?.step ?? 0;
  const values = (spec["data"] as { values?: Record<string, unknown>[] } | undefined)?.values ?? [];
  const layers = (spec["layer"] ?? []) as { encoding?: Record<string, { field?: string }> }[];
  const places = (channel: string) => {
    const field = [spec as (typeof layers)[0], ...layers].map((one) => one.encoding?.[channel]?.field).find(Boolean);
    return field ? Math.max(1, new Set(values.map((value) => value[field])).size) : 1;
  };
  const gaps = places("yOffset") > 1 ? 1.4 : 1;
  return step * gaps * places("y") * places("yOffset") + axes;
}

function inView(one: Figure): boolean {
  const place = one.element.getBoundingClientRect();
  return place.top < innerHeight && place.bottom > 0;
}

// One after another, what can be seen first, and the page answers between them.
const waiting: Figure[] = [];
let drawing = false;
async function drawWaiting(): Promise<void> {
  if (drawing) return;
  drawing = true;
  while (waiting.length > 0) {
    const seen = waiting.findIndex(inView);
    const [one] = waiting.splice(Math.max(0, seen), 1);
    if (!one || one.result) continue;
    await draw(one).catch((error: unknown) => fail(one, error));
    await new Promise((done) => setTimeout(done));
  }
  drawing = false;
}

export function startFigures(): void {
  const seen = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) {
        if (!entry.isIntersecting) continue;
        seen.unobserve(entry.target);
        const one = all.get(entry.target.id);
        if (one && !one.result) waiting.push(one);
      }
      void drawWaiting();
    },
    { rootMargin: "200px" },
  );
  for (const element of document.querySelectorAll<HTMLElement>("figure[data-spec]")) {
    const spec = data<Record<string, unknown>>(element.dataset["spec"] ?? "");
    const canvas = element.querySelector<HTMLElement>(".canvas");
    if (!spec || !canvas) continue;
    canvas.style.minHeight = `${room(spec)}px`;
    all.set(element.id, { element, canvas, spec, result: null, drawn: [] });
    seen.observe(element);
  }
  // What was not scrolled to is printed all the same.
  addEventListener("beforeprint", () => {
    for (const one of all.values()) {
      if (!one.result) draw(one).catch((error: unknown) => fail(one, error));
    }
  });
}
