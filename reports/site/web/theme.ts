// Light, dark, or as the system has it.

const order = ["auto", "light", "dark"] as const;
type Theme = (typeof order)[number];

// Pages opened from a disk may have no storage.
function stored(): Theme {
  try {
    const text = localStorage.getItem("capbench-theme");
    return order.find((name) => name === text) ?? "auto";
  } catch {
    return "auto";
  }
}

function keep(theme: Theme): void {
  try {
    localStorage.setItem("capbench-theme", theme);
  } catch {
    // Then it lasts as long as the page.
  }
}

let current: Theme = "auto";

function apply(theme: Theme): void {
  current = theme;
  if (theme === "auto") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
}

export function startTheme(): void {
  apply(stored());
  const button = document.querySelector<HTMLButtonElement>("button.theme");
  if (!button) return;
  const label = () => {
    button.textContent = { auto: "Auto", light: "Light", dark: "Dark" }[current];
    button.setAttribute("aria-label", `Colours: ${current}. Change them`);
  };
  label();
  button.hidden = false;
  button.addEventListener("click", () => {
    apply(order[(order.indexOf(current) + 1) % order.length] ?? "auto");
    keep(current);
    label();
  });
}
