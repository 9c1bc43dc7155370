// One connected part of a frame in layers ("Sugiyama"), cut into strips side by side where it would be too long, with its
// wide layers broken into rows, but for those of towers, which stand beside each other.
//
//   strip 0          strip 1      An end is an item or a port, a place on the frame's upper or lower edge by which lines
//   [a]   +-----------+          come in or go out. A line within a strip passes the layers between its ends by bends,
//    |    |           |           which have places in those layers like items; a line to another strip goes through the
//   [b]   |          [d]          gap below its upper end, the channel beside the strip, and the gap above its lower end.
//    |    |           |           So no line meets a box. Lines of one end share their bends and their way in a channel.
//   [c] --+          [e]

import { coordinates, order } from "gpuplace/drawing/orders.js";

export const GAP_X = 16;
const GAP_Y = 28;
const GAP_PORT = 22;
const BEND = 7; // width of a bend, and between bends
const LANE = 6; // between lines in a channel or a gap
const MOST_BENDS = 2500;
const LONGEST = 40; // layers that bends lead through; a longer line takes the channel

/**
 * An item or a port: where it was drawn before, if it was (`prior` from the left, as a part of the width, `before` its row,
 * and `held`, where its middle should stay), and where it is in the layers.
 *
 * @typedef {{id: string, w: number, h: number, rank: number, side?: string, item?: any, prior?: number, held?: number,
 *   up?: boolean, down?: boolean, before?: number, row?: number, strip?: number, layer?: number, cell?: any, x?: number, y?: number}} End
 *
 * A line from one end down to another; `at` is how far from the middle of the end it meets it, and `stations` are the
 * places that it passes, each with its points downwards.
 * @typedef {{upper: End, upperAt: number, lower: End, lowerAt: number, stations?: any[]}} Wire
 */

/** Rows of items from top to bottom: ranks, those wider than `most` as several rows. */
function rowsOf(ends, most) {
  const byRank = new Map();
  for (const end of ends) {
    if (end.side) continue;
    if (!byRank.has(end.rank)) byRank.set(end.rank, []);
    byRank.get(end.rank).push(end);
  }
  const rows = [];
  for (const [, all] of [...byRank].sort((a, b) => a[0] - b[0])) {
    if (all.every((end) => end.before !== undefined)) { // as they were drawn before
      const drawn = new Map();
      for (const end of all) drawn.set(end.before, [...(drawn.get(end.before) ?? []), end]);
      rows.push(...[...drawn].sort((a, b) => a[0] - b[0]).map(([, row]) => row));
      continue;
    }
    const total = all.reduce((sum, end) => sum + end.w + GAP_X, 0);
    const number = Math.ceil(total / most);
    if (number < 2 || all.some((end) => end.item?.isTower)) {
      rows.push(all);
      continue;
    }
    // What only ends lines is nearest to where they come from, and what only begins them to where they go.
    const place = (end) => (end.down ? (end.up ? 1 : 2) : 0);
    let row = [];
    let width = 0;
    for (const end of [...all].sort((a, b) => place(a) - place(b) || (a.prior ?? 0) - (b.prior ?? 0))) {
      if (row.length && width + end.w / 2 > total / number) {
        rows.push(row);
        [row, width] = [[], 0];
      }
      row.push(end);
      width += end.w + GAP_X;
    }
    rows.push(row);
  }
  return rows;
}

const heightOf = (row) => Math.max(...row.map((end) => end.h));

/** After which rows the strips end: about equally high, and where few lines are cut. */
function cuts(rows, wires, number) {
  const at = new Map(rows.flatMap((row, r) => row.map((end) => [end, r])));
  const cut = new Float64Array(rows.length + 1);
  for (const { upper, lower } of wires) {
    const [a, b] = [at.get(upper), at.get(lower)];
    if (a === undefined || b === undefined) continue;
    cut[a + 1] += 1;
    cut[b + 1] -= 1;
  }
  for (let r = 1; r <= rows.length; r += 1) cut[r] += cut[r - 1];
  const most = Math.max(1, ...cut);
  const ends = [];
  let sum = 0;
  for (const row of rows) ends.push(sum += heightOf(row) + GAP_Y);
  const found = [];
  for (let k = 1; k < number; k += 1) {
    let best = -1;
    let least = Infinity;
    for (let r = (found.at(-1) ?? 0) + 1; r < rows.length - (number - 1 - k); r += 1) {
      const cost = Math.abs(ends[r - 1] - (sum * k) / number) / (sum / number) + (0.4 * cut[r]) / most;
      if (cost < least) [best, least] = [r, cost];
    }
    if (best > 0) found.push(best);
  }
  return found;
}

