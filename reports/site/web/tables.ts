// Tables that can be sorted and filtered; both are kept in the address.
import { make } from "./dom";
import * as state from "./state";

function key(row: HTMLTableRowElement, column: number): string {
  const cell = row.cells[column];
  return cell?.dataset["sort"] ?? cell?.textContent?.trim() ?? "";
}

function sort(table: HTMLTableElement, column: number, down: boolean): void {
  const body = table.tBodies[0];
  const heads = [...(table.tHead?.rows[0]?.cells ?? [])];
  const head = heads[column];
  if (!body || !head) return;
  const numeric = head.classList.contains("num");
  const rows = [...body.rows];
  const sign = down ? -1 : 1;
  rows.sort((a, b) => {
    const [x, y] = [key(a, column), key(b, column)];
    return sign * (numeric ? (parseFloat(x) || 0) - (parseFloat(y) || 0) : x.localeCompare(y, "en"));
  });
  body.append(...rows);
  heads.forEach((one, i) => {
    if (i === column) one.setAttribute("aria-sort", down ? "descending" : "ascending");
    else one.removeAttribute("aria-sort");
  });
}

function filter(table: HTMLTableElement, text: string, told: HTMLElement): void {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const rows = [...(table.tBodies[0]?.rows ?? [])];
  let shown = 0;
  for (const row of rows) {
    const content = row.textContent?.toLowerCase() ?? "";
    row.hidden = !words.every((word) => content.includes(word));
    if (!row.hidden) shown += 1;
  }
  told.textContent = words.length > 0 ? `${shown} of ${rows.length} rows` : "";
}

function startTable(table: HTMLTableElement): void {
  const id = table.id;
  const heads = [...(table.tHead?.rows[0]?.cells ?? [])];
  heads.forEach((head, column) => {
    if (!head.textContent) return;
    const button = make("button", { type: "button" }, ...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") ? head.getAttribute("aria-sort") === "ascending" : head.classList.contains("num");
      sort(table, column, down);
      state.set({ [`sort-${id}`]: `${column}${down ? "d" : "u"}` });
    });
  });
  let input: HTMLInputElement | null = null;
  const told = make("span", { class: "told", "aria-live": "polite" });
  if (table.dataset["filter"] !== undefined) {
    input = make("input", { type: "search", id: `filter-${id}`, autocomplete: "off", spellcheck: "false" });
    const box = make("div", { class: "filter" }, make("label", { for: input.id }, document.querySelector("nav.pager") ? "Filter this part" : "Filter"), input, told);
    table.closest(".scroll")?.before(box);
    const field = input;
    input.addEventListener("input", () => {
      filter(table, field.value, told);
      state.set({ [`filter-${id}`]: field.value });
    });
  }
  const fromAddress = () => {
    const order = /^(\d+)([du])$/.exec(state.get(`sort-${id}`) ?? "");
    if (order) sort(table, Number(order[1]), order[2] === "d");
    const text = state.get(`filter-${id}`) ?? "";
    if (input && input.value !== text) input.value = text;
    if (input) filter(table, text, told);
  };
  fromAddress();
  state.onChange(fromAddress);
}

export function startTables(within: ParentNode = document): void {
  for (const table of within.querySelectorAll<HTMLTableElement>("table.data")) startTable(table);
}
