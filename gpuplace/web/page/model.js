// What the picture's view asks of Python in a notebook, answered here: the same traits and messages.

import { boxCard, cardOf } from "gpuplace/page/cards.js";
import { colour, setColour } from "gpuplace/page/colours.js";
import { callsOf, COUNT, DATA, guilty, N, nameOf, nodeAt, paths, S, unmet } from "gpuplace/page/columns.js";
import { lightChoices, litBoxes, litBy } from "gpuplace/page/lights.js";
import { addressOf, hasBody, open, trail } from "gpuplace/page/data.js";
import { drawing } from "gpuplace/page/picture.js";
import { counted, searcher, words } from "gpuplace/text.js";

const LEAST_SCALE = 0.6; // of a picture that is shown whole
const UNSET = { detail: {}, legend: [], notes: [], lights: [], lit: {} };

/** Stands in for the widget's model: the same traits and messages, answered here. */
export class Model {
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
    return this.state[name] ?? UNSET[name] ?? "";
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
    const devices = DATA.devices.filter((look) => look.nodes || look.name).map((look) => ({
      ...look,
      count: look.nodes,
    }));
    const legend = colour ? colour.categories : devices;
    const notes = colour ? [["plain", `coloured by ${colour.title}`]] : [];
    const boxes = this.drawn.boxes.length;
    if (DATA.copies.length) notes.push(["copy", `╌╌ ${DATA.copyText}`]);
    if (unmet.size) notes.push(["alarm", words("note_unmet", { requests: counted(unmet.size, "request") })]);
    if (guilty.size) notes.push(["alarm", words("note_guilty", { nodes: counted(guilty.size, "node") })]);
    if (COUNT > boxes) {
      notes.push([
        "plain",
        words("note_folded", { nodes: counted(COUNT, "node"), boxes: counted(boxes, "box", "boxes") }),
      ]);
    }
    this.set({ svg: this.drawn.svg, legend, notes, summary: DATA.summary });
    this.mark();
    requestAnimationFrame(() => this.magnify());
  }

  /** Where the whole picture would be too small to read: the part around the selected box, else its top. */
  magnify() {
    const svg = /** @type {SVGSVGElement} */ (document.querySelector("#graph .gp-canvas > svg"));
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
    if (chosen) history.replaceState(null, "", addressOf(trail, this.selected));
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
    } else if (message.type === "open") {
      this.openCall(message);
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
      for (const open of [...this.opened]) {
        if (open === s || paths[open].startsWith(`${paths[s]}/`)) this.opened.delete(open);
      }
    }
    this.paint();
  }

  /** Shows the body of a function, or of the first one that an op's box calls. */
  openCall({ function: named, id }) {
    const box = this.drawn.byId.get(id ?? "");
    const name = named ?? (box?.kind === "op" ? callsOf(box.nodes[0])[0]?.[1] : undefined);
    if (name === undefined) return;
    const before = trail.indexOf(name);
    if (hasBody(name)) open(before < 0 ? [...trail, name] : trail.slice(0, before + 1));
    else this.set({ detail: { hint: words("no_body", { function: name }) } });
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
    this.set({ detail: { hint: words("no_match", { pattern: text }) }, selected_box: "" });
  }
}