/** The same cuts as in an earlier drawing, by the strips that ends were in. */
function cutsAsBefore(rows, stripOf) {
  let last = 0;
  const found = [];
  rows.forEach((row, r) => {
    const strip = Math.max(last, ...row.map((end) => stripOf.get(end.id) ?? 0));
    if (strip > last && r) found.push(r);
    last = strip;
  });
  return found;
}

/** Shapes worth trying, the most promising first: `{most, strips}`; `fit(w, h, shape)` says how good a size is. */
export function shapes(ends, fit) {
  const items = ends.filter((end) => !end.side);
  const widest = Math.max(...items.map((end) => end.w)) + GAP_X;
  const all = rowsOf(ends, Infinity);
  const width = Math.max(...all.map((row) => row.reduce((sum, end) => sum + end.w + GAP_X, 0)));
  const found = [];
  for (const part of [1, 0.67, 0.5, 0.34, 0.25, 0.17, 0.1]) {
    const most = part === 1 ? Infinity : width * part;
    if (most < widest) break;
    const rows = part === 1 ? all : rowsOf(ends, most);
    const wide = Math.max(...rows.map((row) => row.reduce((sum, end) => sum + end.w + GAP_X, 0)));
    const high = rows.reduce((sum, row) => sum + heightOf(row) + GAP_Y, 0);
    const tallest = Math.max(...rows.map(heightOf));
    for (let strips = 1; strips <= Math.min(8, Math.ceil(rows.length / 2)); strips += 1) {
      const shape = { most, strips };
      const score = fit(wide * strips + 40 * (strips - 1), Math.max(tallest, high / strips), shape);
      found.push({ ...shape, score });
    }
  }
  return found.sort((a, b) => b.score - a.score);
}

/** Gives all ends their x and y, and all wires their stations; returns the size. */
export function layered(ends, wires, { most, strips: number, stripOf = null }, isGiven) {
  const rows = rowsOf(ends, most);
  rows.forEach((row, r) => row.forEach((end) => (end.row = r)));
  const cut = stripOf ? cutsAsBefore(rows, stripOf) : cuts(rows, wires, Math.min(number, rows.length));
  const strips = stripsOf(ends, wires, rows, [0, ...cut, rows.length]);
  const { chained, routed } = chains(strips, wires);
  for (const strip of strips) {
    order(strip.layers, isGiven);
    coordinates(strip.layers, (a, b) => (a.w + b.w) / 2 + (a.end && b.end && !a.end.side ? GAP_X : BEND));
  }
  const ways = channels(strips, routed);
  const size = measure(strips, ways);
  for (const end of ends) {
    const { cell } = end;
    const layer = strips[end.strip].at[end.layer];
    end.x = end.side ? cell.x : cell.x - end.w / 2;
    end.y = layer.top + (end.side ? 0 : Math.min((layer.height - end.h) / 2, 20));
  }
  for (const wire of wires) {
    const [upper, lower] = [wire.upper, wire.lower];
    const [from, to] = [strips[upper.strip].at[upper.layer], strips[lower.strip].at[lower.layer]];
    const [ax, bx] = [upper.cell.x + wire.upperAt, lower.cell.x + wire.lowerAt];
    const first = { x: ax, y: from.top + from.height };
    const last = { x: bx, y: to.top };
    const between = chained.get(wire)?.map((cell) => ({ id: cell.id, points: cell.points.map((at) => ({ ...at })) })) ??
      ways.stations(wire, first, last);
    wire.stations = [
      {
        id: `${upper.id}_${wire.upperAt}_below`,
        points: [{ x: ax, y: upper.side ? upper.y : upper.y + upper.h }, first],
      },
      ...between,
      { id: `${lower.id}_${wire.lowerAt}_above`, points: [last, { x: bx, y: lower.y }] },
    ];
  }
  return size;
}

