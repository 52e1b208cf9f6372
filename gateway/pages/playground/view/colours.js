// The colours of the style sheet, for what is drawn on a canvas.

const NAMES = [
  "surface", "sunken", "line", "line-strong", "ink", "ink-2", "ink-3", "accent", "accent-soft", "free", "bad", "bad-soft", "busy", "draining",
  "offline", "ready",
];

/** Each colour by its name, as it is in the theme of this moment. */
export function readColours() {
  // A variable's own value may be a light-dark() that a canvas does not know; the colour of an element is resolved.
  const probe = document.createElement("span");
  document.body.append(probe);
  const colours = {};
  for (const name of NAMES) {
    probe.style.color = `var(--${name})`;
    colours[name] = getComputedStyle(probe).color;
  }
  probe.remove();
  return colours;
}

/** Calls `run` when the theme changes, whoever changes it. */
export function onThemeChange(run) {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", run);
  new MutationObserver(run).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
}
