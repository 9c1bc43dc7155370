// The timeline of a step on a page, and what it costs: the notebook's views, with something else in the kernel's place.

import panel from "gpuplace/widgets/panel_view.js";
import view from "gpuplace/widgets/timeline_view.js";

/** Shows blocks of text, tables and pictures in an element and tells `chosen` the names of nodes that are. */
export function showBlocks(blocks, el, chosen) {
  const send = (message) => message.type === "select" && chosen(message.name);
  panel.render({ model: { get: (name) => ({ blocks, level: 3 })[name], on: () => {}, send }, el });
}

/** Shows a step in an element and tells `chosen` the names of nodes that are; returns what marks a node. */
export function showStep({ step, columns }, el, chosen) {
  const raw = Uint8Array.from(atob(columns), (letter) => letter.charCodeAt(0));
  const state = { step, columns: new DataView(raw.buffer), colour: "device", goto: {} };
  const heard = {};
  const set = (name, value) => {
    state[name] = value;
    for (const callback of heard[`change:${name}`] ?? []) callback();
  };
  const send = (message) => {
    if (message.type === "colour") set("colour", message.colour);
    else if (message.event >= 0) chosen(message.node);
  };
  const on = (what, callback) => (heard[what] ??= []).push(callback);
  view.render({ model: { get: (name) => state[name], on, send }, el });
  return (node) => set("goto", { node });
}
