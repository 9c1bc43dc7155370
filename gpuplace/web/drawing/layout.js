// Where nested boxes and the lines between them go, so that any scope can be opened where there is no kernel.
//
// place(root, edges, wanted) sets x, y, w, h of every item, and gives the way of every edge. An item is {id, w, h} or
// {id, items: [...], least}, a frame around items, so wide at least; edges are [source id, target id, rank], where rank is 1 if the target
// stands below the source, -1 if it stands above, and 0 if either may be. Every frame is laid out alone, as
// parts that lines connect (layered.js) packed beside each other, and is one box for the frame around it. An edge from
// inside a frame leaves it by a port, a place on its upper or lower edge, and enters another by one: it passes every
// frame on its way and no box. Its way is a list of points, {id, x, y}; where edges go the same way the ids are the same,
// so that it can be drawn once.
//
// Shapes are chosen so that the whole fills the wanted width and height at a large scale. What was drawn before gives
// the orders to begin with and the shapes of frames, so that what is shown stays where it was. Items that were drawn before
// with the same edges go where they were then: what is folded again leaves the picture that there was before it was unfolded.

import { GAP_X, layered, shapes } from "gpuplace/drawing/layered.js";
import { ranks } from "gpuplace/drawing/ranks.js";

const PAD = 12;
const HEAD = 20;
const NAME_MARGIN = 4; // less at the side of a frame's name where a line passes it
const ASIDE = 12; // of the middle of a box, lines that go both ways
const MOST_PORTS = 4; // on an edge of a frame; where there were more, all lines share one
const TRIED = 3; // shapes of a part that are laid out
const PER_STRIP = 0.88;
const LARGEST = 1.2; // scale; a larger one makes nothing easier to read
const MOST_FORMER = 40; // drawings that can come again

/**
 * @param root the outermost frame.
 * @param edges `[source id, target id, rank]`.
 * @param wanted width and height to fill; `before`, what the last call gave, and `named(id)`, what stood for an item then;
 *   `isFirst`, whether the picture begins anew, and only the same one of this size may come again.
 * @returns `{routes, places, shapes, packs}`: a list of points for every edge (empty within one item), the place of every
 *   item's middle in its frame, the shapes of frames, and how their parts lie. Besides, for the next call, what was placed
 *   where, and `former`, what was drawn before.
 */
export function place(
  root,
  edges,
  { width = 1200, height = 700, before = null, named = (id) => id, isFirst = false } = {},
) {
  const key = keyOf(root, edges);
  const isSame = (drawn) => drawn.key === key && (!isFirst || (drawn.width === width && drawn.height === height));
  for (let drawn = before; drawn; drawn = drawn.former) if (isSame(drawn)) return again(root, drawn);
  const placed = placeAnew(root, edges, { width, height, before: isFirst ? null : before, named });
  const at = new Map([...itemsIn(root)].map(({ id, x, y, w, h, isNameRight }) => [id, { x, y, w, h, isNameRight }]));
  let last = before;
  for (let i = 2; last && i < MOST_FORMER; i += 1) last = last.former;
  if (last) last.former = null;
  return { ...placed, key, width, height, at, former: before };
}

/** What a layout depends on, besides the drawing before. */
function keyOf(root, edges) {
  const text = ({ id, w, h, items, least, isTower }) =>
    items ? `${id} ${least}(${items.map(text).join()})` : `${id} ${w} ${h} ${isTower}`;
  return `${text(root)} ${edges.map((edge) => edge.join(" ")).join()}`;
}

function* itemsIn(item) {
  yield item;
  for (const child of item.items ?? []) yield* itemsIn(child);
}

function again(root, drawn) {
  for (const item of itemsIn(root)) Object.assign(item, drawn.at.get(item.id));
  return drawn;
}

