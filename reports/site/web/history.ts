// The axis of a series: builds, systems or dates.
import { make } from "./dom";
import { draw, figure } from "./figures";
import * as state from "./state";

type Json = Record<string, unknown>;
interface Point {
  order: number;
  build: string;
  system: string;
  date: string;
  link?: string;
}

const axes = { build: "llama.cpp builds", system: "OS builds", date: "dates" } as const;
type Axis = keyof typeof axes;

// Where each point stands on the axis of systems: systems in the order they came, points of one spread over its room.
function systemPlaces(all: Point[]): { place: number[]; names: Map<number, string> } {
  const systems = [...new Set(all.map((point) => point.system))];
  const place: number[] = [];
  const names = new Map<number, string>();
  for (const [i, system] of systems.entries()) {
    const own = all.filter((point) => point.system === system);
    names.set(i, system || "not known");
    own.forEach((point, k) => (place[point.order] = i + (own.length > 1 ? 0.7 * (k / (own.length - 1)) - 0.35 : 0)));
  }
  return { place, names };
}

function specFor(original: Json, axis: Axis): Json {
  const all = ((original["data"] as Json)["values"] as Point[]) ?? [];
  const systems = systemPlaces(all);
  const names = axis === "system" ? systems.names : new Map(all.map((point) => [point.order, point.build || "(no build)"]));
  const x: Json =
    axis === "date"
      ? { field: "date", type: "temporal", axis: { title: null, labelOverlap: true, tickCount: 8 } }
      : {
          field: axis === "system" ? "place" : "order",
          type: "quantitative",
          scale: { nice: false, padding: 14 },
          axis: {
            title: null,
            values: [...names.keys()],
            labelAngle: -35,
            labelOverlap: "greedy",
            labelLimit: 120,
            grid: false,
            labelExpr: `${JSON.stringify(Object.fromEntries(names))}[datum.value]`,
          },
        };
  const spec = JSON.parse(JSON.stringify(original)) as Json;
  const place = (datum: Json) => {
    datum["place"] = systems.place[datum["order"] as number];
  };
  ((spec["data"] as Json)["values"] as Json[]).forEach(place);
  const layers = (spec["layer"] as Json[]).filter((layer) => {
    const mark = (layer["mark"] as Json)["strokeWidth"];
    // Levels and changes run along builds; over systems they would have no direction.
    return axis !== "system" || !(layer["data"] || mark === 1);
  });
  for (const layer of layers) {
    const encoding = layer["encoding"] as Json;
    const old = encoding["x"] as Json | undefined;
    if (!old) continue;
    if (old["field"] === "from") {
      encoding["x"] = axis === "date" ? { field: "date", type: "temporal" } : { field: "from", type: "quantitative" };
      encoding["x2"] = { field: axis === "date" ? "until" : "to" };
    } else {
      encoding["x"] = x;
    }
  }
  spec["layer"] = layers;
  return spec;
}

export function startHistory(): void {
  const box = document.querySelector<HTMLElement>("[data-history]");
  const one = figure(box?.dataset["history"] ?? "");
  if (!box || !one) return;
  const original = one.spec;
  const set = make("fieldset", { class: "radios" }, make("legend", {}, "Over"));
  const inputs = new Map<Axis, HTMLInputElement>();
  const show = (axis: Axis) => {
    one.spec = specFor(original, axis);
    one.element.dataset["axis"] = axis;
    if (one.result) void draw(one);
  };
  for (const axis of Object.keys(axes) as Axis[]) {
    const input = make("input", { type: "radio", name: "axis", value: axis });
    input.addEventListener("change", () => {
      state.set({ axis: axis === "build" ? null : axis });
      show(axis);
    });
    inputs.set(axis, input);
    set.append(make("label", {}, input, make("span", {}, axes[axis])));
  }
  box.before(set);
  // A point opens its trial; with the keyboard, its line in the table below does.
  one.drawn.push((result) => {
    result.view.addEventListener("click", (event, item) => {
      const link = (item?.datum as Point | undefined)?.link;
      if (!link) return;
      event.preventDefault();
      location.href = link;
    });
  });
  const fromAddress = () => {
    const asked = state.get("axis");
    const axis = (Object.keys(axes) as Axis[]).find((name) => name === asked) ?? "build";
    const input = inputs.get(axis);
    if (input) input.checked = true;
    show(axis);
  };
  fromAddress();
  state.onChange(fromAddress);
}
