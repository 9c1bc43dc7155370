// Numbers, sizes, times and names in words, as Python writes them (gpuplace/tables/text.py, scale.py).

import { RULES } from "gpuplace/rules.js";

export const grouped = (value) => value.toLocaleString("en");

/** `1 node`, `2,000 nodes`. */
export const counted = (value, one, many = `${one}s`) => `${grouped(value)} ${value === 1 ? one : many}`;

/** A template of rules.json with its braces filled in. */
export const filled = (template, values) => template.replace(/\{(\w+)\}/g, (_, name) => values[name]);

/** One of the words of rules.json. */
export const words = (name, values = {}) => filled(RULES.words[name], values);

/** At most `most` characters, the middle left out where there are more. */
export function shortened(text, most) {
  const chars = [...text];
  if (chars.length <= most) return text;
  const tail = (most - 1) >> 1;
  return `${chars.slice(0, most - 1 - tail).join("")}…${chars.slice(chars.length - tail).join("")}`;
}

/** A number of bytes; null is unknown. */
export function bytesText(size) {
  if (size === null) return RULES.words.unknown_size;
  const units = RULES.units.bytes;
  let unit = 0;
  while (size >= 1024 && unit < units.length - 1) {
    size /= 1024;
    unit += 1;
  }
  if (!unit) return `${size} ${units[0]}`;
  // Halves go to the even tenth, as in Python.
  const tenths = size * 10;
  const rounded = tenths % 1 === 0.5 ? 2 * Math.round(tenths / 2) : Math.round(tenths);
  return `${(rounded / 10).toFixed(1)} ${units[unit]}`;
}

/** A time in microseconds. */
export function timeText(us) {
  const units = RULES.units.times;
  const found = units.find((one) => Math.abs(us) >= one.us) ?? units.at(-1);
  return us ? `${Number((us / found.us).toPrecision(3))} ${found.unit}` : "0 µs";
}

/** A search by regular expression; what is not one is searched for as it is. */
export function searcher(pattern) {
  try {
    return new RegExp(pattern, "i");
  } catch {
    return new RegExp(pattern.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "i");
  }
}