function placeAnew(root, edges, { width, height, before, named }) {
  const above = new Map();
  const byId = new Map([[root.id, root]]);
  const index = (item) => {
    for (const child of item.items ?? []) {
      above.set(child.id, item);
      byId.set(child.id, child);
      index(child);
    }
    if (item.items) Object.assign(item, { pairs: new Map(), ports: new Map(), wires: new Map() });
  };
  index(root);
  const paths = edges.map(([src, dst, rank]) => pathOf(above, byId, src, dst, rank));
  for (const path of paths) {
    if (!path) continue;
    const key = `${path.a.id}\n${path.b.id}`;
    const known = path.frame.pairs.get(key);
    if (!known || Math.abs(known.rank) < Math.abs(path.rank)) path.frame.pairs.set(key, path);
  }
  for (const item of byId.values()) if (item.items) rankItems(item);
  for (const path of paths) if (path) choosePorts(path);
  const routes = paths.map((path) => (path ? wiresOf(path) : []));
  const state = { width, height, before, named, places: new Map(), shapes: new Map(), packs: new Map() };
  arrange(root, state, 0);
  shift(root, 0, 0);
  return {
    routes: routes.map((passed) => {
      const points = passed.flatMap(pointsOf);
      return points.filter(({ x, y }, i) => !i || Math.hypot(x - points[i - 1].x, y - points[i - 1].y) > 0.01);
    }),
    places: state.places,
    shapes: state.shapes,
    packs: state.packs,
  };
}

/** The points of a wire, in an edge's direction. Points that wires share have one id. */
function pointsOf({ frame, wire, isUp }) {
  const points = wire.stations.flatMap(({ id, points }) =>
    points.map(({ x, y }, i) => ({ id: `${frame.id} ${id} ${i}`, x: x + frame.left, y: y + frame.top }))
  );
  return isUp ? points.reverse() : points;
}

/** The way of an edge through frames: out of `out`, from a to b in the common frame, and into `into`. */
function pathOf(above, byId, src, dst, rank) {
  const up = (id) => {
    const found = [byId.get(id)];
    for (let frame = above.get(id); frame; frame = above.get(frame.id)) found.push(frame);
    return found.reverse();
  };
  const [a, b] = [up(src), up(dst)];
  let depth = 0;
  while (depth < a.length && depth < b.length && a[depth] === b[depth]) depth += 1;
  if (depth >= a.length || depth >= b.length) return null;
  return { frame: a[depth - 1], a: a[depth], b: b[depth], out: a.slice(depth).reverse(), into: b.slice(depth), rank };
}

function rankItems(frame) {
  const position = new Map(frame.items.map((item, i) => [item.id, i]));
  const next = frame.items.map(() => []);
  for (const { a, b, rank } of frame.pairs.values()) {
    const [upper, lower] = rank < 0 ? [b, a] : [a, b];
    if (rank) next[position.get(upper.id)].push(position.get(lower.id));
  }
  const rank = ranks(next);
  frame.items.forEach((item, i) => (item.rank = rank[i]));
}

const isTurned = ({ a, b }) => a.rank > b.rank;

/** Counts the ports that an edge asks for. */
function choosePorts(path) {
  const ask = (frames, way, side, other) => {
    for (const frame of frames) {
      const key = `${way} ${side}`;
      if (!frame.ports.has(key)) frame.ports.set(key, new Map());
      frame.ports.get(key).set(other.id, null);
    }
  };
  ask(path.out.slice(1), "out", isTurned(path) ? "top" : "bottom", path.b);
  ask(path.into.slice(0, -1), "into", isTurned(path) ? "bottom" : "top", path.a);
}

function portOf(frame, way, side, other) {
  const ports = frame.ports.get(`${way} ${side}`);
  const key = ports.size > MOST_PORTS ? "" : other.id;
  const port = ports.get(key) ?? { id: `${frame.id} ${way} ${side} ${key}`, side, w: 8, h: 0 };
  ports.set(key, port);
  return port;
}

/** The wires that an edge passes, in order: `{frame, wire, isUp}`. */
function wiresOf(path) {
  const turned = isTurned(path);
  const passed = [];
  const add = (frame, upper, upperPort, lower, lowerPort, isUp) => {
    const ends = `${upper.id}\n${upperPort?.id ?? ""}\n${lower.id}\n${lowerPort?.id ?? ""}`;
    const key = `${ends}\n${isUp}`;
    if (!frame.wires.has(key)) frame.wires.set(key, { upper, upperPort, lower, lowerPort, stations: [], ends, isUp });
    return { frame, wire: frame.wires.get(key), isUp };
  };
  const walk = (items, way, side, other) => {
    let port = null;
    const found = [];
    for (const [i, item] of items.entries()) {
      if (!i) continue;
      const next = portOf(item, way, side, other);
      const child = items[i - 1];
      found.push(
        side === "bottom"
          ? add(item, child, port, next, null, way === "into")
          : add(item, next, null, child, port, way === "out"),
      );
      port = next;
    }
    return { found, port };
  };
  const out = walk(path.out, "out", turned ? "top" : "bottom", path.b);
  const into = walk([...path.into].reverse(), "into", turned ? "bottom" : "top", path.a);
  passed.push(...out.found);
  passed.push(
    turned
      ? add(path.frame, path.b, into.port, path.a, out.port, true)
      : add(path.frame, path.a, out.port, path.b, into.port, false),
  );
  passed.push(...into.found.reverse());
  return passed;
}

