// The clock: pause, step, speed.

import { byId, clockTime, setText } from "./dom.js";

export class Clock {
  #playing;

  /** `still`: the clock stands until it is started. */
  constructor(remote, still) {
    this.remote = remote;
    this.#playing = !still;
    this.button = byId("play");
    this.speed = byId("speed");
    this.button.addEventListener("click", () => this.#become(!this.#playing));
    this.speed.addEventListener("change", () => this.resume());
    byId("step").addEventListener("click", () => this.#stand("step"));
    byId("skip").addEventListener("click", () => this.#stand("skip", { ms: 1000 }));
    // Nobody looks at a page that is hidden.
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) remote.send("pause");
      else this.resume();
    });
    document.addEventListener("keydown", (event) => this.#key(event));
  }

  #key(event) {
    const within = event.target.closest("input, select, textarea, button, summary, a, [tabindex='0']");
    if (event.key !== " " || within) return;
    event.preventDefault();
    this.#become(!this.#playing);
  }

  /** Goes on, if it should go. */
  resume() {
    if (this.#playing) this.remote.send("play", { speed: Number(this.speed.value) });
    this.#label();
  }

  #stand(type, more) {
    if (this.#playing) this.#become(false);
    this.remote.send(type, more);
  }

  #become(playing) {
    this.#playing = playing;
    if (playing) this.resume();
    else this.remote.send("pause");
    this.#label();
  }

  #label() {
    setText(this.button, this.#playing ? "Pause" : "Play");
  }

  show({ nowMs, playing, speed, speedNow }) {
    setText(byId("time"), clockTime(nowMs));
    // The button says what is wished, this what is so.
    byId("time").dataset.playing = String(playing);
    // What the browser can not keep up with is said.
    const slow = playing && speedNow < speed * 0.85;
    setText(byId("pace"), slow ? `${speedNow.toFixed(speedNow < 10 ? 1 : 0)}× is what this browser can do` : "");
  }
}
