// Small parts that several views use.

import { h } from "../shared/dom.js";
import { whole } from "../shared/format.js";
import { link } from "./router.js";

// The states of a node in the order of the library, and what they mean. Each has a shape of its own beside its colour.
export const STATES = {
  ready: "takes work",
  full: "every slot is taken",
  busy: "over a resource threshold",
  draining: "takes no new work",
  offline: "silent, or said to be offline",
};

export const glyph = (state) => h("span", { class: `glyph ${state}`, "aria-hidden": "true" });
export const badge = (state, text = state) => h("span", { class: `badge ${state}` }, glyph(state), text);
export const nodeLink = (id) => h("a", { class: "id", href: link("nodes", id) }, id);
export const jobLink = (id) => h("a", { class: "id", href: link("jobs", id) }, id);
export const sessionLink = (id) => h("a", { class: "id", href: link("sessions", id) }, id);

export function panel(title, props, ...children) {
  const id = `panel-${title.toLowerCase().replace(/[^a-z]+/g, "-")}`;
  const { note, class: more = "", ...rest } = props;
  return h("section", { class: `panel ${more}`, "aria-labelledby": id, ...rest },
    h("header", {}, h("h2", { id }, title), note && h("span", { class: "quiet small" }, note)),
    h("div", { class: "body" }, children));
}

// A bar of shares: [[class, amount], ...] of a total. The numbers are always written beside it, so it is only a picture.
export function bar(parts, total, more = "") {
  const width = (amount) => `${total > 0 ? Math.min(100, (100 * amount) / total) : 0}%`;
  return h("span", { class: `bar ${more}`, "aria-hidden": "true" },
    parts.map(([kind, amount]) => amount > 0 && h("span", { class: kind, vars: { "--share": width(amount) } })));
}

// How many slots of how many, with its bar.
export const use = (used, slots) =>
  h("span", { class: "use" }, bar([[used >= slots ? "full" : "used", used]], slots), h("span", { class: "use-text" }, `${whole(used)} / ${whole(slots)}`));

// Held and foreign work of a node's slots.
export const load = (node) =>
  h("span", { class: "use" },
    bar([[node.state === "offline" ? "offline" : "used", node.held], ["foreign", node.foreign]], node.max_jobs),
    h("span", { class: "use-text" }, `${whole(node.held + node.foreign)} / ${whole(node.max_jobs)}`));

// A percentage with its bar; `mark` is where it becomes too much.
export function meter(label, value, mark, detail = "") {
  const isKnown = value !== null && value !== undefined && value >= 0;
  const text = isKnown ? `${Math.round(value)} %` : "not said";
  const kind = isKnown && value >= mark ? "over" : "used";
  return h("div", { class: "meter" },
    h("div", { class: "meter-head" }, h("span", {}, label), h("span", {}, text, detail && h("span", { class: "quiet" }, ` ${detail}`))),
    bar([[kind, isKnown ? value : 0]], 100));
}

export const empty = (...text) => h("p", { class: "empty" }, text);

// A table: columns are [heading, class]; rows are { key, cells }.
export function table(caption, columns, rows) {
  return h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": caption },
    h("table", {},
      h("caption", { class: "visually-hidden" }, caption),
      h("thead", {}, h("tr", {}, columns.map(([text, kind]) => h("th", { scope: "col", class: kind }, text)))),
      h("tbody", {}, rows.map(({ key, cells }) =>
        h("tr", { "data-key": key }, cells.map((cell, i) => h("td", { class: columns[i][1] }, cell)))))));
}

// Names and values.
export const facts = (pairs) =>
  h("dl", { class: "facts" }, pairs.filter(([, value]) => value !== null && value !== undefined && value !== "" && value !== false).map(([name, value]) =>
    h("div", {}, h("dt", {}, name), h("dd", {}, value))));

export const chips = (texts) => (texts.length > 0 ? h("span", { class: "chips" }, texts.map((text) => h("span", { class: "chip" }, text))) : null);
