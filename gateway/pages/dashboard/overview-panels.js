// The panels of the overview that are lists of numbers.

import { h } from "../shared/dom.js";
import { ago, count, percent, rate, whole } from "../shared/format.js";
import { STATES, badge, bar, chips, empty, glyph, nodeLink, panel, sessionLink, table, use } from "./parts.js";
import { link } from "./router.js";

// Nodes by state, from the same reading as the map beside it.
export function states(fleet) {
  const of = (state) => fleet.filter((node) => node.state === state).length;
  const counted = Object.keys(STATES).map((state) => [state, of(state)]);
  return panel("Nodes", { note: `${whole(fleet.length)} in all` },
    bar(counted, fleet.length, "tall"),
    h("ul", { class: "states" }, counted.map(([state, n]) =>
      h("li", { "data-key": state },
        h("a", { href: link("nodes", null, { state }) }, glyph(state), h("span", { class: "state-name" }, state)),
        h("span", { class: "quiet small" }, STATES[state]),
        h("span", { class: "number", "data-count": state }, whole(n))))));
}

export function pools(stats) {
  const rows = stats.pools.map(({ pool, nodes, slots, used }) => ({
    key: pool,
    cells: [h("a", { href: link("nodes", null, { pool }) }, pool), whole(nodes), use(used, slots), percent(used, slots)],
  }));
  return panel("Pools", { note: "capacity of nodes that are online" },
    rows.length > 0 ? table("Pools", [["Pool"], ["Nodes", "number"], ["Slots in use", "wide"], ["", "number"]], rows) : empty("No node is online."));
}

const wishes = ({ pool, pair, region, labels }) =>
  chips([pool && `pool ${pool}`, pair && pair.replace(":", " → "), region && `region ${region}`, ...labels].filter(Boolean)) ?? h("span", { class: "quiet" }, "anything");

export function queues(stats) {
  const rows = stats.queues.slice(0, 10).map((queue) => {
    const [src, tgt] = (queue.pair ?? "").split(":");
    const asked = { pool: queue.pool, region: queue.region, src, tgt, require: queue.labels.join(",") };
    return {
      key: JSON.stringify(asked),
      cells: [wishes(queue), whole(queue.pending), h("a", { href: link("explain", null, asked) }, "Why?")],
    };
  });
  return panel("Queues", { note: `${whole(stats.jobs.pending)} wait, the longest first` },
    rows.length > 0 ? table("Queues", [["Asks for"], ["Waiting", "number"], ["", "number"]], rows) : empty("Nothing waits."));
}

const MODES = { NORMAL: "starts what fits", HIGH: "starts urgent work only", EMERGENCY: "stops work to make room" };

// How the dynamic scheduler sees the nodes that use it.
export function modes(fleet) {
  const online = fleet.filter((node) => node.mode && node.state !== "offline");
  const body = online.length === 0
    ? empty("No node uses the dynamic scheduler (lockless_tick).")
    : h("ul", { class: "states" }, Object.entries(MODES).map(([mode, meaning]) => {
      const n = online.filter((node) => node.mode === mode).length;
      return h("li", { "data-key": mode },
        h("a", { href: link("nodes", null, { mode }) }, badge(`mode-${mode.toLowerCase()}`, mode.toLowerCase())),
        h("span", { class: "quiet small" }, meaning), h("span", { class: "number", "data-mode": mode }, whole(n)));
    }));
  return panel("Scheduler modes", {}, body);
}

// Sessions that were bound lately, as the events tell: a cell knows each by its id, and keeps no list of them.
export function sessions(stats, events) {
  const about = events.filter((event) => event.type === "session_bound" || event.type === "session_lost");
  const last = new Map();
  for (const event of [...about].reverse()) last.set(event.session_id, event);
  const bound = [...last.values()].filter((event) => event.type === "session_bound").reverse().slice(0, 6);
  const lost = about.filter((event) => event.type === "session_lost").length;
  const rows = bound.map((event) => ({ key: event.session_id, cells: [sessionLink(event.session_id), nodeLink(event.node_id), ago(event.ts, Date.now())] }));
  // A library that is older than the gateway does not count them.
  const note = stats.sessions && `bound ${whole(stats.sessions.bound)} times in all, ${rate(stats.rates.bound_per_s)} per second`;
  return panel("Sessions", { note },
    lost > 0 && h("p", { class: "small" }, `${count(lost, "session")} lost a place lately.`),
    rows.length > 0 ? table("Sessions bound lately", [["Session"], ["Bound to"], ["When", "number"]], rows) : empty("No session was bound lately."));
}

// Languages, models and services, with how full those who serve them are.
export function served(stats) {
  const kinds = [["Languages", stats.languages, "pair"], ["Models", stats.models, "model"], ["Services", stats.services, "service"]];
  const parts = kinds.filter(([, list]) => list.length > 0).map(([title, list, name]) => h("div", { "data-key": title },
    h("h3", {}, title),
    h("ul", { class: "served" }, list.slice(0, 8).map((entry) =>
      h("li", { "data-key": entry[name] }, h("span", { class: "served-name" }, entry[name].replace(":", " → ")), use(entry.used, entry.slots))))));
  return parts.length > 0 && panel("What is served", { note: "slots of the nodes that serve it, and their use" }, h("div", { class: "served-kinds" }, parts));
}
