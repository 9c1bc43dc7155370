// The report page: the explorer's picture without a kernel, and tables. Needs `place` and `siblings` (layout.js),
// `graphView` (the explorer's graph_view.js) and DATA (see gpuplace/report/page_data.py).

const CAP = 300; // boxes that a picture never exceeds
const BUNDLE_FROM = 50; // boxes from which what is alike becomes one
const DEEP_FROM = 40; // boxes from which edges between open scopes end at their frames
const NEIGHBOURS = 12;
const ROW_PX = 26;
const LEAST_SCALE = 0.6; // of a picture that is shown whole
const INK = "#1b1f24";
const FAINT = "#57606a";
const FRAME = "#57606a";

// ------------------------------------------------------------------------------------------------ what the data mean
const N = DATA.nodes;
const S = DATA.scopes;
const E = DATA.edges;
const COUNT = N.name.length;
const unmet = new Set(N.unmet);
const guilty = new Set(N.guilty);
const paths = S.name.map(() => "");
for (let s = 1; s < paths.length; s += 1) paths[s] = paths[S.parent[s]] + (S.parent[s] ? "/" : "") + S.name[s];
const scopeAt = new Map(paths.map((path, s) => [path, s]));
const nameOf = (n) => {
  const path = paths[N.scope[n]];
  return N.name[n] === null ? path : path ? `${path}/${N.name[n]}` : N.name[n];
};
let nameIndex = null;
const nodeAt = (name) => {
  if (!nameIndex) {
    nameIndex = new Map();
    for (let n = 0; n < COUNT; n += 1) nameIndex.set(nameOf(n), n);
  }
  return nameIndex.get(name) ?? -1;
};
const localName = (n) => (N.name[n] === null ? `(${S.name[N.scope[n]]})` : N.name[n]);
const typeOf = (n) => DATA.types[N.type[n]];
const requestOf = (n) => DATA.requests[N.request[n]];
const deviceAt = (d) => DATA.devices[d < 0 ? DATA.devices.length - 1 : d];
const lookOf = (n) => deviceAt(N.device[n]);
const sourceOf = (n) => (DATA.sources.of.length ? DATA.sources.texts[DATA.sources.of[n]] : "");
const number = (value) => value.toLocaleString("en");
const counted = (value, one, many) => `${number(value)} ${value === 1 ? one : many ?? `${one}s`}`;
const copySet = new Set(DATA.copies);

function grouped(keys) {
  const start = new Int32Array(COUNT + 1);
  for (const key of keys) start[key + 1] += 1;
  for (let i = 0; i < COUNT; i += 1) start[i + 1] += start[i];
  const order = new Int32Array(keys.length);
  const at = start.slice();
  keys.forEach((key, e) => (order[at[key]++] = e));
  return { of: (n) => [...order.subarray(start[n], start[n + 1])], start, order };
}
const incoming = grouped(E.dst);
const outgoing = grouped(E.src);
const children = S.name.map(() => []);
const direct = S.name.map(() => []);
for (let s = 1; s < S.name.length; s += 1) children[S.parent[s]].push(s);
for (let n = 0; n < COUNT; n += 1) direct[N.scope[n]].push(n);
const inside = new Int32Array(S.name.length);
for (let n = 0; n < COUNT; n += 1) inside[N.scope[n]] += 1;
for (let s = S.name.length - 1; s > 0; s -= 1) inside[S.parent[s]] += inside[s];
const groupOf = new Map();
DATA.groups.forEach(([members], g) => members.forEach((n) => groupOf.set(n, g)));

function bytes(value) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return unit ? `${value.toFixed(1)} ${units[unit]}` : `${value} B`;
}

