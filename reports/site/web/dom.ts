// Elements without innerHTML: every text is set as text, so none of it can become markup.

type Child = Node | string;

export function make<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Record<string, string> = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

// A data block of the page, see data_block() in html.h.
export function data<T>(id: string): T | null {
  const text = document.getElementById(id)?.textContent;
  return text ? (JSON.parse(text) as T) : null;
}

export const root = document.body.dataset["root"] ?? "";

// A script of this site, once. Works from a file as well, where fetch() does not.
const scripts = new Map<string, Promise<void>>();
export function load(path: string): Promise<void> {
  let loading = scripts.get(path);
  if (!loading) {
    loading = new Promise((done, failed) => {
      const script = make("script", { src: root + path });
      script.addEventListener("load", () => done());
      script.addEventListener("error", () => failed(new Error(`${path} could not be loaded`)));
      document.head.append(script);
    });
    scripts.set(path, loading);
  }
  return loading;
}

// As number() in html.h.
export function number(value: number): string {
  const size = Math.abs(value);
  const digits = size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : 3;
  return value.toLocaleString("en-GB", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

export function times(ratio: number): string {
  return `${ratio.toFixed(ratio >= 100 ? 0 : ratio >= 10 ? 1 : ratio >= 2 ? 2 : 3)}\u00d7`;
}
