// Reads again and again while a view is looked at, less often while nobody looks. There is one loop, however often it is asked
// to read now, and none once it was stopped.

const HIDDEN_FACTOR = 10;

export function repeat(app, everyMs, read) {
  const ending = new AbortController();
  const { signal } = ending;
  let timer;
  let turns = 0;

  async function now() {
    clearTimeout(timer);
    turns += 1;
    const turn = turns;
    await read(signal);
    if (signal.aborted) return;
    app.draw();
    if (turn === turns) timer = setTimeout(now, everyMs * (document.hidden ? HIDDEN_FACTOR : 1));
  }

  return { now, stop: () => { ending.abort(); clearTimeout(timer); } };
}