// ------------------------------------------------------------------------------------------- which boxes there are
/** Boxes for the open scopes and bundles, and the box of each node. */
function boxesOf(opened, unbundled) {
  const shown = new Int32Array(S.name.length).fill(-1); // the closed scope that stands for a scope, -1 where it is open
  const isOpen = S.name.map((_, s) => s === 0 || opened.has(s));
  for (let s = 1; s < S.name.length; s += 1) {
    const above = S.parent[s];
    if (shown[above] >= 0) shown[s] = shown[above];
    else if (!isOpen[s]) shown[s] = s;
  }
  const open = S.name.map((_, s) => s).filter((s) => shown[s] < 0);
  let total = 0;
  for (const s of open) total += direct[s].length + children[s].filter((c) => shown[c] >= 0).length;
  const boxes = [];
  const wide = [...open].sort((a, b) => children[b].length + direct[b].length - children[a].length - direct[a].length);
  const fair = Math.max(1, Math.floor(CAP / Math.max(1, wide.length)));
  for (const s of wide) {
    const closed = children[s].filter((c) => shown[c] >= 0);
    const made = [];
    const plain = (scopes, nodes) => {
      for (const c of scopes) made.push({ kind: "scope", id: `s${c}`, key: `s${c}`, scopes: [c], nodes: [], parent: s });
      for (const n of nodes) made.push({ kind: "op", id: `n${n}`, key: `n${n}`, scopes: [], nodes: [n], parent: s });
    };
    if (total <= BUNDLE_FROM) {
      plain(closed, direct[s]);
    } else {
      const before = closed.length + direct[s].length;
      const runs = new Map();
      const single = [];
      for (const c of closed) {
        const run = S.alike[c];
        if (run < 0 || unbundled.has(`b${run}`)) single.push(c);
        else if (runs.has(run)) runs.get(run).push(c);
        else runs.set(run, [c]);
      }
      for (const [run, members] of runs) {
        if (members.length > 2) made.push({ kind: "bundle", id: `b${run}`, key: `b${run}`, scopes: members, nodes: [], parent: s });
        else single.push(...members);
      }
      plain(single, []);
      const same = new Map();
      for (const n of direct[s]) {
        const key = `m${s}_${N.type[n]}_${N.device[n]}`;
        if (!same.has(key)) same.set(key, []);
        same.get(key).push(n);
      }
      for (const [key, nodes] of same) {
        if (nodes.length > 2 && !unbundled.has(key)) made.push({ kind: "bundle", id: key, key, scopes: [], nodes, parent: s });
        else plain([], nodes);
      }
      const room = Math.max(fair, CAP - (total - before));
      if (made.length > room) {
        const rest = made.splice(room - 1);
        const all = { scopes: rest.flatMap((box) => box.scopes), nodes: rest.flatMap((box) => box.nodes) };
        made.push({ kind: "bundle", id: `r${s}`, key: "", rest: true, parent: s, ...all });
      }
      total -= before - made.length;
    }
    boxes.push(...made);
  }
  const ofScope = new Int32Array(S.name.length).fill(-1);
  const boxOf = new Int32Array(COUNT).fill(-1);
  boxes.forEach((box, b) => {
    for (const c of box.scopes) ofScope[c] = b;
    for (const n of box.nodes) boxOf[n] = b;
  });
  const slots = DATA.devices.length;
  const shares = boxes.map(() => new Int32Array(slots));
  for (const box of boxes) Object.assign(box, { unmet: 0, guilty: 0, count: 0, requests: new Set() });
  for (let n = 0; n < COUNT; n += 1) {
    if (boxOf[n] < 0) boxOf[n] = ofScope[shown[N.scope[n]]];
    const box = boxes[boxOf[n]];
    box.count += 1;
    shares[boxOf[n]][N.device[n] < 0 ? slots - 1 : N.device[n]] += 1;
    if (unmet.has(n)) box.unmet += 1;
    if (guilty.has(n)) box.guilty += 1;
    if (requestOf(n) && box.requests.size < 6) box.requests.add(requestOf(n));
  }
  boxes.forEach((box, b) => {
    box.shares = [...shares[b]].map((n, d) => [d, n]).filter(([, n]) => n).sort((x, y) => y[1] - x[1]);
  });
  return { boxes, boxOf, open };
}

/** Edges between boxes, those of one pair together. */
function linksOf(boxes, boxOf) {
  const found = new Map();
  for (let e = 0; e < E.src.length; e += 1) {
    const [a, b] = [boxOf[E.src[e]], boxOf[E.dst[e]]];
    if (a === b) continue;
    const key = a * boxes.length + b;
    let link = found.get(key);
    if (!link) found.set(key, (link = { src: boxes[a].id, dst: boxes[b].id, tensors: 0, controls: 0, sent: new Set(), edges: [] }));
    if (E.output[e] < 0) link.controls += 1;
    else link.tensors += 1;
    if (copySet.has(e)) link.sent.add(`${E.src[e]}:${E.output[e]}:${N.device[E.dst[e]]}:${E.fact[e]}`);
    if (link.edges.length < 2) link.edges.push(e);
  }
  return [...found.values()];
}

// ------------------------------------------------------------------------------------------------------- the picture
const esc = (text) => String(text).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
const short = (text, most = 28) => {
  const chars = [...text];
  if (chars.length <= most) return text;
  const tail = (most - 1) >> 1;
  return `${chars.slice(0, most - 1 - tail).join("")}…${chars.slice(chars.length - tail).join("")}`;
};
const ruler = document.createElement("canvas").getContext("2d");
function widthOf(text, size, bold) {
  ruler.font = `${bold ? "bold " : ""}${size}px Arial, Helvetica, "Liberation Sans", sans-serif`;
  return ruler.measureText(text).width;
}

