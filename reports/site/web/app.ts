// Everything that a page does beyond its text. Each part looks whether the page has something for it.
import { startCompare } from "./compare";
import { startExplorer } from "./explorer";
import { redrawAll, startFigures } from "./figures";
import { startHistory } from "./history";
import { startTables } from "./tables";
import { startTheme } from "./theme";

startTheme(redrawAll);
startTables();
startFigures();
startExplorer();
startHistory();
startCompare();

let width = innerWidth;
let waiting = 0;
addEventListener("resize", () => {
  if (innerWidth === width) return;
  width = innerWidth;
  clearTimeout(waiting);
  waiting = setTimeout(redrawAll, 200);
});
