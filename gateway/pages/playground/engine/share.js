// A scenario as the part of an address after '#', and back. A preset is its name, with its seed if that is another one; anything
// else is the whole scenario as JSON, in letters that survive every mail program.

import { findPreset } from "./presets.js";
import { readScenario } from "./scenario.js";

const LONGEST = 60000;

export function toHash(scenario, presetId) {
  const preset = findPreset(presetId);
  if (preset) {
    const plain = readScenario(preset.scenario);
    if (same(plain, scenario)) return `#${preset.id}`;
    if (same({ ...plain, seed: scenario.seed }, scenario)) return `#${preset.id}.${scenario.seed}`;
  }
  const bytes = new TextEncoder().encode(JSON.stringify(scenario));
  let letters = "";
  for (const byte of bytes) letters += String.fromCharCode(byte);
  return `#s=${btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
}

/** `{ presetId, scenario }`, or null when there is nothing in it that can be read. */
export function fromHash(hash) {
  const text = hash.replace(/^#/, "");
  if (text.startsWith("s=") && text.length < LONGEST) {
    const given = decoded(text.slice(2));
    return given === null ? null : { presetId: "", scenario: readScenario(given) };
  }
  const [, id, seed] = text.match(/^([a-z-]+)(?:\.(\d{1,6}))?$/) ?? [];
  const preset = findPreset(id);
  if (!preset) return null;
  const scenario = readScenario(preset.scenario);
  return { presetId: preset.id, scenario: seed ? { ...scenario, seed: Number(seed) } : scenario };
}

function decoded(letters) {
  try {
    const bytes = Uint8Array.from(atob(letters.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return null;
  }
}

function same(one, other) {
  return JSON.stringify(one) === JSON.stringify(other);
}
