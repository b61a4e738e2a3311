// The style sheet of the HTML report: light and dark, phone and print, no font or image from elsewhere.
#ifndef CAPBENCH_REPORTS_HTML_STYLE_H_
#define CAPBENCH_REPORTS_HTML_STYLE_H_

namespace capbench::reports {

inline constexpr const char* kHtmlStyle = R"css(
:root {
  color-scheme: light dark;
  --page: #fcfcfb; --ink: #1c2024; --soft: #5a626b; --line: #dcdfe3; --tint: #f2f3f5;
  --bare: #7b8794; --stock: #b4690e; --unlocked: #0b6e99; --other: #7a5ba6; --track: #eceef1;
  --good: #1a6b3c; --bad: #b3261e; --link: #0b6e99;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #15181c; --ink: #e6e8ea; --soft: #a0a8b1; --line: #343a41; --tint: #1e2328;
    --bare: #8d99a6; --stock: #dc9440; --unlocked: #4cb3dd; --other: #ab90d6; --track: #252b31;
    --good: #74c794; --bad: #ff8f85; --link: #6ec3e8;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 2.5rem 1.25rem 4rem; max-width: 58rem; background: var(--page); color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif;
  -webkit-text-size-adjust: 100%;
}
h1 { font-size: 1.75rem; line-height: 1.2; margin: 0 0 .4rem; font-weight: 650; letter-spacing: -.01em; }
h2 { font-size: 1.2rem; line-height: 1.3; margin: 0 0 .6rem; font-weight: 650; }
h3 { font-size: .95rem; margin: 0 0 .5rem; font-weight: 650; }
h1, h2, h3, p, dd, li, figcaption { overflow-wrap: anywhere; }
.about { margin: 0 0 1rem; max-width: 42rem; }
.reason { margin: 0 0 .4rem; }
.paper { display: none; }
.lead { margin: 0; color: var(--soft); max-width: 42rem; }
section { margin-top: 2.75rem; padding-top: 1.5rem; border-top: 1px solid var(--line); }
dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .15rem 1rem; margin: 0 0 1.25rem; font-size: .9rem; }
dt { color: var(--soft); }
dd { margin: 0; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--soft); font-size: .875rem; padding-bottom: .4rem; }
th, td { padding: .5rem .6rem; text-align: left; vertical-align: baseline; border-bottom: 1px solid var(--line); }
th:first-child, td:first-child { padding-left: 0; }
th:last-child, td:last-child { padding-right: 0; }
thead th { font-size: .8125rem; font-weight: 500; color: var(--soft); border-bottom-color: var(--soft); vertical-align: bottom; }
tbody th { font-weight: 650; }
td, th { overflow-wrap: normal; word-break: normal; hyphens: manual; }
td, .main th { white-space: nowrap; }
.main thead th { white-space: normal; }
.arms tbody th { font-weight: 400; min-width: 9rem; white-space: normal; }
.arms thead th.inner { padding-left: .6rem; padding-right: .6rem; }
.arms { margin-top: 1.5rem; }
.trials .id { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: .9em; }
.trials .arm { white-space: normal; min-width: 7rem; }
.trials .status { white-space: normal; min-width: 8rem; overflow-wrap: break-word; }
.num { text-align: right; white-space: nowrap; }
.key { font-weight: 650; }
.range { display: block; font-size: .8125rem; font-weight: 400; color: var(--soft); }
.good { color: var(--good); }
.bad { color: var(--bad); font-weight: 650; }
.soft { color: var(--soft); }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 20rem), 1fr)); gap: 1.75rem 2.5rem; margin: 1.75rem 0 0; }
figure { margin: 0; break-inside: avoid; }
figcaption { font-weight: 650; font-size: .95rem; margin-bottom: .5rem; }
.small { margin: .75rem 0 0; font-size: .8125rem; color: var(--soft); }
svg { display: block; overflow: hidden; font: .8125rem system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif; }
svg text { fill: var(--ink); }
svg .value { font-variant-numeric: tabular-nums; }
svg .track { fill: var(--track); }
svg .bare { fill: var(--bare); }
svg .stock { fill: var(--stock); }
svg .unlocked { fill: var(--unlocked); }
svg .other { fill: var(--other); }
svg .whisker { stroke: var(--ink); stroke-width: 1.5; }
.notes { margin: 1.25rem 0 0; padding-left: 1.1rem; font-size: .9rem; }
.notes li { margin: .2rem 0; }
details { margin-top: 1.25rem; font-size: .9rem; }
summary { cursor: pointer; color: var(--link); }
summary:focus-visible { outline: 2px solid var(--link); outline-offset: 3px; }
details h3 { margin: 1.1rem 0 .3rem; }
details th, details td { padding-top: .25rem; padding-bottom: .25rem; }
.scroll { overflow-x: auto; }
@media (max-width: 56rem) {
  th, td, .arms thead th.inner { padding-left: .4rem; padding-right: .4rem; }
}
@media (max-width: 40rem) {
  body { padding: 1.5rem 1rem 3rem; }
  .main, .main tbody, .main tr, .main th, .main td, .main caption { display: block; }
  .main thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  .main tr { border: 1px solid var(--line); border-radius: .4rem; background: var(--tint); padding: .6rem .8rem; margin-bottom: .75rem; }
  .main tbody th { border: 0; padding: 0 0 .3rem; font-size: 1.05rem; }
  .main td { border: 0; padding: .15rem 0; display: flex; justify-content: space-between; gap: 1rem; text-align: right; }
  .main td > span { flex: none; }
  .main td::before { content: attr(data-label); color: var(--soft); font-weight: 400; text-align: left; white-space: normal; }
  .main tbody th { white-space: normal; overflow-wrap: anywhere; min-width: 0; }
  .arms tbody th { font-weight: 650; font-size: 1rem; }
  .trials, .trials tbody { display: block; }
  .trials thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  .trials tr { display: grid; grid-template-columns: minmax(0, 1fr) auto; gap: 0 .75rem; padding: .45rem 0; border-bottom: 1px solid var(--line); }
  .trials td { border: 0; padding: 0; min-width: 0; }
  .trials .run { grid-column: 1 / -1; white-space: normal; overflow-wrap: anywhere; color: var(--soft); }
  .trials .arm { overflow-wrap: break-word; }
  .trials .status { order: 1; min-width: 0; }
  .trials .samples { order: 2; }
  .trials .block::before, .trials .run::before { content: attr(data-label) " "; color: var(--soft); }
  .trials .speed::after, .trials .samples::after { content: " " attr(data-label); color: var(--soft); }
  details td { font-size: .8125rem; }
}
@media print {
  :root {
    --page: #fff; --ink: #000; --soft: #444; --line: #bbb; --tint: #fff;
    --bare: #7b8794; --stock: #b4690e; --unlocked: #0b6e99; --other: #7a5ba6; --track: #eee;
    --good: #000; --bad: #000; --link: #000;
  }
  body { max-width: none; padding: 0; font-size: 10pt; }
  h2, h3, caption, dl, figcaption { break-after: avoid; }
  dl, tr, figure, li { break-inside: avoid; }
  section { margin-top: 1.5rem; }
  .scroll { overflow: visible; }
  th, td, .arms thead th.inner { padding: .3rem .35rem; }
  .arms tbody th { min-width: 0; }
  details { display: none; }
  .paper { display: block; }
  svg rect { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
)css";

}  // namespace capbench::reports

#endif  // CAPBENCH_REPORTS_HTML_STYLE_H_
