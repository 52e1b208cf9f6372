// A job's life as a line: when it waited, when it ran, and until when it may.

import { h } from "../shared/dom.js";
import { clock, duration, full } from "../shared/format.js";

// The spans between what is known: { kind, from, to, isOpen }.
export function spans(job, now) {
  const begin = job.created_ts;
  const end = job.ended_ts || now;
  const isOver = Boolean(job.ended_ts);
  if (job.started_ts) {
    const parts = [{ kind: "waited", from: begin, to: job.started_ts }, { kind: "ran", from: job.started_ts, to: end, isOpen: !isOver }];
    return parts.filter((part) => part.kind === "ran" || part.to > part.from);
  }
  return [{ kind: "waited", from: begin, to: end, isOpen: !isOver }];
}

const NAMES = {
  waited: (job) => (job.status === "dispatched" ? "with its node, not yet acknowledged" : "waited"),
  ran: (job) => (job.ended_ts ? "ran" : "runs"),
};

export function timeline(job, now) {
  const parts = spans(job, now);
  const all = Math.max(1, parts.at(-1).to - parts[0].from);
  const marks = [["Created", job.created_ts], ["Started", job.started_ts], [job.ended_ts ? `Ended: ${job.status}` : null, job.ended_ts]].filter(([name, ts]) => name && ts);
  return h("div", { class: "life" },
    h("div", { class: "life-bar", "aria-hidden": "true" }, parts.map(({ kind, from, to, isOpen }) =>
      h("span", { class: `life-part ${kind} ${isOpen ? "open" : job.status}`, vars: { "--share": String(Math.max(0.01, (to - from) / all)) } }))),
    h("ol", { class: "life-spans" }, parts.map((part) =>
      h("li", { class: part.kind }, h("span", { class: `life-key ${part.kind} ${part.isOpen ? "open" : job.status}`, "aria-hidden": "true" }), `${NAMES[part.kind](job)} ${duration(part.to - part.from)}`))),
    h("ol", { class: "life-marks" },
      marks.map(([name, ts]) => h("li", {}, h("span", {}, name), h("time", { datetime: new Date(ts).toISOString(), title: full(ts) }, clock(ts, now)))),
      job.deadline_ts > 0 && h("li", {}, h("span", {}, job.deadline_ts > now ? `Must end within ${duration(job.deadline_ts - now)}` : "Past its limit"), h("time", { title: full(job.deadline_ts) }, clock(job.deadline_ts, now))),
      job.ready_ts > 0 && h("li", {}, h("span", {}, "Is not started before"), h("time", { title: full(job.ready_ts) }, clock(job.ready_ts, now)))));
}
