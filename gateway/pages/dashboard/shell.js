// What is around every view: the tabs, the cell, the state of the connection, and the form for a token.

import { h, morph } from "../shared/dom.js";
import { ago } from "../shared/format.js";
import { link, read } from "./router.js";

const TABS = [
  ["overview", "Overview", ["overview", "events"]],
  ["nodes", "Nodes", ["nodes"]],
  ["jobs", "Jobs", ["jobs", "sessions"]],
  ["deployments", "Deployments", ["deployments"]],
  ["explain", "Why not placed?", ["explain"]],
];

function tabs() {
  const { name } = read();
  return TABS.map(([view, label, names]) =>
    h("a", { href: link(view), "aria-current": names.includes(name) && "page" }, label));
}

// A list where there are several cells, and a field where a pattern allows any.
function cell(app) {
  const { cells, cell_patterns: patterns } = app.gateway;
  const current = app.api.cell;
  const go = (value) => { location.hash = `#/?cell=${encodeURIComponent(value)}`; };
  if (patterns.length > 0) {
    const choose = (event) => { event.preventDefault(); go(new FormData(event.target).get("cell")); };
    return h("form", { class: "cell-choice", onsubmit: choose, "data-key": `cells ${current}` },
      h("label", { class: "visually-hidden", for: "cell-name" }, "Cell"),
      h("input", { id: "cell-name", name: "cell", list: "cell-names", value: current, autocomplete: "off", spellcheck: "false" }),
      h("datalist", { id: "cell-names" }, [...new Set([current, ...cells])].map((value) => h("option", { value }))));
  }
  if (cells.length === 1) return h("span", { class: "cell-name mono", title: "Cell" }, current);
  return h("div", { class: "cell-choice" },
    h("label", { class: "visually-hidden", for: "cell-name" }, "Cell"),
    h("select", { id: "cell-name", onchange: (event) => go(event.target.value) },
      cells.map((value) => h("option", { value, selected: value === current }, value))));
}

const WORDS = { live: "Live", connecting: "Connecting", away: "Reconnecting" };

function connection(app) {
  const { state } = app.trouble ? { state: "away" } : app.store.connection;
  return h("span", { class: `connection ${state}`, "data-state": state }, h("span", { class: "dot" }), WORDS[state]);
}

function banner(app) {
  const { state, why, code } = app.store.connection;
  if (app.asksForToken !== null || (state !== "away" && !app.trouble)) return h("div", {});
  if (code === "FORBIDDEN") return h("div", { class: "banner bad" }, `This token may not read the dashboard: ${why}.`);
  const known = app.store.updated > 0 && `What is shown is from ${ago(app.store.updated, Date.now())}. `;
  const sentence = app.trouble ?? why;
  return h("div", { class: "banner bad" },
    h("strong", {}, "No answer: "), `${sentence}. `, known, "Trying again.");
}

function foot(app) {
  const { gateway } = app;
  if (!gateway) return h("div", { class: "foot-inner" });
  const who = gateway.needs_token && h("span", {}, `${gateway.name}, ${gateway.role} `,
    h("button", { type: "button", class: "plain small", onclick: () => app.askForToken("") }, "Forget the token"));
  return h("div", { class: "foot-inner" },
    h("span", {}, `Lockless ${gateway.version}, ${gateway.scheduler === "embedded" ? "embedded in the gateway" : "in Redis"}`), h("a", { href: "playground" }, "Playground"), h("a", { href: "docs" }, "Reference"), who);
}

// Draws all of it.
export function draw(app) {
  const into = (id, content) => {
    const place = document.getElementById(id);
    const wrapped = place.cloneNode(false);
    wrapped.append(...[content].flat());
    morph(place, wrapped);
  };
  const isKnown = app.gateway && app.asksForToken === null;
  into("tabs", isKnown ? tabs() : []);
  into("cell", isKnown ? cell(app) : []);
  into("connection", app.asksForToken === null ? connection(app) : []);
  into("banner", banner(app));
  into("foot", foot(app));
}

function tokenForm(app) {
  const use = (event) => {
    event.preventDefault();
    const field = event.target.elements.token;
    app.useToken(field.value.trim());
    field.value = "";
  };
  return h("div", { class: "view narrow" },
    h("h1", { tabindex: "-1" }, "A token, please"),
    h("form", { class: "panel pad stack", onsubmit: use },
      h("p", {}, "This gateway answers those who have a token. A client's token reads; an operator's may also drain nodes."),
      h("div", {},
        h("label", { for: "token" }, "Token"),
        h("input", { id: "token", name: "token", type: "password", required: true, autocomplete: "off", "aria-describedby": "token-note" })),
      app.asksForToken && h("p", { class: "error", role: "alert" }, `That did not work: ${app.asksForToken}.`),
      h("button", { class: "primary", type: "submit" }, "Use it"),
      h("p", { id: "token-note", class: "quiet small" },
        "It is kept in this tab only. Made with ", h("code", {}, "lockless-gateway token --role operator --name you"), ".")));
}

// Instead of a view, as long as there is nothing to show one of.
export function waiting(app) {
  if (app.asksForToken !== null) return tokenForm(app);
  return h("div", { class: "view" }, h("h1", { tabindex: "-1" }, "Dashboard"), h("p", { class: "quiet" }, "Asking the gateway…"));
}
