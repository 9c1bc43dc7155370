// What colours mean: the assigned device, or another column of DATA.colours.

import { children, DATA, deviceOf, direct, lookOf, stripOf } from "gpuplace/page/columns.js";
import { bytesText, grouped, shortened, timeText } from "gpuplace/text.js";

/** Colours other than those of the assigned devices: a column of DATA.colours, or null. */
export let colour = null;
const LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
for (const found of DATA.colours) found.of = Uint8Array.from(found.of, (letter) => LETTERS.indexOf(letter));
export function setColour(name) {
  colour = DATA.colours.find((found) => found.name === name) ?? null;
}
export function tintOf(n) {
  return colour ? colour.categories[colour.of[n]] : lookOf(n);
}

export const valueText = (value, unit) => (unit === "bytes" ? bytesText(Math.round(value)) : timeText(value));

/** What an op's own box says about its number. */
export function saidOf(n) {
  if (!colour?.values) return "";
  return colour.values[n] === null ? colour.categories[colour.of[n]].label : valueText(colour.values[n], colour.unit);
}

/** Nodes of a box, by number; of a share of one, those of its device. */
export function nodesOf(box) {
  const found = [...box.nodes];
  const below = [...box.scopes];
  while (below.length) {
    const s = below.pop();
    for (const n of direct[s]) found.push(n);
    for (const c of children[s]) below.push(c);
  }
  return box.of === undefined ? found : found.filter((n) => deviceOf(n) === box.lane);
}

/** Shares of a box by colour, the largest first. */
export function tintsOf(box) {
  if (!colour) return box.shares.map(([d, n]) => [DATA.devices[d], n]);
  const counts = new Map();
  for (const n of nodesOf(box)) counts.set(colour.of[n], (counts.get(colour.of[n]) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1]).map(([c, n]) => [colour.categories[c], n]);
}

/** Shares of the strips of a box by colour: forward, backward, update, as far as it has nodes of them. */
export function stripsOf(box) {
  if (!colour && box.of === undefined) return box.strips.map((strip) => strip.map(([d, n]) => [DATA.devices[d], n]));
  const strips = [0, 1, 2].map(() => new Map());
  for (const n of nodesOf(box)) {
    const counts = strips[stripOf(n)];
    const tint = tintOf(n);
    counts.set(tint, (counts.get(tint) ?? 0) + 1);
  }
  return strips.filter((counts) => counts.size).map((counts) => [...counts].sort((a, b) => b[1] - a[1]));
}

export function tintText(tints, most = 3) {
  const told = tints.slice(0, most).map(([tint, n]) => `${shortened(tint.label, 20)} ${grouped(n)}`);
  if (tints.length > most) told.push(`+${tints.length - most}`);
  return told.join(" · ");
}

/** Sum of a folded box's numbers; "" where colours are no numbers. */
export function totalOf(box) {
  if (!colour?.values) return "";
  return valueText(nodesOf(box).reduce((sum, n) => sum + (colour.values[n] ?? 0), 0), colour.unit);
}
