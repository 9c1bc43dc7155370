// The keyboard of an explorer or a page: every control that has a key names it in `data-shortcut`, and `?` lists them all.
//
// In a notebook no key that is pressed here may act on the cells. JupyterLab looks for its shortcuts from the element
// that has the focus up to one with `data-lm-suppress-shortcuts`, and moves the focus to the cell on `mousedown`, after
// the control below the pointer got it. So the explorer keeps that event, and takes the keys that a control which was
// disabled or drawn anew leaves to the page's body.

import { element } from "gpuplace/dom.js";

const TYPED = "input:not([type=checkbox]), select, textarea";
const OTHERS = [
  ["Arrow keys", "Move from box to box"],
  ["Enter", "On a box: unfold it, or select it; on a selected call: open its function"],
  ["Space", "On a box: select it"],
  ["I, C, B, P, L", "Highlight inputs, consumers, both, the critical path, nothing"],
  ["Ctrl + wheel", "Zoom"],
];

const isVisible = (node) => node.getClientRects().length > 0 && !node.closest("[inert]");

/** The controls that have a key, each once: of several with one key, the first that can be seen. */
function controlsIn(root) {
  const found = new Map();
  for (const node of /** @type {NodeListOf<HTMLElement>} */ (root.querySelectorAll("[data-shortcut]"))) {
    if (isVisible(node) && !found.has(node.dataset.shortcut)) found.set(node.dataset.shortcut, node);
  }
  return found;
}

const labelOf = (node) =>
  node.dataset.does ?? node.getAttribute("aria-label") ?? node.labels?.[0]?.textContent ?? node.textContent;

const shownKey = (key) => (/^[A-Z]$/.test(key) ? `Shift+${key}` : key.toUpperCase());

function act(node) {
  if (node.disabled) return;
  if (node.matches(TYPED)) {
    node.focus();
    node.select?.();
  } else node.click();
}

/**
 * Makes an element the owner of the keys that are pressed in it.
 *
 * @param root the element.
 * @param leave moves the focus out of it on Escape, and returns whether it could; null where there is nothing around it.
 * @param actions `[key, what it does, function]` of what has no control of its own.
 * @returns what ends it.
 */
export function ownKeys(root, leave = null, actions = []) {
  let isInside = false;
  let help = null;
  root.setAttribute("data-lm-suppress-shortcuts", "true");
  if (!root.hasAttribute("tabindex")) root.setAttribute("tabindex", "-1");

  function closeHelp() {
    help?.remove();
    help = null;
    root.focus({ preventScroll: true });
  }

  function showHelp() {
    if (help) return closeHelp();
    const rows = [
      ...[...controlsIn(root)].map(([key, node]) => [shownKey(key), labelOf(node)]),
      ...actions.map(([key, text]) => [key, text]),
      ...OTHERS,
      ["Escape", leave ? "Clear the selection; again: back to the notebook" : "Clear the selection"],
    ];
    const close = element("button", { type: "button", "aria-label": "Close the keys", onclick: closeHelp }, "×");
    help = element(
      "div",
      { class: "gp gp-keys", role: "dialog", "aria-label": "Keys" },
      element("div", { class: "gp-keys-head" }, element("b", {}, "Keys"), close),
      element(
        "dl",
        {},
        ...rows.map(([key, text]) =>
          element("div", {}, element("dt", {}, element("kbd", {}, key)), element("dd", {}, text.trim()))
        ),
      ),
    );
    root.append(help);
    close.focus({ preventScroll: true });
  }

  function press(event) {
    if (event.key === "Escape") {
      if (help) closeHelp();
      else if (!leave?.()) return;
      event.preventDefault();
      return;
    }
    if (event.altKey || event.ctrlKey || event.metaKey || event.defaultPrevented) return;
    if (event.target !== root && event.target.matches?.(TYPED)) return;
    if (event.key === "?") {
      event.preventDefault();
      showHelp();
      return;
    }
    const node = controlsIn(root).get(event.key);
    const action = actions.find(([key]) => key === event.key);
    if (!node && !action) return;
    event.preventDefault();
    if (node) act(node);
    else action[2]();
  }

  const keydown = (event) => {
    event.stopPropagation();
    press(event);
  };
  // Text fields keep what is typed, so that Escape is heard before them.
  const early = (event) => {
    if (event.key === "Escape" && (help || event.target.matches?.(TYPED))) {
      event.stopPropagation();
      press(event);
    }
  };
  // A control that lost the focus because it was disabled or drawn anew leaves it to the body.
  const lost = (event) => {
    if (!isInside || event.target !== document.body || !root.isConnected || !isVisible(root)) return;
    root.focus({ preventScroll: true });
    event.stopPropagation();
    press(event);
  };
  const moved = (event) => {
    if (event.target instanceof Node) isInside = root.contains(event.target);
  };
  const keep = (event) => event.stopPropagation();
  // Tabs and empty places do not take the focus by themselves.
  const released = () => {
    if (isInside && !root.contains(document.activeElement)) root.focus({ preventScroll: true });
  };
  const parts = [
    [root, "keydown", keydown, false],
    [root, "keydown", early, true],
    [root, "mousedown", keep, false],
    [window, "keydown", lost, true],
    [window, "focusin", moved, true],
    [window, "pointerdown", moved, true],
    [window, "pointerup", released, true],
  ];
  root.addEventListener("gp-help", showHelp);
  for (const [node, name, listener, isEarly] of parts) node.addEventListener(name, listener, isEarly);
  return () => {
    closeHelp();
    root.removeEventListener("gp-help", showHelp);
    for (const [node, name, listener, isEarly] of parts) node.removeEventListener(name, listener, isEarly);
  };
}

/** Gives the focus to the notebook's cell around an element; says whether there is one. */
export function backToCell(root) {
  const cell = /** @type {HTMLElement | null} */ (root.closest(".jp-Cell, .cell"));
  cell?.focus({ preventScroll: true });
  return Boolean(cell);
}
