// Orders within the layers of a layout, with few crossings, and places near the neighbors.
//
// A cell is {w, up, down, order, x}; `up` and `down` are links {cell, there, here}: the neighbor, and how far from the
// middle of the neighbor and of the cell the line meets them.

const SWEEPS = 6;
const ROOM = 1.05;
const FIRM = 16; // weight of a cell that stays where it was, beside one that does not

/** Sorts each layer so that few lines cross; where an order is given (`prior` of ends), items keep it among themselves. */
export function order(layers, isGiven) {
  const number = (layer) => layer.forEach((c, i) => (c.order = i));
  layers.forEach(number);
  let best = layers.map((layer) => [...layer]);
  let least = isGiven ? Infinity : crossings(layers);
  for (let sweep = 0; sweep < SWEEPS && least > 0; sweep += 1) {
    const isDown = sweep % 2 === 0;
    for (const layer of isDown ? layers : [...layers].reverse()) {
      for (const c of layer) {
        const near = isDown ? c.up : c.down;
        c.key = near.length ? near.reduce((sum, n) => sum + n.cell.order + 0.5 * side(n), 0) / near.length : c.order;
      }
      layer.sort((a, b) => a.key - b.key || a.order - b.order);
      if (isGiven) keepItems(layer);
      number(layer);
    }
    const count = crossings(layers);
    if (count < least) [best, least] = [layers.map((layer) => [...layer]), count];
  }
  layers.forEach((layer, i) => {
    layer.splice(0, layer.length, ...best[i]);
    number(layer);
  });
}

/** Puts items into their given order, in the places that items have. */
function keepItems(layer) {
  const isItem = (c) => c.end && !c.end.side;
  const items = layer.filter(isItem).sort((a, b) => a.end.prior - b.end.prior);
  layer.forEach((c, i) => {
    if (isItem(c)) layer[i] = items.shift();
  });
}

const side = (link) => Math.max(-1, Math.min(1, (2 * link.there) / (link.cell.w || 1)));

/** How often lines between neighboring layers cross. */
function crossings(layers) {
  let count = 0;
  layers.forEach((layer, i) => {
    const below = layers[i + 1]?.length ?? 0;
    if (!below) return;
    const tree = new Int32Array(below + 1);
    let passed = 0;
    for (const c of layer) {
      const ends = c.down.map((link) => link.cell.order);
      for (const end of ends) {
        let seen = 0;
        for (let k = end + 1; k > 0; k -= k & -k) seen += tree[k];
        count += passed - seen;
      }
      for (const end of ends) {
        for (let k = end + 1; k <= below; k += k & -k) tree[k] += 1;
        passed += 1;
      }
    }
  });
  return count;
}

const isFirm = (c) => c.end?.held !== undefined;

/** Sets x, the middle of each cell, in the order that there is; an item that was `held` somewhere stays near it. */
export function coordinates(layers, gap) {
  for (const layer of layers) {
    layer.forEach((c, i) => (c.x = i ? layer[i - 1].x + gap(layer[i - 1], c) : c.w / 2));
    const middle = layer.length ? (layer[0].x + layer[layer.length - 1].x) / 2 : 0;
    for (const c of layer) c.x -= middle;
  }
  // No layer drifts out of what the widest one needs.
  const room = ROOM *
    Math.max(0, ...layers.map((layer) => layer.length && layer.at(-1).x - layer[0].x + 2 * layer[0].w));
  const within = (x, c) => Math.max(Math.min(x, (room - c.w) / 2), (c.w - room) / 2);
  const firm = layers.flat().filter(isFirm).map((c) => c.end.held);
  const origin = firm.length ? (Math.min(...firm) + Math.max(...firm)) / 2 : 0;
  for (let sweep = 0; sweep < 2 * SWEEPS; sweep += 1) {
    const isDown = sweep % 2 === 0;
    for (const layer of isDown ? layers : [...layers].reverse()) {
      for (const c of layer) {
        if (isFirm(c)) {
          c.want = c.end.held - origin;
          continue;
        }
        const near = isDown ? c.up : c.down;
        const all = near.length ? near : [...c.up, ...c.down];
        c.want = within(
          all.length ? all.reduce((sum, n) => sum + n.cell.x + n.there - n.here, 0) / all.length : c.x,
          c,
        );
      }
      settle(layer, gap);
    }
  }
}

/** Positions nearest to what is wanted, in this order and not nearer to each other than the gap (pooled weighted means). */
function settle(layer, gap) {
  const pools = [];
  let offset = 0;
  layer.forEach((c, i) => {
    if (i) offset += gap(layer[i - 1], c);
    c.offset = offset;
    const weight = isFirm(c) ? FIRM : 1;
    let pool = { sum: weight * (c.want - offset), count: weight, cells: [c] };
    while (pools.length && pools[pools.length - 1].sum / pools[pools.length - 1].count > pool.sum / pool.count) {
      const last = pools.pop();
      pool = { sum: last.sum + pool.sum, count: last.count + pool.count, cells: [...last.cells, ...pool.cells] };
    }
    pools.push(pool);
  });
  for (const pool of pools) for (const c of pool.cells) c.x = pool.sum / pool.count + c.offset;
}
