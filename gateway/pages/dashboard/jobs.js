// Jobs by state, a page at a time.

import { h } from "../shared/dom.js";
import { ago, full } from "../shared/format.js";
import { badge, empty, jobLink, nodeLink, table } from "./parts.js";
import { repeat } from "./repeat.js";
import { link, read } from "./router.js";
import { search } from "./search.js";

const STATES = ["running", "dispatched", "pending", "failed", "expired", "cancelled"];
const PAGE = 50;
// As many as one call may ask for, and one view shows.
const MOST = 1000;
// Pages of one state may be short and yet not be the last; after so many, what was found is shown.
const PAGES_MOST = 20;
const AGAIN_MS = 3000;

export function jobs(app) {
  let state = null;
  let found = null;
  let next = "0";
  let wanted = PAGE;
  let problem = null;

  async function readJobs(asked, signal) {
    const ids = [];
    let cursor = "0";
    for (let pages = 0; pages < PAGES_MOST; pages += 1) {
      const page = await app.api.get("v1/jobs", { state: asked, cursor, count: wanted }, signal);
      ids.push(...page.jobs);
      cursor = page.cursor;
      if (cursor === "0" || ids.length >= wanted) break;
    }
    const records = await app.api.batch(ids.slice(0, MOST).map((job) => ["lockless_job", { job }]), signal);
    if (asked !== state) return;
    // A job may have gone on between the two readings.
    [found, next, problem] = [records.filter((job) => job?.status === asked), cursor, null];
  }
  const loop = repeat(app, AGAIN_MS, (signal) => readJobs(state, signal).catch((error) => { problem = error.message; }));
  function moved() {
    const asked = read().query.get("state");
    const now = STATES.includes(asked) ? asked : "running";
    if (now === state) return;
    [state, found, next, wanted] = [now, null, "0", PAGE];
    loop.now();
  }
  const when = (job) => job.ended_ts || job.started_ts || job.created_ts;
  const rows = () => found.map((job) => ({
    key: job.job_id,
    cells: [jobLink(job.job_id), badge(`job-${job.status}`, job.status), job.node_id ? nodeLink(job.node_id) : h("span", { class: "quiet" }, "–"),
      h("span", { title: full(when(job)) }, ago(when(job), Date.now())), h("span", { class: "reason" }, job.reason || job.progress || "")],
  }));
  return {
    start: moved,
    moved,
    stop: loop.stop,
    render: () => h("div", { class: "view" },
      h("div", { class: "view-head" }, h("h1", { tabindex: "-1" }, "Jobs"), search(app)),
      h("nav", { class: "toggles", "aria-label": "State" }, STATES.map((name) =>
        h("a", { class: "toggle", href: link("jobs", null, { state: name }), "aria-current": name === state && "true" }, h("span", { class: `glyph job-${name}`, "aria-hidden": "true" }), name))),
      problem && h("p", { class: "error", role: "alert" }, `${problem}.`),
      !found ? h("p", { class: "quiet" }, "Reading…")
        : h("section", { class: "panel pad", "aria-label": `${state} jobs` },
          found.length === 0 ? empty(next === "0" ? `No job is ${state}.` : `None of the jobs looked at is ${state}; there are more.`)
            : table(`${state} jobs`, [["Job"], ["State"], ["Node"], ["Since", "number"], ["Reason or progress", "wide"]], rows())),
      found && next !== "0" && (wanted < MOST
        ? h("button", { type: "button", onclick: () => { wanted += PAGE; loop.now(); } }, "Show more")
        : h("p", { class: "quiet small" }, "There are more; no more are listed here.")),
      h("p", { class: "quiet small" }, "Jobs that ended are listed with the oldest first, for as long as keep_finished_ms says; finished ones are found by their id.")),
  };
}
