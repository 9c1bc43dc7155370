// The timeline of a measured step on a page: the notebook's view, with something else in the kernel's place.

import view from "gpuplace/widgets/timeline_view.js";

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
