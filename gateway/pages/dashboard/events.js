// What happened, newest first.

import { h } from "../shared/dom.js";
import { count } from "../shared/format.js";
import { eventList } from "./event-words.js";
import { empty } from "./parts.js";
import { read, replaceQuery } from "./router.js";

const GROUPS = [["", "Everything"], ["node_", "Nodes"], ["job_", "Jobs"], ["session_", "Sessions"], ["deployment_", "Deployments"]];
const SHOWN = 200;

export function events(app) {
  return {
    render: () => {
      const { query } = read();
      const kind = query.get("kind") ?? "";
      const text = (query.get("q") ?? "").toLowerCase();
      const all = app.store.events.filter((event) => event.type.startsWith(kind)
        && (!text || [event.type, event.node_id, event.job_id, event.session_id, event.detail].join(" ").toLowerCase().includes(text)));
      const change = (name) => (event) => { replaceQuery({ [name]: event.target.value }); app.draw(); };
      return h("div", { class: "view" },
        h("div", { class: "view-head" }, h("h1", { tabindex: "-1" }, "Events")),
        h("div", { class: "tools" },
          h("div", { class: "tools-wide" }, h("label", { for: "filter" }, "Filter"),
            h("input", { id: "filter", type: "search", value: query.get("q") ?? "", placeholder: "an id, or a word", oninput: change("q"), autocomplete: "off" })),
          h("div", {}, h("label", { for: "kind" }, "About"),
            h("select", { id: "kind", onchange: change("kind") }, GROUPS.map(([value, name]) => h("option", { value, selected: value === kind }, name))))),
        h("p", { class: "quiet small" }, `${count(Math.min(all.length, SHOWN), "event")} of the last while, as they come. Every job's placement and end are among them with the setting events = all.`),
        h("section", { class: "panel pad", "aria-label": "Events" }, all.length > 0 ? eventList(all.slice(0, SHOWN), "Events") : empty("Nothing of that kind.")));
    },
    moved: () => app.draw(),
  };
}
