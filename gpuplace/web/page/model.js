// What the picture's view asks of Python in a notebook, answered here: the same traits and messages.

import { fitted } from "gpuplace/drawing/nested.js";
import { boxCard, cardOf } from "gpuplace/page/cards.js";
import { colour, setColour } from "gpuplace/page/colours.js";
import {
  callsOf,
  children,
  COUNT,
  DATA,
  direct,
  guilty,
  isTraining,
  N,
  nameOf,
  nodeAt,
  S,
  unmet,
} from "gpuplace/page/columns.js";
import { lightChoices, litBoxes, litBy } from "gpuplace/page/lights.js";
import { hasBody, open, trail } from "gpuplace/page/data.js";
import { lanesDrawing } from "gpuplace/page/lanes.js";
import { drawing } from "gpuplace/page/picture.js";
import { differsText } from "gpuplace/page/words.js";
import { RULES } from "gpuplace/rules.js";
import { counted, grouped, searcher, words } from "gpuplace/text.js";

const { bundle_from: ROOMY, few: FEW, tries: TRIES } = RULES.folding;
const STRIPS = ["forward", "backward", "update"];
const TOLD_MS = 150;
const UNSET = { detail: {}, scene: {}, legend: [], notes: [], lights: [], lit: {}, found: {} };

const DRAWN = { graph: drawing, devices: lanesDrawing };

/** What opens the bundle that an op is in. */
const bundleKey = (n) => `m${N.scope[n]}_${N.type[n]}_${N.device[n]}`;
const sameSet = (one, other) => one.size === other.size && [...one].every((item) => other.has(item));

/** The size that a picture should fill; before there is a canvas, that of one with the card beside it. */
function canvasSize() {
  const canvas = document.querySelector("#graph .gp-canvas");
  const [width, height] = [canvas?.clientWidth, canvas?.clientHeight];
  return width && height ? { width, height } : { width: 0.65 * innerWidth, height: Math.min(0.54 * innerHeight, 600) };
}

/** Stands in for the widget's model: the same traits and messages, answered here. */
export class Model {
  constructor() {
    this.state = {};
    this.heard = {};
    this.opened = new Set();
    this.unbundled = new Set();
    this.selected = "";
    this.last = "";
    this.matches = null;
    this.note = "";
    this.light = "";
    this.state.lights = lightChoices();
    this.state.view = "graph";
    this.state.backward = isTraining ? "off" : "";
    this.start = new Set();
    this.room = canvasSize();
    this.telling = 0;
    this.paint();
  }

