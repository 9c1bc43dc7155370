// The page's picture by device: boxes taken apart by the devices of their nodes, as gpuplace/views/picture/lanes.py does.

import { lanesPicture } from "gpuplace/drawing/lanes.js";
import { linkLook, together } from "gpuplace/drawing/lines.js";
import { boxesOf, linksOf } from "gpuplace/page/boxes.js";
import { DATA, deviceOf, guilty, paths, requestOf, S, unmet } from "gpuplace/page/columns.js";
import { nodesOf } from "gpuplace/page/colours.js";
import { faceOf } from "gpuplace/page/picture.js";
import { copyRow, named } from "gpuplace/page/words.js";
import { RULES } from "gpuplace/rules.js";
import { counted, shortened, words } from "gpuplace/text.js";

const { small: SMALL, name_letters: SCOPE_LETTERS } = RULES.text;
const FAINT = RULES.colours.themes.light.faint;
const shelves = new Set(S.shelves);

/** Each box as its shares of the devices, and the share that each node is in. A box of one device stays as it is. */
function sharesOf({ boxes, boxOf }) {
  const parts = [];
  const at = new Map();
  for (const box of boxes) {
    for (const [device, count] of [...box.shares].sort((a, b) => a[0] - b[0])) {
      at.set(`${box.id}~${device}`, parts.length);
      parts.push(box.shares.length === 1 ? { ...box, lane: device } : shareOf(box, device, count));
    }
  }
  return { boxes: parts, boxOf: boxOf.map((b, n) => at.get(`${boxes[b].id}~${deviceOf(n)}`)) };
}

function shareOf(box, device, count) {
  const nodes = nodesOf(box).filter((n) => deviceOf(n) === device);
  return {
    ...box,
    id: `${box.id}~${device}`,
    lane: device,
    of: box.count,
    count,
    shares: [[device, count]],
    nodes: box.scopes.length ? box.nodes : nodes,
    unmet: nodes.filter((n) => unmet.has(n)).length,
    guilty: nodes.filter((n) => guilty.has(n)).length,
    requests: new Set(nodes.map(requestOf).filter(Boolean).slice(0, 6)),
  };
}

/** What is seen of a box in its lane: also the open scope that it lies in. */
function laneFaceOf(box) {
  const face = faceOf(box);
  const names = face.lines.filter(([, size]) => size === RULES.text.title);
  for (const line of names) line[0] = shortened(line[0], RULES.lanes.letters);
  const where = paths[box.parent];
  if (where) {
    const ink = box.kind === "op" ? face.lines[0][2] : FAINT;
    face.lines.splice(names.length, 0, [words("lane_scope", { scope: shortened(where, SCOPE_LETTERS) }), SMALL, ink]);
  }
  return { ...face, isLast: shelves.has(box.scopes[0]) };
}

function laneLook(device) {
  const { label, name, nodes, copies, bytes, fill, ink } = DATA.devices[device];
  const received = counted(copies, "copy", "copies");
  const [size, more] = bytes.split(" and "); // a lane is narrow
  const told = words("lane_bytes", { copies: received, size: more ? `${size} …` : size });
  const texts = [counted(nodes, "node"), ...(copies ? [told] : [])];
  const task = name.slice(0, Math.max(0, name.indexOf("/device:")));
  return { label, texts, fill, ink, task, nodes };
}

/** Links with their looks. What goes from one box to one lane has one label, as a tensor goes to a device once. */
function labeledByLane(links, byId) {
  const groups = new Map();
  for (const link of links) {
    const key = `${link.src} ${byId.get(link.dst).lane}`;
    groups.set(key, [...(groups.get(key) ?? []), link]);
  }
  return [...groups.values()].flatMap((group) => {
    const label = linkLook(group.length > 1 ? together(group) : named(group[0]), copyRow).label.join(" · ");
    let isFirst = true;
    return group.map((link) => {
      const look = linkLook(named(link), copyRow);
      const own = label && isFirst && look.kind === "copy";
      if (own) isFirst = false;
      return { src: link.src, dst: link.dst, rank: link.rank, look: { ...look, label: own ? [label] : [] } };
    });
  });
}

/** The picture for the open scopes and bundles, as in picture.js; and `shares`, what its boxes are. */
export function lanesDrawing(opened, unbundled, wanted) {
  const whole = boxesOf(opened, unbundled, wanted.stay);
  const { boxes, boxOf } = sharesOf(whole);
  const devices = DATA.devices.map((_, d) => d).filter((d) => DATA.devices[d].nodes || DATA.devices[d].name);
  const lane = new Map(devices.map((device, i) => [device, i]));
  const links = labeledByLane(linksOf(boxes, boxOf, wanted.backward), new Map(boxes.map((box) => [box.id, box])));
  const faces = boxes.map((box) => ({ ...laneFaceOf(box), lane: lane.get(box.lane) }));
  const { svg, w, h } = lanesPicture({ lanes: devices.map(laneLook), boxes: faces, links }, wanted);
  const byId = new Map(whole.boxes.map((box) => [box.id, box]));
  return { svg, w, h, ...whole, byId, shares: { boxes, boxOf }, placed: null, nameOf: (id) => id };
}
