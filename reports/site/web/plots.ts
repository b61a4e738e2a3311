// Vega in a file of its own, loaded when a figure comes into view. The plots were compiled when the program was built;
// expressions in them are interpreted: no text is ever run.
import { transforms } from "vega-dataflow";
import { expressionInterpreter } from "vega-interpreter";
import { Handler } from "vega-tooltip";
import { View } from "vega-view";
import { used } from "./transforms";

// What a figure shows: drawing.h.
export interface Drawing {
  plot: string;
  height: number;
  params: Record<string, unknown>;
  data: Record<string, Record<string, unknown>[]>;
  times: string[];
}

export interface Plots {
  // `dataflow` is the plot, compiled.
  draw(element: HTMLElement, dataflow: string, drawing: Drawing): Promise<View>;
}

declare global {
  interface Window {
    capbenchPlots?: Plots;
  }
}

Object.assign(transforms, used);

function timed(rows: Record<string, unknown>[], times: string[]): Record<string, unknown>[] {
  if (times.length === 0) return rows;
  return rows.map((row) => {
    const known = times.filter((name) => name in row).map((name) => [name, Date.parse(String(row[name]))] as const);
    return { ...row, ...Object.fromEntries(known) };
  });
}

window.capbenchPlots = {
  draw: async (element, dataflow, drawing) => {
    element.replaceChildren();
    const view = new View(JSON.parse(dataflow), {
      expr: expressionInterpreter,
      renderer: "svg",
      container: element,
      // Errors only.
      logLevel: 1,
      // Style elements are forbidden by the pages' policy; style.css has these rules.
      tooltip: new Handler({ disableDefaultStyle: true }).call,
    });
    for (const [name, value] of Object.entries(drawing.params)) view.signal(name, value);
    for (const [name, rows] of Object.entries(drawing.data)) view.insert(name, timed(rows, drawing.times));
    return view.runAsync();
  },
};
