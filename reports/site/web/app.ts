// Everything that a page does beyond its text. Each part looks whether the page has something for it.
import { startCompare } from "./compare";
import { startExplorer } from "./explorer";
import { startFigures } from "./figures";
import { startHistory } from "./history";
import { startTables } from "./tables";
import { startTheme } from "./theme";

startTheme();
// On a phone the navigation is wider than the window.
document.querySelector("nav.site [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
startTables();
startFigures();
startExplorer();
startHistory();
startCompare();

// Nothing is folded away on paper.
let unfolded: HTMLDetailsElement[] = [];
addEventListener("beforeprint", () => {
  unfolded = [...document.querySelectorAll<HTMLDetailsElement>("details:not([open])")];
  for (const one of unfolded) one.open = true;
});
addEventListener("afterprint", () => {
  for (const one of unfolded) one.open = false;
});
