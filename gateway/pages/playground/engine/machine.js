// A machine of the fleet under one scheduler: what really runs on it, whatever that scheduler believes.

export class Machine {
  /** The jobs by the place they are drawn at; those beyond the node's slots have no slot of their own. */
  seats = [];
  seated = 0;
  running = 0;
  /** Ended jobs that the node could not report yet, because nobody hears it. */
  unsent = new Set();
  /** Counts the node's processes: a new one knows nothing of the jobs of the one before. */
  epoch = 1;
  incarnation = "";
  /** How many slots the scheduler thinks are taken, when it was asked last, and what it calls the node. */
  books = { taken: 0, state: "unknown" };
  ghosts = 0;
  /** Whether the scheduler noticed that the node is silent. */
  givenUp = false;

  constructor(node) {
    this.node = node;
  }

  seat(job) {
    let place = this.seats.indexOf(undefined);
    if (place < 0) place = this.seats.length;
    this.seats[place] = job;
    job.place = place;
    this.seated += 1;
  }

  unseat(job) {
    if (this.seats[job.place] !== job) return;
    this.seats[job.place] = undefined;
    this.seated -= 1;
    this.#trim();
    // A slot that is free again is the slot of whoever had none.
    if (job.place >= this.node.slots || this.seats.length <= this.node.slots) return;
    const last = this.seats.pop();
    last.place = job.place;
    this.seats[last.place] = last;
    this.#trim();
  }

  /** A job starts. Who runs has a slot before who is on the way, as far as there are slots. */
  start(job) {
    this.running += 1;
    if (job.place < this.node.slots) return;
    const place = this.seats.findIndex((other, at) => at < this.node.slots && other?.state === "sent");
    if (place < 0) return;
    const other = this.seats[place];
    [other.place, job.place] = [job.place, place];
    this.seats[other.place] = other;
    this.seats[job.place] = job;
  }

  #trim() {
    while (this.seats.length > 0 && this.seats.at(-1) === undefined) this.seats.pop();
  }

  /** The jobs that run or are on their way here. */
  jobs() {
    return this.seats.filter(Boolean);
  }

  /** How many jobs run here that were placed without there being a slot for them. Lowering a node's slots makes none. */
  get oversold() {
    const beyond = this.running - this.node.slots;
    if (beyond <= 0) return 0;
    const without = this.seats.reduce((sum, job) => sum + (job?.oversold ? 1 : 0), 0);
    return Math.min(beyond, without);
  }

  /** Notes what the scheduler thinks. Slots that are taken by its books although nothing runs there or is on its way are ghosts. */
  noteBooks(books) {
    this.books = books;
    this.ghosts = Math.max(0, books.taken - this.seated - this.unsent.size);
  }
}
