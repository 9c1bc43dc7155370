// The picture by device: a lane for each device, boxes in it from the top in the order of the graph, and the lines between
// them in the gaps of rows and lanes, so that what is copied from device to device crosses from lane to lane.
//
// A scene is {lanes: [{label, texts, fill, ink, task, nodes}], boxes: [{lane, isLast, ...face}],
// links: [{src, dst, look, rank}]}: faces as faces.js has them, looks as wires.js, ranks as layout.js. A box's lane is its number; `isLast` are boxes that stand below all others.

import { faceSvg, sizeOf } from "gpuplace/drawing/faces.js";
import { ranks } from "gpuplace/drawing/ranks.js";
import { RULES } from "gpuplace/rules.js";
import { escaped, rounded, widthOf } from "gpuplace/drawing/svg.js";
import { counted, once, words } from "gpuplace/text.js";
import { labeled, wireOf, wiresSvg } from "gpuplace/drawing/wires.js";

const { font: FONT, title: TITLE, small: SMALL } = RULES.text;
const { frame: FRAME, ink: INK, faint: FAINT, scope: LANE_FILL } = RULES.colours.themes.light;
const { margin: MARGIN, head: HEAD, most_empty: MOST_EMPTY, spacings: SPACINGS } = RULES.lanes;
const READABLE = RULES.text.readable / TITLE; // scale
const TASK = 18; // height of the row of tasks
const LINE = SMALL + 2; // height of a line below the name of a lane
const MOST_TRACKS = 12; // of a gap or a gutter; of more, lines share them
const SPACES = ["pad", "apart", "gap", "gutter", "track", "arrow"];
const HOPELESS = 0.6; // scale that less space does not make up for
const STEP = 0.85; // from one depth that is tried to the next
const LEAST_ARROW = 7.5;
const LARGEST = 1.6; // scale; a larger one makes nothing easier to read

/**
 * @param scene see above.
 * @param canvas width and height to fill.
 * @returns {{svg: () => string, w: number, h: number}} what it looks like is only written when it is asked for.
 */
export function lanesPicture(scene, { width, height }) {
  const { lanes, place } = fewLanes(scene.lanes);
  const boxes = scene.boxes.map((face) => ({ face, lane: place[face.lane], ...sizeOf(face) }));
  const at = new Map(boxes.map((box) => [box.face.id, box]));
  const links = scene.links.map(({ src, dst, look, rank }) => ({ a: at.get(src), b: at.get(dst), look, rank }));
  const order = ordered(boxes, links);
  const shapes = shapesOf(lanes.map((_, lane) => boxes.filter((box) => box.lane === lane).length));
  let best = null;
  for (const space of SPACINGS) {
    if (best?.score >= READABLE || best?.score < HOPELESS) break;
    for (const { most, together } of shapes) {
      const rows = rowsOf(order, links, most, together);
      const found = new Layout(lanes, links, rows, space);
      const score = Math.min(width / found.w, height / found.h, LARGEST);
      if (!best || score > 1.001 * best.score) best = { rows, space, score };
      if (best.score === LARGEST) break;
    }
  }
  const layout = new Layout(lanes, links, best.rows, best.space);
  const [w, h] = [Math.max(layout.w, 80), Math.max(layout.h, 60)];
  const svg = once(() => {
    const wires = labeled(layout.wires());
    const heads = layout.lanes.map(({ x, w, top, head }) => ({ x, y: top, w, h: head }));
    const parts = [
      ...layout.lanes.map(laneSvg),
      ...tasksSvg(layout.lanes),
      wiresSvg(wires, [...boxes, ...heads], { w, h }),
      ...boxes.map((box) => faceSvg(box.face, box)),
    ];
    return (
      `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 ${w} ${h}"` +
      ` font-family="${FONT}"><g class="graph">${parts.join("")}</g></svg>`
    );
  });
  return { svg, w, h };
}

/** What can be tried: how many boxes of each lane stand in a row at the most, from one up, and how many of the last ones. */
function shapesOf(counts) {
  const found = new Map();
  for (let deep = Math.max(1, ...counts); deep; deep = Math.floor(STEP * deep)) {
    const most = counts.map((count) => Math.ceil(count / deep));
    found.set(String(most), most);
  }
  return [...found.values()].flatMap((most) => [1, 2].map((together) => ({ most, together })));
}