/** Lays out a frame, those in it first. */
function arrange(frame, state, depth) {
  for (const item of frame.items) if (item.items) arrange(item, state, depth + 1);
  const head = depth ? HEAD : 0;
  const wires = [...frame.wires.values()];
  const numbers = new Map();
  for (const { ends } of wires) numbers.set(ends, (numbers.get(ends) ?? 0) + 1);
  for (const wire of wires) {
    // What goes both ways are two lines beside each other.
    const aside = numbers.get(wire.ends) > 1 ? (wire.isUp ? ASIDE : -ASIDE) : 0;
    wire.upperAt = wire.upperPort ? wire.upperPort.x - wire.upper.w / 2 : aside;
    wire.lowerAt = wire.lowerPort ? wire.lowerPort.x - wire.lower.w / 2 : aside;
  }
  const shapes = new Map();
  state.shapes.set(frame.id, shapes);
  const parts = partsOf(frame, wires, state);
  for (const part of parts) arrangePart(part, state, depth, formerOf(part, frame, state), shapes);
  const size = pack(parts, scaleOf(state, depth === 0), state.before?.packs.get(frame.id), state.named);
  state.packs.set(frame.id, size);
  const spare = depth ? Math.max(0, frame.least - size.w - 2 * PAD) : 0; // its name is wider than what is in it
  for (const part of parts) part.x += spare / 2;
  const room = depth ? roomForName(frame, parts, size.w + spare) : { left: 0, right: 0, isNameRight: false };
  for (const part of parts) part.x += room.left;
  frame.isNameRight = room.isNameRight;
  for (const part of parts) {
    for (const end of part.ends) {
      end.x += PAD + part.x;
      end.y += PAD + head + part.y + part.head;
      if (end.item) [end.item.x, end.item.y] = [end.x, end.y];
    }
    for (const { wire } of part.wires) {
      for (const { points } of wire.stations) {
        for (const point of points) {
          point.x += PAD + part.x;
          point.y += PAD + head + part.y + part.head;
        }
      }
    }
  }
  frame.w = size.w + 2 * PAD + spare + room.left + room.right;
  frame.h = size.h + 2 * PAD + head;
  for (const part of parts) {
    for (const { wire, upper, lower } of part.wires) {
      if (upper.side) wire.stations[0].points[0].y = 0;
      if (lower.side) wire.stations.at(-1).points.at(-1).y = frame.h;
    }
    for (const end of part.ends) if (end.side) end.port.x = end.x;
  }
  for (const item of frame.items) {
    const middle = item.x + item.w / 2;
    const [x, y] = [middle / frame.w, (item.y + item.h / 2) / frame.h];
    state.places.set(item.id, { x, y, middle, frame: frame.id, isFrame: Boolean(item.items) });
  }
}

/**
 * The room that a frame needs at its left or right, so that no line from above passes through its name, and whether the
 * name is at the right.
 */
function roomForName(frame, parts, width) {
  const lines = parts.flatMap(({ x, ends }) => ends.filter(({ side }) => side === "top").map((end) => x + end.x + PAD));
  const missing = [Math.min(...lines), width + 2 * PAD - Math.max(...lines)]
    .map((free) => Math.max(0, frame.least - NAME_MARGIN - free));
  const isNameRight = missing[1] < missing[0];
  return { left: isNameRight ? 0 : missing[0], right: isNameRight ? missing[1] : 0, isNameRight };
}

/** How good a size is: the scale at which it fills what is wanted. */
function scaleOf({ width, height }, isRoot) {
  return (w, h) => Math.min(width / (w + 2 * PAD), height / (h + 2 * PAD), isRoot ? LARGEST : 1);
}