/** @returns {{layers: any[][], at: {top: number, height: number}[]}[]} */
function stripsOf(ends, wires, rows, cut) {
  const strips = cut.slice(1).map((end, s) => ({ layers: [[], ...rows.slice(cut[s], end).map(() => []), []], at: [] }));
  const cellOf = (end, s, layer) => {
    Object.assign(end, { strip: s, layer, cell: { w: end.w, end, up: [], down: [], x: 0, order: 0 } });
    strips[s].layers[layer].push(end.cell);
  };
  strips.forEach((_, s) => {
    rows.slice(cut[s], cut[s + 1]).forEach((row, r) => {
      const sorted = row.every((end) => end.prior !== undefined) ? [...row].sort((a, b) => a.prior - b.prior) : row;
      for (const end of sorted) cellOf(end, s, r + 1);
    });
  });
  const beside = new Map();
  for (const { upper, lower } of wires) {
    if (upper.side) beside.set(upper, Math.min(beside.get(upper) ?? Infinity, lower.strip ?? Infinity));
    if (lower.side) beside.set(lower, Math.max(beside.get(lower) ?? 0, upper.strip ?? 0));
  }
  for (const end of ends) {
    if (!end.side) continue;
    const s = Math.min(beside.get(end) ?? 0, strips.length - 1);
    cellOf(end, s, end.side === "top" ? 0 : strips[s].layers.length - 1);
  }
  return strips;
}

/** Bends for the wires within strips; those of one end are one bend where they pass the same layer. */
function chains(strips, wires) {
  const fan = new Map();
  const ofUpper = (wire) => `u${wire.upper.id} ${wire.upperAt}`;
  const ofLower = (wire) => `l${wire.lower.id} ${wire.lowerAt}`;
  const near = (wire) => wire.upper.strip === wire.lower.strip;
  const span = (wire) => wire.lower.layer - wire.upper.layer;
  for (const wire of wires) {
    if (near(wire) && span(wire) === 1) continue;
    for (const key of [ofUpper(wire), ofLower(wire)]) fan.set(key, (fan.get(key) ?? 0) + 1);
  }
  const bends = new Map();
  const joined = new Set();
  const join = (a, b, there, here) => {
    const key = `${a.id ?? a.end.id} ${there} ${b.id ?? b.end.id} ${here}`;
    if (joined.has(key)) return;
    joined.add(key);
    a.down.push({ cell: b, there: here, here: there });
    b.up.push({ cell: a, there, here });
  };
  const chained = new Map();
  const routed = [];
  for (const wire of wires) {
    const [a, b] = [ofUpper(wire), ofLower(wire)];
    const owner = (fan.get(a) ?? 0) >= (fan.get(b) ?? 0) ? a : b;
    if (
      !near(wire) || span(wire) < 1 || span(wire) > LONGEST || (span(wire) > 1 && bends.size + span(wire) > MOST_BENDS)
    ) {
      routed.push({ wire, owner });
      continue;
    }
    const passed = [];
    let [last, at] = [wire.upper.cell, wire.upperAt];
    for (let layer = wire.upper.layer + 1; layer < wire.lower.layer; layer += 1) {
      const id = `${owner} ${layer}`;
      let bend = bends.get(id);
      if (!bend) {
        bends.set(id, bend = { id, w: BEND, end: null, up: [], down: [], x: 0, order: 0 });
        strips[wire.upper.strip].layers[layer].push(bend);
      }
      join(last, bend, at, 0);
      passed.push(bend);
      [last, at] = [bend, 0];
    }
    join(last, wire.lower.cell, at, wire.lowerAt);
    chained.set(wire, passed);
  }
  return { chained, routed };
}