function linesOf(box) {
  if (box.kind === "op") {
    const n = box.nodes[0];
    const request = requestOf(n);
    const ink = tintOf(n).ink ?? INK;
    const lines = [[short(localName(n)), 11, ink, true], [short(`${typeOf(n)} · ${lookOf(n).label}`, 36), 9, ink]];
    if (saidOf(n)) lines.push([saidOf(n), 9, ink]);
    if (request) lines.push([`${unmet.has(n) ? "≠ asked" : "asked"} ${short(request)}`, 9, ink]);
    if (guilty.has(n)) lines.push(["✖ cannot be placed", 9, colour ? ink : "#9c1048", true]);
    return lines;
  }
  const lines = [[`▸ ${short(labelOf(box))}`, 11, INK, true], [counted(box.count, "node"), 9, FAINT], ["bar"]];
  const total = totalOf(box);
  lines.push([total ? `${total} in all` : tintText(tintsOf(box)), 9, INK]);
  if (box.unmet) lines.push([`≠ ${counted(box.unmet, "request")} not met`, 9, "#c2185b"]);
  if (box.guilty) lines.push([`✖ ${number(box.guilty)} cannot be placed`, 9, "#c2185b"]);
  return lines;
}

function labelOf(box) {
  if (box.rest) return "everything else";
  if (box.kind === "scope") return S.name[box.scopes[0]];
  if (box.scopes.length) return `${S.name[box.scopes[0]]} … ${S.name[box.scopes.at(-1)]} × ${box.scopes.length}`;
  return box.nodes.length ? `${typeOf(box.nodes[0])} × ${box.nodes.length}` : "";
}

function shareText(shares, most = 3) {
  const told = shares.slice(0, most).map(([d, n]) => `${deviceAt(d).label} ${number(n)}`);
  if (shares.length > most) told.push(`+${shares.length - most}`);
  return told.join(" · ");
}

const BAR = 96;
const lineHeight = ([text, size]) => (text === "bar" ? 12 : size + 4);

function tipOf(box) {
  if (box.kind === "op") {
    const n = box.nodes[0];
    const request = requestOf(n);
    const said = colour ? `\n${colour.title}: ${saidOf(n) || tintOf(n).label}` : "";
    const asked = request ? `\nasked for ${request}${unmet.has(n) ? ", which was not met" : ""}` : "";
    return `${nameOf(n)}\n${typeOf(n)} on ${lookOf(n).name || "no device"}${asked}${said}`;
  }
  const name = box.kind === "scope" ? paths[box.scopes[0]] : labelOf(box);
  const more = box.rest ? "" : "\ndouble-click, or Enter, to unfold";
  return `${name}\n${counted(box.count, "node")}: ${shareText(box.shares, 99)}${more}`;
}

function shape(x, y, w, h, look, attributes) {
  if (look.corners === "round") return `<path ${attributes} d="${rounded(x, y, w, h, Math.min(10, h / 3))}"/>`;
  if (look.corners === "cut") {
    const c = 7;
    const points = [[x + c, y], [x + w - c, y], [x + w, y + c], [x + w, y + h - c], [x + w - c, y + h], [x + c, y + h], [x, y + h - c], [x, y + c]];
    return `<polygon ${attributes} points="${points.map((p) => p.join(",")).join(" ")}"/>`;
  }
  return `<polygon ${attributes} points="${x},${y} ${x + w},${y} ${x + w},${y + h} ${x},${y + h}"/>`;
}

function rounded(x, y, w, h, r) {
  return `M${x + r},${y}H${x + w - r}Q${x + w},${y} ${x + w},${y + r}V${y + h - r}Q${x + w},${y + h} ${x + w - r},${y + h}H${x + r}Q${x},${y + h} ${x},${y + h - r}V${y + r}Q${x},${y} ${x + r},${y}Z`;
}

