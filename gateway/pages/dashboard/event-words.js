// Events as sentences.

import { h } from "../shared/dom.js";
import { clock, full } from "../shared/format.js";
import { jobLink, nodeLink, sessionLink } from "./parts.js";

const node = (event) => nodeLink(event.node_id);
const job = (event) => jobLink(event.job_id);
const session = (event) => sessionLink(event.session_id);
const because = (event) => event.detail && `: ${event.detail}`;
const on = (event) => event.node_id && [" on ", node(event)];

// What happened, and how it is marked: good, bad, warn or nothing.
const WORDS = {
  node_online: ["good", (e) => [node(e), " is online"]],
  node_lost: ["bad", (e) => [node(e), " was lost", because(e)]],
  node_draining: ["warn", (e) => [node(e), e.detail === "on" ? " drains" : " takes work again"]],
  node_mode: ["warn", (e) => [node(e), ` changed mode: ${e.detail.replace("->", "→")}`]],
  session_bound: ["", (e) => [session(e), " was bound to ", node(e)]],
  session_lost: ["bad", (e) => [session(e), " lost its place", on(e)]],
  job_failed: ["bad", (e) => [job(e), " failed", on(e), because(e)]],
  job_expired: ["bad", (e) => [job(e), " expired", on(e), because(e)]],
  job_requeued: ["warn", (e) => [job(e), " went back to its queue", because(e)]],
  job_submitted: ["", (e) => [job(e), " was submitted"]],
  job_started: ["", (e) => [job(e), " started", on(e), e.detail && ` (${e.detail})`]],
  job_dispatched: ["", (e) => [job(e), " was placed", on(e)]],
  job_completed: ["good", (e) => [job(e), " finished", on(e)]],
  job_cancelled: ["", (e) => [job(e), " was cancelled", because(e)]],
  TASK_STOPPED: ["", (e) => [job(e), " was stopped", on(e), because(e)]],
  TASK_STOP_FAILED: ["bad", (e) => [job(e), " could not be stopped", on(e), because(e)]],
  deployment_claimed: ["good", (e) => [e.detail, " was claimed by ", node(e)]],
  deployment_released: ["warn", (e) => [e.detail, " was released", e.node_id && [" by ", node(e)]]],
  deployment_changed: ["", (e) => [e.detail, " was changed"]],
  deployment_removed: ["", (e) => [e.detail, " was removed"]],
  model_unavailable: ["warn", (e) => [node(e), ` has no model ${e.detail}`]],
  config_changed: ["", (e) => [`Settings changed${e.detail ? `: ${e.detail}` : ""}`]],
};

const other = (e) => [e.type, e.node_id && [" ", node(e)], e.job_id && [" ", job(e)], because(e)];

export function eventRow(event) {
  const [kind, words] = WORDS[event.type] ?? ["", other];
  return h("li", { class: `event ${kind}`, "data-key": event.id },
    h("time", { datetime: new Date(event.ts).toISOString(), title: full(event.ts) }, clock(event.ts)),
    h("span", { class: "event-mark", "aria-hidden": "true" }),
    h("span", { class: "event-text" }, words(event)));
}

export const eventList = (events, label) => h("ol", { class: "events", "aria-label": label }, events.map(eventRow));
