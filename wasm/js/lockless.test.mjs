// Run by `cargo xtask test`, or by hand: node --test wasm/js

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import test from 'node:test';

import { Lockless, ReplyError, Stopped } from './lockless.mjs';

const module = await WebAssembly.compile(await readFile(new URL('../lockless.wasm', import.meta.url)));

const CELL = 'scheduler:{test}';
const NOW_US = 1_767_225_600_000_000;
const LIMITS = { memoryLimit: 16 << 20, budget: 5_000, now: () => NOW_US };

// Functions that go wrong, each after a change and an announcement that must not stay.
const POISON = `#!lua name=poison
local function poison(name, run)
  redis.register_function(name, function()
    redis.call('SET', 'poisoned', 'yes')
    redis.call('DEL', 'kept')
    redis.call('SPUBLISH', 'news', 'poisoned')
    return run()
  end)
end
poison('endless', function() while true do end end)
poison('pattern', function() return #string.match(string.rep('a', 200000), '(.-)b') end)
poison('nested', function() return #string.match(string.rep('a', 100000), string.rep('a?', 100000)) end)
poison('hoard', function() local s = 'x' while true do s = s .. s end end)
`;

const start = (options) => Lockless.start(module, { ...LIMITS, ...options });

test('a job goes from dispatch to its end', async () => {
  const cell = await start();
  cell.fcall('lockless_register', CELL, 'node-1', 4, 'PAIR', 'en', 'zh');
  assert.deepEqual(cell.fcall('lockless_dispatch', CELL, 's1', 'en', 'zh', '{"text":"你好"}', 'JOB', 'j1'), ['node-1', 'j1']);
  assert.equal(cell.fcall('lockless_ack', CELL, 'j1', 'node-1'), 'OK');
  assert.equal(cell.fcall('lockless_complete', CELL, 'j1', 'node-1', 'finished'), 'OK');
  assert.deepEqual(cell.fcall('lockless_check', CELL), []);
});

test('an error reply is thrown with its code, or returned', async () => {
  const cell = await start();
  assert.throws(() => cell.fcall('lockless_drain', CELL, 'nobody', 'on'), { name: 'ReplyError', code: 'UNKNOWN_NODE' });
  const reply = cell.send(['FCALL', 'lockless_drain', 1, CELL, 'nobody', 'on']);
  assert.ok(reply instanceof ReplyError);
  assert.equal(reply.code, 'UNKNOWN_NODE');
});

test('strings are text, or bytes when asked for', async () => {
  const bytes = new Uint8Array([0, 255, 13, 10, 128]);
  const cell = await start({ bytes: true });
  cell.call(['SET', 'key', bytes]);
  assert.deepEqual(cell.call(['GET', 'key']), bytes);
  const texts = await start();
  texts.call(['SET', 'key', 'grüß']);
  assert.equal(texts.call(['GET', 'key']), 'grüß');
  assert.equal(texts.call(['GET', 'absent']), null);
  assert.equal(texts.call(['INCR', 'counter']), 1);
});

test('the clock is the one given, and may go back', async () => {
  const cell = await start();
  cell.call(['SET', 'key', 'x', 'PX', 1000], NOW_US);
  assert.equal(cell.call(['GET', 'key'], NOW_US + 500_000), 'x');
  assert.equal(cell.call(['PTTL', 'key'], NOW_US - 500_000), 1500);
  assert.deepEqual(cell.call(['TIME'], NOW_US + 7), ['1767225600', '7']);
  assert.equal(cell.call(['GET', 'key'], NOW_US + 2_000_000), null);
});

test('what is published is handed over once', async () => {
  const cell = await start();
  cell.call(['SPUBLISH', 'channel', 'one']);
  cell.call(['PUBLISH', 'channel', 'two']);
  assert.deepEqual(cell.published(), [{ channel: 'channel', message: 'one' }, { channel: 'channel', message: 'two' }]);
  assert.deepEqual(cell.published(), []);
});

test('a saved state is the same in another machine', async () => {
  const cell = await start();
  for (let n = 0; n < 300; n++) cell.fcall('lockless_register', CELL, `node-${n}`, 1 + (n % 9), 'LABEL', `l${n % 5}`);
  for (let n = 0; n < 200; n++) cell.fcall('lockless_dispatch', CELL, `s${n}`, '-', '-', 'payload', 'JOB', `j${n}`);
  const other = await start();
  other.load(cell.save());
  assert.equal(other.call(['DEBUG', 'KEYSPACE']), cell.call(['DEBUG', 'KEYSPACE']));
  assert.deepEqual(other.fcall('lockless_check', CELL), []);
  assert.deepEqual(
    other.fcall('lockless_dispatch', CELL, 'more', '-', '-', 'p', 'JOB', 'more'),
    cell.fcall('lockless_dispatch', CELL, 'more', '-', '-', 'p', 'JOB', 'more'),
  );
});

