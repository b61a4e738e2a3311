// usage: node vega_svg.mjs SPECIFICATION.json PICTURE.svg
//
// Draws a Vega-Lite specification as SVG. It loads no data and reads no file but
// the specification. Exits 3 where the packages vega and vega-lite are not
// installed (`npm ci` in the checkout brings them), 2 for what it cannot draw.
import { readFileSync, writeFileSync } from "node:fs";

const [specificationPath, picturePath] = process.argv.slice(2);
if (picturePath === undefined) {
  process.stderr.write("usage: node vega_svg.mjs SPECIFICATION.json PICTURE.svg\n");
  process.exit(2);
}

let vega, vegaLite;
try {
  vega = await import("vega");
  vegaLite = await import("vega-lite");
} catch (error) {
  process.stderr.write(`vega or vega-lite is not installed: ${error.message}\n`);
  process.exit(3);
}

try {
  const specification = JSON.parse(readFileSync(specificationPath, "utf8"));
  const { spec } = vegaLite.compile(specification, { logger: vega.logger(vega.Error) });
  const loader = vega.loader();
  loader.load = (uri) => Promise.reject(new Error(`${uri}: figures load nothing`));
  const view = new vega.View(vega.parse(spec), { renderer: "none", loader, logLevel: vega.Error });
  writeFileSync(picturePath, `${await view.toSVG()}\n`);
  view.finalize();
} catch (error) {
  process.stderr.write(`${specificationPath}: ${error.message}\n`);
  process.exit(2);
}
