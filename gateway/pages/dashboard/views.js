// The views by name. Each is made with the app and the route, and has render(), and as needed start(), stop() and moved(route).

import { h } from "../shared/dom.js";
import { deployments } from "./deployments.js";
import { events } from "./events.js";
import { explain } from "./explain.js";
import { job } from "./job.js";
import { jobs } from "./jobs.js";
import { node } from "./node.js";
import { nodes } from "./nodes.js";
import { overview } from "./overview.js";
import { link } from "./router.js";
import { session } from "./session.js";

const lost = () => ({
  render: () => h("div", { class: "view" }, h("h1", { tabindex: "-1" }, "There is nothing here"), h("p", {}, h("a", { href: link("overview") }, "To the overview"))),
});

export const views = {
  overview,
  events,
  nodes: (app, route) => (route.id ? node(app, route) : nodes(app, route)),
  jobs: (app, route) => (route.id ? job(app, route) : jobs(app, route)),
  sessions: (app, route) => (route.id ? session(app, route) : lost()),
  deployments,
  explain,
  lost,
};
