// A node's slots, drawn as cells.

import { h } from "../shared/dom.js";
import { whole } from "../shared/format.js";
import { bar } from "./parts.js";
import { link } from "./router.js";

// What takes a slot, in the order it is drawn, and what that means.
export const KINDS = {
  running: "",
  dispatched: "given to the node, not acknowledged",
  reserved: "kept until it is acknowledged",
  stopping: "over for everyone but the node",
  seat: "a bound session's, nobody sits in it",
  foreign: "work that this cell did not give",
  free: "",
};

// Above this the cells would be a page of their own; then a bar says it.
const MOST_CELLS = 400;

function cell(hold) {
  const kind = hold.state;
  if (hold.job_id) {
    return h("a", { class: `slot ${kind}`, href: link("jobs", hold.job_id), title: `${hold.job_id}: ${kind}`, "aria-label": `${hold.job_id}, ${kind}`, "data-key": hold.job_id });
  }
  return h("a", { class: `slot ${kind}`, href: link("sessions", hold.session_id), title: `${hold.session_id}: its seat`, "aria-label": `seat of ${hold.session_id}`, "data-key": `s ${hold.session_id}` });
}

export function slots(node, holds) {
  const kinds = Object.keys(KINDS);
  const held = [...holds].sort((a, b) => kinds.indexOf(a.state) - kinds.indexOf(b.state));
  const free = Math.max(0, node.max_jobs - node.current_jobs - node.foreign);
  const counts = Object.fromEntries(kinds.map((kind) => [kind, held.filter((hold) => hold.state === kind).length]));
  Object.assign(counts, { foreign: node.foreign, free });
  const plain = (kind, n) => Array.from({ length: n }, (_, i) => h("span", { class: `slot ${kind}`, "data-key": `${kind} ${i}` }));
  const fits = node.max_jobs <= MOST_CELLS && holds.length <= MOST_CELLS;
  const picture = fits
    ? h("div", { class: "slots", role: "group", "aria-label": "Slots" }, held.map(cell), plain("foreign", Math.min(node.foreign, MOST_CELLS)), plain("free", free))
    : bar(kinds.map((kind) => [kind, counts[kind]]), node.max_jobs, "tall");
  return [
    picture,
    h("ul", { class: "legend" }, kinds.filter((kind) => counts[kind] > 0).map((kind) =>
      h("li", { "data-key": kind }, h("span", { class: `slot small ${kind}`, "aria-hidden": "true" }),
        h("span", {}, h("strong", {}, whole(counts[kind])), ` ${kind}`), KINDS[kind] && h("span", { class: "quiet small" }, KINDS[kind])))),
  ];
}
