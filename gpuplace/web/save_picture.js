// Pictures as files: the page's own SVG with its colours and its legend, or that as PNG.

import { element, svgElement } from "gpuplace/dom.js";
import { RULES } from "gpuplace/rules.js";
import { grouped } from "gpuplace/text.js";

const LIGHT = RULES.colours.themes.light;
const MOST_PIXELS = 8000;
const INLINED = [
  "fill",
  "stroke",
  "stroke-width",
  "stroke-dasharray",
  "opacity",
  "font-family",
  "font-size",
  "font-weight",
];

/** The whole picture as a file of its own: the page's colours are written into it, and the legend stands below. */
export function standalone(svg, whole, ground, legend, notes) {
  const copy = svg.cloneNode(true);
  const from = svg.querySelectorAll("*");
  copy.querySelectorAll("*").forEach((node, i) => {
    if (node.closest("defs") || node.tagName === "title") return;
    const seen = getComputedStyle(from[i]);
    for (const name of INLINED) {
      if (name.startsWith("font") && node.tagName !== "text") continue;
      const value = seen.getPropertyValue(name);
      if (value) node.setAttribute(name, value.replaceAll('"', "'"));
    }
    for (const name of ["tabindex", "role", "aria-pressed", "aria-label"]) node.removeAttribute(name);
  });
  const ink = getComputedStyle(svg).color;
  const room = Math.max(whole.width, 420);
  let x = 0;
  let y = 0;
  const below = svgElement("g", {
    transform: `translate(${whole.x + 8} ${whole.y + whole.height + 6})`,
    "font-family": RULES.text.font,
    "font-size": 10,
  });
  const place = (width, height) => {
    if (x && x + width > room - 16) [x, y] = [0, y + height];
    const left = x;
    x += width;
    return left;
  };
  for (const look of legend) {
    const text = `${look.label}: ${grouped(look.count)}`;
    const width = text.length * 5.6 + 14;
    const left = place(width + 5, 22);
    const radius = look.corners === "round" ? 6 : 0;
    for (let inset = 0; inset < look.outlines * 2; inset += 2) {
      below.append(
        svgElement("rect", {
          x: left + inset,
          y: y + inset,
          width: width - 2 * inset,
          height: 17 - 2 * inset,
          rx: radius,
          fill: inset ? "none" : look.fill,
          stroke: LIGHT.frame,
        }),
      );
    }
    below.append(
      svgElement("text", {
        x: left + width / 2,
        y: y + 12,
        "text-anchor": "middle",
        fill: look.ink ?? RULES.colours.ink,
      }, text),
    );
  }
  if (legend.length) [x, y] = [0, y + 22];
  for (const [, text] of notes) {
    const left = place(text.length * 5.4 + 14, 15);
    below.append(svgElement("text", { x: left, y: y + 12, fill: ink }, text));
  }
  const height = whole.height + y + (notes.length ? 26 : 10);
  copy.setAttribute("viewBox", `${whole.x} ${whole.y} ${room} ${height}`);
  copy.setAttribute("width", `${room}pt`);
  copy.setAttribute("height", `${height}pt`);
  for (const name of ["role", "aria-label", "style", "preserveAspectRatio"]) copy.removeAttribute(name);
  copy.querySelector("g.graph").before(
    svgElement("rect", { x: whole.x, y: whole.y, width: room, height, fill: ground }),
  );
  copy.append(below);
  return { text: new XMLSerializer().serializeToString(copy), width: room, height };
}

/** A picture in dots, two for a point where that is not too many; made by the browser from the same text. */
export async function dots(file) {
  const picture = new Image();
  const source = URL.createObjectURL(new Blob([file.text], { type: "image/svg+xml" }));
  try {
    picture.src = source;
    await picture.decode();
    const scale = Math.min(2.67, MOST_PIXELS / file.width, MOST_PIXELS / file.height);
    const sheet = element("canvas", { width: Math.round(file.width * scale), height: Math.round(file.height * scale) });
    sheet.getContext("2d").drawImage(picture, 0, 0, sheet.width, sheet.height);
    return await new Promise((done) => sheet.toBlob(done, "image/png"));
  } finally {
    URL.revokeObjectURL(source);
  }
}
