// What is seen of a page, to be kept in its address or in a file and seen again: scopes and bundles that are open,
// colours, what is lit and selected, and whether it is by device. Names of scopes are paths, so that a view fits a page made anew.

import { setColour } from "gpuplace/page/colours.js";
import { DATA, keys, nodeAt } from "gpuplace/page/columns.js";
import { addressOf, trail } from "gpuplace/page/data.js";
import { lightChoices } from "gpuplace/page/lights.js";

const KIND = "page";
const MOST = 6000; // characters of an address; a longer view is kept without its open scopes
const scopeAt = new Map(keys.map((key, s) => [key, s]));

/** The view as values for JSON. */
export function viewOf(model) {
  const box = model.selectedBox ? model.drawn.byId.get(model.selectedBox) : null;
  return {
    gpuplace: KIND,
    selected: model.selected,
    box: box?.kind === "scope" ? keys[box.scopes[0]] : "",
    opened: [...model.opened].map((s) => keys[s]),
    bundles: [...model.unbundled],
    by: model.get("view"),
    backward: model.get("backward") === "on",
    colour: model.get("colour"),
    light: model.light,
  };
}

/** Shows a view; throws where the value is none. What of it this page does not have is passed over. */
export function showView(model, view) {
  if (view === null || typeof view !== "object" || view.gpuplace !== KIND) {
    throw new TypeError('this is no saved view, which begins with {"gpuplace": "page"');
  }
  model.look(view.by);
  model.showBackward(view.backward === true);
  const list = (value) => (Array.isArray(value) ? value.map(String) : []);
  if (Array.isArray(view.opened)) {
    model.opened = new Set(list(view.opened).filter((path) => scopeAt.get(path) > 0).map((path) => scopeAt.get(path)));
  }
  if (Array.isArray(view.bundles)) model.unbundled = new Set(list(view.bundles));
  const colour = DATA.colours.some(({ name }) => name === view.colour) ? view.colour : "";
  setColour(colour);
  model.light = lightChoices().some(([what]) => what === view.light) ? view.light : "";
  model.set({ colour });
  model.selected = nodeAt(view.selected) >= 0 ? view.selected : "";
  model.selectedBox = "";
  model.paint();
  if (model.selected) model.reveal(nodeAt(model.selected));
  else if (scopeAt.has(view.box)) model.send({ type: "select", id: `s${scopeAt.get(view.box)}` });
}

/** What the last part of an address says: a view, or the name of a node; null where it says nothing. */
export function viewIn(text) {
  try {
    if (text.startsWith(`{"gpuplace":`)) return JSON.parse(text);
  } catch {
    return null; // not an address of this page
  }
  return nodeAt(text) < 0 ? null : text;
}

/** Keeps the view in the address; one in which only a node is selected is its name. */
export function keepInAddress(model) {
  if (location.protocol === "about:") return; // a frame inside another page has no address of its own
  const view = viewOf(model);
  const start = [...model.start].map((s) => keys[s]);
  const isFirst = view.by === "graph" && !view.backward && String(view.opened) === String(start) &&
    !view.bundles.length;
  if (isFirst && !view.colour && !view.light && !view.box) {
    const isBare = !model.selected && !trail.length;
    const name = isBare ? `${location.pathname}${location.search}` : addressOf(trail, model.selected);
    return history.replaceState(null, "", name);
  }
  let text = addressOf(trail, JSON.stringify(view));
  if (text.length > MOST) text = addressOf(trail, JSON.stringify({ ...view, opened: undefined, bundles: undefined }));
  history.replaceState(null, "", text);
}
