// Lines of the page's picture, and places for their labels.

import { escaped, widthOf } from "gpuplace/page/svg.js";
import { linkLook } from "gpuplace/page/words.js";
import { RULES } from "gpuplace/rules.js";

const { copy: COPY, edge: EDGE } = RULES.colours.themes.light;
const LINE = RULES.line;

/** A curve through the points, upright at each. */
export function wireOf(link, a, b, bends) {
  const look = linkLook(link);
  const colour = look.kind === "copy" ? COPY : EDGE;
  const isBack = b.y < a.y + a.h;
  const points = isBack
    ? [{ x: a.x + a.w, y: a.y + a.h / 2 }, { x: b.x + b.w + 5, y: b.y + b.h / 2 }]
    : [{ x: a.x + a.w / 2, y: a.y + a.h }, ...bends.filter((p) => p.y >= a.y + a.h && p.y <= b.y), {
      x: b.x + b.w / 2,
      y: b.y - 5,
    }];
  const segments = points.slice(1).map((to, i) => {
    const from = points[i];
    const bow = isBack ? Math.max(30, Math.abs(to.y - from.y) / 4) : Math.min(60, (to.y - from.y) / 2);
    return isBack
      ? [from, { x: from.x + bow, y: from.y }, { x: to.x + bow, y: to.y }, to]
      : [from, { x: from.x, y: from.y + bow }, { x: to.x, y: to.y - bow }, to];
  });
  const curve = `M${points[0].x},${points[0].y}` +
    segments.map(([, p, q, to]) => `C${p.x},${p.y} ${q.x},${q.y} ${to.x},${to.y}`).join("");
  const { x, y } = points[points.length - 1];
  const arrow = isBack
    ? `${x - 5},${y} ${x + 2},${y - 3.5} ${x + 2},${y + 3.5}`
    : `${x},${y + 5} ${x - 3.5},${y - 2} ${x + 3.5},${y - 2}`;
  const dashed = { copy: LINE.copy_dash, control: LINE.control_dash }[look.kind];
  const dash = dashed ? ` stroke-dasharray="${dashed}"` : "";
  const hollow = look.kind === "control" ? `fill="none" stroke="${colour}"` : `fill="${colour}" stroke="none"`;
  const shape = `<path fill="none" stroke="${colour}" stroke-width="${
    look.width.toFixed(2)
  }"${dash} d="${curve}"/><polygon ${hollow} points="${arrow}"/>`;
  return { link, look, colour, shape, samples: segments.flatMap(sampled) };
}

/** Points along a curve, close enough that none passes a label unseen. */
function sampled([from, p, q, to]) {
  const count = Math.max(4, Math.ceil(Math.hypot(to.x - from.x, to.y - from.y) / 4));
  return Array.from({ length: count + 1 }, (_, i) => {
    const t = i / count;
    const u = 1 - t;
    const mix = (axis) =>
      u * u * u * from[axis] + 3 * u * u * t * p[axis] + 3 * u * t * t * q[axis] + t * t * t * to[axis];
    return { x: mix("x"), y: mix("y") };
  });
}

/** The wire with its label, which is put where there is neither a box nor a label, and the fewest lines. */
export function lineSvg({ link, look, colour, shape, samples }, labels, rows) {
  const at = look.label.length ? freePlace(look.label, samples, labels, rows) : null;
  const written = (line, i) => {
    const where = `text-anchor="start" x="${at.x}" y="${at.y + LINE.label + LINE.label_leading * i}"`;
    return `<text ${where} font-size="${LINE.label}" fill="${colour}" class="gp-halo">${escaped(line)}</text>`;
  };
  const text = at ? look.label.map(written).join("") : "";
  return (
    `<g class="edge ${look.kind}"><title>${link.src}-&gt;${link.dst}</title><g><a xlink:title="${escaped(look.tip)}">` +
    `${shape}${text}</a></g></g>`
  );
}

/** A place beside the curve for a label; null where each has a box or a label already. */
function freePlace(lines, samples, taken, rows) {
  const w = Math.max(...lines.map((line) => widthOf(line, LINE.label)));
  const h = LINE.label_leading * lines.length + 2;
  let best = null;
  let least = Infinity;
  for (const t of [0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8]) {
    const on = samples[Math.round(t * (samples.length - 1))];
    for (const aside of [5, 14, 26]) {
      for (const x of [on.x + aside, on.x - aside - w]) {
        const place = { x, y: on.y - h / 2, w, h };
        const hits = (other) =>
          x < other.x + other.w && other.x < x + w && place.y < other.y + other.h && other.y < place.y + h;
        if (taken.some(hits)) continue;
        const crossed = crossings(place, rows);
        if (crossed < least) [best, least] = [place, crossed];
        if (!crossed) break;
      }
      if (!least) break;
    }
    if (!least) break;
  }
  if (best) taken.push(best);
  return best;
}

const BAND = 16;

/** Points of lines by how far down they are. */
export function bandsOf(wires) {
  const rows = new Map();
  for (const { samples } of wires) {
    for (const point of samples) {
      const band = Math.floor(point.y / BAND);
      if (!rows.has(band)) rows.set(band, []);
      rows.get(band).push(point);
    }
  }
  return rows;
}

function crossings({ x, y, w, h }, rows) {
  let count = 0;
  for (let band = Math.floor(y / BAND); band <= Math.floor((y + h) / BAND); band += 1) {
    for (const point of rows.get(band) ?? []) {
      if (x - 2 < point.x && point.x < x + w + 2 && y < point.y && point.y < y + h) count += 1;
    }
  }
  return count;
}
