// The page's end of the line to the worker.

export class Remote {
  #worker;
  #waiting = new Map();
  #count = 0;

  /** `heard` is called with each message that is no answer to a question. */
  constructor(heard) {
    this.#worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
    this.#worker.addEventListener("message", ({ data }) => {
      const answer = this.#waiting.get(data.id);
      if (answer) {
        this.#waiting.delete(data.id);
        answer(data);
      } else {
        heard(data);
      }
    });
    this.#worker.addEventListener("error", (event) => {
      heard({ type: "failed", reason: event.message ?? "the simulation could not be started" });
    });
  }

  send(type, more = {}) {
    this.#worker.postMessage({ type, ...more });
  }

  log(filter) {
    this.send("log", { filter });
  }

  async lines(filter) {
    return (await this.#asked("lines", { filter })).lines;
  }

  /** The scenario with all that was done by hand, and what of it is set now. */
  scenario() {
    return this.#asked("scenario");
  }

  #asked(type, more = {}) {
    this.#count += 1;
    const id = this.#count;
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      this.send(type, { id, ...more });
    });
  }
}
