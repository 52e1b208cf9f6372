// What is worth a sentence: shown beside the fleet as it happens.

const KEPT = 60;
const AGAIN_MS = 60000;
const APART_MS = 800;

export class Story {
  /** Newest last: `{ number, atMs, who, kind, text }`, where `who` is `ours`, `theirs` or `world`. */
  told = [];
  #count = 0;
  #before = new Set();
  #last = new Map();

  tell(atMs, who, kind, text) {
    this.#count += 1;
    this.told.push({ number: this.#count, atMs, who, kind, text });
    if (this.told.length > KEPT) this.told.shift();
  }

  /** The same about the same node is told once in a while only, and things of one kind not all at once: what happens all the time is in the counts. */
  tellOnce(atMs, who, kind, text) {
    const last = this.#last.get(`${who} ${kind}`) ?? -Infinity;
    const key = `${text} ${Math.floor(atMs / AGAIN_MS)}`;
    if (atMs - last < APART_MS || this.#before.has(key)) return;
    this.#last.set(`${who} ${kind}`, atMs);
    this.#before.add(key);
    if (this.#before.size > 2000) this.#before.clear();
    this.tell(atMs, who, kind, text);
  }
}
