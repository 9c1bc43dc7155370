// The picture of a placement and the card that says why. State comes from Python as traits:
//   svg or scene, view, backward, selected_box, legend, notes, detail, summary, notice, found, and what lights.js reads
// and goes back as messages: {type: "select", id}, {type: "select", name}, {type: "toggle", id}, {type: "find", text, back},
// {type: "fold", how}, {type: "view", name}, {type: "backward", on}, {type: "open", id}, {type: "open", function}, {type: "canvas", width, height} and {type: "crowded", width, height, boxes}.
// A scene is what nested.js or lanes.js draws. Nothing is fetched from anywhere.

import { chip, copyText, download, element, remember, remembered, svgElement } from "gpuplace/dom.js";
import { lanesPicture } from "gpuplace/drawing/lanes.js";
import { fitted, nestedPicture } from "gpuplace/drawing/nested.js";
import { lightControls } from "gpuplace/widgets/lights.js";
import { RULES } from "gpuplace/rules.js";
import { dots, standalone } from "gpuplace/save_picture.js";
import { grouped } from "gpuplace/text.js";

const DRAG_PX = 4;
// Pixels a point of the picture: below the first little can be read, at the second everything.
const SMALLEST = 0.65;
const READABLE = RULES.text.readable / RULES.text.title;
const TOLD_PX = 24; // change of size from which the picture is fitted anew
const LEFT = { graph: 300, devices: 200 }; // of the window, below and above a picture
const [LOW, LEFT_LOW, LEAST] = [860, 440, 290]; // a low window, what is left of it, and the least height of a picture
const MOST_LOW = 696; // of an explorer in a low window, whose tabs are closed
const [MAP_WIDTH, MAP_HEIGHT] = [140, 42];
const FIRST_WIDTH = 760; // of a canvas that is not on the page yet
const COPIED_MS = 1500;
const HELD_MS = 10000; // for which a picture may take to come after a click

function copyOf(box) {
  return { x: box.x, y: box.y, width: box.width, height: box.height };
}

/** The box that a share of it in a lane belongs to: `s3` of `s3~1`. */
const wholeOf = (id) => id.split("~")[0];

const outlineOf = (group) => /** @type {SVGGraphicsElement} */ (group.querySelector("path, polygon"));

/** Ids of what may stand for a box or an open scope after it was folded or unfolded. */
function namesAfter(id) {
  const number = id.slice(1);
  return { s: [`c${number}`], c: [`s${number}`], b: [`s${number}`, `c${number}`], m: [`n${number}`] }[id[0]] ?? [id];
}

const sizeOf = (canvas) => ({ width: canvas.clientWidth, height: canvas.clientHeight });

