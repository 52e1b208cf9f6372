// Deployments: what runs for as long as it is wanted, and where.

import { h } from "../shared/dom.js";
import { ago, count, full } from "../shared/format.js";
import { badge, empty, nodeLink, table } from "./parts.js";

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
  let timer;

  // Every page that was opened is read again.
  async function read(pages) {
    const list = [];
    let cursor = "0";
    do {
      const page = await app.api.get("v1/deployments", { cursor, count: PAGE });
      list.push(...page.deployments);
      cursor = page.cursor;
      pages -= 1;
    } while (cursor !== "0" && pages > 0);
    [found, more, problem] = [list, cursor, null];
  }
  async function turn(pages = Math.max(1, Math.ceil((found?.length ?? 0) / PAGE))) {
    clearTimeout(timer);
    await read(pages).catch((error) => { problem = error.message; });
    app.draw();
    timer = setTimeout(turn, AGAIN_MS);
  }
  const rows = () => found.map((one) => ({
    key: one.id,
    cells: [h("span", { class: "id" }, one.id), state(one), one.node_id ? nodeLink(one.node_id) : h("span", { class: "quiet" }, "nobody"), one.pool, String(one.revision),
      h("span", { title: full(one.updated_ts) }, ago(one.updated_ts, Date.now()))],
  }));
  return {
    start: () => turn(1),
    stop: () => clearTimeout(timer),
    render: () => h("div", { class: "view" },
      h("div", { class: "view-head" }, h("h1", { tabindex: "-1" }, "Deployments")),
      problem && h("p", { class: "error", role: "alert" }, `${problem}.`),
      !found ? h("p", { class: "quiet" }, "Reading…")
        : h("section", { class: "panel pad", "aria-label": "Deployments" },
          found.length === 0 ? empty("There is no deployment. One is made with PUT /v1/deployments/{id}; nodes with --deployments claim it.")
            : table("Deployments", [["Deployment"], ["State"], ["Node"], ["Pool"], ["Revision", "number"], ["Changed", "number"]], rows())),
      found && h("p", { class: "quiet small" }, count(found.length, "deployment"), more !== "0" && " so far"),
      more !== "0" && h("button", { type: "button", onclick: () => turn(Math.ceil(found.length / PAGE) + 1) }, "Show more")),
  };
}