function boxSvg(item) {
  const { box, x, y, w, h } = item;
  const isOp = box.kind === "op";
  const look = isOp ? { ...lookOf(box.nodes[0]), fill: tintOf(box.nodes[0]).fill } : { corners: "round", fill: "#ffffff", outlines: box.kind === "bundle" ? 2 : 1 };
  const classes = ["node", box.kind, box.unmet ? "unmet" : "", box.guilty ? "guilty" : ""].filter(Boolean).join(" ");
  const stroke = box.guilty || (isOp && box.unmet) ? "#c2185b" : FRAME;
  const pen = box.guilty ? 3 : isOp && box.unmet ? 2.2 : 1.1;
  const dash = isOp && box.unmet ? ' stroke-dasharray="5,2"' : "";
  const parts = [];
  for (let k = 0; k < look.outlines; k += 1) {
    const inset = 3 * k;
    const attributes = `fill="${look.fill}" stroke="${stroke}" stroke-width="${pen}"${dash}`;
    parts.push(shape(x + inset, y + inset, w - 2 * inset, h - 2 * inset, look, attributes));
  }
  let top = y + 6 + 2 * (look.outlines - 1);
  for (const line of item.lines) {
    const height = lineHeight(line);
    if (line[0] === "bar") {
      let left = x + (w - BAR) / 2;
      for (const [tint, n] of tintsOf(box)) {
        const wide = (BAR * n) / box.count;
        parts.push(`<rect x="${left}" y="${top + 2}" width="${Math.max(2, wide)}" height="8" fill="${tint.fill}"${tint.fill === "#ffffff" ? ` stroke="${FRAME}" stroke-width="0.6"` : ""}/>`);
        left += wide;
      }
    } else {
      const [text, size, fill, bold] = line;
      const weight = bold ? ' font-weight="bold"' : "";
      parts.push(`<text text-anchor="middle" x="${x + w / 2}" y="${top + size}" font-size="${size}"${weight} fill="${fill}">${esc(text)}</text>`);
    }
    top += height;
  }
  return `<g id="${box.id}" class="${classes}"><title>${box.id}</title><g><a xlink:title="${esc(tipOf(box))}">${parts.join("")}</a></g></g>`;
}

function frameSvg(frame) {
  const s = frame.scope;
  const tip = `${paths[s]}\n${counted(inside[s], "node")}, open: double-click to fold`;
  return (
    `<g id="c${s}" class="cluster open"><title>cluster_${s}</title><g><a xlink:title="${esc(tip)}">` +
    `<path fill="#f5f7fa" stroke="${FRAME}" stroke-width="0.8" d="${rounded(frame.x, frame.y, frame.w, frame.h, 8)}"/>` +
    `<text x="${frame.x + 10}" y="${frame.y + 15}" font-size="10" font-weight="bold" fill="${FAINT}">${esc(short(S.name[s], 40))}</text></a></g></g>`
  );
}

/** Links with one pair of ends are one line; told is what its label and tip say. */
function linkLook(link) {
  const copies = link.sent.size;
  const facts = [...link.sent].map((key) => DATA.edges.facts[Number(key.split(":")[3])]);
  const known = facts.every((fact) => fact && fact[1] !== null);
  const size = copies && known ? bytes(facts.reduce((sum, fact) => sum + fact[1], 0)) : "";
  const single = link.tensors === 1 && link.edges.length === 1 ? DATA.edges.facts[E.fact[link.edges[0]]]?.[0] : null;
  const only = link.tensors + link.controls === 1 ? link.edges[0] : null;
  const ends = only === null ? "" : `${E.output[only] < 0 ? "^" : ""}${nameOf(E.src[only])}${E.output[only] < 0 ? "" : `:${E.output[only]}`} → ${nameOf(E.dst[only])}`;
  const name = ends || `${counted(link.tensors, "tensor")}, ${counted(link.controls, "control edge")}`;
  if (copies) {
    const what = copies === 1 && single ? single : counted(copies, "copy", "copies");
    return { kind: "copy", label: [what, size].filter(Boolean), tip: `${name}\ncopied between devices: ${what}${size ? `, ${size}` : ""}`, width: 1.5 + Math.min(2.5, Math.log10(copies)) };
  }
  if (link.tensors) return { kind: "", label: [], tip: `${name}\n${single ?? counted(link.tensors, "tensor")}`, width: 1.1 + Math.min(2.5, Math.log10(link.tensors)) };
  return { kind: "control", label: [], tip: `${name}\n${counted(link.controls, "control edge")}`, width: 1 };
}

