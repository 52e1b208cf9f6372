// One node.

import { h } from "../shared/dom.js";
import { ago, count, duration, full, pretty, whole } from "../shared/format.js";
import { at } from "./api.js";
import { confirm } from "./confirm.js";
import { eventList } from "./event-words.js";
import { badge, chips, empty, facts, jobLink, meter, panel, sessionLink, table } from "./parts.js";
import { link } from "./router.js";
import { slots } from "./slots.js";
import { Subject } from "./subject.js";

const HOLDS = 500;
const ROWS = 100;

// Has the node drained or put back, when whoever asks may and means it.
function drainButton(app, subject, said) {
  const { it } = subject;
  const wish = it.draining ? "off" : "on";
  const act = async () => {
    const is = await confirm(it.draining
      ? { title: `Give ${it.node_id} work again?`, text: "It is chosen for new work from now on.", action: "Give it work" }
      : { title: `Drain ${it.node_id}?`, text: `It takes no new work from now on. What runs there goes on: ${count(it.current_jobs, "slot")} in use.`, action: "Drain it" });
    if (!is) return;
    try {
      await app.api.post(at`v1/nodes/${it.node_id}/drain`, { drain: wish });
      said({ text: wish === "on" ? `${it.node_id} drains: it takes no new work, and what runs there goes on.` : `${it.node_id} takes work again.` });
    } catch (problem) {
      said({ isBad: true, text: `It was not done: ${problem.message}.` });
    }
    app.store.refresh();
    await subject.refresh();
  };
  const why = !app.isOperator && "Only an operator's token may drain a node.";
  return h("span", { class: "action" },
    h("button", { type: "button", class: wish === "on" ? "danger" : "primary", disabled: Boolean(why), onclick: act, "aria-describedby": why && "drain-why" },
      wish === "on" ? "Drain" : "Give it work again"),
    why && h("span", { id: "drain-why", class: "quiet small" }, why));
}

// Where a resource is too much. The setting is for operators to read; but of a node that is busy, the greatest is above it.
const tooMuch = (it) => (it.state === "busy" ? Math.max(it.cpu ?? 0, it.mem ?? 0, it.gpu ?? 0) : Infinity);

const resources = (it) => panel("Resources", { note: it.last_heartbeat_ts && `said ${ago(it.last_heartbeat_ts, Date.now())}` },
  h("div", { class: "stack" },
    meter("CPU", it.cpu, tooMuch(it)), meter("Memory", it.mem, tooMuch(it), it.mem_mb ? `${whole(it.mem_mb)} MB` : ""),
    it.gpu !== null && it.gpu >= 0 && meter("GPU", it.gpu, tooMuch(it)),
    it.mode && facts([["Scheduler mode", badge(`mode-${it.mode.toLowerCase()}`, it.mode.toLowerCase())], ["Emergency ticks", whole(it.emergency_ticks)]])));

const counters = (it) => {
  const names = [["Started", it.started_total], ["Completed", it.completed_total], ["Failed", it.failed_total], ["Timed out", it.timeout_total],
    ["Stopped to make room", it.preempted_total], ["Lost", it.lost_total], ["Held back", it.blocked_total]];
  const isUsed = names.some(([, value]) => value > 0);
  return isUsed && panel("Work from the queue", {}, facts(names.map(([name, value]) => [name, whole(value)])));
};

const caps = (text) => (text ? h("pre", { class: "code", tabindex: "0" }, pretty(text)) : null);

const description = (it) => panel("Description", {}, facts([
  ["Pools", chips(it.pools)],
  ["Language pairs", chips(it.pairs.map((pair) => (Array.isArray(pair) ? pair.join(" → ") : pair.replace(":", " → "))))],
  ["Labels", chips(it.labels)],
  ["Region", it.region],
  ["Instance", it.instance],
  ["Incarnation", String(it.incarnation)],
  ["Presence", it.presence_until_ts > 0 && `for ${duration(it.presence_until_ts - Date.now())} more, unless it speaks`],
  ["Capabilities", caps(it.cap_json)],
]));

function jobsIn(it, holds) {
  const rows = holds.slice(0, ROWS).map((hold) => ({
    key: hold.job_id || hold.session_id,
    cells: [hold.job_id ? jobLink(hold.job_id) : ["seat of ", sessionLink(hold.session_id)], h("span", { class: "badge" }, h("span", { class: `slot small ${hold.state}`, "aria-hidden": "true" }), hold.state),
      hold.deadline_ts ? h("span", { title: full(hold.deadline_ts) }, `in ${duration(hold.deadline_ts - Date.now())}`) : "–"],
  }));
  const note = it.current_jobs > ROWS && `the first ${ROWS} of ${whole(it.current_jobs)}`;
  return panel("In its slots", { note }, rows.length > 0 ? table("Jobs and seats", [["Job"], ["State"], ["Ends at the latest", "number"]], rows) : empty("Nothing of this cell is here."));
}

export function node(app, { id }) {
  let outcome = null;
  let holds = [];
  const subject = new Subject(app, async (signal) => {
    const [it, page] = await Promise.all([app.api.get(at`v1/nodes/${id}`, {}, signal), app.api.get(at`v1/nodes/${id}/holds`, { count: HOLDS }, signal)]);
    holds = page.holds;
    return it;
  });
  const said = (what) => { outcome = what; };
  return subject.view(id, "Node", (it) => {
    const own = app.store.events.filter((event) => event.node_id === id).slice(0, 20);
    return [
      h("nav", { class: "crumbs", "aria-label": "Place" }, h("a", { href: link("nodes") }, "Nodes")),
      h("div", { class: "view-head" }, h("h1", { tabindex: "-1" }, id), badge(it.state), drainButton(app, subject, said)),
      h("div", { role: "status" }, outcome && h("p", { class: `outcome ${outcome.isBad ? "bad" : "good"}` }, outcome.text)),
      h("div", { class: "columns wide-left" },
        h("div", { class: "stack" },
          panel("Slots", { note: `${whole(it.effective)} of ${whole(it.max_jobs)} in use` }, slots(it, holds)),
          jobsIn(it, holds),
          panel("Its events", {}, own.length > 0 ? eventList(own, "Events of this node") : empty("None in the last while."))),
        h("div", { class: "stack" }, resources(it), description(it), counters(it))),
    ];
  });
}
