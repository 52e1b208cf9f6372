// Light, dark, or as the system has it. A classic script in the head, so that a page is never drawn in the wrong one first.
// Any button with the attribute `data-theme-switch` goes through the three; what was chosen is kept for this browser.
(() => {
  const KEY = "lockless-theme";
  const NEXT = { system: "light", light: "dark", dark: "system" };
  const root = document.documentElement;

  // Where storage is refused, the choice lasts as long as the page.
  let chosen = "system";
  try {
    chosen = localStorage.getItem(KEY) ?? "system";
  } catch { /* as said above */ }
  if (!NEXT[chosen]) chosen = "system";

  function apply() {
    if (chosen === "system") root.removeAttribute("data-theme");
    else root.dataset.theme = chosen;
    for (const button of document.querySelectorAll("[data-theme-switch]")) {
      const name = { system: "Auto", light: "Light", dark: "Dark" }[chosen];
      button.textContent = name;
      button.setAttribute("aria-label", `${name} colours, switch to ${NEXT[chosen]}`);
    }
  }

  function choose(theme) {
    chosen = theme;
    try {
      localStorage.setItem(KEY, theme);
    } catch { /* as said above */ }
    apply();
  }

  apply();
  document.addEventListener("DOMContentLoaded", () => {
    apply();
    for (const button of document.querySelectorAll("[data-theme-switch]")) {
      button.addEventListener("click", () => choose(NEXT[chosen]));
    }
  });
})();
