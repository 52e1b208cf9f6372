// The host of lockless.wasm for Node and browsers; it needs nothing but this file and the module.
//
//   const cell = await Lockless.start(bytes);                             // or a WebAssembly.Module, or fetch('lockless.wasm')
//   cell.fcall('lockless_register', 'scheduler:{main}', 'node-1', 4);     // throws a ReplyError for an error reply
//   cell.call(['GET', 'key']);
//
// Replies: integers are numbers, strings are strings (or Uint8Array with the option `bytes`), nil is null, arrays are arrays.

// What lua_throw throws. It is told by its identity and is no Error, so that a Lua error costs no capture of the stack.
const THROWN = { thrownByLua: true };

const encoder = new TextEncoder();
const decoder = new TextDecoder();

// As the module has it when it starts, and the greatest there is.
const [USUAL_MEMORY, ALL_MEMORY] = [256 * 1024 * 1024, 0xffffffff];

// How the reply begins to a call that did not run because memory is full.
const REFUSED = encoder.encode('-OOM command not allowed');

const DEFAULTS = {
  memoryLimit: 0, // bytes; 0: 256 MiB
  budget: 500_000, // thousands of Lua instructions in one call; 0: no bound
  bytes: false, // whether strings in replies are Uint8Array
  now: () => Date.now() * 1000, // the clock of calls that are given none, in microseconds since 1970
};

/** An error reply: `code` is its first word, `message` the whole line. */
export class ReplyError extends Error {
  constructor(line) {
    super(line);
    this.name = 'ReplyError';
    this.code = line.split(' ', 1)[0];
  }
}

/** The call was stopped, because it exceeded its budget, its memory or its stack. The state is as it was before. */
export class Stopped extends Error {
  constructor(reason, cause) {
    super(reason, { cause });
    this.name = 'Stopped';
  }
}

/** The module has no memory left to take a request. Nothing ran. */
class NoRoom extends RangeError {}

/** One instance of the module. After a trap it is of no further use. */
class Instance {
  constructor(module) {
    const lua_try = (f, state, data) => {
      try {
        this.exports.lua_call_protected(f, state, data);
        return 0;
      } catch (thrown) {
        if (thrown !== THROWN) throw thrown;
        return 1;
      }
    };
    const lua_throw = () => {
      throw THROWN;
    };
    this.exports = new WebAssembly.Instance(module, { env: { lua_try, lua_throw } }).exports;
    this.exports._initialize();
  }

  // A view of the memory must be made anew for each use: it is void once the memory grows.
  get memory() {
    return new Uint8Array(this.exports.memory.buffer);
  }

  // A place or a length above 2 GiB comes as a negative number.
  result() {
    const from = this.exports.result_ptr() >>> 0;
    return this.memory.subarray(from, from + (this.exports.result_len() >>> 0));
  }

  resultText() {
    return decoder.decode(this.result());
  }

  // Runs an export that takes bytes and the clock.
  give(name, bytes, nowUs) {
    const place = this.exports.alloc(bytes.length) >>> 0;
    if (place === 0) throw new NoRoom('the module has no memory for the request');
    this.memory.set(bytes, place);
    const failed = this.exports[name](place, bytes.length, nowUs);
    this.exports.release(place);
    return failed;
  }

  static fromImage(module, image) {
    const instance = new Instance(module);
    const { memory } = instance.exports;
    const missing = image.length - memory.buffer.byteLength;
    if (missing > 0) memory.grow(missing / 65536);
    instance.memory.set(image);
    return instance;
  }
}

const startsWith = (bytes, head) => bytes.length >= head.length && head.every((byte, place) => bytes[place] === byte);