/** The ways of wires between strips: lanes in channels (channel k is right of strip k), in gaps, and above all. */
function channels(strips, routed) {
  const lanes = strips.map(() => new Map());
  const above = new Map();
  const gaps = strips.map((strip) => strip.layers.map(() => ({ out: new Map(), into: new Map() })));
  const lane = (map, key) => {
    if (!map.has(key)) map.set(key, { number: map.size, stops: new Set() });
    return map.get(key);
  };
  const ways = new Map();
  for (const { wire, owner } of routed) {
    const [s, t] = [wire.upper.strip, wire.lower.strip];
    const first = s <= t ? s : s - 1;
    const second = s < t ? t - 1 : t;
    const way = {
      owner,
      first: lane(lanes[first], owner),
      channels: [first, second],
      out: lane(gaps[s][wire.upper.layer].out, owner),
      into: lane(gaps[t][wire.lower.layer - 1].into, owner),
    };
    if (second !== first) Object.assign(way, { top: lane(above, owner), second: lane(lanes[second], owner) });
    ways.set(wire, way);
  }
  const found = { lanes, above, gaps, lefts: [], stations: null };
  const xOf = (k, one) => found.lefts[k] + 8 + LANE * one.number;
  // Where lines join or leave a lane it is cut, so that what they share is drawn once.
  let isCut = false;
  const stops = () => {
    isCut = true;
    for (const [wire, way] of ways) {
      const layer = strips[wire.upper.strip].at[wire.upper.layer];
      const below = strips[wire.lower.strip].at[wire.lower.layer];
      way.from = layer.top + layer.height + 7 + LANE * way.out.number;
      way.to = below.top - 10 - LANE * way.into.number;
      way.over = way.top ? -8 - LANE * way.top.number : 0;
      const [x, next] = [xOf(way.channels[0], way.first), xOf(way.channels[1], way.second ?? way.first)];
      way.out.stops.add(wire.upper.cell.x + wire.upperAt).add(x);
      way.into.stops.add(wire.lower.cell.x + wire.lowerAt).add(next);
      way.first.stops.add(way.from).add(way.top ? way.over : way.to);
      if (way.top) {
        way.second.stops.add(way.over).add(way.to);
        way.top.stops.add(x).add(next);
      }
    }
  };
  const along = (set, from, to) => {
    const inner = [...set].filter((at) => (at - from) * (at - to) < 0).sort((a, b) => (from < to ? a - b : b - a));
    return [from, ...inner, to];
  };
  found.stations = (wire, first, last) => {
    const way = ways.get(wire);
    if (!isCut) stops();
    const [x, next] = [xOf(way.channels[0], way.first), xOf(way.channels[1], way.second ?? way.first)];
    const points = [];
    for (const at of along(way.out.stops, first.x, x)) points.push({ x: at, y: way.from });
    for (const y of along(way.first.stops, way.from, way.top ? way.over : way.to).slice(1)) points.push({ x, y });
    if (way.top) {
      for (const at of along(way.top.stops, x, next).slice(1)) points.push({ x: at, y: way.over });
      for (const y of along(way.second.stops, way.over, way.to).slice(1)) points.push({ x: next, y });
    }
    for (const at of along(way.into.stops, next, last.x).slice(1)) points.push({ x: at, y: way.to });
    return points.map((point) => ({ id: `${way.owner} ${point.x} ${point.y}`, points: [point] }));
  };
  return found;
}

/** Puts the strips side by side and the layers below each other. */
function measure(strips, ways) {
  const head = ways.above.size ? 8 + LANE * ways.above.size : 0;
  let x = 0;
  let height = 0;
  strips.forEach((strip, s) => {
    let [left, right] = [Infinity, -Infinity];
    for (const layer of strip.layers) {
      for (const c of layer) {
        left = Math.min(left, c.x - c.w / 2);
        right = Math.max(right, c.x + c.w / 2);
      }
    }
    for (const layer of strip.layers) for (const c of layer) c.x += x - left;
    x += right - left;
    ways.lefts.push(x);
    const count = ways.lanes[s].size;
    if (count || s < strips.length - 1) x += Math.max(2 * GAP_X, 16 + LANE * count);
    let y = 0;
    strip.at = strip.layers.map((layer, l) => {
      const made = { top: y, height: Math.max(0, ...layer.map((c) => c.end?.h ?? 0)) };
      const { out, into } = ways.gaps[s][l];
      const turned = out.size + into.size ? 17 + LANE * (out.size + into.size) : 0;
      const isInner = l > 0 && l < strip.layers.length - 2;
      const next = strip.layers[l + 1];
      const hasPorts = next && ((l === 0 && layer.length) || (l === strip.layers.length - 2 && next.length));
      const gap = Math.max(isInner ? GAP_Y : hasPorts ? GAP_PORT : 0, turned + (isInner ? LANE : 0));
      for (const c of layer) c.points = [{ x: c.x, y }, { x: c.x, y: y + made.height }];
      y += made.height + gap;
      return made;
    });
    height = Math.max(height, y);
  });
  return { w: x, h: height, head };
}
