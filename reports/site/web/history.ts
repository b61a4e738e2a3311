// The axis of a series: builds, systems or runs. Without scripts all three are below one another.
import { make } from "./dom";
import { figures } from "./figures";
import * as state from "./state";

const axes = { builds: "llama.cpp builds", systems: "OS builds", runs: "dates" } as const;
type Axis = keyof typeof axes;

export function startHistory(): void {
  const box = document.querySelector<HTMLElement>("[data-history]");
  if (!box) return;
  const sections = new Map<Axis, HTMLElement>();
  const inputs = new Map<Axis, HTMLInputElement>();
  const set = make("fieldset", { class: "radios" }, make("legend", {}, "Over"));
  const show = (chosen: Axis) => {
    for (const [axis, section] of sections) section.hidden = axis !== chosen;
  };
  for (const axis of Object.keys(axes) as Axis[]) {
    const section = box.querySelector<HTMLElement>(`[data-axis="${axis}"]`);
    if (!section) continue;
    sections.set(axis, section);
    const input = make("input", { type: "radio", name: "axis", value: axis });
    input.addEventListener("change", () => {
      state.set({ axis: axis === "builds" ? null : axis });
      show(axis);
    });
    inputs.set(axis, input);
    set.append(make("label", {}, input, make("span", {}, axes[axis])));
  }
  box.before(set);
  // A point opens its trial; with the keyboard, its line in the table below does.
  for (const one of figures()) {
    one.drawn.push((view) => {
      view.addEventListener("click", (event, item) => {
        const link = (item?.datum as { link?: string } | undefined)?.link;
        if (!link) return;
        event.preventDefault();
        location.href = link;
      });
    });
  }
  const fromAddress = () => {
    const asked = state.get("axis");
    const axis = (Object.keys(axes) as Axis[]).find((name) => name === asked) ?? "builds";
    const input = inputs.get(axis);
    if (input) input.checked = true;
    show(axis);
  };
  fromAddress();
  state.onChange(fromAddress);
}