/** A curve through the points, upright at each. */
function wireOf(link, a, b, bends) {
  const look = linkLook(link);
  const colour = look.kind === "copy" ? "#a8431a" : "#6b7480";
  const isBack = b.y < a.y + a.h;
  const points = isBack
    ? [{ x: a.x + a.w, y: a.y + a.h / 2 }, { x: b.x + b.w + 5, y: b.y + b.h / 2 }]
    : [{ x: a.x + a.w / 2, y: a.y + a.h }, ...bends.filter((p) => p.y >= a.y + a.h && p.y <= b.y), { x: b.x + b.w / 2, y: b.y - 5 }];
  const segments = points.slice(1).map((to, i) => {
    const from = points[i];
    const bow = isBack ? Math.max(30, Math.abs(to.y - from.y) / 4) : Math.min(60, (to.y - from.y) / 2);
    return isBack
      ? [from, { x: from.x + bow, y: from.y }, { x: to.x + bow, y: to.y }, to]
      : [from, { x: from.x, y: from.y + bow }, { x: to.x, y: to.y - bow }, to];
  });
  const curve = `M${points[0].x},${points[0].y}` + segments.map(([, p, q, to]) => `C${p.x},${p.y} ${q.x},${q.y} ${to.x},${to.y}`).join("");
  const { x, y } = points[points.length - 1];
  const arrow = isBack ? `${x - 5},${y} ${x + 2},${y - 3.5} ${x + 2},${y + 3.5}` : `${x},${y + 5} ${x - 3.5},${y - 2} ${x + 3.5},${y - 2}`;
  const dash = look.kind === "copy" ? ' stroke-dasharray="6,3"' : look.kind === "control" ? ' stroke-dasharray="1.5,3"' : "";
  const hollow = look.kind === "control" ? `fill="none" stroke="${colour}"` : `fill="${colour}" stroke="none"`;
  const shape = `<path fill="none" stroke="${colour}" stroke-width="${look.width.toFixed(2)}"${dash} d="${curve}"/><polygon ${hollow} points="${arrow}"/>`;
  return { link, look, colour, shape, samples: segments.flatMap(sampled) };
}

/** Points along a curve, close enough that none passes a label unseen. */
function sampled([from, p, q, to]) {
  const count = Math.max(4, Math.ceil(Math.hypot(to.x - from.x, to.y - from.y) / 4));
  return Array.from({ length: count + 1 }, (_, i) => {
    const t = i / count;
    const u = 1 - t;
    const mix = (axis) => u * u * u * from[axis] + 3 * u * u * t * p[axis] + 3 * u * t * t * q[axis] + t * t * t * to[axis];
    return { x: mix("x"), y: mix("y") };
  });
}

/** The wire with its label, which is put where there is neither a box nor a label, and the fewest lines. */
function linkSvg({ link, look, colour, shape, samples }, labels, rows) {
  const at = look.label.length ? freePlace(look.label, samples, labels, rows) : null;
  const text = at ? look.label.map((line, i) => `<text text-anchor="start" x="${at.x}" y="${at.y + 9 + 11 * i}" font-size="9" fill="${colour}" class="gp-halo">${esc(line)}</text>`).join("") : "";
  return (
    `<g class="edge ${look.kind}"><title>${link.src}-&gt;${link.dst}</title><g><a xlink:title="${esc(look.tip)}">` +
    `${shape}${text}</a></g></g>`
  );
}

