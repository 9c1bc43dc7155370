// What the page was given: see gpuplace/views/page/data.py and gpuplace/views/timelines/page.py.
//
// A page may also hold the bodies of functions that its graph calls. The address says which one is shown, and from where
// it was opened: `#/outer/inner/node`, the node being what is selected; `#node` for the graph itself. Another function is
// another start of the page, so that the browser's way back is ours.

const parts = location.hash.slice(1).split("/").map(decoded);

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const scripts = /** @type {HTMLElement[]} */ ([...document.querySelectorAll("script.body")]);
const bodies = new Map(scripts.map((script) => [script.dataset.function, script]));

/** The functions that were opened one from another; none for the graph itself. */
export const trail = parts.length > 2 && !parts[0] && bodies.has(parts.at(-2)) ? parts.slice(1, -1) : [];

/** The node that the address names. */
export const selected = trail.length ? parts.at(-1) : decoded(location.hash.slice(1));

export const DATA = JSON.parse((bodies.get(trail.at(-1)) ?? document.getElementById("data")).textContent);

/** The address of a node in some function's body. */
export const addressOf = (functions, node) =>
  `#${functions.length ? `/${functions.map(encodeURIComponent).join("/")}/` : ""}${encodeURIComponent(node)}`;

export const hasBody = (name) => bodies.has(name);

/** Shows a function's body, or, without functions, the graph itself. */
export function open(functions) {
  location.hash = addressOf(functions, "");
}

const functionsIn = (hash) => (hash.startsWith("#/") ? hash.slice(0, hash.lastIndexOf("/")) : "");
const shown = functionsIn(location.hash);
globalThis.addEventListener("hashchange", () => {
  if (functionsIn(location.hash) !== shown) location.reload();
});
