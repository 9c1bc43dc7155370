// Boxes as SVG. A face is what is seen of one: {id, kind, classes, lines, bars, fill, corners, outlines, stroke, pen, dash,
// tip, least, isNarrow}, of which the last two, its least width and whether it has little room, may be missing. A line is [text,
// size, colour, is bold], with a list of [text, colour] for a text in several colours, or [BAR, strip] for a row of shares,
// which `bars` has as [colour, nodes].

import { RULES } from "gpuplace/rules.js";
import { escaped, rounded, widthOf } from "gpuplace/drawing/svg.js";

export const BAR = "bar";
const { frame: FRAME } = RULES.colours.themes.light;
const PAPER = RULES.colours.paper;
const BOX = RULES.box;
const BAR_WIDTH = 72; // at the least
const INSET = BOX.inset / 2;

export const lineHeight = (line) => line[0] === BAR ? BOX.bar + 1 : line[1] + RULES.text.leading;

const plainOf = (text) => Array.isArray(text) ? text.map(([part]) => part).join("") : text;

const writtenOf = (text) =>
  Array.isArray(text)
    ? text.map(([part, fill]) => `<tspan fill="${fill}">${escaped(part)}</tspan>`).join("")
    : escaped(text);

/** Width and height of a face; one with little room has half of the usual beside its words. */
export function sizeOf({ lines, outlines, isNarrow = false, least = 0 }) {
  const bar = isNarrow ? BAR_WIDTH / 2 : BAR_WIDTH;
  const widths = lines.map(([text, size, , isBold]) => (text === BAR ? bar : widthOf(plainOf(text), size, isBold)));
  const grow = 2 * INSET * (outlines - 1);
  return {
    w: Math.max(least, Math.ceil(Math.max(...widths) + (isNarrow ? 1 : 2) * BOX.pad_x + grow)),
    h: lines.reduce((sum, line) => sum + lineHeight(line), 2 * BOX.pad_y + grow),
  };
}

function outline(x, y, w, h, corners, attributes) {
  if (corners === "round") return `<path ${attributes} d="${rounded(x, y, w, h, Math.min(BOX.radius, h / 3))}"/>`;
  const c = corners === "cut" ? BOX.radius - 1 : 0;
  const points = [
    [x + c, y],
    [x + w - c, y],
    [x + w, y + c],
    [x + w, y + h - c],
    [x + w - c, y + h],
    [x + c, y + h],
    [x, y + h - c],
    [x, y + c],
  ];
  return `<polygon ${attributes} points="${points.map((p) => p.join(",")).join(" ")}"/>`;
}

/** A face at a place. */
export function faceSvg(face, { x, y, w, h }) {
  const dash = face.dash ? ` stroke-dasharray="${BOX.unmet_dash}"` : "";
  const parts = [];
  for (let k = 0; k < face.outlines; k += 1) {
    const inset = INSET * k;
    const attributes = `fill="${face.fill}" stroke="${face.stroke}" stroke-width="${face.pen}"${dash}`;
    parts.push(outline(x + inset, y + inset, w - 2 * inset, h - 2 * inset, face.corners, attributes));
  }
  let top = y + BOX.pad_y + INSET * (face.outlines - 1);
  for (const line of face.lines) {
    if (line[0] === BAR) {
      parts.push(barSvg(face.bars[line[1]], x + BOX.pad_x, top, w - 2 * BOX.pad_x));
    } else {
      const [text, size, fill, isBold] = line;
      const weight = isBold ? ' font-weight="bold"' : "";
      const where = `text-anchor="middle" x="${x + w / 2}" y="${top + size}" font-size="${size}"`;
      parts.push(`<text ${where}${weight} fill="${fill}">${writtenOf(text)}</text>`);
    }
    top += lineHeight(line);
  }
  const classes = escaped(["node", ...face.classes].join(" "));
  return `<g id="${face.id}" class="${classes}"><title>${face.id}</title><g><a xlink:title="${escaped(face.tip)}">${
    parts.join("")
  }</a></g></g>`;
}

/** Shares of a folded box, as wide as they are large. */
function barSvg(bar, left, top, width) {
  const count = bar.reduce((sum, [, n]) => sum + n, 0);
  let at = left;
  return bar.map(([fill, n]) => {
    const wide = (width * n) / count;
    const edge = fill === PAPER ? ` stroke="${FRAME}" stroke-width="0.6"` : "";
    const part = `<rect x="${at}" y="${top + 1}" width="${
      Math.max(2, wide)
    }" height="${BOX.bar}" fill="${fill}"${edge}/>`;
    at += wide;
    return part;
  }).join("");
}
