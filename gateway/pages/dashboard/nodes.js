// All nodes, to be searched, narrowed and sorted.

import { h } from "../shared/dom.js";
import { count, whole } from "../shared/format.js";
import { List } from "./list.js";
import { STATES, badge, chips, glyph, load, nodeLink } from "./parts.js";
import { read, replaceQuery } from "./router.js";

const share = (node) => (node.held + node.foreign) / node.max_jobs;
const byId = (a, b) => (a.node_id < b.node_id ? -1 : 1);
const SORTS = {
  name: ["Name", byId],
  load: ["Load, highest first", (a, b) => share(b) - share(a) || byId(a, b)],
  idle: ["Load, lowest first", (a, b) => share(a) - share(b) || byId(a, b)],
  cpu: ["CPU, highest first", (a, b) => (b.cpu ?? -1) - (a.cpu ?? -1) || byId(a, b)],
  mem: ["Memory, highest first", (a, b) => (b.mem ?? -1) - (a.mem ?? -1) || byId(a, b)],
};

const COLUMNS = [["Node", "c-id"], ["State", "c-state"], ["Load", "c-load"], ["CPU", "number c-pct"], ["Memory", "number c-pct"], ["Mode", "c-mode"], ["Pools", "c-pools"], ["Region", "c-region"]];

const pct = (value) => (value === null || value === undefined || value < 0 ? "–" : `${Math.round(value)} %`);

const row = (node) => [
  nodeLink(node.node_id), badge(node.state), load(node), pct(node.cpu), pct(node.mem),
  node.mode ? badge(`mode-${node.mode.toLowerCase()}`, node.mode.toLowerCase()) : h("span", { class: "quiet" }, "–"),
  chips(node.pools), node.region ?? "",
];

// What is asked for in the address, so that a narrowed list can be passed on.
function wanted() {
  const { query } = read();
  const text = (name) => query.get(name) ?? "";
  return { text: text("q"), state: text("state"), pool: text("pool"), mode: text("mode"), sort: SORTS[text("sort")] ? text("sort") : "name" };
}

function fits(node, { text, state, pool, mode }) {
  const words = [node.node_id, node.region, ...node.pools].join(" ").toLowerCase();
  return (!state || node.state === state) && (!pool || node.pools.includes(pool)) && (!mode || node.mode === mode)
    && text.toLowerCase().split(/\s+/).every((word) => words.includes(word));
}

function tools(app, asked, fleet) {
  const change = (name) => (event) => { replaceQuery({ [name]: event.target.value }); app.draw(); };
  const option = (value, text, current) => h("option", { value, selected: value === current }, text);
  const select = (id, label, name, current, options) =>
    h("div", {}, h("label", { for: id }, label), h("select", { id, onchange: change(name), "data-key": `${id} ${current}` }, options.map(([value, text]) => option(value, text, current))));
  const pools = [...new Set(fleet.flatMap((node) => node.pools))].sort();
  const of = (state) => fleet.filter((node) => node.state === state).length;
  const toggle = (state) => { replaceQuery({ state: asked.state === state ? "" : state }); app.draw(); };
  return [
    h("div", { class: "tools" },
      h("div", { class: "tools-wide" }, h("label", { for: "filter" }, "Filter"),
        h("input", { id: "filter", type: "search", value: asked.text, placeholder: "name, pool or region", oninput: change("q"), autocomplete: "off", spellcheck: "false" })),
      select("pool", "Pool", "pool", asked.pool, [["", "All"], ...pools.map((pool) => [pool, pool])]),
      select("mode", "Mode", "mode", asked.mode, [["", "All"], ["NORMAL", "Normal"], ["HIGH", "High"], ["EMERGENCY", "Emergency"]]),
      select("sort", "Order", "sort", asked.sort, Object.entries(SORTS).map(([name, [text]]) => [name, text]))),
    h("div", { class: "toggles", role: "group", "aria-label": "State" }, Object.keys(STATES).map((state) =>
      h("button", { type: "button", class: "toggle", "aria-pressed": String(asked.state === state), onclick: () => toggle(state) },
        glyph(state), state, h("span", { class: "quiet" }, whole(of(state)))))),
  ];
}

export function nodes(app) {
  const isNarrow = matchMedia("(max-width: 46rem)");
  const list = new List({ label: "Nodes", columns: COLUMNS, row, height: () => (isNarrow.matches ? 76 : 41) });
  return {
    render: () => {
      const { fleet } = app.store;
      const asked = wanted();
      const shown = (fleet ?? []).filter((node) => fits(node, asked)).sort(SORTS[asked.sort][1]);
      const items = shown.map((node) => ({ key: node.node_id, ...node }));
      return h("div", { class: "view" },
        h("div", { class: "view-head" }, h("h1", { tabindex: "-1" }, "Nodes")),
        fleet ? tools(app, asked, fleet) : null,
        h("p", { class: "quiet small", role: "status" }, fleet ? `${count(shown.length, "node")}${shown.length < fleet.length ? ` of ${whole(fleet.length)}` : ""}` : "Reading…"),
        h("div", { class: "panel", hidden: shown.length === 0 }, list.show(items)),
        fleet && shown.length === 0 && h("p", { class: "empty" }, fleet.length === 0 ? "No node has registered." : "No node is like that."));
    },
    moved: () => app.draw(),
    stop: () => list.stop(),
  };
}
