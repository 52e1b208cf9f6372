// "Why is it not placed?": what a dispatch would find now, and who is out for which reason.

import { h } from "../shared/dom.js";
import { count, whole } from "../shared/format.js";
import { nodeLink } from "./parts.js";
import { read, replaceQuery } from "./router.js";

// The reasons in the order in which a node is sorted out, and what to do about each.
const REASONS = [
  ["pair", "Language pair", "for other pairs: register nodes for this one, or ask for another."],
  ["region", "Region", "in another region: ask for that, or for none."],
  ["label", "Labels", "without a required label: require fewer, or give nodes these."],
  ["offline", "Offline", "silent, or said to be offline: they must register or send a heartbeat."],
  ["draining", "Draining", "taking no new work: their pages put them back."],
  ["resource", "Resources", "with CPU, GPU or memory above resource_threshold_pct."],
  ["capacity", "Capacity", "without a free slot: wait, add nodes, or raise max_jobs."],
];

const FIELDS = [
  ["session", "Session", "any, unless one is bound"], ["src", "Source language", "none"], ["tgt", "Target language", "none"],
  ["pool", "Pool", "any"], ["region", "Region", "any"], ["require", "Labels, with commas", "none"],
];

function parameters(query) {
  const text = (name) => (query.get(name) ?? "").trim();
  const out = new URLSearchParams({ session: text("session") || "explain", src: text("src") || "-", tgt: text("tgt") || "-" });
  for (const name of ["pool", "region"]) if (text(name)) out.set(name, text(name));
  for (const label of text("require").split(",").map((one) => one.trim()).filter(Boolean)) out.append("require", label);
  return out;
}

function verdict(answer) {
  if (answer.node_id) {
    return h("section", { class: "callout good", "aria-label": "Answer" },
      h("p", { class: "verdict" }, h("strong", {}, "It would be placed on "), nodeLink(answer.node_id)),
      h("p", {}, `in the pool ${answer.pool}, where ${whole(answer.effective)} of ${count(answer.max_jobs, "slot")} are in use. ${count(answer.available, "node")} could take it.`));
  }
  const bound = answer.bound && h("p", {}, "The session is bound to ", nodeLink(answer.bound), ", so its jobs go there or nowhere.");
  return h("section", { class: "callout bad", "aria-label": "Answer" },
    h("p", { class: "verdict" }, h("strong", {}, "Nobody can take it now.")),
    bound, h("p", {}, answer.considered === 0 ? "No node is registered where it may go." : `Of ${count(answer.considered, "node")}, every one is out; why stands below.`));
}

// A row for each reason: who is left before it, and who it takes out.
function funnel(answer) {
  let left = answer.considered;
  const step = (key, name, out, advice) => {
    const before = left;
    left -= out;
    return h("li", { class: `funnel-step ${out > 0 ? "out" : ""}`, "data-reason": key },
      h("div", { class: "funnel-text" }, h("strong", {}, name), h("span", { class: "quiet small" }, out > 0 ? `${whole(out)} ${advice}` : "takes nobody out")),
      h("span", { class: "funnel-bar", "aria-hidden": "true" },
        h("span", { class: "left", vars: { "--share": share(before - out, answer.considered) } }), h("span", { class: "gone", vars: { "--share": share(out, answer.considered) } })),
      h("span", { class: "number" }, `${whole(left)} left`));
  };
  return h("section", { class: "panel pad stack", "aria-labelledby": "funnel" },
    h("h2", { id: "funnel" }, "Who is left, reason by reason"),
    h("ol", { class: "funnel" },
      h("li", { class: "funnel-step" }, h("div", { class: "funnel-text" }, h("strong", {}, `${whole(answer.considered)} considered`)),
        h("span", { class: "funnel-bar", "aria-hidden": "true" }, h("span", { class: "left", vars: { "--share": share(1, 1) } })), h("span", { class: "number" })),
      REASONS.map(([key, name, advice]) => step(key, name, answer[key], advice)),
      h("li", { class: "funnel-step last", "data-reason": "available" }, h("div", { class: "funnel-text" }, h("strong", {}, `${whole(answer.available)} can take it`)),
        h("span", { class: "funnel-bar", "aria-hidden": "true" }, h("span", { class: "can", vars: { "--share": share(answer.available, answer.considered) } })), h("span", { class: "number" }))),
    answer.partial && h("p", { class: "quiet small" }, "More than 512 classes of nodes match; not all were counted."));
}

const share = (part, all) => `${all > 0 ? (100 * part) / all : 0}%`;

export function explain(app) {
  let answer = null;
  let problem = null;
  let asking = new AbortController();
  // The answer is to what was asked last.
  async function ask() {
    asking.abort();
    asking = new AbortController();
    const { signal } = asking;
    try {
      const given = await (await app.api.open(`v1/explain?${parameters(read().query)}`, { signal })).json();
      [answer, problem] = [given, null];
    } catch (error) {
      if (signal.aborted) return;
      [answer, problem] = [null, error.message];
    }
    app.draw();
  }
  const submit = (event) => {
    event.preventDefault();
    replaceQuery(Object.fromEntries(new FormData(event.target)));
    ask();
  };
  return {
    start: ask,
    moved: ask,
    stop: () => asking.abort(),
    render: () => {
      const { query } = read();
      return h("div", { class: "view" },
        h("div", { class: "view-head" }, h("h1", { tabindex: "-1" }, "Why is it not placed?")),
        h("div", { class: "columns third" },
          h("form", { class: "panel pad stack", onsubmit: submit, "aria-label": "What is asked for" },
            h("p", { class: "quiet small" }, "What a dispatch would ask for. Nothing is placed."),
            FIELDS.map(([name, label, placeholder]) => h("div", {}, h("label", { for: `f-${name}` }, label),
              h("input", { id: `f-${name}`, name, value: query.get(name) ?? "", placeholder, autocomplete: "off", spellcheck: "false" }))),
            h("button", { class: "primary", type: "submit" }, "Explain")),
          h("div", { class: "stack", "aria-live": "polite" },
            problem && h("p", { class: "error", role: "alert" }, `${problem}.`),
            answer && [verdict(answer), funnel(answer)])));
    },
  };
}
