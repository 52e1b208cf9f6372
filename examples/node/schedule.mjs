// Schedules one job with plain FCALLs: register, heartbeat, explain, dispatch, ack, complete, and a refusal.
//
// npm install ioredis; REDIS_URL=redis://127.0.0.1:6379 node schedule.mjs

import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import Redis from 'ioredis';

const CELL = 'example:{node}';
// A server that is not there is an error, not something to wait for.
const client = new Redis(process.env.REDIS_URL ?? 'redis://127.0.0.1:6379', { retryStrategy: null });
client.on('error', (error) => console.error(error.message));

const call = (name, ...args) => client.call('FCALL', `lockless_${name}`, 1, CELL, ...args);

// A flat field, value list as an object.
const fields = (flat) =>
  Object.fromEntries(flat.flatMap((field, at) => (at % 2 ? [] : [[field, flat[at + 1]]])));

function expect(what, got, wanted) {
  console.log(`${what}:`, got);
  if (!isDeepStrictEqual(got, wanted)) throw new Error(`${what} was to be ${wanted}`);
}

async function schedule() {
  // Each run is a new instance: what an earlier run left on these nodes is settled as lost.
  const run = randomUUID();
  for (const node of ['a', 'b']) {
    await call('register', node, 1, 'INSTANCE', run, 'PAIR', 'en', 'zh');
    const status = fields(await call('heartbeat', node, 'CPU', 12.5, 'MEM', 40));
    expect(`node ${node}`, [status.state, status.held], ['ready', 0]);
  }
  const why = fields(await call('explain', 'session-1', 'en', 'zh'));
  expect('nodes available', why.available, 2);

  // The caller names the job, so a dispatch that is sent twice is one job.
  const jobs = [`${run}-1`, `${run}-2`];
  const payload = JSON.stringify({ text: 'hello' });
  const [node, job] = await call('dispatch', 'session-1', 'en', 'zh', payload, 'JOB', jobs[0]);
  expect('dispatched', job, jobs[0]);
  const again = await call('dispatch', 'session-1', 'en', 'zh', payload, 'JOB', jobs[0]);
  expect('sent again', again, [node, job]);
  const [other] = await call('dispatch', 'session-2', 'en', 'zh', '{}', 'JOB', jobs[1]);

  const refusal = await call('dispatch', 'session-3', 'en', 'zh', '{}').catch((error) => error);
  expect('refused', refusal.message?.split(' ')[0], 'NO_AVAILABLE_NODE');

  for (const [itsNode, itsJob] of [[node, jobs[0]], [other, jobs[1]]]) {
    expect(`${itsNode} acknowledges`, await call('ack', itsJob, itsNode), 'OK');
    expect(`${itsNode} completes`, await call('complete', itsJob, itsNode, 'finished', 'RESULT', '{}'), 'OK');
  }
  expect('the job', fields(await call('job', jobs[0])).status, 'finished');
}

try {
  await schedule();
} finally {
  client.disconnect();
}