/** The lanes, of which many without nodes are one, and the place of each. */
function fewLanes(lanes) {
  const empty = lanes.filter(({ nodes }) => !nodes);
  if (empty.length <= MOST_EMPTY) return { lanes, place: lanes.map((_, l) => l) };
  const used = lanes.filter(({ nodes }) => nodes);
  const rest = {
    ...empty[0],
    label: words("lanes_empty", { number: empty.length }),
    texts: [counted(0, "node")],
    fill: RULES.colours.paper,
    task: used.at(-1)?.task,
  };
  return { lanes: [...used, rest], place: lanes.map((lane) => used.indexOf(lane)) };
}

/** Boxes by their depth in the graph; what stands below all others comes last. */
function ordered(boxes, links) {
  const index = new Map(boxes.map((box, i) => [box, i]));
  const next = boxes.map(() => []);
  for (const { a, b, rank } of links) {
    const [upper, lower] = rank < 0 ? [b, a] : [a, b];
    if (rank) next[index.get(upper)].push(index.get(lower));
  }
  const rank = ranks(next);
  boxes.forEach((box, i) => (box.rank = box.face.isLast ? Infinity : rank[i]));
  return [...boxes].sort((a, b) => (a.rank === b.rank ? index.get(a) - index.get(b) : a.rank - b.rank));
}

/**
 * Rows of boxes, at most so many of a lane in one. None is above what it depends on, and beside it only in its lane, on
 * its right.
 */
function rowsOf(order, links, most, together) {
  const needs = new Map(order.map((box) => [box, []]));
  for (const { a, b, rank } of links) {
    const [upper, lower] = rank < 0 ? [b, a] : [a, b];
    if (rank && upper.rank < lower.rank) needs.get(lower).push(upper);
  }
  const ends = most.map(() => ({ row: 0, used: 0, wide: 0, widest: 0, last: null }));
  const rows = [];
  const rowOf = new Map();
  for (const box of order) {
    const end = ends[box.lane];
    const hasRoom = end.used < most[box.lane] ||
      (box.face.isLast && (end.used < together || end.wide + box.w <= end.widest));
    let row = end.row + (hasRoom ? 0 : 1);
    for (const needed of needs.get(box)) {
      const isBeside = needed === end.last && row === end.row;
      row = Math.max(row, rowOf.get(needed) + (isBeside ? 0 : 1));
    }
    const isSame = row === end.row;
    end.used = isSame ? end.used + 1 : 1;
    end.wide = (isSame ? end.wide : 0) + box.w + RULES.lanes.apart;
    end.widest = Math.max(end.widest, end.wide);
    [end.row, end.last] = [row, box];
    rowOf.set(box, row);
    (rows[row] ??= []).push(box);
  }
  return Array.from(rows, (row) => row ?? []);
}

/** Where everything goes, for some rows; `space` is how much of the usual there is around boxes. */
class Layout {
  constructor(lanes, links, rows, space) {
    this.space = Object.fromEntries(SPACES.map((name) => [name, space * RULES.lanes[name]]));
    this.space.arrow = Math.max(this.space.arrow, LEAST_ARROW);
    const { apart, pad } = this.space;
    this.rows = rows;
    rows.forEach((row, r) => {
      for (const box of row) box.row = r;
    });
    this.lanes = lanes.map((lane) => ({ ...lane }));
    this.cells = rows.map((row) => lanes.map((_, lane) => row.filter((box) => box.lane === lane)));
    this.gaps = Array.from({ length: rows.length + 1 }, () => new Tracks());
    // Ways between rows: a gutter on the left of each lane, one inside its left edge, and one on the right of all.
    this.ways = Array.from({ length: 2 * lanes.length + 1 }, () => new Tracks());
    this.lanes.forEach((lane, l) => {
      const inner = this.cells.map((cells) => cells[l].reduce((sum, box) => sum + box.w + apart, -apart));
      const texts = lane.texts.map((text) => widthOf(text, SMALL));
      lane.inner = Math.max(0, ...inner);
      // Nothing stands in an empty lane: it needs no room around its name.
      lane.least = Math.max(widthOf(lane.label, TITLE, true), ...texts) + (lane.nodes ? 2 * pad : 4);
    });
    this.measure();
    this.routes = links.map((link) => this.routeOf(link));
    for (const route of this.routes) this.claim(route);
    for (const tracks of [...this.gaps, ...this.ways]) tracks.assign();
    this.measure();
  }