test('a state that is damaged at any byte, or cut off, is refused and changes nothing', async () => {
  const cell = await start();
  cell.call(['SET', 'key', 'value']);
  cell.call(['ZADD', 'set', 1, 'member']);
  const state = cell.save();
  cell.call(['SET', 'key', 'other']);
  const before = cell.call(['DEBUG', 'KEYSPACE']);
  for (let place = 0; place < state.length; place++) {
    const damaged = state.slice();
    damaged[place] ^= 1 << place % 8;
    assert.throws(() => cell.load(damaged), /state/, `byte ${place}`);
    assert.throws(() => cell.load(state.slice(0, place)), /state/, `${place} bytes`);
  }
  assert.equal(cell.call(['DEBUG', 'KEYSPACE']), before);
});

for (const [name, reason] of [['endless', /budget/], ['pattern', /budget/], ['nested', /stack/], ['hoard', /memory/]]) {
  test(`a call that is ${name} is stopped and leaves everything as it was`, async () => {
    const cell = await start();
    cell.call(['FUNCTION', 'LOAD', POISON]);
    cell.call(['SET', 'kept', 0]);
    cell.fcall('lockless_register', CELL, 'node-1', 4);
    // Twice with much in between: both what is in an image and what was done since must be there again.
    for (let round = 0; round < 2; round++) {
      for (let n = 0; n < 700; n++) cell.call(['INCR', 'kept']);
      cell.call(['PUBLISH', 'news', `round ${round}`]);
      const before = cell.call(['DEBUG', 'KEYSPACE']);
      assert.throws(() => cell.fcall(name, CELL), (error) => error instanceof Stopped && reason.test(error.message));
      assert.equal(cell.call(['DEBUG', 'KEYSPACE']), before);
      assert.equal(cell.call(['GET', 'kept']), String(700 * (round + 1)));
      assert.deepEqual(cell.published().map((said) => said.message), [`round ${round}`]);
      assert.equal(cell.fcall('lockless_dispatch', CELL, 's', '-', '-', 'p', 'JOB', `j${round}`)[0], 'node-1');
    }
  });
}

test('beyond the memory limit only what needs none is taken', async () => {
  const cell = await start({ memoryLimit: 8 << 20 });
  cell.fcall('lockless_register', CELL, 'node-1', 100);
  cell.fcall('lockless_dispatch', CELL, 's', '-', '-', 'p', 'JOB', 'early');
  const filler = 'x'.repeat(50_000);
  let refused = null;
  for (let n = 0; n < 1000 && !refused; n++) {
    const reply = cell.send(['SET', `filler-${n}`, filler + n]);
    if (reply instanceof ReplyError) refused = reply;
  }
  assert.equal(refused?.message, "OOM command not allowed when used memory > 'maxmemory'.");
  assert.throws(() => cell.fcall('lockless_dispatch', CELL, 's', '-', '-', 'p', 'JOB', 'late'), { code: 'OOM' });
  assert.equal(cell.fcall('lockless_complete', CELL, 'early', 'node-1', 'finished'), 'OK');
  assert.equal(cell.fcall('lockless_job', CELL, 'early')[3], 'finished');
  cell.call(['FLUSHALL']);
  assert.equal(cell.call(['SET', 'key', 'value']), 'OK');
});

test('a call that was refused for want of memory stays refused after another was stopped', async () => {
  const cell = await start({ memoryLimit: 8 << 20 });
  cell.call(['FUNCTION', 'LOAD', `#!lua name=full
redis.register_function{ function_name = 'endless_when_full', flags = { 'allow-oom' }, callback = function() while true do end end }`]);
  const filler = 'x'.repeat(50_000);
  let n = 0;
  while (n < 1000 && !(cell.send(['SET', `filler-${n}`, filler + n]) instanceof ReplyError)) n++;
  assert.throws(() => cell.call(['SET', 'late', 'x']), { code: 'OOM' });
  assert.throws(() => cell.fcall('endless_when_full', CELL), Stopped);
  assert.equal(cell.call(['GET', 'late']), null);
  assert.equal(cell.call(['GET', `filler-${n}`]), null);
  assert.equal(cell.call(['GET', `filler-${n - 1}`]), filler + (n - 1));
});
