// Draws the page's figures when they come into view.
import type { View } from "vega";
import type { Drawing } from "./plots";
import { data, load } from "./dom";

export interface Figure {
  element: HTMLElement;
  canvas: HTMLElement;
  drawing: Drawing;
  view: View | null;
  // In pixels, when it was drawn.
  width: number;
  // Told after each drawing.
  drawn: ((view: View) => void)[];
}

const all = new Map<string, Figure>();

export function figure(id: string): Figure | undefined {
  return all.get(id);
}
export function figures(): Iterable<Figure> {
  return all.values();
}

// Plots, compiled: each is a script that names itself.
const dataflows = new Map<string, string>();

declare global {
  interface Window {
    capbenchPlot?: (name: string, dataflow: string) => void;
  }
}
window.capbenchPlot = (name, dataflow) => dataflows.set(name, dataflow);

async function fetched(one: Figure): Promise<string> {
  await Promise.all([load("assets/plots.js"), load(`assets/plot-${one.drawing.plot}.js`)]);
  return dataflows.get(one.drawing.plot) ?? "";
}

// Not while it is hidden: then it has no width. It is drawn when it is shown.
export async function draw(one: Figure): Promise<void> {
  const dataflow = await fetched(one);
  if (!window.capbenchPlots) throw new Error("assets/plots.js did not start");
  if (one.canvas.clientWidth === 0) return;
  one.width = one.canvas.clientWidth;
  one.view?.finalize();
  one.view = await window.capbenchPlots.draw(one.canvas, dataflow, one.drawing);
  one.canvas.style.minHeight = "";
  one.canvas.querySelector("svg")?.setAttribute("aria-label", one.element.querySelector("figcaption")?.textContent ?? "");
  for (const key of one.canvas.querySelectorAll('[aria-roledescription="legend"]')) {
    const names = [...key.querySelectorAll("text")].map((text) => text.textContent);
    key.setAttribute("aria-label", `Key: ${names.join(", ")}`);
  }
  for (const told of one.drawn) told(one.view);
  one.element.dataset["drawn"] = "true";
}

function fail(one: Figure, error: unknown): void {
  one.canvas.style.minHeight = "";
  one.canvas.textContent = `This figure could not be drawn: ${error instanceof Error ? error.message : String(error)}`;
}

// Drawn again once its width stays as it is: the window's has changed, or it was hidden meanwhile.
function followWidths(): void {
  let later = 0;
  const redraw = () => {
    for (const one of all.values()) {
      const width = one.canvas.clientWidth;
      if (one.view && width > 0 && width !== one.width) draw(one).catch((error: unknown) => fail(one, error));
    }
  };
  const widths = new ResizeObserver(() => {
    clearTimeout(later);
    later = setTimeout(redraw, 200);
  });
  for (const one of all.values()) widths.observe(one.canvas);
}

function inView(one: Figure): boolean {
  const place = one.element.getBoundingClientRect();
  return place.height > 0 && place.top < innerHeight && place.bottom > 0;
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
    if (!one || one.view) continue;
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
        if (one && !one.view) waiting.push(one);
      }
      void drawWaiting();
    },
    { rootMargin: "200px" },
  );
  for (const element of document.querySelectorAll<HTMLElement>("figure[data-drawing]")) {
    const drawing = data<Drawing>(element.dataset["drawing"] ?? "");
    const canvas = element.querySelector<HTMLElement>(".canvas");
    if (!drawing || !canvas) continue;
    // About what it will take, so that nothing below it moves when it is drawn.
    canvas.style.minHeight = `${drawing.height}px`;
    all.set(element.id, { element, canvas, drawing, view: null, width: 0, drawn: [] });
    seen.observe(element);
  }
  followWidths();
  // An observer speaks after the first frame only.
  const first = [...all.values()].find(inView);
  if (first) void fetched(first).catch(() => undefined);
  // What was not scrolled to is printed all the same.
  addEventListener("beforeprint", () => {
    for (const one of all.values()) {
      if (!one.view) draw(one).catch((error: unknown) => fail(one, error));
    }
  });
}