/** A request: an array of bulk strings. Arguments are strings, numbers or bytes. */
export function encodeRequest(args) {
  const parts = args.map((arg) => (arg instanceof Uint8Array ? arg : encoder.encode(String(arg))));
  const pieces = [encoder.encode(`*${parts.length}\r\n`)];
  for (const part of parts) pieces.push(encoder.encode(`$${part.length}\r\n`), part, encoder.encode('\r\n'));
  const request = new Uint8Array(pieces.reduce((size, piece) => size + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    request.set(piece, at);
    at += piece.length;
  }
  return request;
}

/** A reply as plain values; an error is a ReplyError, also inside an array. */
export function decodeReply(reply, asBytes = false) {
  let at = 0;
  const line = () => {
    const end = reply.indexOf(13, at);
    const text = decoder.decode(reply.subarray(at + 1, end));
    at = end + 2;
    return text;
  };
  const value = () => {
    const kind = reply[at];
    const head = line();
    switch (kind) {
      case 58: // ':'
        return Number(head);
      case 43: // '+'
        return head;
      case 45: // '-'
        return new ReplyError(head);
      case 36: { // '$'
        const size = Number(head);
        if (size < 0) return null;
        const bytes = reply.subarray(at, at + size);
        at += size + 2;
        return asBytes ? bytes.slice() : decoder.decode(bytes);
      }
      case 42: // '*'
        return Array.from({ length: Number(head) }, value);
      default:
        throw new TypeError(`a reply does not begin with byte ${kind}`);
    }
  };
  return value();
}

export class Lockless {
  #module;
  #options;
  #instance;
  // The memory as it was at some time, and what was done since: enough to be here again after a trap.
  #image;
  #journal = [];
  #journalBytes = 0;

  constructor(module, options) {
    this.#module = module;
    this.#options = { ...DEFAULTS, ...options };
    const { memoryLimit, budget, now } = this.#options;
    this.#instance = new Instance(module);
    if (this.#instance.exports.start(memoryLimit, now())) throw new Error(this.#instance.resultText());
    this.#instance.exports.set_budget(budget);
    this.#takeImage();
  }

  /** Starts a machine with the library in it, and nothing else. */
  static async start(source, options = {}) {
    let module = await source;
    if (typeof Response !== 'undefined' && module instanceof Response) {
      if (!module.ok) throw new Error(`${module.url} could not be had: ${module.status}`);
      module = await module.arrayBuffer();
    }
    if (!(module instanceof WebAssembly.Module)) module = await WebAssembly.compile(module);
    return new Lockless(module, options);
  }

  /** Runs one command and returns its reply; an error reply is returned as a ReplyError, not thrown. */
  send(args, nowUs = this.#options.now()) {
    const request = encodeRequest(args);
    const step = (instance) => instance.give('call', request, nowUs);
    this.#run('call', step);
    // A call that was refused because memory is full must not run when the others are repeated.
    if (!startsWith(this.#instance.result(), REFUSED)) this.#note(step, request.length);
    return decodeReply(this.#instance.result(), this.#options.bytes);
  }

  /** Runs one command and returns its reply; throws a ReplyError for an error reply. */
  call(args, nowUs) {
    const reply = this.send(args, nowUs);
    if (reply instanceof ReplyError) throw reply;
    return reply;
  }

  /** Calls a function of the library on one cell. */
  fcall(name, key, ...args) {
    return this.call(['FCALL', name, 1, key, ...args]);
  }

  /** What was published since this was asked last: a list of { channel, message }. */
  published() {
    const step = (instance) => instance.exports.published();
    this.#run('published', step);
    this.#note(step, 0);
    const messages = decodeReply(this.#instance.result(), this.#options.bytes);
    return messages.map(([channel, message]) => ({ channel, message }));
  }

  /** The whole keyspace, as bytes that any version of the module with the same state version can load. */
  save() {
    const failed = this.#orGoBack((instance) => instance.exports.save());
    if (failed) throw new Error(this.#instance.resultText());
    return this.#instance.result().slice();
  }

  /** Replaces the keyspace with a saved one. When that can not be done it throws, and the keyspace stays. */
  load(state, nowUs = this.#options.now()) {
    const failed = this.#orGoBack((instance) => instance.give('load', state, nowUs));
    if (failed) throw new Error(this.#instance.resultText());
    this.#takeImage();
  }

  /** Bytes the Lua machine uses. */
  get usedBytes() {
    return this.#live.exports.used() >>> 0;
  }

  #run(name, step) {
    const failed = this.#orGoBack(step);
    if (failed) throw new Error(`${name}: ${this.#instance.resultText()}`);
  }

  #note(step, size) {
    this.#journal.push(step);
    this.#journalBytes += size;
  }

  // An image costs a copy of the memory and a journal costs the time to run it again: the larger the one, the longer the other may get.
  #takeImageInTime() {
    const memory = this.#instance.exports.memory.buffer.byteLength;
    if (this.#journal.length > 256 + memory / 16384 || this.#journalBytes > memory / 2) this.#takeImage();
  }

  #takeImage() {
    this.#image = this.#instance.memory.slice();
    this.#journal = [];
    this.#journalBytes = 0;
  }

  // The instance that the next call runs in. After a trap there is none until it could be made again.
  get #live() {
    this.#instance ??= this.#rebuilt();
    return this.#instance;
  }

  #orGoBack(step) {
    const instance = this.#live;
    this.#takeImageInTime();
    try {
      return step(instance);
    } catch (trap) {
      // Nothing ran.
      if (trap instanceof NoRoom) throw trap;
      // The reason is there when the module stopped by itself; else what overflowed is the stack.
      const unreachable = trap instanceof WebAssembly.RuntimeError && /unreachable/i.test(trap.message);
      const reason = unreachable ? instance.resultText() : 'the call needs more stack than there is';
      this.#instance = null;
      throw new Stopped(reason, trap);
    }
  }

  // An instance as the last one was before the call that ended it. What was done once is done again whatever it takes.
  #rebuilt() {
    const instance = Instance.fromImage(this.#module, this.#image);
    instance.exports.set_budget(0);
    instance.exports.set_memory_limit(ALL_MEMORY);
    for (const done of this.#journal) done(instance);
    instance.exports.set_memory_limit(this.#options.memoryLimit || USUAL_MEMORY);
    instance.exports.set_budget(this.#options.budget);
    return instance;
  }
}