/** Parts of a frame that no line connects; what has lines to ports is one part. */
function partsOf(frame, wires, state) {
  const ends = new Map();
  const placeOf = (id) => state.before?.places.get(id);
  for (const item of frame.items) {
    const { w, h, rank } = item;
    const was = placeOf(item.id) ?? placeOf(state.named(item.id));
    const isFolded = was?.isFrame && !item.items;
    const held = was?.frame === frame.id ? was.middle : undefined;
    ends.set(item, { id: item.id, w, h, rank, item, prior: was?.x, held, isFolded, up: false, down: false });
  }
  const mains = [];
  for (const ports of frame.ports.values()) {
    for (const port of ports.values()) {
      if (!port) continue;
      ends.set(port, { id: port.id, w: port.w, h: 0, rank: 0, side: port.side, port });
      mains.push(ends.get(port));
    }
  }
  const group = new Map([...ends.values()].map((end) => [end, end]));
  const top = (end) => {
    while (group.get(end) !== end) {
      group.set(end, group.get(group.get(end)));
      end = group.get(end);
    }
    return end;
  };
  const join = (a, b) => group.set(top(a), top(b));
  for (const port of mains) join(mains[0], port);
  const lines = wires.map((wire) => {
    const [upper, lower] = [ends.get(wire.upper), ends.get(wire.lower)];
    upper.down = lower.up = true;
    join(upper, lower);
    return { wire, upper, lower, upperAt: wire.upperAt, lowerAt: wire.lowerAt };
  });
  // What only leaves the frame is low in it.
  const lowest = Math.max(...frame.items.map((item) => item.rank));
  const linked = new Set([...frame.pairs.values()].flatMap(({ a, b }) => [a, b]));
  for (const end of ends.values()) if (end.item && !linked.has(end.item) && end.down && !end.up) end.rank = lowest;
  const parts = new Map();
  for (const end of ends.values()) {
    if (!parts.has(top(end))) {
      parts.set(top(end), { ends: [], wires: [], isMain: mains.length > 0 && top(end) === top(mains[0]) });
    }
    parts.get(top(end)).ends.push(end);
  }
  for (const line of lines) parts.get(top(line.upper)).wires.push(line);
  return [...parts.values()];
}

/** The shape that a part had in the drawing before, with the strips of its items. */
function formerOf(part, frame, { before, named }) {
  const shapes = before?.shapes.get(frame.id);
  if (!shapes) return null;
  const known = new Map();
  for (const end of part.ends) {
    const found = end.item && (shapes.get(end.id) ?? shapes.get(named(end.id)));
    if (!found) continue;
    known.set(end.id, found);
    end.before = found.row;
  }
  const [first] = known.values();
  if (!first) return null;
  const stripOf = new Map();
  for (const [id, { shape, strip }] of known) if (shape === first.shape) stripOf.set(id, strip);
  return { most: first.shape.most, strips: first.shape.strips, stripOf };
}

/** Lays a part out in the best shape that was tried, and notes it by its items. */
function arrangePart(part, state, depth, former, shapesOf) {
  if (part.ends.length === 1) {
    const [end] = part.ends;
    Object.assign(end, { x: 0, y: 0 });
    Object.assign(part, { w: end.w, h: end.h, head: 0 });
    return;
  }
  const fit = scaleOf(state, depth === 0);
  const score = (w, h, { most, strips }) => fit(w, h) * PER_STRIP ** (strips - 1) * (most === Infinity ? 1 : 0.97);
  const tried = former ? [former] : shapes(part.ends, score).slice(0, TRIED);
  const isGiven = part.ends.every((end) => end.side || end.prior !== undefined);
  // What is folded gives its room back; for what is unfolded, the others make room and stay otherwise.
  const isHeld = former && !part.ends.some(({ isFolded }) => isFolded);
  if (!isHeld) { for (const end of part.ends) end.held = undefined; }
  let best = null;
  let last = null;
  for (const shape of tried) {
    const { w, h, head } = layered(part.ends, part.wires, shape, isGiven);
    last = { shape, w, h: h + head, head, score: score(w, h + head, shape) };
    if (!best || last.score > best.score) best = last;
    if (best.score >= (depth ? 1 : LARGEST)) break;
  }
  if (last !== best) layered(part.ends, part.wires, best.shape, isGiven);
  for (const { wire, ...line } of part.wires) wire.stations = line.stations;
  Object.assign(part, { w: best.w, h: best.h, head: best.head });
  for (const { id, item, strip, row } of part.ends) if (item) shapesOf.set(id, { shape: best.shape, strip, row });
}

