// Vega's packages carry no types of their own; the package that has them all does.
declare module "vega-dataflow" {
  export const transforms: Record<string, unknown>;
}
declare module "vega-view" {
  export { View } from "vega";
}
