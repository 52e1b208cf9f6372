// One field for any id: a node, a job or a session.

import { h } from "../shared/dom.js";
import { link } from "./router.js";

export function search(app) {
  const find = async (event) => {
    event.preventDefault();
    const form = event.target;
    const said = form.querySelector("[role=alert]");
    const id = new FormData(form).get("id").trim();
    if (!id) return;
    said.textContent = "";
    try {
      const calls = [["lockless_node", { node: id }], ["lockless_job", { job: id }], ["lockless_session", { session: id }]];
      const found = (await app.api.batch(calls)).findIndex((answer) => answer !== null);
      if (found >= 0) location.hash = link(["nodes", "jobs", "sessions"][found], id);
      else said.textContent = `No node, job or session has the id ${id}.`;
    } catch (problem) {
      said.textContent = `${problem.message}.`;
    }
  };
  return h("form", { class: "search", role: "search", onsubmit: find },
    h("label", { class: "visually-hidden", for: "search" }, "Id of a node, job or session"),
    h("input", { id: "search", name: "id", type: "search", placeholder: "Find a node, job or session", autocomplete: "off", spellcheck: "false" }),
    h("button", { type: "submit" }, "Find"),
    h("span", { class: "error small", role: "alert", "data-keep": "", "data-key": "said" }));
}
