// One scheduler's Redis: makes the calls, and keeps what was said.

import { commandLine, replyLine } from "./line.js";

/** Simulated clocks start here, so that the same history has the same times: 1 January 2026. */
const EPOCH_MS = 1767225600000;
/** So many calls are kept from the beginning, because they set the scene, and so many of the last ones. */
const KEPT = { first: 600, last: 4000 };

export class Cell {
  #host;
  #first = [];
  #last = [];
  #place = 0;
  /** All calls that were made. */
  count = 0;
  /** How long a dispatch takes here: the mean of the last hundred or so, because the first ones are slow. */
  dispatchMs = 0;

  constructor(host, root) {
    this.#host = host;
    this.root = root;
    this.nowMs = 0;
  }

  /** Calls a function of the library, and notes it. An error reply is returned as an Error. */
  call(name, ...args) {
    return this.#noted(["FCALL", name, "1", this.root, ...args]);
  }

  /** The same for one that only reads. */
  read(name, ...args) {
    return this.#noted(["FCALL_RO", name, "1", this.root, ...args]);
  }

  /** A dispatch, whose time is taken. */
  dispatch(name, ...args) {
    const begin = performance.now();
    const reply = this.call(name, ...args);
    const tookMs = performance.now() - begin;
    this.dispatchMs = this.dispatchMs === 0 ? tookMs : this.dispatchMs * 0.99 + tookMs * 0.01;
    return reply;
  }

  /** A question of the page itself, which is no part of the history and is not noted. */
  ask(...command) {
    return this.#host.send(command, this.#nowUs());
  }

  #noted(args) {
    const reply = this.#host.send(args, this.#nowUs());
    this.count += 1;
    const entry = { number: this.count, atMs: this.nowMs, args, reply };
    if (this.#first.length < KEPT.first) {
      this.#first.push(entry);
    } else {
      this.#last[this.#place] = entry;
      this.#place = (this.#place + 1) % KEPT.last;
    }
    return reply;
  }

  /** The time as Redis tells it, in ms. */
  get epochMs() {
    return Math.floor(EPOCH_MS + this.nowMs);
  }

  #nowUs() {
    return Math.round((EPOCH_MS + this.nowMs) * 1000);
  }

  /** The calls that are kept and that `wanted` wants, newest first, at most `limit`. */
  newest(wanted, limit) {
    const found = [];
    const { length } = this.#last;
    for (let i = 1; i <= length && found.length < limit; i += 1) {
      const entry = this.#last[(this.#place - i + KEPT.last) % KEPT.last];
      if (wanted(entry)) found.push(entry);
    }
    for (let i = this.#first.length - 1; i >= 0 && found.length < limit; i -= 1) {
      if (wanted(this.#first[i])) found.push(this.#first[i]);
    }
    return found;
  }
}

/** An entry as it is shown: what to paste, and what came back. */
export function described(entry) {
  return {
    number: entry.number,
    atMs: entry.atMs,
    name: entry.args[1],
    line: commandLine(entry.args),
    reply: replyLine(entry.reply),
    failed: entry.reply instanceof Error,
  };
}
