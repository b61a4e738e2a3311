// The state of a page lies in its address, behind "#": a link keeps it.

type Listener = () => void;
const listeners: Listener[] = [];
let own = "";

function parameters(): URLSearchParams {
  return new URLSearchParams(location.hash.replace(/^#/, ""));
}

export function get(name: string): string | null {
  return parameters().get(name);
}

// Null takes it out. The address changes without a step in the browser's history.
export function set(changes: Record<string, string | null>): void {
  const all = parameters();
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === "") all.delete(name);
    else all.set(name, value);
  }
  const text = all.toString();
  own = text ? `#${text}` : "";
  history.replaceState(null, "", own || location.pathname + location.search);
}

// Told when somebody else changes it: a link within the page, or the reader.
export function onChange(listener: Listener): void {
  listeners.push(listener);
}

addEventListener("hashchange", () => {
  if (location.hash === own) return;
  for (const listener of listeners) listener();
});