/**
 * Puts parts beside and below each other: the one with the ports, or else the largest, first, and rows beside or below it.
 * What was drawn before gives the first part, the order of the others, and the side and the width of the rows.
 */
function pack(parts, fit, former, named) {
  const wasMain = ({ ends }) => ends.some(({ id }) => former?.main.has(id) || former?.main.has(named(id)));
  const importance = (part) => 2 * Number(part.isMain) + Number(Boolean(former) && wasMain(part));
  const [main, ...rest] = [...parts].sort((a, b) => importance(b) - importance(a) || b.w * b.h - a.w * a.h);
  if (!main) return { w: 0, h: 0 };
  const order = new Map(parts.map((part, i) => [part, i]));
  const before = ({ ends }, known) =>
    Math.min(Infinity, ...ends.map(({ id }) => known?.get(id) ?? known?.get(named(id)) ?? Infinity));
  const drawn = new Map(rest.map((part) => [part, before(part, former?.at)]));
  rest.sort((a, b) =>
    (drawn.get(a) === drawn.get(b) ? 0 : drawn.get(a) - drawn.get(b)) || Math.round((b.h - a.h) / 60) ||
    order.get(a) - order.get(b)
  );
  main.x = main.y = 0;
  const ids = new Set(main.ends.map(({ id }) => id));
  const at = new Map(rest.flatMap(({ ends }, i) => ends.map(({ id }) => [id, i])));
  if (!rest.length) return { w: main.w, h: main.h, main: ids, at };
  const apart = 1.5 * GAP_X;
  const area = rest.reduce((sum, part) => sum + (part.w + apart) * (part.h + apart), 0);
  const widest = Math.max(...rest.map((part) => part.w));
  const tries = [];
  const rowBefore = rest.map((part) => before(part, former?.rowOf));
  const attempt = (side, most) => {
    const { w, h } = rows(rest, Math.max(widest, most), rowBefore);
    const found = side === "beside"
      ? { x: main.w + apart, y: 0, w: main.w + apart + w, h: Math.max(main.h, h) }
      : { x: 0, y: main.h + apart, w: Math.max(main.w, w), h: main.h + apart + h };
    tries.push({ ...found, side, width: most, score: fit(found.w, found.h), main: ids, at });
  };
  if (former?.side && !(main.isMain && former.side === "below")) attempt(former.side, former.width);
  else {
    for (const stretch of [0.5, 0.75, 1, 1.3, 1.7, 2.2, 3, 4]) attempt("beside", Math.sqrt(area) * stretch);
    if (!main.isMain) { for (const stretch of [0.7, 1, 1.4, 2, 3]) attempt("below", main.w * stretch); }
  }
  const best = tries.reduce((a, b) => (b.score > a.score || (b.score === a.score && b.w * b.h < a.w * a.h) ? b : a));
  const { rowOf } = rows(rest, Math.max(widest, best.width), rowBefore, best);
  return { ...best, rowOf };
}

/**
 * Rows of parts, at most so wide; those that were in one row, or in several, before, still are. Returns the size and the row
 * of what is in each part, and sets places where it is given one.
 */
function rows(parts, most, rowBefore, at = null) {
  const apart = 1.5 * GAP_X;
  const rowOf = new Map();
  let [x, y, height, width, row] = [0, 0, 0, 0, 0];
  parts.forEach((part, i) => {
    const [last, now] = [rowBefore[i - 1], rowBefore[i]];
    const isKnown = Number.isFinite(last) && Number.isFinite(now);
    if (x && (isKnown ? last !== now : x + part.w > most + 0.5)) {
      x = 0;
      y += height + apart;
      height = 0;
      row += 1;
    }
    for (const { id } of part.ends) rowOf.set(id, row);
    if (at) [part.x, part.y] = [at.x + x, at.y + y];
    x += part.w + apart;
    height = Math.max(height, part.h);
    width = Math.max(width, x - apart);
  });
  return { w: width, h: y + height, rowOf };
}

function shift(frame, x, y) {
  frame.x = (frame.x ?? 0) + x;
  frame.y = (frame.y ?? 0) + y;
  [frame.left, frame.top] = [frame.x, frame.y];
  for (const item of frame.items) {
    if (item.items) shift(item, frame.x, frame.y);
    else {
      item.x += frame.x;
      item.y += frame.y;
    }
  }
}
