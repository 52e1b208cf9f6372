// One session: what it remembers, and the lease that binds it.

import { h } from "../shared/dom.js";
import { duration, full } from "../shared/format.js";
import { at } from "./api.js";
import { badge, facts, jobLink, nodeLink, panel } from "./parts.js";
import { link } from "./router.js";
import { Subject } from "./subject.js";

export function session(app, { id }) {
  const subject = new Subject(app, async (signal) => app.api.get(at`v1/sessions/${id}`, {}, signal));
  return subject.view(id, "Session", (it) => [
    h("div", { class: "view-head" },
      h("h1", { tabindex: "-1" }, h("span", { class: "quiet" }, "Session "), id),
      it.node_id ? badge("full", "bound") : badge("offline", "not bound"),
      h("a", { class: "button", href: link("explain", null, { session: id }) }, "Where would its next job go?")),
    panel("What it remembers", {}, facts([
      ["Pool it prefers", it.preferred_pool],
      ["Last language pair", it.last_lang_pair?.replace(":", " → ")],
      ["Last used", it.updated_ts && full(it.updated_ts)],
      ["Bound to", it.node_id && nodeLink(it.node_id)],
      ["Lease", it.lease_id],
      ["Lease ends", it.lease_expire_ts && `in ${duration(it.lease_expire_ts - Date.now())}`],
      ["Job in its seat", it.job_id && jobLink(it.job_id)],
      ["Request that bound it", it.request_id],
    ])),
  ]);
}
