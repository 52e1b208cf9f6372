// Hosts the module in Node, through the project's own host, and schedules one job: no server, no package.
//
// node host.mjs

import { readFile } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';

import { Lockless } from '../../wasm/js/lockless.mjs';

const CELL = 'example:{wasm}';
const cell = await Lockless.start(await readFile(new URL('../../wasm/lockless.wasm', import.meta.url)));

const call = (name, ...args) => cell.fcall(`lockless_${name}`, CELL, ...args);

function expect(what, got, wanted) {
  console.log(`${what}:`, got);
  if (!isDeepStrictEqual(got, wanted)) throw new Error(`${what} was to be ${wanted}`);
}

call('register', 'node-1', 1, 'PAIR', 'en', 'zh');
expect('dispatched', call('dispatch', 'session-1', 'en', 'zh', '{"text":"hello"}', 'JOB', 'job-1'), ['node-1', 'job-1']);

try {
  call('dispatch', 'session-2', 'en', 'zh', '{}');
  throw new Error('a second job found a slot on a node with one');
} catch (error) {
  expect('refused', error.code, 'NO_AVAILABLE_NODE');
}

// The state can be kept and taken up again, also by another host.
const state = cell.save();
console.log(`the state has ${state.length} bytes`);
cell.load(state);

expect('acknowledged', call('ack', 'job-1', 'node-1'), 'OK');
expect('completed', call('complete', 'job-1', 'node-1', 'finished'), 'OK');
expect('audited', call('check'), []);
