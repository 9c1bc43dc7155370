// What all views share: making elements, chips of devices, and sending to Python.

import { RULES } from "gpuplace/rules.js";

const SVG = "http://www.w3.org/2000/svg";

export function element(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (key === "class") node.className = value;
    else if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

export function svgElement(tag, properties = {}, text = "") {
  const node = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(properties)) node.setAttribute(key, value);
  node.textContent = text;
  return node;
}

/** A device, or another entry of a legend, in its colour. */
export function chip(look, text) {
  const more = look.outlines > 1 ? " gp-more" : "";
  const node = element("span", { class: `gp-chip gp-${look.corners}${more}` }, text ?? look.label);
  node.style.background = look.fill;
  node.classList.toggle("gp-blank", look.fill === RULES.colours.paper);
  if (look.ink) node.style.color = look.ink;
  if (look.note && look.note !== look.label) node.title = look.note;
  return node;
}

/** Sends a message and tells the controls, which watch whether Python answers. */
export function tell(model, el, message) {
  try {
    model.send(message);
  } catch {
    // The connection is gone; the controls say so.
  }
  el.dispatchEvent(new CustomEvent("gp-sent", { bubbles: true }));
}

/** Gives the user a file. */
export function download(blob, name) {
  const link = element("a", { download: name });
  link.href = URL.createObjectURL(blob);
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

/** Copies a text; says whether the browser let it. */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Pages of other origins and insecure ones may only copy what is selected.
    const area = element("textarea", { "aria-hidden": "true", style: "position:fixed;opacity:0" });
    area.value = text;
    document.body.append(area);
    area.select();
    const isCopied = document.execCommand("copy");
    area.remove();
    return isCopied;
  }
}

const KEY = "gpuplace";

/** What a browser remembers of how pages were used, where it lets pages remember. */
export function remembered(name) {
  try {
    return localStorage.getItem(`${KEY}.${name}`);
  } catch {
    return null; // no storage for this page
  }
}

export function remember(name, value) {
  try {
    localStorage.setItem(`${KEY}.${name}`, value);
  } catch {
    // no storage for this page
  }
}
