// A small layered layout ("Sugiyama") for nested boxes, so that any scope can be opened where there is no kernel.
//
// place(root, edges) sets x, y, w, h of every item, and of every frame `bends`, the points by which a long edge passes the
// ranks between its ends. An item is {id, w, h} or {id, items: [...]}, a frame around items;
// edges are [source id, target id]. Every frame is laid out alone and is one box for the frame around it:
//   ranks by longest path (edges against a cycle are turned round), then orders by the mean position of neighbours, then
//   positions near the neighbours. Items without an edge stand in rows below.
// An edge between two frames' insides counts, in the frame around both, as an edge between the two.

const GAP_X = 16;
const GAP_Y = 44;
const PAD = 12;
const HEAD = 20;
const ROW_WIDTH = 1100;
const MOST_DUMMIES = 2500;
const SWEEPS = 6;

export function place(root, edges, _canvas) {
  const above = new Map();
  const index = (item) => {
    for (const child of item.items ?? []) {
      above.set(child.id, item);
      index(child);
    }
  };
  index(root);
  const byFrame = new Map();
  for (const [src, dst] of edges) {
    const pair = siblings(above, src, dst);
    if (!pair) continue;
    if (!byFrame.has(pair.frame.id)) byFrame.set(pair.frame.id, new Map());
    byFrame.get(pair.frame.id).set(`${pair.src}\n${pair.dst}`, [pair.src, pair.dst]);
  }
  arrange(root, byFrame, 0);
  shift(root, 0, 0);
  return above;
}

/** The two items of one frame in which an edge's ends lie; null for an edge inside one item. */
export function siblings(above, src, dst) {
  const path = (id) => {
    const found = [id];
    for (let frame = above.get(id); frame; frame = above.get(frame.id)) found.push(frame.id);
    return found.reverse();
  };
  const a = path(src);
  const b = path(dst);
  let depth = 0;
  while (depth < a.length && depth < b.length && a[depth] === b[depth]) depth += 1;
  if (depth >= a.length || depth >= b.length) return null;
  return { frame: above.get(a[depth]), src: a[depth], dst: b[depth] };
}

function arrange(frame, byFrame, depth) {
  for (const item of frame.items) if (item.items) arrange(item, byFrame, depth + 1);
  const pairs = [...(byFrame.get(frame.id)?.values() ?? [])];
  const size = layered(frame.items, pairs);
  const head = depth ? HEAD : 0;
  for (const item of frame.items) {
    item.x += PAD;
    item.y += PAD + head;
  }
  frame.bends = size.bends;
  for (const points of frame.bends.values()) {
    for (const point of points) {
      point.x += PAD;
      point.y += PAD + head;
    }
  }
  frame.w = Math.max(size.w + 2 * PAD, depth ? 60 + 7 * (frame.label?.length ?? 0) : 0);
  frame.h = size.h + 2 * PAD + head;
}

function shift(frame, x, y) {
  frame.x = (frame.x ?? 0) + x;
  frame.y = (frame.y ?? 0) + y;
  for (const points of frame.bends.values()) {
    for (const point of points) {
      point.x += frame.x;
      point.y += frame.y;
    }
  }
  for (const item of frame.items ?? []) {
    if (item.items) shift(item, frame.x, frame.y);
    else {
      item.x += frame.x;
      item.y += frame.y;
    }
  }
}

function layered(items, pairs) {
  const position = new Map(items.map((item, i) => [item.id, i]));
  const next = items.map(() => []);
  const linked = new Set();
  for (const [src, dst] of pairs) {
    next[position.get(src)].push(position.get(dst));
    linked.add(position.get(src)).add(position.get(dst));
  }
  const alone = items.filter((_, i) => !linked.has(i));
  const rank = ranks(next, linked);
  const layers = [];
  const cells = [];
  const cellOf = new Map();
  const cell = (r, w, item) => {
    const made = { r, w, item, x: 0, up: [], down: [], order: 0 };
    cells.push(made);
    (layers[r] ??= []).push(made);
    return made;
  };
  for (const i of linked) cellOf.set(i, cell(rank[i], items[i].w, items[i]));
  let dummies = 0;
  /** @type {[string, any[]][]} */
  const routes = [];
  for (const [src, dst] of pairs) {
    let [a, b] = [cellOf.get(position.get(src)), cellOf.get(position.get(dst))];
    if (a.r > b.r) [a, b] = [b, a];
    if (a.r === b.r) continue;
    const isTurned = cellOf.get(position.get(src)) !== a;
    const passed = [];
    let last = a;
    if (b.r - a.r > 1 && dummies + b.r - a.r < MOST_DUMMIES && b.r - a.r < 40) {
      for (let r = a.r + 1; r < b.r; r += 1) {
        const bend = cell(r, 6, null);
        join(last, bend);
        last = bend;
        passed.push(bend);
        dummies += 1;
      }
    }
    join(last, b);
    if (passed.length && !isTurned) routes.push([`${src}\n${dst}`, passed]);
  }
  order(layers);
  coordinates(layers);
  let y = 0;
  let width = 0;
  let left = Infinity;
  for (const layer of layers) for (const c of layer) left = Math.min(left, c.x - c.w / 2);
  for (const layer of layers) {
    const height = Math.max(...layer.map((c) => c.item?.h ?? 0));
    for (const c of layer) {
      if (c.item) {
        c.item.x = c.x - c.w / 2 - left;
        c.item.y = y + Math.min((height - c.item.h) / 2, 20);
      }
      width = Math.max(width, c.x + c.w / 2 - left);
      c.points = [{ x: c.x - left, y }, { x: c.x - left, y: y + height }];
    }
    y += height + GAP_Y;
  }
  const rows = shelves(alone, Math.max(width, Math.min(ROW_WIDTH, 300 + 40 * alone.length)), y);
  const bends = new Map(routes.map(([key, passed]) => [key, passed.flatMap((c) => c.points)]));
  return { w: Math.max(width, rows.w), h: Math.max(0, alone.length ? rows.h : y - GAP_Y), bends };
}

