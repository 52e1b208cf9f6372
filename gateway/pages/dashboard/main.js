// The dashboard: learns what the gateway serves, follows a cell, and draws the view that is asked for.

import { morph } from "../shared/dom.js";
import { Api } from "./api.js";
import { read } from "./router.js";
import * as shell from "./shell.js";
import { Store } from "./store.js";
import { views } from "./views.js";

const AGAIN_MS = 2000;
const UNSEEN_MS = 10000;

class App {
  api = new Api();
  store = new Store(this.api);
  // What the gateway says of itself and of the reader; null until it did.
  gateway = null;
  // Set while a token is asked for: what is wrong with the one before, or an empty text.
  asksForToken = null;
  trouble = null;
  #view = null;
  #shown = null;
  #drawing = false;

  get isOperator() {
    return this.gateway?.role === "operator";
  }

  async begin() {
    addEventListener("hashchange", () => this.#navigate());
    this.store.addEventListener("change", () => this.draw());
    this.store.addEventListener("token-wanted", () => this.askForToken("the token is not accepted any more"));
    // What stands after '#' is the view, so this link leads where it says by hand.
    document.querySelector(".skip").addEventListener("click", (event) => {
      event.preventDefault();
      document.getElementById("main").focus();
    });
    setInterval(() => this.draw(), 1000);
    this.#restWhenUnseen();
    await this.connect();
  }

  // A browser has few connections to a gateway, for all its tabs: one that nobody looks at gives its own up.
  #restWhenUnseen() {
    let resting = false;
    let timer;
    const rest = () => {
      resting ||= this.store.isFollowing;
      this.store.stop();
    };
    const goOn = () => {
      clearTimeout(timer);
      if (resting) this.store.follow();
      resting = false;
    };
    addEventListener("pagehide", rest);
    addEventListener("pageshow", goOn);
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) timer = setTimeout(rest, UNSEEN_MS);
      else goOn();
    });
  }

  // Asks who is served, until the gateway says so.
  async connect() {
    try {
      this.gateway = await this.api.get("v1/gateway");
      this.asksForToken = this.trouble = null;
      this.#navigate();
    } catch (problem) {
      if (problem.status === 401) return this.askForToken(this.api.hasToken ? problem.message : "");
      this.trouble = problem.message;
      this.draw();
      setTimeout(() => this.connect(), AGAIN_MS);
    }
  }

  askForToken(why) {
    this.store.stop();
    this.api.setToken(null);
    this.asksForToken = why;
    this.draw();
  }

  async useToken(token) {
    this.api.setToken(token);
    await this.connect();
  }

  // Shows what the address asks for; another cell is followed from the start.
  #navigate() {
    if (!this.gateway) return;
    const route = read();
    const cell = route.query.get("cell") ?? this.gateway.cells[0];
    if (cell !== this.api.cell || !this.#view) {
      this.api.cell = cell;
      this.store.start();
    }
    const key = `${route.name} ${route.id} ${cell}`;
    if (key !== this.#shown) {
      this.#view?.stop?.();
      const make = views[route.name] ?? views.lost;
      this.#view = make(this, route);
      const isFirst = this.#shown === null;
      this.#shown = key;
      this.#view.start?.();
      this.#put(this.#view.render());
      // A reader who can't see that the page changed is told so by where the focus is.
      if (!isFirst) {
        scrollTo(0, 0);
        document.querySelector("#main h1")?.focus({ preventScroll: true });
      }
    } else {
      this.#view.moved?.(route);
    }
    this.draw();
  }

  #put(content) {
    const main = document.getElementById("main");
    main.replaceChildren(content);
  }

  // Draws once before the next frame, however often it is called.
  draw() {
    if (this.#drawing) return;
    this.#drawing = true;
    requestAnimationFrame(() => {
      this.#drawing = false;
      shell.draw(this);
      const main = document.getElementById("main");
      const isReady = this.gateway && this.asksForToken === null;
      if (!isReady) {
        this.#view?.stop?.();
        this.#shown = this.#view = null;
      }
      const content = isReady ? this.#view.render() : shell.waiting(this);
      document.title = `${content.querySelector("h1")?.textContent ?? "Dashboard"} · Lockless`;
      if (main.firstElementChild) morph(main.firstElementChild, content);
      else main.append(content);
    });
  }
}

new App().begin();