/** A place beside the curve for a label; null where each has a box or a label already. */
function freePlace(lines, samples, taken, rows) {
  const w = Math.max(...lines.map((line) => widthOf(line, 9)));
  const h = 11 * lines.length + 2;
  let best = null;
  let least = Infinity;
  for (const t of [0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8]) {
    const on = samples[Math.round(t * (samples.length - 1))];
    for (const aside of [5, 14, 26]) {
      for (const x of [on.x + aside, on.x - aside - w]) {
        const place = { x, y: on.y - h / 2, w, h };
        const hits = (other) => x < other.x + other.w && other.x < x + w && place.y < other.y + other.h && other.y < place.y + h;
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
  for (let band = Math.floor(y / BAND); band <= Math.floor((y + h) / BAND); band += 1) {
    for (const point of rows.get(band) ?? []) {
      if (x - 2 < point.x && point.x < x + w + 2 && y < point.y && point.y < y + h) count += 1;
    }
  }
  return count;
}

function merged(links, ends) {
  const found = new Map();
  for (const link of links) {
    const [src, dst] = ends(link);
    const key = `${src} ${dst}`;
    const known = found.get(key);
    if (!known) {
      found.set(key, { ...link, src, dst });
      continue;
    }
    known.tensors += link.tensors;
    known.controls += link.controls;
    known.sent = new Set([...known.sent, ...link.sent]);
    known.edges = [...known.edges, ...link.edges].slice(0, 2);
  }
  return [...found.values()];
}

function drawing(opened, unbundled) {
  const { boxes, boxOf, open } = boxesOf(opened, unbundled);
  const byId = new Map(boxes.map((box) => [box.id, box]));
  const frames = new Map(open.map((s) => [s, { id: `c${s}`, scope: s, label: S.name[s], items: [] }]));
  const items = new Map();
  for (const box of boxes) {
    const lines = linesOf(box);
    const widths = lines.map((line) => (line[0] === "bar" ? BAR : widthOf(line[0], line[1], line[3])));
    const outlines = box.kind === "op" ? lookOf(box.nodes[0]).outlines : box.kind === "bundle" ? 2 : 1;
    const grow = 2 * 2 * (outlines - 1);
    const item = { id: box.id, box, lines, w: Math.ceil(Math.max(...widths) + 18 + grow), h: lines.reduce((sum, line) => sum + lineHeight(line), 12 + grow) };
    items.set(box.id, item);
    frames.get(box.parent).items.push(item);
  }
  for (const s of [...open].reverse()) {
    if (s && frames.get(s).items.length) frames.get(S.parent[s]).items.unshift(frames.get(s));
  }
  const root = frames.get(0);
  let links = linksOf(boxes, boxOf);
  const above = place(root, links.map((link) => [link.src, link.dst]));
  const at = new Map(items);
  for (const frame of frames.values()) at.set(frame.id, frame);
  const drawnAs = new Map(); // a line between two boxes -> the line between frames around them that stands for it
  if (boxes.length >= DEEP_FROM) {
    links = merged(links, (link) => {
      const pair = siblings(above, link.src, link.dst);
      if (pair) drawnAs.set(`${link.src}->${link.dst}`, `${pair.src}->${pair.dst}`);
      return pair ? [pair.src, pair.dst] : [link.src, link.dst];
    });
  }
  const parts = [];
  for (const s of open) if (s && frames.get(s).items.length) parts.push(frameSvg(frames.get(s)));
  const labels = [...items.values()].map(({ x, y, w, h }) => ({ x, y, w, h }));
  const wires = links.map((link) => {
    const pair = siblings(above, link.src, link.dst);
    return wireOf(link, at.get(link.src), at.get(link.dst), pair?.frame.bends.get(`${pair.src}\n${pair.dst}`) ?? []);
  });
  const rows = bandsOf(wires);
  for (const wire of wires) parts.push(linkSvg(wire, labels, rows));
  for (const item of items.values()) parts.push(boxSvg(item));
  const [w, h] = [Math.max(root.w, 80), Math.max(root.h, 60)];
  const svg =
    `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 ${w} ${h}"` +
    ` font-family="Arial,Helvetica,'Liberation Sans',sans-serif"><g class="graph">${parts.join("")}</g></svg>`;
  const endsOf = (src, dst) => drawnAs.get(`${src}->${dst}`) ?? `${src}->${dst}`;
  return { svg, boxes, boxOf, byId, items, w, h, endsOf };
}

// --------------------------------------------------------------------------------- what the picture asks of "Python"
function fill(text, n) {
  const scope = paths[N.scope[n]];
  const own = nameOf(n);
  const above = own === scope ? own.slice(0, Math.max(0, own.lastIndexOf("/"))) : scope;
  return text.replaceAll("\x02", own).replaceAll("\x01", `${above}/`);
}

function reasonOf(n) {
  const reasons = DATA.reasons;
  if (!reasons) return null;
  const [steps, remedies, ties, decider, refused, made, like] = reasons.records[reasons.of[n]];
  const who = like < 0 ? n : like;
  const text = (i) => fill(reasons.strings[i], who);
  return {
    like: like < 0 || like === n ? "" : nameOf(like),
    steps: steps.map((i) => {
      const [rule, note, after] = reasons.steps[i];
      return { rule: text(rule), note: text(note), after: after.slice(0, NEIGHBOURS).map((d) => lookNamed(text(d))) };
    }),
    remedies: remedies.map(([kind, told]) => [text(kind), text(told)]),
    ties: ties.map(text),
    decider: text(decider),
    refused: text(refused),
    made: text(made),
  };
}

const looksByLabel = new Map(DATA.devices.flatMap((look) => [[look.label, look], [look.name, look]]));
const lookNamed = (label) => looksByLabel.get(label) ?? { label, fill: "#ffffff", corners: "square", outlines: 1 };
const unique = (list) => [...new Set(list)];

function cardOf(n) {
  const reason = reasonOf(n);
  const inputs = unique(incoming.of(n).map((e) => E.src[e]));
  const outputs = unique(outgoing.of(n).map((e) => E.dst[e]));
  const group = groupOf.has(n) ? DATA.groups[groupOf.get(n)] : null;
  const scope = N.scope[n];
  const asIs = reason?.like ? `As for ${reason.like}, which has the same op, types, request and device: ` : "";
  const steps = reason?.steps.map((step, i) => (i || !asIs ? step : { ...step, note: asIs + step.note })) ?? [];
  if (reason?.refused) steps.push({ rule: "refused", note: reason.refused, after: [] });
  return {
    name: nameOf(n),
    kind: typeOf(n) + (reason?.made ? `, made from ${reason.made}` : ""),
    devices: [{ ...lookOf(n), text: lookOf(n).label }],
    requested: requestOf(n),
    met: requestOf(n) ? N.device[n] >= 0 && !unmet.has(n) : null,
    source: sourceOf(n),
    attrs: attrsOf(n),
    reason: reason ? "" : "A log says where an op is, but not why.",
    steps,
    remedies: reason?.remedies ?? [],
    group: group ? group[0].filter((m) => m !== n).slice(0, NEIGHBOURS).map(nameOf) : [],
    decided_by: group ? reason?.decider ?? "" : "",
    inputs: inputs.slice(0, NEIGHBOURS).map(nameOf),
    more_inputs: Math.max(0, inputs.length - NEIGHBOURS),
    outputs: outputs.slice(0, NEIGHBOURS).map(nameOf),
    more_outputs: Math.max(0, outputs.length - NEIGHBOURS),
    toggle: scope ? `c${scope}` : "",
    toggle_text: scope ? `Fold ${paths[scope]}` : "",
  };
}

function boxCard(box) {
  const kinds = { scope: "name scope", bundle: box.rest ? "what is left" : box.scopes.length ? `${box.scopes.length} equal scopes` : "ops of one kind" };
  const asked = box.requests.size ? `asked for inside: ${[...box.requests].join(", ")}` : "nothing inside asks for a device";
  return {
    name: box.kind === "scope" ? paths[box.scopes[0]] : labelOf(box),
    kind: `${kinds[box.kind]}, ${counted(box.count, "node")}`,
    devices: box.shares.map(([d, n]) => ({ ...deviceAt(d), text: `${deviceAt(d).label}: ${number(n)}` })),
    requested: "", met: null, source: "", steps: [], remedies: [], group: [], decided_by: "",
    reason: box.unmet ? `${asked}\n${counted(box.unmet, "request")} not met` : asked,
    inputs: [], more_inputs: 0, outputs: [], more_outputs: 0,
    toggle: box.rest ? "" : box.id,
    toggle_text: "Unfold",
  };
}

function searcher(pattern) {
  try {
    return new RegExp(pattern, "i");
  } catch {
    return new RegExp(pattern.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "i");
  }
}

/** Stands in for the widget's model: the same traits and messages, answered here. */
class Model {
  constructor() {
    this.state = {};
    this.heard = {};
    this.opened = new Set(S.open);
    this.unbundled = new Set();
    this.selected = "";
    this.last = "";
    this.light = "";
    this.state.lights = lightChoices();
    this.start = new Set(S.open);
    this.paint();
  }

  get(name) {
    return this.state[name] ?? (name === "detail" ? {} : ["legend", "notes", "lights"].includes(name) ? [] : ["lit"].includes(name) ? {} : "");
  }

  on(event, callback) {
    (this.heard[event] ??= []).push(callback);
  }

  off() {}

  set(values) {
    for (const [name, value] of Object.entries(values)) {
      if (this.state[name] === value) continue;
      this.state[name] = value;
      for (const callback of this.heard[`change:${name}`] ?? []) callback();
    }
  }

  paint() {
    this.drawn = drawing(this.opened, this.unbundled);
    const devices = DATA.devices.filter((look) => look.nodes || look.name).map((look) => ({ ...look, count: look.nodes }));
    const legend = colour ? colour.categories : devices;
    const notes = colour ? [["plain", `coloured by ${colour.title}`]] : [];
    if (DATA.copies.length) notes.push(["copy", `╌╌ ${DATA.copyText}`]);
    if (unmet.size) notes.push(["alarm", `≠ ${counted(unmet.size, "request")} not met`]);
    if (guilty.size) notes.push(["alarm", `✖ ${counted(guilty.size, "node")} cannot be placed`]);
    if (COUNT > this.drawn.boxes.length) notes.push(["plain", `▸ ${counted(COUNT, "node")} in ${counted(this.drawn.boxes.length, "box", "boxes")}`]);
    this.set({ svg: this.drawn.svg, legend, notes, summary: DATA.summary });
    this.mark();
    requestAnimationFrame(() => this.magnify());
  }

  /** Where the whole picture would be too small to read: the part around the selected box, else its top. */
  magnify() {
    const svg = document.querySelector("#graph .gp-canvas > svg");
    if (!svg) return;
    const view = svg.parentElement.getBoundingClientRect();
    const { w, h } = this.drawn;
    if (Math.min(view.width / w, view.height / h) > LEAST_SCALE) return;
    const box = svg.viewBox.baseVal;
    if (box.width < 0.98 * w || svg.parentElement.querySelector(".gp-map")) return; // the view does it itself
    box.width = Math.min(w, view.width / (2 * LEAST_SCALE));
    box.height = view.height / (2 * LEAST_SCALE);
    const item = this.drawn.items.get(this.state.selected_box);
    const [x, y] = item ? [item.x + item.w / 2, item.y + item.h / 2] : [w / 2, box.height / 2];
    box.x = x - box.width / 2;
    box.y = Math.max(-10, y - box.height / 2);
  }

  mark() {
    const n = this.selected ? nodeAt(this.selected) : -1;
    const box = n >= 0 ? this.drawn.boxes[this.drawn.boxOf[n]] : this.drawn.byId.get(this.selectedBox ?? "");
    const chosen = n >= 0 ? `n${n}` : "";
    this.set({ selected_box: box?.id ?? "", detail: n >= 0 ? cardOf(n) : box ? boxCard(box) : {} });
    for (const listener of this.heard.selected ?? []) listener(n);
    this.shine();
    if (chosen) history.replaceState(null, "", `#${encodeURIComponent(this.selected)}`);
  }

  /** Lights what is chosen; boxes, edges and tables follow. */
  shine() {
    const key = `${this.light} ${this.selected} ${this.selectedBox ?? ""} ${this.light === "matches" ? this.last : ""}`;
    if (this.litKey !== key) {
      this.litKey = key;
      this.lit = litBy(this.light, this.starts(), this.selected || this.state.detail?.name || "", this.last);
      for (const listener of this.heard.lit ?? []) listener();
    }
    this.set({ lit: litBoxes(this.lit, this.drawn) });
  }

  /** Nodes that are selected: an op, or those of a folded box. */
  starts() {
    const n = this.selected ? nodeAt(this.selected) : -1;
    if (n >= 0) return [n];
    const b = this.drawn.boxes.findIndex((box) => box.id === this.selectedBox);
    return b < 0 ? [] : N.name.map((_, i) => i).filter((i) => this.drawn.boxOf[i] === b);
  }

  select(name) {
    this.selected = name;
    this.selectedBox = "";
    this.mark();
  }

  /** Opens the way to a node and selects it. */
  reveal(n) {
    for (let s = N.scope[n]; s; s = S.parent[s]) this.opened.add(s);
    this.unbundled.add(`m${N.scope[n]}_${N.type[n]}_${N.device[n]}`);
    this.selected = nameOf(n);
    this.selectedBox = "";
    this.paint();
  }

  send(message) {
    if (message.type === "select" && message.name !== undefined) {
      const n = nodeAt(message.name);
      if (n >= 0) this.reveal(n);
    } else if (message.type === "select") {
      const box = this.drawn.byId.get(message.id);
      if (box?.kind === "op") this.select(nameOf(box.nodes[0]));
      else {
        this.selected = "";
        this.selectedBox = message.id;
        this.mark();
      }
    } else if (message.type === "toggle") {
      this.toggle(message.id);
    } else if (message.type === "find") {
      this.find(message.text);
    } else if (message.type === "light") {
      if (message.only === undefined) this.light = message.what;
      else {
        this.set({ lit_only: message.only });
        for (const listener of this.heard.lit ?? []) listener();
      }
      this.shine();
    } else if (message.type === "colour") {
      setColour(message.name);
      this.paint();
    } else if (message.type === "fold") {
      this.opened = message.how === "all" ? new Set() : new Set(this.start);
      this.unbundled.clear();
      this.paint();
    }
  }

  toggle(id) {
    const box = this.drawn.byId.get(id);
    if (box?.kind === "bundle" && box.key) this.unbundled.add(box.key);
    else if (box?.kind === "scope") this.opened.add(box.scopes[0]);
    else if (id.startsWith("c")) {
      const s = Number(id.slice(1));
      for (const open of [...this.opened]) if (open === s || paths[open].startsWith(`${paths[s]}/`)) this.opened.delete(open);
    }
    this.paint();
  }

  /** The next match behind the last one. */
  find(text) {
    if (!text) return;
    const pattern = searcher(text);
    const from = this.last === text && this.selected ? nodeAt(this.selected) + 1 : 0;
    this.last = text;
    if (this.light === "matches") this.shine();
    for (let k = 0; k < COUNT; k += 1) {
      const n = (from + k) % COUNT;
      if (pattern.test(nameOf(n))) return void this.reveal(n);
    }
    this.set({ detail: { hint: `No op's name matches ${text}` }, selected_box: "" });
  }
}
