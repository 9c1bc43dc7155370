// Lines between boxes as SVG, and places for their labels. The look of a line is {kind, label, tip, width}.

import { RULES } from "gpuplace/rules.js";
import { escaped, widthOf } from "gpuplace/drawing/svg.js";

const { copy: COPY, edge: EDGE } = RULES.colours.themes.light;
const LINE = RULES.line;

const TURN = 6; // radius of a corner
const ARROW = 5;
const APART = 4; // of a label and the lines beside it

/** Lines that go one way, or tell the same, have one label, on the longest of them. */
export function labeled(wires) {
  const longest = new Map();
  for (const wire of wires) {
    const key = keyOf(wire);
    if (wire.look.label.length && wire.samples.length > (longest.get(key)?.samples.length ?? 0)) longest.set(key, wire);
  }
  for (const wire of wires) wire.label = longest.get(keyOf(wire)) === wire ? wire.look.label : [];
  return wires;
}

const keyOf = (wire) => wire.tells || wire.title;

/**
 * A line through points: straight where they are above or beside each other, else a curve that is upright at both.
 *
 * @param title `a->b` of all that goes along it; `tells`, what its label says, where other lines say it too.
 * @param isEnd whether it ends at a box, with an arrow.
 */
export function wireOf({ title, tells = "", look, points, isEnd }) {
  const colour = look.kind === "copy" ? COPY : EDGE;
  const end = points.at(-1);
  const last = points.at(-2);
  const isLevel = end.y === last.y && end.x !== last.x;
  const on = isLevel ? { x: Math.sign(end.x - last.x), y: 0 } : { x: 0, y: Math.sign(end.y - last.y) || 1 };
  const way = isEnd ? [...points.slice(0, -1), { x: end.x - on.x * ARROW, y: end.y - on.y * ARROW }] : points;
  const segments = [];
  way.slice(1).forEach((to, i) => {
    const from = way[i];
    if (from.x === to.x || from.y === to.y) segments.push([from, from, to, to]);
    else {
      const middle = (from.y + to.y) / 2;
      segments.push([from, { x: from.x, y: middle }, { x: to.x, y: middle }, to]);
    }
  });
  for (let i = 1; i < segments.length; i += 1) turn(segments, i);
  const start = segments[0][0];
  const curve = `M${near(start)}` +
    segments.map(([from, p, q, to]) => (p === from && q === to ? `L${near(to)}` : `C${near(p)} ${near(q)} ${near(to)}`))
      .join("");
  const [back, side] = [{ x: end.x - 7 * on.x, y: end.y - 7 * on.y }, { x: 3.5 * on.y, y: 3.5 * on.x }];
  const arrow = `${near(end)} ${near({ x: back.x - side.x, y: back.y - side.y })} ${
    near({ x: back.x + side.x, y: back.y + side.y })
  }`;
  const dashed = { copy: LINE.copy_dash, control: LINE.control_dash }[look.kind];
  const dash = dashed ? ` stroke-dasharray="${dashed}"` : "";
  const hollow = look.kind === "control" ? `fill="none" stroke="${colour}"` : `fill="${colour}" stroke="none"`;
  const head = isEnd ? `<polygon ${hollow} points="${arrow}"/>` : "";
  const width = look.width.toFixed(2);
  const shape = `<path fill="none" stroke="${colour}" stroke-width="${width}"${dash} d="${curve}"/>${head}`;
  return { title, tells, look, colour, shape, label: [], samples: segments.flatMap(sampled) };
}

const near = ({ x, y }) => `${Math.round(10 * x) / 10},${Math.round(10 * y) / 10}`;