function join(a, b) {
  a.down.push(b);
  b.up.push(a);
}

/** Longest path from the sources, sources then moved next to their first consumer; edges against a cycle are ignored. */
function ranks(next, linked) {
  const count = next.length;
  const state = new Uint8Array(count);
  const back = new Set();
  const sorted = [];
  for (const start of linked) {
    if (state[start]) continue;
    const stack = [[start, 0]];
    state[start] = 1;
    while (stack.length) {
      const top = stack[stack.length - 1];
      const [node, edge] = top;
      if (edge < next[node].length) {
        top[1] += 1;
        const to = next[node][edge];
        if (state[to] === 1) back.add(node * count + to);
        else if (!state[to]) {
          state[to] = 1;
          stack.push([to, 0]);
        }
      } else {
        state[node] = 2;
        sorted.push(node);
        stack.pop();
      }
    }
  }
  sorted.reverse();
  const rank = new Int32Array(count);
  const before = new Int32Array(count);
  const forward = (node) => next[node].filter((to) => !back.has(node * count + to));
  for (const node of sorted) {
    for (const to of forward(node)) {
      rank[to] = Math.max(rank[to], rank[node] + 1);
      before[to] += 1;
    }
  }
  for (const node of sorted.reverse()) {
    const after = forward(node);
    if (!before[node] && after.length) rank[node] = Math.min(...after.map((to) => rank[to])) - 1;
  }
  return rank;
}

function order(layers) {
  const number = (layer) => layer.forEach((c, i) => (c.order = i));
  layers.forEach(number);
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const down = sweep % 2 === 0;
    const turn = down ? layers : [...layers].reverse();
    for (const layer of turn) {
      for (const c of layer) {
        const near = down ? c.up : c.down;
        c.key = near.length ? near.reduce((sum, n) => sum + n.order, 0) / near.length : c.order;
      }
      layer.sort((a, b) => a.key - b.key || a.order - b.order);
      number(layer);
    }
  }
}

function coordinates(layers) {
  const gap = (a, b) => (a.w + b.w) / 2 + (a.item && b.item ? GAP_X : 8);
  for (const layer of layers) {
    let x = 0;
    layer.forEach((c, i) => {
      x = i ? layer[i - 1].x + gap(layer[i - 1], c) : c.w / 2;
      c.x = x;
    });
    const middle = layer.length ? (layer[0].x + layer[layer.length - 1].x) / 2 : 0;
    for (const c of layer) c.x -= middle;
  }
  for (let sweep = 0; sweep < 2 * SWEEPS; sweep += 1) {
    const turn = sweep % 2 === 0 ? layers : [...layers].reverse();
    for (const layer of turn) {
      for (const c of layer) {
        const near = sweep % 2 === 0 ? c.up : c.down;
        const all = near.length ? near : [...c.up, ...c.down];
        c.want = all.length ? all.reduce((sum, n) => sum + n.x, 0) / all.length : c.x;
      }
      settle(layer, gap);
    }
  }
}

/** Positions nearest to what is wanted, in this order and not nearer to each other than the gap (pooled means). */
function settle(layer, gap) {
  const pools = [];
  let offset = 0;
  layer.forEach((c, i) => {
    if (i) offset += gap(layer[i - 1], c);
    c.offset = offset;
    let pool = { sum: c.want - offset, count: 1, cells: [c] };
    while (pools.length && pools[pools.length - 1].sum / pools[pools.length - 1].count > pool.sum / pool.count) {
      const last = pools.pop();
      pool = { sum: last.sum + pool.sum, count: last.count + pool.count, cells: [...last.cells, ...pool.cells] };
    }
    pools.push(pool);
  });
  for (const pool of pools) for (const c of pool.cells) c.x = pool.sum / pool.count + c.offset;
}

function shelves(items, most, top) {
  let [x, y, row, width] = [0, top, 0, 0];
  for (const item of items) {
    if (x && x + item.w > most) {
      x = 0;
      y += row + GAP_X;
      row = 0;
    }
    item.x = x;
    item.y = y;
    x += item.w + GAP_X;
    row = Math.max(row, item.h);
    width = Math.max(width, x - GAP_X);
  }
  return { w: width, h: y + row };
}
