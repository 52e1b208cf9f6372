// One job: its life, why it ended as it did, what it was given and what it gave.

import { h } from "../shared/dom.js";
import { pretty } from "../shared/format.js";
import { at } from "./api.js";
import { confirm } from "./confirm.js";
import { eventList } from "./event-words.js";
import { badge, empty, facts, nodeLink, panel, sessionLink } from "./parts.js";
import { link } from "./router.js";
import { Subject } from "./subject.js";
import { timeline } from "./timeline.js";

const PAGE = 1000;
// So many pages of events are read at a time; the next reading goes on.
const PAGES_MOST = 5;

// What a reason of the library's own means for whoever reads it.
const MEANINGS = [
  ["node lost", "Its node was silent for longer than heartbeat_ttl_ms, so nobody knows what became of it."],
  ["not acknowledged in time", "Its node did not acknowledge it within its ACK time; the slot was given back."],
  ["run limit passed before it was acknowledged", "Its run limit (TTL) passed, and its node had not said that it has it."],
  ["run limit passed", "It ran longer than its run limit (TTL). Its node is told to stop it."],
];

function why(it) {
  if (!["failed", "expired", "cancelled"].includes(it.status)) return null;
  const reason = it.reason || "no reason was given";
  const [, meaning] = MEANINGS.find(([start]) => reason.startsWith(start)) ?? [];
  return h("section", { class: `callout ${it.status === "cancelled" ? "" : "bad"}`, "aria-label": "Why" },
    h("p", {}, h("strong", {}, `It ${it.status === "cancelled" ? "was cancelled" : it.status}: `), reason),
    meaning && h("p", { class: "small" }, meaning),
    it.attempts > 1 && h("p", { class: "small" }, `It was tried ${it.attempts} times.`));
}

function content(it, name, title) {
  const value = it[name];
  const encoding = it[`${name}_encoding`];
  if (value === null || value === undefined || value === "") return null;
  return panel(title, { note: encoding === "base64" && "no text; as base64" }, h("pre", { class: "code", tabindex: "0" }, pretty(value)));
}

// Events of the job, read from about when it was made: events are kept by time. Each reading goes on where the last one ended.
class OwnEvents {
  // By id, because two readings may overlap.
  #found = new Map();
  #after = null;
  // Whether there are events that no reading has reached yet.
  isBehind = false;

  async read(app, it, signal) {
    let after = this.#after ?? `${Math.max(0, it.created_ts - 2000)}-0`;
    let isFull = true;
    for (let pages = 0; pages < PAGES_MOST && isFull; pages += 1) {
      const page = await app.api.get("v1/events", { after, count: PAGE }, signal);
      for (const event of page.events) if (event.job_id === it.job_id) this.#found.set(event.id, event);
      isFull = page.events.length >= PAGE;
      after = page.last_id ?? after;
    }
    [this.#after, this.isBehind] = [after, isFull];
  }

  get newestFirst() {
    return [...this.#found.values()].reverse();
  }
}

function happened(own) {
  const events = own.newestFirst;
  return panel("What happened", { note: "every step is kept with the setting events = all" },
    events.length > 0 && eventList(events, "Events of this job"),
    own.isBehind ? empty("There are many events; they are still being looked through.") : events.length === 0 && empty("No event of it is kept."));
}

function actions(app, subject, said) {
  const { it } = subject;
  const mayAct = ["operator", "client"].includes(app.gateway.role);
  const act = (path, question, done) => async () => {
    if (!(await confirm(question))) return;
    try {
      await app.api.post(path, {});
      said({ text: done });
    } catch (problem) {
      said({ isBad: true, text: `It was not done: ${problem.message}.` });
    }
    await subject.refresh();
  };
  const id = it.job_id;
  const cancel = act(at`v1/jobs/${id}/cancel`, { title: `Cancel ${id}?`, text: "It ends for everyone. If it runs, its node is told to stop it and keeps its slot until it did.", action: "Cancel the job" }, `${id} was cancelled.`);
  const retry = act(at`v1/jobs/${id}/retry`, { title: `Try ${id} again?`, text: "It goes back to its queue, with all its tries.", action: "Try again" }, `${id} is in its queue again.`);
  if (["pending", "dispatched", "running"].includes(it.status)) return h("button", { type: "button", class: "danger", disabled: !mayAct, onclick: cancel }, "Cancel");
  if (["failed", "expired"].includes(it.status) && it.priority !== null && it.priority !== "") return h("button", { type: "button", disabled: !mayAct, onclick: retry }, "Try again");
  return null;
}

export function job(app, { id }) {
  const own = new OwnEvents();
  let outcome = null;
  const subject = new Subject(app, async (signal) => {
    const it = await app.api.get(at`v1/jobs/${id}`, {}, signal);
    await own.read(app, it, signal);
    return it;
  });
  const said = (what) => { outcome = what; };
  return subject.view(id, "Job", (it) => [
    h("nav", { class: "crumbs", "aria-label": "Place" }, h("a", { href: link("jobs") }, "Jobs")),
    h("div", { class: "view-head" }, h("h1", { tabindex: "-1" }, id), badge(`job-${it.status}`, it.stopping ? `${it.status}, being stopped` : it.status), actions(app, subject, said)),
    h("div", { role: "status" }, outcome && h("p", { class: `outcome ${outcome.isBad ? "bad" : "good"}` }, outcome.text)),
    why(it),
    h("div", { class: "columns wide-left" },
      h("div", { class: "stack" },
        panel("Its life", {}, timeline(it, Date.now())),
        happened(own),
        content(it, "payload_json", "Payload"), content(it, "result", "Result")),
      h("div", { class: "stack" }, panel("Description", {}, facts([
        ["Node", it.node_id && nodeLink(it.node_id)],
        ["Session", it.session_id && sessionLink(it.session_id)],
        ["Languages", it.src_lang && it.src_lang !== "-" && `${it.src_lang} → ${it.tgt_lang}`],
        ["Priority", it.priority === null ? "" : String(it.priority)],
        ["Tries", String(it.attempts)],
        ["Progress", it.progress],
      ])))),
  ]);
}