  /** Sets the place of lanes, rows, gaps, ways and boxes. */
  measure() {
    const { pad, apart, gutter, track } = this.space;
    let x = MARGIN;
    this.lanes.forEach((lane, l) => {
      const inside = this.ways[2 * l + 1];
      this.ways[2 * l].at = x;
      x += l || this.ways[0].count ? gutter + track * this.ways[2 * l].count : 0;
      lane.x = x;
      inside.at = x;
      const channel = inside.count ? track * inside.count + pad / 2 : 0;
      lane.w = Math.max(lane.least, lane.nodes ? lane.inner + 2 * pad + channel : 0);
      lane.middle = x + channel + (lane.w - channel) / 2;
      x += lane.w;
    });
    const last = this.ways.at(-1);
    last.at = x;
    this.w = x + (last.count ? gutter + track * last.count : 0) + MARGIN;
    const hasTasks = tasksOf(this.lanes).size > 1;
    let y = MARGIN + (hasTasks ? TASK : 0);
    for (const lane of this.lanes) lane.top = y;
    this.head = HEAD + LINE * Math.max(0, ...this.lanes.map(({ texts }) => texts.length));
    for (const lane of this.lanes) lane.head = this.head;
    y += this.head;
    this.rows.forEach((row, r) => {
      y = this.passGap(r, y);
      row.top = y;
      row.h = Math.max(0, ...row.map((box) => box.h));
      this.cells[r].forEach((cell, l) => {
        const wide = cell.reduce((sum, box) => sum + box.w + apart, -apart);
        let left = this.lanes[l].middle - wide / 2;
        for (const box of cell) {
          [box.x, box.y] = [left, y];
          left += box.w + apart;
        }
      });
      y += row.h;
    });
    y = this.passGap(this.rows.length, y);
    for (const lane of this.lanes) lane.h = y - lane.top;
    this.h = y + MARGIN;
  }

  passGap(number, y) {
    const { pad, gap: least, track, arrow } = this.space;
    const gap = this.gaps[number];
    const isOuter = number === 0 || number === this.rows.length;
    gap.at = y;
    return y + Math.max(isOuter ? pad : least, gap.count ? track * (gap.count + 1) + arrow : 0);
  }

  /** What a line goes through: gaps and ways, with the ports that it leaves and enters by. */
  routeOf({ a, b, look }) {
    const [one, other] = [a, b].map((box) => this.cells[box.row][box.lane]);
    const side = Math.sign(b.lane - a.lane);
    const route = { a, b, look, side, steps: [], isLevel: false };
    if (a.row === b.row) {
      const between = this.cells[a.row].slice(Math.min(a.lane, b.lane) + 1, Math.max(a.lane, b.lane));
      const isNext = side
        ? between.every((cell) => !cell.length) && one.at(side > 0 ? -1 : 0) === a && other.at(side > 0 ? 0 : -1) === b
        : one.indexOf(b) === one.indexOf(a) + 1;
      if (isNext) return { ...route, isLevel: true };
    }
    const [from, to] = [a.row + 1, b.row];
    // Lines are one where they leave a box, and where they come to one from far.
    const [out, into] = [`from ${a.face.id} ${look.kind}`, `to ${b.face.id} ${look.kind}`];
    if (from === to) route.steps = [["gap", from, out]];
    else {
      const way = side ? 2 * b.lane + (side > 0 ? 0 : 2) : 2 * a.lane + 1;
      route.steps = [["gap", from, out], ["way", way, into], ["gap", to, into]];
    }
    return route;
  }

  /** Where a line leaves its box, below, and enters the other, above: aside of the middle where it goes to another lane. */
  ports({ a, b, side }) {
    return [
      { x: a.x + a.w * (0.5 + 0.25 * side), y: a.y + a.h },
      { x: b.x + b.w * (0.5 - 0.25 * side), y: b.y },
    ];
  }

  /** Asks for the tracks of a route, as far as they are known to reach. */
  claim({ steps, a, b, side }) {
    const [from, to] = this.ports({ a, b, side });
    const ways = steps.filter(([kind]) => kind === "way").map(([, way]) => this.ways[way].at);
    const xs = [from.x, ...ways, to.x];
    const gaps = steps.filter(([kind]) => kind === "gap");
    gaps.forEach(([, gap, net], i) => this.gaps[gap].ask(net, xs[i], xs[i + 1]));
    const ys = gaps.map(([, gap]) => this.gaps[gap].at);
    for (const [kind, way, net] of steps) if (kind === "way") this.ways[way].ask(net, ys[0], ys[1]);
  }