function render({ model, el }) {
  el.classList.add("gp", "gp-graph");
  const canvas = element("div", { class: "gp-canvas", role: "group" });
  const legend = element("div", { class: "gp-legend", "aria-label": "Legend" });
  const why = element("aside", { class: "gp-why", "aria-live": "polite", "aria-label": "Why is this op here?" });
  const find = element("input", {
    type: "search",
    placeholder: "Find an op (regular expression)",
    "aria-label": "Find an op by regular expression",
    "data-shortcut": "/",
    onkeydown: (event) => {
      event.stopPropagation();
      if (event.key === "Enter") search(event.shiftKey);
    },
    oninput: () => find.value || search(false),
  });
  const search = (back) => model.send({ type: "find", text: find.value, back });
  const found = element("span", { class: "gp-found", role: "status", "aria-live": "polite" });
  const button = (text, label, action, key = null) =>
    element(
      "button",
      { type: "button", title: label, "aria-label": label, onclick: action, "data-shortcut": key },
      text,
    );
  const full = button("Full screen", "Full screen", () => {
    if (document.fullscreenElement) document.exitFullscreen();
    else body.requestFullscreen();
  }, "F");
  full.hidden = !document.fullscreenEnabled;
  const panel = button("Why", "Why: the panel beside the picture", () => showPanel(why.hidden), "w");
  const showPanel = (isOpen) => {
    why.hidden = !isOpen;
    panel.setAttribute("aria-expanded", String(isOpen));
    remember("why", isOpen ? "open" : "closed");
  };
  const byDevice = button("By device", "By device: a lane for each, with what is copied between them", () => {
    model.send({ type: "view", name: model.get("view") === "devices" ? "graph" : "devices" });
  }, "d");
  const backward = button("Show backward", "Show backward: lines of gradients and updates between layers too", () => {
    model.send({ type: "backward", on: model.get("backward") !== "on" });
  }, "b");
  const showBackward = () => {
    backward.hidden = !model.get("backward"); // nothing is trained
    backward.setAttribute("aria-pressed", String(model.get("backward") === "on"));
  };
  const showView = () => byDevice.setAttribute("aria-pressed", String(model.get("view") === "devices"));
  const tools = element(
    "div",
    { class: "gp-tools", role: "toolbar", "aria-label": "Picture" },
    find,
    button("‹", "Previous match (Shift+Enter)", () => search(true), "N"),
    button("›", "Next match (Enter)", () => search(false), "n"),
    found,
    byDevice,
    backward,
    button("−", "Zoom out", () => zoom(1.25), "-"),
    button("+", "Zoom in", () => zoom(0.8), "+"),
    button("Fit", "Fit the whole picture", () => {
      isFitAsked = true;
      fit();
    }, "f"),
    button("Fold all", "Fold all name scopes", () => model.send({ type: "fold", how: "all" }), "["),
    button("Unfold", "Unfold as many name scopes as fit", () => model.send({ type: "fold", how: "auto" }), "]"),
    full,
    panel,
    button("SVG", "Download the picture as SVG", () => save("svg"), "v"),
    button("PNG", "Download the picture as PNG", () => save("png"), "g"),
  );
  const lights = lightControls(model);
  const map = svgElement("svg", {
    class: "gp-map",
    role: "img",
    "aria-label": "Overview: the part of the picture that is shown",
  });
  const frame = svgElement("rect", { class: "gp-map-frame" });
  const foot = element("div", { class: "gp-foot" }, legend, map);
  const picture = element("div", { class: "gp-picture" }, canvas, foot);
  const body = element(
    "div",
    { class: "gp-body" },
    element("div", { class: "gp-bars" }, tools, lights.bar),
    picture,
    why,
  );
  el.append(body);
  showPanel(remembered("why") !== "closed");
  const fullChanged = () => {
    const isFull = document.fullscreenElement === body;
    full.setAttribute("aria-pressed", String(isFull));
  };
  document.addEventListener("fullscreenchange", fullChanged);

  function mostHeight() {
    if (innerHeight >= LOW) return Math.max(540, innerHeight - (LEFT[model.get("view")] ?? LEFT.graph));
    const root = /** @type {HTMLElement | null} */ (el.closest(".gp-explorer.gp-tabs-closed"));
    if (!root || !canvas.offsetHeight) return Math.max(LEAST, innerHeight - LEFT_LOW);
    return Math.max(LEAST, Math.min(MOST_LOW, innerHeight - 24) - (root.offsetHeight - canvas.offsetHeight));
  }
  const kept = remembered("height"); // that somebody has chosen
  if (kept) canvas.style.height = kept;
  /** @type {SVGSVGElement | null} */
  let svg = null;
  let whole = null;
  let ownHeight = "";
  let wasWhole = false;
  let viewed = ""; // what the picture showed last: the graph, or its devices
  let told = [0, 0]; // size of the canvas that the model knows
  let fittedUntil = 0;
  let isFitAsked = false; // by the button: then all of it stays in sight when the canvas changes its size
  let seen = { width: 0, height: 0 }; // of the canvas, when the picture was last fitted into it
  async function save(form) {
    if (!svg) return;
    let ground = getComputedStyle(picture).backgroundColor;
    if (/rgba\(.*, 0\)|transparent/.test(ground)) ground = RULES.colours.paper;
    const file = standalone(svg, whole, ground, model.get("legend"), [...lights.notes(), ...model.get("notes")]);
    const blob = form === "png" ? await dots(file) : new Blob([file.text], { type: "image/svg+xml" });
    download(blob, `placement.${form}`);
  }

  // ---- overview: a box for each box, and a frame around what is shown; only while something is out of sight
  function drawMap() {
    const boxes = nodes().map((group) => {
      const outline = outlineOf(group);
      const { x, y, width, height } = outline.getBBox();
      const dim = group.classList.contains("gp-off") ? "gp-off" : "";
      return svgElement("rect", { x, y, width, height, fill: getComputedStyle(outline).fill, class: dim });
    });
    map.setAttribute("viewBox", `${whole.x} ${whole.y} ${whole.width} ${whole.height}`);
    const scale = Math.min(MAP_WIDTH / whole.width, MAP_HEIGHT / whole.height);
    map.style.width = `${Math.max(24, whole.width * scale)}px`;
    map.style.height = `${Math.max(24, whole.height * scale)}px`;
    map.replaceChildren(...boxes, frame);
    showFrame();
  }

  function shown() {
    // The part of the picture inside the canvas, whose shape is another than the viewBox's.
    const box = svg.viewBox.baseVal;
    const view = canvas.getBoundingClientRect();
    const scale = Math.max(box.width / view.width, box.height / view.height) || 1;
    const [width, height] = [view.width * scale, view.height * scale];
    return { x: box.x - (width - box.width) / 2, y: box.y - (height - box.height) / 2, width, height };
  }

  function showFrame() {
    if (!svg || !canvas.clientWidth || !canvas.clientHeight) return; // not on the page, or folded away
    wasWhole = isAllShown();
    map.classList.toggle("gp-hidden", wasWhole);
    for (const [key, value] of Object.entries(shown())) frame.setAttribute(key, value);
  }

  function isAllShown() {
    const part = shown();
    const slack = 0.02 * Math.max(whole.width, whole.height);
    return part.x <= whole.x + slack &&
      part.y <= whole.y + slack &&
      part.x + part.width >= whole.x + whole.width - slack &&
      part.y + part.height >= whole.y + whole.height - slack;
  }

  function lookAt(event) {
    isFitAsked = false;
    const place = map.getBoundingClientRect();
    const box = svg.viewBox.baseVal;
    box.x = whole.x + ((event.clientX - place.left) / place.width) * whole.width - box.width / 2;
    box.y = whole.y + ((event.clientY - place.top) / place.height) * whole.height - box.height / 2;
    showFrame();
  }
  map.addEventListener("pointerdown", (event) => {
    event.stopPropagation();
    map.setPointerCapture(event.pointerId);
    lookAt(event);
  });
  map.addEventListener("pointermove", (event) => {
    event.stopPropagation();
    if (event.buttons & 1) lookAt(event);
  });
  map.addEventListener("click", (event) => event.stopPropagation());

  /** @returns {SVGGElement[]} */
  const nodes = () => (svg ? [...svg.querySelectorAll("g.node")].map((node) => /** @type {any} */ (node)) : []);
  const isChosen = (group) => wholeOf(group.id) === model.get("selected_box");
  const nodeOf = (event) => event.target.closest?.("g.node");
  const select = (id) => model.send({ type: "select", id: wholeOf(id) });
  const toggle = (id, event = null) => {
    hold(id, event);
    model.send({ type: "toggle", id: wholeOf(id) });
  };

  function draw() {
    const text = model.get("svg") || sceneText();
    const isOther = viewed !== model.get("view");
    viewed = model.get("view");
    const before = svg && whole && canvas.clientWidth && !isOther
      ? { part: shown(), isWhole: isAllShown(), places: places(), size: sizeOf(canvas) }
      : null;
    canvas.replaceChildren();
    svg = null;
    if (!text) {
      map.classList.add("gp-hidden");
      canvas.append(element("div", { class: "gp-notice" }, model.get("notice")));
      return;
    }
    const parsed = new DOMParser().parseFromString(text, "image/svg+xml");
    svg = /** @type {any} */ (document.importNode(parsed.documentElement, true));
    for (const name of ["width", "height"]) svg.removeAttribute(name);
    svg.setAttribute("preserveAspectRatio", "xMidYMid meet");
    svg.setAttribute("role", "group");
    svg.setAttribute("aria-label", model.get("summary"));
    for (const group of /** @type {NodeListOf<SVGElement>} */ (svg.querySelectorAll("g.node, g.edge, g.cluster"))) {
      const title = group.querySelector(":scope > title");
      if (group.classList.contains("edge")) group.dataset.ends = title?.textContent ?? "";
      const tip = group.querySelector("a")?.getAttribute("xlink:title");
      if (title && tip) title.textContent = tip;
      for (const link of group.querySelectorAll("a")) link.removeAttribute("xlink:title");
      if (group.classList.contains("node")) {
        group.setAttribute("tabindex", "-1");
        group.setAttribute("role", "button");
        const lines = [...group.querySelectorAll("text")];
        const written = lines.map((line) => line.textContent.replace(/^▸ /, ""));
        for (const line of lines) line.after(" "); // between the lines, for what reads them as one text
        group.dataset.written = written.join(" ");
        group.dataset.tip = (tip ?? group.id).replaceAll("\n", ", ");
      }
    }
    svg.querySelector("g.graph > title")?.remove();
    svg.querySelector("g.graph > g > a")?.removeAttribute("xlink:title");
    nodes()[0]?.setAttribute("tabindex", "0");
    canvas.append(svg);
    whole = copyOf(svg.viewBox.baseVal);
    // A larger picture makes room for itself, unless somebody has chosen a height.
    const wanted = Math.max(LEAST, Math.min(mostHeight(), Math.round(whole.height * 1.6)));
    if (canvas.style.height === ownHeight && wanted > (parseFloat(ownHeight) || 0)) {
      canvas.style.height = ownHeight = `${wanted}px`;
    }
    const isFitted = !held && Date.now() < fittedUntil; // it comes for a canvas of another size
    fittedUntil = 0;
    if (!before || isFitted || !stay(before)) start();
    seen = sizeOf(canvas);
    mark();
    markStale();
    lights.paint(svg, canvas);
    drawMap();
    canvas.dataset.drawn = String(Number(canvas.dataset.drawn ?? 0) + 1);
  }

  function sceneText() {
    const scene = model.get("scene");
    const room = { width: told[0] || FIRST_WIDTH, height: told[1] || mostHeight() };
    if (scene?.lanes?.length) return lanesPicture(scene, room).svg();
    return scene?.boxes?.length ? graphText(scene, room) : "";
  }

  /** What was laid out last: the number of the graph, for which room, for which size in it, and what `place` gave. */
  let laid = null;

  /** The picture of a graph. A first one begins anew for its room; in others what is shown stays where it was. */
  function graphText(scene, room) {
    const { graph, links, copies, former } = scene;
    if (laid?.graph !== graph) laid = null;
    const isFirst = !laid || (scene.isFirst && !isShown(scene, room));
    const named = (id) => former[id] ?? id;
    const draw = (size) => nestedPicture(scene, { ...size, before: laid?.placed, named, isFirst });
    const { drawn, size, isSmall } = isFirst ? fitted(draw, room) : { drawn: draw(laid.size), size: laid.size };
    if (isSmall === false && told[0]) {
      model.send({ type: "crowded", ...room, boxes: scene.boxes.map(({ face }) => face.id) });
    }
    laid = { graph, room: isFirst ? room : laid.room, size, placed: drawn.placed };
    const rowOf = (copy) => {
      const [runs, bytes, ofExample] = copies[copy];
      return [0, 0, 0, 0, runs, "", bytes, ofExample];
    };
    return drawn.svg(links, rowOf);
  }

  /** Whether the boxes and frames of a scene are those that were laid out last, for the same room. */
  function isShown({ boxes, frames }, { width, height }) {
    const { at } = laid.placed;
    const ids = [...boxes.map(({ face }) => face.id), ...frames.map(({ id }) => id)];
    const isSameRoom = laid.room.width === width && laid.room.height === height;
    return isSameRoom && at.size === ids.length + 1 && ids.every((id) => at.has(id));
  }

  // Where boxes and open scopes are: id -> left, top, width and height.
  function places() {
    const groups = /** @type {NodeListOf<SVGGElement>} */ (svg.querySelectorAll("g.node, g.cluster"));
    return new Map([...groups].map((group) => [group.id, copyOf(outlineOf(group).getBBox())]));
  }

  // What is folded or unfolded next stays where it is on the screen: a box under the pointer.
  let held = null;
  function hold(id, event) {
    const view = canvas.getBoundingClientRect();
    const isOnPicture = event?.clientX !== undefined && event.type === "dblclick";
    const pointer = isOnPicture ? { x: event.clientX - view.left, y: event.clientY - view.top } : null;
    held = { id, pointer, until: Date.now() + HELD_MS };
  }

  // Shows the same part of another picture of the graph, as large as it was; says whether there is one.
  function stay({ part, isWhole, places: old, size: was }) {
    const wanted = held && Date.now() < held.until ? held : null;
    held = null;
    const now = places();
    const folded = /^c\d/.test(wanted?.id ?? "");
    let [from, to] = [wanted?.id, ""];
    if (from) to = namesAfter(from).find((id) => now.has(id)) ?? "";
    if (!to && isWhole) return false;
    const scale = part.width / was.width;
    const middle = { x: part.x + part.width / 2, y: part.y + part.height / 2 };
    if (!to || !old.has(from)) {
      let least = Infinity;
      for (const [id, box] of old) {
        const away = Math.hypot(box.x + box.width / 2 - middle.x, box.y + box.height / 2 - middle.y);
        if (away < least && now.has(id)) [from, to, least] = [id, id, away];
      }
      if (!to) return false;
    }
    const [then, is] = [old.get(from), now.get(to)];
    const most = 1 / (READABLE * scale);
    // An unfolded scope keeps the middle of its upper side, so that what stands above it stays and the pointer is inside; a
    // folded one goes to the pointer.
    let x = then.x + then.width / 2 - is.x - is.width / 2;
    let y = then.y - is.y;
    if (folded && wanted.pointer) {
      x = part.x + wanted.pointer.x * scale - is.x - is.width / 2;
      y = part.y + wanted.pointer.y * scale - is.y - is.height / 2;
    } else if (folded) {
      x = Math.max(part.x, Math.min(then.x, part.x + part.width - is.width)) - is.x;
      y = Math.max(part.y, Math.min(then.y, part.y + part.height - is.height)) - is.y;
    }
    const box = svg.viewBox.baseVal;
    const [width, height] = [canvas.clientWidth * scale, canvas.clientHeight * scale];
    Object.assign(box, { x: part.x - x, y: part.y - y, width, height });
    if (wanted && !folded) show(is, isWhole, most);
    return true;
  }

  // Brings what was unfolded into sight: with all of the picture where that was shown and can still be read, otherwise with
  // as much of it as can be read, or as it takes, and no farther from where it was than it has to be.
  function show(is, wasAll, most) {
    const view = canvas.getBoundingClientRect();
    const box = svg.viewBox.baseVal;
    const isAll = wasAll && Math.min(view.width / whole.width, view.height / whole.height) >= READABLE;
    const seen = isAll ? whole : is;
    const needed = wasAll && !isAll ? most : Math.max(seen.width / box.width, seen.height / box.height);
    const grow = Math.max(1, isAll ? needed : Math.min(needed, most));
    const middle = is.x + is.width / 2;
    Object.assign(box, {
      x: middle - (middle - box.x) * grow,
      y: is.y - (is.y - box.y) * grow,
      width: box.width * grow,
      height: box.height * grow,
    });
    const into = (from, length, start, room) => Math.min(start, Math.max(from, start + length - room));
    box.x = into(box.x, seen.width, seen.x, box.width);
    box.y = into(box.y, seen.height, seen.y, box.height);
  }

  // A picture of which little could be read if all of it was shown begins at its upper left part, readable.
  function start() {
    fit();
    if (isFitAsked) return;
    const view = canvas.getBoundingClientRect();
    if (!view.width || !view.height || Math.min(view.width / whole.width, view.height / whole.height) >= SMALLEST) {
      return;
    }
    const box = svg.viewBox.baseVal;
    box.width = view.width / READABLE;
    box.height = view.height / READABLE;
    box.x = whole.width > box.width ? whole.x : whole.x - (box.width - whole.width) / 2;
    box.y = whole.height > box.height ? whole.y : whole.y - (box.height - whole.height) / 2;
    showFrame();
  }

  // Says which match is shown, or that there is none, and brings it into sight as large as it can be read.
  function showFound() {
    const { text = "", isNone = false } = model.get("found") || {};
    found.textContent = text;
    found.classList.toggle("gp-note-alarm", isNone);
    find.setAttribute("aria-invalid", String(isNone));
    const hit = svg && text && !isNone ? nodes().find(isChosen) : null;
    if (!hit || !canvas.clientWidth || !canvas.clientHeight) return;
    const part = shown();
    const most = canvas.clientWidth / SMALLEST;
    if (part.width > most) zoom(canvas.clientWidth / READABLE / part.width);
    reveal(hit);
  }

  // Brings a box into sight.
  function reveal(group) {
    const part = shown();
    const { x, y, width, height } = group.getBBox();
    if (x >= part.x && y >= part.y && x + width <= part.x + part.width && y + height <= part.y + part.height) return;
    const box = svg.viewBox.baseVal;
    box.x = x + width / 2 - box.width / 2;
    box.y = y + height / 2 - box.height / 2;
    showFrame();
  }

  function fit() {
    if (!svg) return;
    const view = canvas.getBoundingClientRect();
    const box = svg.viewBox.baseVal;
    Object.assign(box, whole);
    // A small graph is not blown up: at most 1.5 times its natural size (1 pt = 4/3 px).
    const scale = Math.min(view.width / whole.width, view.height / whole.height);
    if (view.width && scale > 2) {
      const grow = scale / 2;
      box.width = whole.width * grow;
      box.height = whole.height * grow;
      box.x = whole.x - (box.width - whole.width) / 2;
      box.y = whole.y - (box.height - whole.height) / 2;
    }
    showFrame();
  }

  function zoom(factor, at = { x: 0.5, y: 0.5 }) {
    if (!svg) return;
    isFitAsked = false;
    const box = svg.viewBox.baseVal;
    box.x += box.width * at.x * (1 - factor);
    box.y += box.height * at.y * (1 - factor);
    box.width *= factor;
    box.height *= factor;
    showFrame();
  }

  function mark() {
    if (!svg) return;
    const id = model.get("selected_box");
    let hit = null;
    for (const group of nodes()) {
      const chosen = isChosen(group);
      group.classList.toggle("gp-selected", chosen);
      group.setAttribute("aria-pressed", String(chosen));
      if (chosen) hit ??= group;
    }
    canvas.classList.toggle("gp-has-selection", Boolean(hit));
    for (const edge of /** @type {NodeListOf<SVGElement>} */ (svg.querySelectorAll("g.edge"))) {
      edge.classList.toggle("gp-lit", Boolean(hit) && edge.dataset.ends.split(/->| /).map(wholeOf).includes(id));
    }
    if (hit) {
      if (canvas.clientWidth && canvas.clientHeight) reveal(hit);
      for (const group of nodes()) group.setAttribute("tabindex", group === hit ? "0" : "-1");
    }
  }

  function markStale() {
    canvas.classList.toggle("gp-stale", model.get("stale"));
    canvas.querySelector(".gp-stale-tag")?.remove();
    if (model.get("stale")) canvas.append(element("div", { class: "gp-stale-tag" }, "of earlier settings"));
  }

  function showLegend() {
    const chips = model.get("legend").map((look) => chip(look, `${look.label}: ${grouped(look.count)}`));
    const notes = model.get("notes").map(([kind, text]) => element("span", { class: `gp-note-${kind}` }, text));
    legend.replaceChildren(...chips, ...notes);
  }

  /** Where the card lies over the picture: on what is selected, and closed like a drawer. */
  const closeWhy = () =>
    element("button", {
      type: "button",
      class: "gp-why-close",
      title: "Close",
      "aria-label": "Close the card",
      onclick: () => select(""),
    }, "×");

  function copyButton(name) {
    const told = element("span", { class: "gp-copied", role: "status" });
    const copy = async () => {
      told.textContent = await copyText(name) ? "Copied" : "The browser does not allow copying";
      setTimeout(() => (told.textContent = ""), COPIED_MS);
    };
    return element("span", { class: "gp-copy-name" }, button("Copy name", `Copy name: ${name}`, copy), told);
  }

  function showDetail() {
    const detail = model.get("detail");
    why.classList.toggle("gp-empty-card", !detail.name);
    if (!detail.name) {
      why.replaceChildren(
        element("h3", {}, "Why is this op here?"),
        element(
          "p",
          { class: "gp-hint" },
          detail.hint ?? "Click an op, or move to one with the arrow keys and press Enter.",
        ),
      );
      return;
    }
    const row = (label, value) => (value === null ? [] : [element("dt", {}, label), element("dd", {}, value)]);
    /** What explains a term on hover, with a dotted underline. */
    const tip = (term) => (detail.terms?.[term] ? { title: detail.terms[term], class: "gp-term" } : {});
    const names = (title, list, more, term = "") =>
      list.length
        ? [
          element("h4", tip(term), title),
          element(
            "ul",
            { class: "gp-code" },
            ...list.map((name) =>
              element(
                "li",
                {},
                element("button", { type: "button", onclick: () => model.send({ type: "select", name }) }, name),
              )
            ),
            more ? element("li", { class: "gp-hint" }, `and ${more} more`) : null,
          ),
        ]
        : [];
    const calls = (list) =>
      list.length
        ? [
          element("h4", {}, "Calls"),
          element(
            "ul",
            { class: "gp-code gp-calls" },
            ...list.map(([attr, name]) =>
              element(
                "li",
                {},
                attr ? `${attr}: ` : "",
                element("button", {
                  type: "button",
                  title: `Open function ${name}`,
                  onclick: () => model.send({ type: "open", function: name }),
                }, name),
              )
            ),
          ),
        ]
        : [];
    const attributes = (list) =>
      list.length
        ? [
          element("h4", {}, "Attributes"),
          element("dl", { class: "gp-code gp-attrs" }, ...list.flatMap(([label, text]) => row(label, text))),
        ]
        : [];
    const verdict = (card) => {
      if (!card.rule) return [];
      const by = card.decided_by && card.decided_by !== card.name ? ` (${card.decided_by})` : "";
      const because = card.because ? `: ${card.because}` : by;
      const told = element("p", { class: "gp-verdict" }, element("b", tip(card.rule), card.rule), because);
      const anyway = element("p", { class: "gp-hint" }, `It would be here anyway: ${card.held_by}.`);
      return card.held_by ? [told, anyway] : [told];
    };
    const steps = (card) =>
      element(
        "ol",
        { class: "gp-reason" },
        ...card.steps.map((step) => {
          const left = element("span", { class: "gp-left", "aria-label": "devices left" });
          step.after.forEach((look) => left.append(chip(look), " "));
          if (!step.after.length) left.append(element("span", { class: "gp-note-alarm" }, "none left"));
          return element(
            "li",
            {},
            element("b", tip(step.rule), step.rule),
            element("span", {}, ` ${step.note} `),
            left,
          );
        }),
      );
    const assigned = element("span", {});
    detail.devices.forEach((look, i) => assigned.append(i ? " " : "", chip(look, look.text)));
    const asked = detail.requested ? element("span", { class: "gp-code" }, detail.requested) : null;
    if (asked && detail.met === false) asked.append(element("span", { class: "gp-note-alarm" }, "  ≠ overridden"));
    why.replaceChildren(
      closeWhy(),
      element("h3", {}, detail.name),
      element("p", { class: "gp-hint gp-kind" }, detail.kind, copyButton(detail.name)),
      element(
        "dl",
        {},
        ...row("assigned", assigned),
        ...row("requested", asked),
        ...row("created at", detail.source || null),
      ),
      ...calls(detail.calls ?? []),
      lights.buttons(),
      element("h4", {}, "Why is this op here?"),
      ...verdict(detail),
      ...(detail.steps.length ? [steps(detail)] : [element("p", { class: "gp-reason" }, detail.reason)]),
      ...names("Shares its device with", detail.group, 0, "colocation group"),
      ...detail.remedies.flatMap((
        [kind, text],
      ) => [element("h4", {}, `To move it to ${kind}`), element("p", {}, text)]),
      ...attributes(detail.attrs ?? []),
      ...names("Inputs", detail.inputs, detail.more_inputs),
      ...names("Consumers", detail.outputs, detail.more_outputs),
      ...(detail.toggle
        ? [
          element(
            "p",
            { class: "gp-last" },
            element("button", { type: "button", onclick: () => toggle(detail.toggle) }, detail.toggle_text),
          ),
        ]
        : []),
    );
  }

  // ---- pointer: click selects, double click folds or unfolds, drag moves, ctrl-wheel zooms
  let drag = null;
  canvas.addEventListener("pointerdown", (event) => {
    if (!svg || event.button !== 0) return;
    const box = svg.viewBox.baseVal;
    drag = { x: event.clientX, y: event.clientY, left: box.x, top: box.y, moved: false };
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!drag || !(event.buttons & 1)) return;
    const dx = event.clientX - drag.x;
    const dy = event.clientY - drag.y;
    if (!drag.moved && Math.hypot(dx, dy) < DRAG_PX) return;
    drag.moved = true;
    isFitAsked = false;
    canvas.classList.add("gp-dragging");
    const view = canvas.getBoundingClientRect();
    const box = svg.viewBox.baseVal;
    const scale = Math.max(box.width / view.width, box.height / view.height);
    box.x = drag.left - dx * scale;
    box.y = drag.top - dy * scale;
    showFrame();
  });
  const endDrag = () => canvas.classList.remove("gp-dragging");
  canvas.addEventListener("pointerup", endDrag);
  canvas.addEventListener("pointerleave", endDrag);
  canvas.addEventListener("click", (event) => {
    if (drag?.moved) return;
    const group = nodeOf(event);
    if (group) select(group.id);
    else if (!event.target.closest("g.edge")) select("");
  });
  canvas.addEventListener("dblclick", (event) => {
    const group = nodeOf(event) ?? event.target.closest("g.cluster");
    if (!group) return;
    if (group.classList.contains("op")) model.send({ type: "open", id: group.id }); // a call shows its function
    else toggle(group.id, event);
  });
  canvas.addEventListener(
    "wheel",
    (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const view = canvas.getBoundingClientRect();
      zoom(event.deltaY > 0 ? 1.15 : 1 / 1.15, {
        x: (event.clientX - view.left) / view.width,
        y: (event.clientY - view.top) / view.height,
      });
    },
    { passive: false },
  );

  // ---- keyboard: arrows move between boxes, Enter selects and unfolds, and on what is selected opens, Space selects, Escape clears
  const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  canvas.addEventListener("keydown", (event) => {
    const group = nodeOf(event);
    if (!group) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      if (event.key === "Enter" && !group.classList.contains("op")) toggle(group.id);
      else if (event.key === "Enter" && isChosen(group)) {
        model.send({ type: "open", id: group.id });
      } else select(group.id);
    } else if (lights.key(event, () => isChosen(group) || select(group.id))) {
      event.preventDefault();
    } else if (event.key === "Escape" && model.get("selected_box")) {
      event.preventDefault();
      event.stopPropagation();
      select("");
    } else if (event.key in ARROWS) {
      event.preventDefault();
      const [dx, dy] = ARROWS[event.key];
      const middle = (g) => {
        const r = g.getBoundingClientRect();
        return [r.left + r.width / 2, r.top + r.height / 2];
      };
      const [x, y] = middle(group);
      let best = null;
      for (const other of nodes()) {
        if (other === group) continue;
        const [ox, oy] = middle(other);
        const along = (ox - x) * dx + (oy - y) * dy;
        const aside = Math.abs((ox - x) * dy) + Math.abs((oy - y) * dx);
        if (along > 1 && (!best || along + 2 * aside < best.cost)) best = { other, cost: along + 2 * aside };
      }
      if (best) {
        group.setAttribute("tabindex", "-1");
        best.other.setAttribute("tabindex", "0");
        best.other.focus();
      }
    }
  });

  // Boxes have no size before they are on the page, so that the overview of the first picture is drawn here.
  const resized = new ResizeObserver(() => {
    const size = [Math.round(canvas.clientWidth), mostHeight()];
    if (size[0] && size.some((length, i) => Math.abs(length - told[i]) > TOLD_PX)) {
      told = size;
      fittedUntil = Date.now() + HELD_MS;
      model.send({ type: "canvas", width: size[0], height: size[1] });
      if (!model.get("svg")) draw(); // lanes are laid out here
    }
    const { width, height } = sizeOf(canvas);
    if (!svg || !width || !height) return;
    const box = svg.viewBox.baseVal;
    const scale = seen.width && seen.height ? Math.max(box.width / seen.width, box.height / seen.height) : 0;
    if (canvas.style.height && canvas.style.height !== ownHeight) remember("height", canvas.style.height);
    if (!scale || wasWhole || isFitAsked) start();
    else {
      Object.assign(box, { width: width * scale, height: height * scale });
      showFrame();
    }
    seen = { width, height };
    drawMap();
  });
  resized.observe(canvas);
  model.on("change:svg", draw);
  model.on("change:scene", draw);
  model.on("change:view", showView);
  model.on("change:backward", showBackward);
  model.on("change:notice", draw);
  model.on("change:selected_box", mark);
  model.on("change:found", showFound);
  model.on("change:stale", markStale);
  model.on("change:legend", showLegend);
  model.on("change:notes", showLegend);
  model.on("change:detail", showDetail);
  model.on("change:lit", () => {
    lights.paint(svg, canvas);
    if (svg) drawMap();
  });
  draw();
  showView();
  showBackward();
  showLegend();
  showDetail();
  return () => {
    resized.disconnect();
    document.removeEventListener("fullscreenchange", fullChanged);
  };
}

export default { render };
