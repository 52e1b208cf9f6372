// Events as they happen. A browser's own EventSource can't send a token, so the stream is read from a plain response.

const AGAIN_MS = [500, 1000, 2000, 5000];

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// The events of a text/event-stream, given in pieces that may end anywhere.
export class Parser {
  #rest = "";

  *feed(text) {
    const blocks = (this.#rest + text).split("\n\n");
    this.#rest = blocks.pop();
    for (const block of blocks) {
      const data = block.split("\n").filter((line) => line.startsWith("data: "));
      if (data.length > 0) yield JSON.parse(data.map((line) => line.slice(6)).join("\n"));
    }
  }
}

// Reads events until `signal`, from where it was after each break. `tell(true | false, problem)` says whether it is open.
export async function follow(api, { after, signal, onEvent, tell }) {
  let position = after;
  let failures = 0;
  while (!signal.aborted) {
    try {
      const query = position ? `?after=${encodeURIComponent(position)}` : "";
      const response = await api.open(`v1/events${query}`, { headers: { Accept: "text/event-stream" }, signal });
      tell(true);
      failures = 0;
      const parser = new Parser();
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
        for (const event of parser.feed(piece.value)) {
          position = event.id;
          onEvent(event);
        }
      }
      tell(false);
    } catch (problem) {
      if (signal.aborted) return;
      tell(false, problem);
    }
    await sleep(AGAIN_MS[Math.min(failures, AGAIN_MS.length - 1)]);
    failures += 1;
  }
}

// The events of the last while: of the longest of a few spans that one page holds, else the newest page of the shortest.
export async function recent(api, now, signal) {
  let page = { events: [], last_id: null };
  for (const span of [900000, 60000, 5000]) {
    page = await api.get("v1/events", { after: `${Math.max(0, now - span)}-0`, count: 1000 }, signal);
    if (page.events.length < 1000) break;
  }
  return page;
}