  /** The lines, for wires.js. */
  wires() {
    return this.routes.map((route) => {
      const title = `${route.a.face.id}->${route.b.face.id}`;
      return wireOf({ title, look: route.look, points: this.pointsOf(route), isEnd: true });
    });
  }

  pointsOf(route) {
    const { a, b, side, steps } = route;
    if (route.isLevel) {
      const y = a.y + Math.min(a.h, b.h) * (0.5 - 0.16 * side);
      return side < 0 ? [{ x: a.x, y }, { x: b.x + b.w, y }] : [{ x: a.x + a.w, y }, { x: b.x, y }];
    }
    const [from, to] = this.ports(route);
    const points = [from];
    for (const [kind, number, net] of steps) {
      const { x, y } = points.at(-1);
      points.push(
        kind === "gap"
          ? { x, y: this.gaps[number].place(net, this.space.track) }
          : { x: this.ways[number].place(net, this.space.track), y },
      );
    }
    points.push({ x: to.x, y: points.at(-1).y }, to);
    return points.filter(({ x, y }, i) => !i || x !== points[i - 1].x || y !== points[i - 1].y);
  }
}

/** Parallel tracks of a gap or a way; what leaves one box has one track. */
class Tracks {
  constructor() {
    this.at = 0;
    this.count = 0;
    this.spans = new Map();
    this.tracks = new Map();
  }

  ask(net, from, to) {
    const span = this.spans.get(net) ?? [Infinity, -Infinity];
    this.spans.set(net, [Math.min(span[0], from, to), Math.max(span[1], from, to)]);
  }

  assign() {
    const ends = [];
    for (const [net, [from, to]] of [...this.spans].sort((a, b) => a[1][0] - b[1][0] || a[1][1] - b[1][1])) {
      let track = ends.findIndex((end) => end < from - 2);
      if (track < 0) track = ends.length < MOST_TRACKS ? ends.length : this.tracks.size % MOST_TRACKS;
      ends[track] = Math.max(ends[track] ?? -Infinity, to);
      this.tracks.set(net, track);
    }
    this.count = ends.length;
  }

  place(net, track) {
    return this.at + track * (1 + (this.tracks.get(net) ?? 0));
  }
}

function laneSvg({ label, texts, fill, ink, x, w, top, h, head: high }) {
  const blank = fill === RULES.colours.paper ? " blank" : "";
  const head = `fill="${fill}" stroke="${FRAME}" stroke-width="0.8" d="${rounded(x, top, w, high, RULES.box.radius)}"`;
  const body = `fill="${LANE_FILL}" stroke="${FRAME}" stroke-width="0.8" d="${
    rounded(x, top, w, h, RULES.box.radius)
  }"`;
  const words = (line, y, size, weight) =>
    `<text x="${x + w / 2}" y="${y}" text-anchor="middle" font-size="${size}"${weight} fill="${ink ?? INK}">${
      escaped(line)
    }</text>`;
  return `<g class="lane${blank}"><title>${
    escaped([label, ...texts].join("\n"))
  }</title><path class="gp-lane" ${body}/><path ${head}/>${words(label, top + 15, TITLE, ' font-weight="bold"')}${
    texts.map((text, i) => words(text, top + 15 + LINE * (i + 1), SMALL, "")).join("")
  }</g>`;
}

/** Task -> its lanes. */
function tasksOf(lanes) {
  const tasks = new Map();
  for (const lane of lanes) if (lane.task) tasks.set(lane.task, [...(tasks.get(lane.task) ?? []), lane]);
  return tasks;
}

/** Where there are several tasks: the name of each, above its lanes. */
function tasksSvg(lanes) {
  const tasks = tasksOf(lanes);
  if (tasks.size < 2) return [];
  return [...tasks].map(([task, own]) => {
    const [left, right] = [own[0].x, own.at(-1).x + own.at(-1).w];
    const y = own[0].top - 5;
    return `<g class="lane task"><text x="${
      left + 4
    }" y="${y}" font-size="${SMALL}" font-weight="bold" fill="${FAINT}">${
      escaped(task)
    }</text><path fill="none" stroke="${FRAME}" stroke-width="0.8" d="M${left},${y + 3}H${right}"/></g>`;
  });
}
