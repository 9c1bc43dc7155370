// Numbers, sizes, times and names in words, as Python writes them (gpuplace/views/tables/text.py, scale.py).

import { RULES } from "gpuplace/rules.js";

const NUMBERS = new Intl.NumberFormat("en"); // `toLocaleString` makes one at each call

export const grouped = (value) => NUMBERS.format(value);

/** `1 node`, `2,000 nodes`. */
export const counted = (value, one, many = `${one}s`) => `${grouped(value)} ${value === 1 ? one : many}`;

/** A function that works out its value when it is first asked for it. */
export function once(make) {
  let made = null;
  return () => (made ??= { value: make() }).value;
}

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

/** The name of a box on one line, or on two lines where it is the long name of a series. */
export function nameLines(name) {
  const { name_letters: most, series_letters: roomy } = RULES.text;
  const [first, ...last] = name.split(" … ");
  const parts = last.length && [...name].length > roomy ? [`${first} …`, last.join(" … ")] : [name];
  return parts.map((part) => shortened(part, most));
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

/** The size of a tensor: bytes, or bytes per example where only the batch is unknown. */
export function sizeText(size, ofExample) {
  return size === null && ofExample !== null ? words("per_example", { size: bytesText(ofExample) }) : bytesText(size);
}

/** The size of all copies together: rows of node, output, devices, runs, type, bytes, and bytes per example. */
export function sizesText(copies) {
  let [known, ofExamples, unknown] = [0, 0, 0];
  for (const [, , , , runs, , size, ofExample] of copies) {
    if (size !== null) known += size * runs;
    else if (ofExample !== null) ofExamples += ofExample * runs;
    else unknown += runs;
  }
  const sizes = known || !(ofExamples || unknown) ? [bytesText(known)] : [];
  if (ofExamples) sizes.push(words("per_example", { size: bytesText(ofExamples) }));
  if (unknown) sizes.push((sizes.length ? `${grouped(unknown)} ` : "") + RULES.words.of_unknown_size);
  return sizes.reduce((first, second) => words("and", { first, second }));
}

/** A part of the whole in per cent. */
export const percentText = (share) => share < 0.001 ? "<0.1%" : `${(100 * share).toFixed(share < 0.0995 ? 1 : 0)}%`;

/** A time in microseconds. */
export function timeText(us) {
  const units = RULES.units.times;
  const found = units.find((one) => Math.abs(us) >= one.us) ?? units.at(-1);
  return us ? `${Number((us / found.us).toPrecision(3))} ${found.unit}` : "0 µs";
}

const PATTERN_MS = 1500; // after which a search goes on as one for plain text
const MOST_STEPS = 3e8; // that a pattern may take on one text
const LENGTH = 120; // of a text that patterns are judged by

/**
 * A search by regular expression. What is none is searched for as it is, and so is what could take for ever.
 *
 * @returns {{test: (text: string) => boolean, note: string}} `note` says why a pattern is searched for as it is.
 */
export function searcher(pattern) {
  const lower = pattern.toLowerCase();
  const plain = (text) => text.toLowerCase().includes(lower);
  let expression;
  try {
    expression = new RegExp(pattern, "i");
  } catch {
    return { test: plain, note: words("wrong_pattern") };
  }
  const power = backtracking(pattern);
  if (LENGTH ** power > MOST_STEPS) return { test: plain, note: words("slow_pattern") };
  const end = performance.now() + PATTERN_MS;
  let calls = 0;
  const found = {
    note: "",
    test: (text) => {
      const isLate = ((calls += 1) % 16 === 0 || power > 2) && performance.now() > end;
      if (isLate) Object.assign(found, { test: plain, note: words("slow_pattern") });
      return isLate || text.length ** power > MOST_STEPS ? plain(text) : expression.test(text);
    },
  };
  return found;
}

/**
 * How the steps of a pattern grow with the length of a text: so many times as its power, at the most. Infinity where
 * repeated groups repeat or choose, and where there are references back.
 */
function backtracking(pattern) {
  const tokens = pattern.matchAll(
    /\\(?:k<[^>]*>|.)|\[(?:\\.|[^\]\\])*\]|\((?:\?(?:<?[=!]|:|<[^>]*>))?|\)|\||[*+?]\??|\{\d+(?:,\d*)?\}\??/gs,
  );
  const open = [{ loops: 0, choices: 0 }];
  let last = null;
  let end = 0;
  for (const match of tokens) {
    const [token] = match;
    if (match.index !== end) last = null;
    end = match.index + token.length;
    const top = open.at(-1);
    const isRepeat = /^[*+?{]/.test(token);
    if (/^\\(?:[1-9]|k<)/.test(token)) return Infinity;
    if (token[0] === "(") open.push({ loops: 0, choices: 0 });
    else if (token === ")" && open.length > 1) last = open.pop();
    else if (token === "|") top.choices += 1;
    else if (isRepeat && token[0] !== "?") {
      const [, low, comma, high] = /^\{(\d+)(,?)(\d*)/.exec(token) ?? [];
      const isEndless = low === undefined || (comma && !high);
      if (last && last.loops + last.choices && (isEndless || Number(high || low) > 1)) return Infinity;
      top.loops += isEndless || Number(high || low) > 3 ? 1 : 0.25;
    } else if (isRepeat) {
      top.loops += 0.15;
    }
    if (token === ")" && open.length) {
      const above = open.at(-1);
      above.loops += last.loops;
      above.choices += last.choices;
    }
    if (token !== ")") last = null;
  }
  return 1 + open[0].loops;
}