  /** Opens as much as a canvas of some size has room for, with names that can be read. */
  begin({ width, height }) {
    this.room = { width, height };
    const opened = new Set();
    let shown = 0;
    const fits = (scopes) => {
      const { drawn, size, isSmall } = fitted((aim) => this.draw(new Set([...opened, ...scopes]), aim), this.room);
      if (isSmall) [this.canvas, shown] = [size, drawn.boxes.length];
      return isSmall;
    };
    this.canvas = { width, height };
    fits([]);
    let failures = 0;
    for (const step of S.steps) {
      if (failures === TRIES) break;
      if (step.some((s) => S.parent[s] && !opened.has(S.parent[s]))) continue;
      // Towers and layers are opened together; one of them alone where there is little to see otherwise.
      for (const scopes of step.length > 1 && shown < FEW ? [step, step.slice(0, 1)] : [step]) {
        if (fits(scopes)) {
          for (const s of scopes) opened.add(s);
          break;
        }
        failures += 1;
      }
    }
    this.start = opened;
    this.opened = new Set(opened);
    this.drawn = null; // its shapes were for another canvas
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

  draw(opened, wanted) {
    return DRAWN[this.state.view](opened, this.unbundled, { ...wanted, backward: this.state.backward === "on" });
  }

  /** Shows the graph or its lanes: what was opened stays open, and what opens by itself is what the other has room for. */
  look(view) {
    if (!(view in DRAWN) || view === this.state.view) return;
    const isFirst = sameSet(this.opened, this.start);
    this.drawn = null;
    this.set({ view });
    if (isFirst) this.begin(this.room);
    else this.paint();
  }

  /** Shows the lines of gradients and updates too, or hides them. */
  showBackward(isOn) {
    if (!isTraining) return;
    this.set({ backward: isOn ? "on" : "off" });
    this.paint(this.drawn.boxes);
  }

  /** Draws what is open; `stay` are boxes that are not to go. */
  paint(stay = []) {
    this.size = this.canvas ?? canvasSize();
    const before = this.drawn;
    const named = (id) => before?.nameOf(id) ?? id;
    this.drawn = this.draw(this.opened, { ...this.size, before: before?.placed, named, stay });
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
    if (this.drawn.boxes.some(differsText)) notes.push(["alarm", words("note_differs")]);
    if (DATA.costs) notes.push(["plain", words("note_costs")]);
    if (this.state.backward === "on") notes.push(["plain", words("note_backward")]);
    if (isTraining) notes.push(["plain", words("note_strips", { strips: STRIPS.join(", ") })]);
    if (COUNT > boxes) {
      notes.push([
        "plain",
        words("note_folded", { nodes: counted(COUNT, "node"), boxes: counted(boxes, "box", "boxes") }),
      ]);
    }
    this.set({ svg: this.drawn.svg(), legend, notes, summary: DATA.summary });
    this.mark();
  }

  mark() {
    const n = this.selected ? nodeAt(this.selected) : -1;
    const box = n >= 0 ? this.drawn.boxes[this.drawn.boxOf[n]] : this.drawn.byId.get(this.selectedBox ?? "");
    this.set({ selected_box: box?.id ?? "", detail: n >= 0 ? cardOf(n) : box ? boxCard(box) : {} });
    for (const listener of this.heard.selected ?? []) listener(n);
    this.shine();
    this.tell();
  }

  /** Lights what is chosen; boxes, edges and tables follow. */
  shine() {
    const key = `${this.light} ${this.selected} ${this.selectedBox ?? ""} ${this.light === "matches" ? this.last : ""}`;
    if (this.litKey !== key) {
      this.litKey = key;
      this.lit = litBy(this.light, this.starts(), this.selected || this.state.detail?.name || "", this.last);
      for (const listener of this.heard.lit ?? []) listener();
    }
    this.set({ lit: litBoxes(this.lit, this.drawn.shares ?? this.drawn) });
    this.tell();
  }

  /** Tells who keeps the view, once for changes that come together. */
  tell() {
    clearTimeout(this.telling);
    this.telling = setTimeout(() => (this.heard.view ?? []).forEach((listener) => listener()), TOLD_MS);
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
    this.selected = nameOf(n);
    this.selectedBox = "";
    const box = this.drawn.boxes[this.drawn.boxOf[n]];
    if (box.kind === "op") return this.mark();
    this.hold();
    for (let s = N.scope[n]; s; s = S.parent[s]) this.opened.add(s);
    this.unbundled.add(bundleKey(n));
    this.paint(this.drawn.boxes);
  }

  /** What is shown alone is not to be bundled with others because there is more to show. */
  hold() {
    for (const box of this.drawn.boxes) {
      if (box.kind === "op") this.unbundled.add(bundleKey(box.nodes[0]));
      else if (box.kind === "scope" && S.alike[box.scopes[0]] >= 0) this.unbundled.add(`b${S.alike[box.scopes[0]]}`);
    }
  }

  /** Opens what opens by itself; where all of that is open, the next level as far as it fits. Nothing is closed. */
  unfold() {
    const shown = this.drawn.boxes;
    const first = [...this.start].filter((s) => !this.opened.has(s));
    const folded = shown.filter((box) => box.kind === "scope" || (box.kind === "bundle" && box.key));
    if (!first.length && !folded.length) return;
    this.hold();
    for (const s of first) this.opened.add(s);
    if (!first.length) {
      const widthOf = (box) => {
        const [s] = box.scopes;
        return box.kind === "bundle" ? box.scopes.length + box.nodes.length : children[s].length + direct[s].length;
      };
      let count = shown.length;
      for (const box of folded.sort((a, b) => widthOf(a) - widthOf(b))) {
        if (count > shown.length && count - 1 + widthOf(box) > Math.max(ROOMY, 1.5 * shown.length)) break;
        count += widthOf(box) - 1;
        this.open(box);
      }
    }
    this.paint(shown);
  }

  open(box) {
    if (box.kind === "bundle") this.unbundled.add(box.key);
    else this.opened.add(box.scopes[0]);
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
    } else if (message.type === "canvas") {
      if (sameSet(this.opened, this.start)) this.begin(message);
    } else if (message.type === "view") {
      this.look(message.name);
    } else if (message.type === "backward") {
      this.showBackward(message.on);
    } else if (message.type === "toggle") {
      this.toggle(message.id);
    } else if (message.type === "open") {
      this.openCall(message);
    } else if (message.type === "find") {
      this.find(message.text, message.back);
    } else if (message.type === "light") {
      if (message.only === undefined) this.light = message.what;
      else {
        this.set({ lit_only: message.only });
        for (const listener of this.heard.lit ?? []) listener();
      }
      this.shine();
    } else if (message.type === "colour") {
      setColour(message.name);
      this.set({ colour: message.name });
      this.paint();
    } else if (message.type === "fold") {
      if (message.how === "auto") return this.unfold();
      this.opened = new Set();
      this.unbundled.clear();
      this.drawn = null; // laid out afresh
      this.paint();
    }
  }

  toggle(id) {
    const box = this.drawn.byId.get(id);
    if (box?.rest || (!box && !id.startsWith("c"))) return;
    if (box) {
      this.hold();
      this.open(box);
      return this.paint(this.drawn.boxes);
    }
    const s = Number(id.slice(1));
    const within = (scope) => {
      while (scope > s) scope = S.parent[scope];
      return scope === s;
    };
    for (const open of [...this.opened]) if (within(open)) this.opened.delete(open);
    this.paint(this.drawn.boxes);
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

  /** Selects the next op, or the one before, whose name matches, and says which of how many it is. */
  find(text, isBack) {
    if (!text) return void this.set({ found: { text: "" } });
    if (this.last !== text || !this.matches) {
      const pattern = searcher(text);
      this.matches = [];
      for (let n = 0; n < COUNT; n += 1) if (pattern.test(nameOf(n))) this.matches.push(n);
      this.note = pattern.note;
    }
    const found = this.matches;
    const here = this.selected ? nodeAt(this.selected) : -1;
    const isSame = this.last === text;
    this.last = text;
    if (this.light === "matches") this.shine();
    const note = this.note ? `; ${this.note}` : "";
    if (!found.length) {
      return void this.set({ found: { text: words("no_match", { pattern: text }) + note, isNone: true } });
    }
    let at = isBack ? found.findLastIndex((n) => n < here) : isSame ? found.findIndex((n) => n > here) : 0;
    if (at < 0) at = isBack ? found.length - 1 : 0;
    this.reveal(found[at]);
    const told = words("found", { number: grouped(at + 1), total: grouped(found.length) });
    this.set({ found: { text: told + note, isNone: false } });
  }
}
