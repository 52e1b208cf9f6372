// What is to happen, in the order of time; what was put in first comes first among equals.

/** A binary heap of `{ at, order, run }`. */
export class Agenda {
  #heap = [];
  #order = 0;

  /** The time of the next entry; infinite when there is none. */
  get nextMs() {
    return this.#heap.length > 0 ? this.#heap[0].at : Infinity;
  }

  get size() {
    return this.#heap.length;
  }

  add(at, run) {
    const heap = this.#heap;
    const entry = { at, order: this.#order, run };
    this.#order += 1;
    let place = heap.length;
    heap.push(entry);
    while (place > 0) {
      const parent = (place - 1) >> 1;
      if (!before(entry, heap[parent])) break;
      heap[place] = heap[parent];
      place = parent;
    }
    heap[place] = entry;
  }

  /** Takes the next entry out. */
  take() {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (heap.length > 0) this.#sink(last);
    return first;
  }

  #sink(entry) {
    const heap = this.#heap;
    const size = heap.length;
    let place = 0;
    for (;;) {
      let child = 2 * place + 1;
      if (child >= size) break;
      if (child + 1 < size && before(heap[child + 1], heap[child])) child += 1;
      if (!before(heap[child], entry)) break;
      heap[place] = heap[child];
      place = child;
    }
    heap[place] = entry;
  }
}

function before(one, other) {
  return one.at < other.at || (one.at === other.at && one.order < other.order);
}
