// Vega in a file of its own, loaded when a figure comes into view. Expressions are interpreted: no text is ever run.
import embed, { type Result, type VisualizationSpec } from "vega-embed";
import { expressionInterpreter } from "vega-interpreter";

export interface Plots {
  draw(element: HTMLElement, spec: unknown, config: unknown): Promise<Result>;
}

declare global {
  interface Window {
    capbenchPlots?: Plots;
  }
}

window.capbenchPlots = {
  draw: (element, spec, config) =>
    embed(element, spec as VisualizationSpec, {
      ast: true,
      expr: expressionInterpreter,
      renderer: "svg",
      actions: false,
      // Errors only: that bars of a fixed step do not shrink is no news.
      logLevel: 1,
      // Style elements are forbidden by the pages' policy; style.css has these rules.
      defaultStyle: false,
      tooltip: { disableDefaultStyle: true },
      config: config as Record<string, unknown>,
    }),
};
