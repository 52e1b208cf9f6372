// Numbers that look random and are the same for the same seed, so that a history can be told again.

/** A number from a text, to start a generator with: different texts give unrelated generators. */
export function hash(text) {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i += 1) {
    h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  }
  // One more round, because texts that differ in the last letter alone would start close to each other.
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

/** A function that gives the next number from 0 up to, not including, 1. */
export function generator(seed, purpose) {
  let state = hash(`${seed} ${purpose}`);
  return () => {
    state = (state + 0x9e3779b9) | 0;
    let t = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    t = Math.imul(t ^ (t >>> 15), 0x735a2d97);
    return ((t ^ (t >>> 15)) >>> 0) / 4294967296;
  };
}

/** How long until the next of things that happen at random, `mean` apart. */
export function exponential(next, mean) {
  return -mean * Math.log(1 - next());
}

/** A duration around `mean`, by the name of its distribution. Each takes two numbers, so that changing one leaves the rest of a history alone. */
export function duration(next, mean, spread) {
  const first = next();
  const second = next();
  switch (spread) {
    case "fixed":
      return mean;
    case "uniform":
      return mean * (0.5 + first);
    case "long": {
      // Log-normal with the wanted mean: most are short, a few are ten times as long.
      const normal = Math.sqrt(-2 * Math.log(1 - first)) * Math.cos(2 * Math.PI * second);
      return mean * Math.exp(normal - 0.5);
    }
    default:
      return -mean * Math.log(1 - first);
  }
}

/** How often in a row something with this chance happens, at most `limit` times. */
export function repeats(next, chance, limit) {
  const drawn = next();
  let count = 0;
  let reach = chance;
  while (count < limit && drawn < reach) {
    count += 1;
    reach *= chance;
  }
  return count;
}
