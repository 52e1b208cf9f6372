// The cell as a whole.

import { h } from "../shared/dom.js";
import { count, percent, rate, whole } from "../shared/format.js";
import { chart } from "./chart.js";
import { eventList } from "./event-words.js";
import { FleetMap } from "./fleet-map.js";
import { level, perSecond, rows } from "./history.js";
import { modes, pools, queues, served, sessions, states } from "./overview-panels.js";
import { empty, panel } from "./parts.js";
import { link } from "./router.js";
import { search } from "./search.js";

// A chart shows ten minutes, or as much as there is.
const [LONGEST_MS, SHORTEST_MS] = [600000, 120000];
const EVENTS_SHOWN = 12;

const tile = (title, value, unit, note, picture) =>
  h("section", { class: "panel tile", "aria-label": title },
    h("h2", {}, title),
    h("p", { class: "tile-value" }, h("span", { class: "figure" }, value), unit && h("span", { class: "unit" }, unit)),
    h("p", { class: "tile-note quiet small" }, note),
    picture);

function tiles(stats) {
  const history = rows(stats);
  const known = stats.ts - (history[0]?.ts ?? stats.ts);
  const span = { from: stats.ts - Math.min(LONGEST_MS, Math.max(SHORTEST_MS, known)), to: stats.ts };
  const { jobs, rates } = stats;
  const placed = rates.dispatched_per_s === null ? null : rates.dispatched_per_s + (rates.started_per_s ?? 0);
  const failed = rates.failed_per_s === null ? null : rates.failed_per_s + rates.expired_per_s;
  const perS = (value) => `${rate(value)} /s`;
  return h("div", { class: "tiles" },
    tile("Placements", rate(placed), "per second", `${whole(jobs.dispatched + jobs.started)} in all`,
      chart({ name: "Placements per second", points: perSecond(history, ["dispatched", "started"]), ...span, show: perS, kind: "accent" })),
    tile("Failures", rate(failed), "per second", `${whole(jobs.failed)} failed, ${whole(jobs.expired)} expired`,
      chart({ name: "Failures per second", points: perSecond(history, ["failed", "expired"]), ...span, show: perS, kind: "bad" })),
    tile("Slots in use", percent(stats.used, stats.slots), null, `${whole(stats.used)} of ${whole(stats.slots)}`,
      chart({ name: "Share of slots in use", points: level(history, (row) => (row.slots > 0 ? (100 * row.used) / row.slots : 0)), ...span, top: 100,
        show: (value) => `${Math.round(value)} %`, kind: "ready" })),
    tile("Waiting", whole(jobs.pending), count(jobs.pending, "job").replace(/^\S+ /, ""), `${whole(jobs.delayed)} of them delayed; ${whole(jobs.live)} placed`,
      chart({ name: "Jobs that wait", points: level(history, (row) => row.pending), ...span, show: whole, kind: "busy" })));
}

const FIRST = `curl -X PUT ${location.origin}/v1/nodes/node-1 --json '{"max_jobs": 4}'`;

function nothing(app) {
  return h("section", { class: "panel pad stack" },
    h("h2", {}, "This cell has no nodes yet"),
    h("p", {}, "A node is a worker that registered. As soon as there is one, its slots, jobs and load are shown here. To try:"),
    h("pre", { class: "code", tabindex: "0" }, FIRST),
    app.gateway.needs_token && h("p", { class: "quiet small" }, "With the header Authorization: Bearer and a node's or an operator's token."));
}

export function overview(app) {
  const map = new FleetMap();
  const { store } = app;
  const content = () => {
    const { stats, fleet } = store;
    if (!store.statsAsked || !fleet) return [h("p", { class: "quiet" }, "Reading the cell…")];
    const hasNodes = fleet.length > 0;
    if (!hasNodes && !stats) return [nothing(app)];
    return [
      stats ? tiles(stats) : h("p", { class: "quiet" }, "The first statistics come within a few seconds."),
      h("div", { class: "columns third" },
        states(fleet),
        panel("Fleet", { note: "each cell a node, as full as it is", class: "grow" }, hasNodes ? map.show(fleet) : empty("No nodes."))),
      h("div", { class: "columns" },
        h("div", { class: "stack" },
          stats && pools(stats),
          panel("Recent events", { note: h("a", { href: link("events") }, "All") },
            store.events.length > 0 ? eventList(store.events.slice(0, EVENTS_SHOWN), "Recent events") : empty("Nothing happened in the last while."))),
        h("div", { class: "stack" }, stats && queues(stats), stats && sessions(stats, store.events), modes(fleet))),
      stats && served(stats),
    ];
  };
  return {
    render: () => h("div", { class: "view" },
      h("div", { class: "view-head" }, h("h1", { tabindex: "-1" }, "Overview"), search(app)),
      content()),
    stop: () => map.stop(),
  };
}