/** Rounds the corner before a segment, where a level and an upright one meet. */
function turn(segments, i) {
  const [a, b] = [segments[i - 1], segments[i]];
  const isStraight = (segment) => segment[0] === segment[1] && segment[2] === segment[3];
  if (!isStraight(a) || !isStraight(b) || (a[0].x === a[3].x) === (b[0].x === b[3].x)) return;
  const corner = a[3];
  const part = (other) => {
    const length = Math.hypot(other.x - corner.x, other.y - corner.y);
    const share = Math.min(TURN, length / 2) / length;
    return { x: corner.x + (other.x - corner.x) * share, y: corner.y + (other.y - corner.y) * share };
  };
  const [from, to] = [part(a[0]), part(b[3])];
  segments[i - 1] = [a[0], a[0], from, from];
  segments[i] = [to, to, b[3], b[3]];
  segments.splice(i, 0, [from, corner, corner, to]);
}

/** Points along a curve, close enough that none passes a label unseen. */
function sampled([from, p, q, to]) {
  const count = Math.max(4, Math.ceil(Math.hypot(to.x - from.x, to.y - from.y) / 4));
  return Array.from({ length: count + 1 }, (_, i) => {
    const t = i / count;
    const u = 1 - t;
    const [a, b, c, d] = [u * u * u, 3 * u * u * t, 3 * u * t * t, t * t * t];
    return { x: a * from.x + b * p.x + c * q.x + d * to.x, y: a * from.y + b * p.y + c * q.y + d * to.y };
  });
}

/**
 * Wires as SVG, with labels inside the picture where there is neither a box nor a label, and the fewest lines.
 *
 * @param boxes what no label may cover.
 * @param room width and height of the picture.
 */
export function wiresSvg(wires, boxes, room) {
  const labels = boxes.map(({ x, y, w, h }) => ({ x, y, w, h }));
  const rows = bandsOf(wires);
  const last = [...wires].sort((a, b) => a.label.length - b.label.length); // no line passes above a label
  return last.map((wire) => wireSvg(wire, labels, rows, room)).join("");
}

function wireSvg({ title, look, label, colour, shape, samples }, labels, rows, room) {
  const at = label.length ? freePlace(label, samples, labels, rows, room) : null;
  const written = (line, i) => {
    const where = `text-anchor="start" x="${at.x}" y="${at.y + LINE.label + LINE.label_leading * i}"`;
    return `<text ${where} font-size="${LINE.label}" fill="${colour}" class="gp-halo">${escaped(line)}</text>`;
  };
  const text = at ? label.map(written).join("") : "";
  return (
    `<g class="edge ${look.kind}"><title>${escaped(title)}</title><g><a xlink:title="${escaped(look.tip)}">` +
    `${shape}${text}</a></g></g>`
  );
}

/** A place beside the curve for a label; null where each has a box or a label already. */
function freePlace(lines, samples, taken, rows, room) {
  const w = Math.max(...lines.map((line) => widthOf(line, LINE.label)));
  const h = LINE.label_leading * lines.length + 2;
  let best = null;
  let least = Infinity;
  for (const t of [0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8]) {
    const on = samples[Math.round(t * (samples.length - 1))];
    for (const aside of [5, 14, 26]) {
      const [middle, beside] = [on.y - h / 2, on.x - w / 2];
      const four = [[on.x + aside, middle], [on.x - aside - w, middle], [beside, on.y - aside - h], [
        beside,
        on.y + aside,
      ]];
      for (const [left, top] of four) {
        const [x, y] = [within(left, room.w - w - 2), within(top, room.h - h)];
        const place = { x, y, w, h };
        const hits = (other) => x < other.x + other.w && other.x < x + w && y < other.y + other.h && other.y < y + h;
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

const within = (at, most) => Math.max(2, Math.min(at, most));

const BAND = 16;

/** Points of lines by how far down they are. */
function bandsOf(wires) {
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
  for (let band = Math.floor((y - 1) / BAND); band <= Math.floor((y + h + 1) / BAND); band += 1) {
    for (const point of rows.get(band) ?? []) {
      if (x - APART < point.x && point.x < x + w + APART && y - 1 < point.y && point.y < y + h + 1) count += 1;
    }
  }
  return count;
}
