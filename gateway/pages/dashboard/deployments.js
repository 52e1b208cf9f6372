// Deployments: what runs for as long as it is wanted, and where.

import { h } from "../shared/dom.js";
import { ago, count, full } from "../shared/format.js";
import { badge, empty, nodeLink, table } from "./parts.js";
import { repeat } from "./repeat.js";

const PAGE = 100;
const AGAIN_MS = 5000;

function state({ enabled, node_id: node }) {
  if (!enabled) return badge("offline", "disabled");
  return node ? badge("ready", "claimed") : badge("busy", "free");
}

export function deployments(app) {
  let found = null;
  let more = "0";
  let problem = null;
  let pages = 1;

  // Every page that was opened is read again.
  async function read(signal) {
    const list = [];
    let cursor = "0";
    let left = pages;
    do {
      const page = await app.api.get("v1/deployments", { cursor, count: PAGE }, signal);
      list.push(...page.deployments);
      cursor = page.cursor;
      left -= 1;
    } while (cursor !== "0" && left > 0);
    [found, more, problem] = [list, cursor, null];
  }
  const loop = repeat(app, AGAIN_MS, (signal) => read(signal).catch((error) => { problem = error.message; }));
  const rows = () => found.map((one) => ({
    key: one.id,
    cells: [h("span", { class: "id" }, one.id), state(one), one.node_id ? nodeLink(one.node_id) : h("span", { class: "quiet" }, "nobody"), one.pool, String(one.revision),
      h("span", { title: full(one.updated_ts) }, ago(one.updated_ts, Date.now()))],
  }));
  return {
    start: loop.now,
    stop: loop.stop,
    render: () => h("div", { class: "view" },
      h("div", { class: "view-head" }, h("h1", { tabindex: "-1" }, "Deployments")),
      problem && h("p", { class: "error", role: "alert" }, `${problem}.`),
      !found ? h("p", { class: "quiet" }, "Reading…")
        : h("section", { class: "panel pad", "aria-label": "Deployments" },
          found.length === 0 ? empty("There is no deployment. One is made with PUT /v1/deployments/{id}; nodes with --deployments claim it.")
            : table("Deployments", [["Deployment"], ["State"], ["Node"], ["Pool"], ["Revision", "number"], ["Changed", "number"]], rows())),
      found && h("p", { class: "quiet small" }, count(found.length, "deployment"), more !== "0" && " so far"),
      more !== "0" && h("button", { type: "button", onclick: () => { pages += 1; loop.now(); } }, "Show more")),
  };
}
