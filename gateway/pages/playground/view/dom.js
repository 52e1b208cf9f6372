// Small things for the page.

export function byId(id) {
  return document.getElementById(id);
}

/** Sets a text only when it is another one, so that nothing is laid out for nothing. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Calls `run` at most once in `waitMs`, and always after the last time it was asked to. */
export function throttled(run, waitMs) {
  let timer = 0;
  return () => {
    if (timer) return;
    timer = setTimeout(() => {
      timer = 0;
      run();
    }, waitMs);
  };
}

/** A simulated time for people: `1:04.5`, or `1:02:04`. */
export function clockTime(ms, digits = 1) {
  const tenths = Math.floor(ms / 100);
  const seconds = Math.floor(tenths / 10);
  const pad = (value) => String(value).padStart(2, "0");
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor(seconds / 60) % 60;
  const tail = digits > 0 ? `.${tenths % 10}` : "";
  return hours > 0 ? `${hours}:${pad(minutes)}:${pad(seconds % 60)}` : `${minutes}:${pad(seconds % 60)}${tail}`;
}

/** Copies a text, and says on the button that it did. */
export async function copyFrom(button, text) {
  const before = button.dataset.label ?? button.textContent;
  button.dataset.label = before;
  let done = false;
  try {
    await navigator.clipboard.writeText(text);
    done = true;
  } catch {
    done = copyByHand(text);
  }
  button.textContent = done ? "Copied" : "Not allowed";
  setTimeout(() => {
    button.textContent = before;
  }, 1200);
}

/** The old way, for pages that came over plain HTTP, where there is no clipboard. */
function copyByHand(text) {
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "visually-hidden";
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  return done;
}
