// SVG as text.

import { RULES } from "gpuplace/rules.js";

const ruler = document.createElement("canvas").getContext("2d");

const MOST_KNOWN = 10_000;
/** Widths by size and text: the same words are written again and again. */
const known = new Map();

/** How wide a text is in the picture's font. */
export function widthOf(text, size, isBold = false) {
  const key = `${size} ${isBold} ${text}`;
  let width = known.get(key);
  if (width === undefined) {
    ruler.font = `${isBold ? "bold " : ""}${size}px ${RULES.text.font}`;
    width = ruler.measureText(text).width;
    if (known.size >= MOST_KNOWN) known.clear();
    known.set(key, width);
  }
  return width;
}

/** Text for an element or an attribute. */
export const escaped = (text) => String(text).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);

/** Path of a box with round corners. */
export function rounded(x, y, w, h, r) {
  const [right, bottom] = [x + w, y + h];
  return (
    `M${x + r},${y}H${right - r}Q${right},${y} ${right},${y + r}V${bottom - r}Q${right},${bottom} ${
      right - r
    },${bottom}` +
    `H${x + r}Q${x},${bottom} ${x},${bottom - r}V${y + r}Q${x},${y} ${x + r},${y}Z`
  );
}
