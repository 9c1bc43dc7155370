// The controls, undo and redo, the settings as program text, and what there is to say about the kernel.
// Traits and messages: see ControlsView.
//
// Every message to Python is followed by a numbered `ping`; a kernel that is busy answers late, one that is gone never.

import { copyText, download, element, remember, remembered, tell } from "gpuplace/dom.js";
import { backToCell, ownKeys } from "gpuplace/widgets/keys.js";

const BUSY_MS = 2000;
const SOON_MS = 350;
const LOW = 860; // pixels of a window's height

/** In a low window the tabs are a line until one is chosen; the tab in front, chosen again, closes them. */
function foldedTabs(root) {
  const kept = remembered("tabs");
  const show = (isOpen) => root.classList.toggle("gp-tabs-closed", !isOpen);
  show(kept ? kept === "open" : innerHeight >= LOW);
  const pressed = (event) => {
    const tab = event.target.closest?.(".gp-tabs > .lm-TabBar .lm-TabBar-tab");
    if (!tab || innerHeight >= LOW) return;
    const isOpen = root.classList.contains("gp-tabs-closed") || !tab.classList.contains("lm-mod-current");
    show(isOpen);
    remember("tabs", isOpen ? "open" : "closed");
  };
  root.addEventListener("pointerdown", pressed, true);
  const front = () => root.querySelector(":scope > .gp-tabs > .lm-TabBar .lm-mod-current")?.textContent;
  let last = front();
  const changed = new MutationObserver(() => {
    if (last && front() && front() !== last) show(true); // from Python, or by a key
    last = front();
  });
  changed.observe(root, { subtree: true, attributeFilter: ["class"] });
  return () => {
    changed.disconnect();
    root.removeEventListener("pointerdown", pressed, true);
  };
}

function render({ model, el }) {
  el.classList.add("gp", "gp-settings");
  const say = (message) => tell(model, el, message);
  const button = (text, label, action, key = null) =>
    element(
      "button",
      { type: "button", title: label, "aria-label": label, onclick: action, "data-shortcut": key },
      text,
    );

  const banner = element("div", { class: "gp-banner", role: "status", "aria-live": "assertive", hidden: true });
  const main = element("div", { class: "gp-fields" });
  const gpus = element("div", {
    class: "gp-fields gp-gpus",
    role: "group",
    "aria-label": "GPUs that CUDA_VISIBLE_DEVICES shows",
  });
  const look = element("div", { class: "gp-fields" });
  const more = element("div", { class: "gp-fields gp-grid" });
  const moreCount = element("span", { class: "gp-hint" });
  const undo = button("↶", "Undo the last change (Ctrl+Z)", () => say({ type: "undo" }), "z");
  const redo = button("↷", "Redo (Ctrl+Shift+Z)", () => say({ type: "redo" }), "Z");
  const advise = button("Advise", "Search for a better placement", () => say({ type: "advise" }), "a");
  const code = button("Copy as Python", "Copy the settings as Python", () => say({ type: "code" }), "x");
  const keep = button("Save settings", "Save settings and look as a file", () => say({ type: "save" }), "e");
  const file = element("input", {
    type: "file",
    accept: ".json,application/json",
    hidden: true,
    "aria-label": "File with settings",
    onchange: async () => {
      if (file.files.length) say({ type: "open", text: await file.files[0].text() });
      file.value = "";
    },
  });
  const open = button("Open settings", "Open settings that were saved", () => file.click(), "E");
  const panel = element(
    "div",
    { class: "gp-more-settings", id: `gp-${model.get("own_id")}-more`, hidden: true },
    element("div", { class: "gp-buttons" }, code, keep, open, file),
    more,
  );
  const settings = element(
    "button",
    {
      type: "button",
      title: "More settings, and settings as Python or as a file",
      "aria-controls": panel.id,
      "data-shortcut": "t",
      onclick: () => showMore(panel.hidden),
    },
    "Settings ",
    moreCount,
  );
  const showMore = (isOpen) => {
    panel.hidden = !isOpen;
    settings.setAttribute("aria-expanded", String(isOpen));
  };
  showMore(false);
  const help = button("?", "Keys (?)", () => root?.dispatchEvent(new CustomEvent("gp-help")));
  const working = element("span", { class: "gp-working", role: "status" });
  const tools = element(
    "div",
    { class: "gp-undo", role: "toolbar", "aria-label": "Changes" },
    working,
    undo,
    redo,
    advise,
    settings,
    help,
  );
  const shown = element("div", { class: "gp-shown", hidden: true });
  el.append(banner, element("div", { class: "gp-top" }, main, gpus, look, tools), panel, shown);
  if (model.get("is_fixed")) { for (const part of [undo, redo, advise, code, gpus, more]) part.hidden = true; }

  // ---- fields: made once by name, then updated in place, so that focus and what is being typed stay
  const known = new Map();

  function make(field) {
    const id = `gp-${model.get("own_id")}-${field.name.replaceAll(/[^a-z0-9]+/gi, "-")}`;
    const control = { pending: 0, place: null };
    const set = (value) => {
      say({ type: "set", name: field.name, value });
      control.pending = number;
    };
    let input;
    if (field.kind === "check") {
      input = element("input", { type: "checkbox", id, title: field.tip, onchange: () => set(input.checked) });
    } else if (field.kind === "choice") {
      input = element("select", { id, title: field.tip, onchange: () => set(input.value) });
    } else {
      const list = field.options ? `${id}-list` : null;
      input = element("input", {
        type: "text",
        id,
        title: field.tip,
        list,
        inputmode: field.kind === "number" ? "decimal" : null,
        placeholder: field.placeholder,
        size: field.size ?? 18,
        spellcheck: "false",
        autocomplete: "off",
        onchange: () => set(input.value),
        onkeydown: (event) => {
          if (event.key !== "Tab" && !(event.ctrlKey || event.metaKey)) event.stopPropagation();
          if (event.key === "Enter" && input.value !== String(input.dataset.sent)) {
            set(input.dataset.sent = input.value);
          }
        },
      });
    }
    if (field.key) input.dataset.shortcut = field.key;
    const options = field.options && field.kind !== "choice" ? element("datalist", { id: `${id}-list` }) : null;
    const label = element("label", { for: id }, field.label);
    const unset = field.unset ? button("×", field.unset, () => set(null)) : null;
    const error = element("div", { class: "gp-field-error", id: `${id}-error` });
    const row = field.kind === "check" ? [input, label] : [label, input, options, unset];
    const whole = element(
      "div",
      { class: `gp-field gp-field-${field.kind}` },
      element("span", { class: "gp-row" }, ...row),
      error,
    );
    return Object.assign(control, { input, label, options, unset, error, whole });
  }

  function update(control, field) {
    const { input, label, options, unset, error, whole } = control;
    label.textContent = field.short ?? field.label;
    if (field.short) input.setAttribute("aria-label", field.label);
    // What is being typed stays, and what was just entered stands until it is answered: an answer to something earlier
    // does not know of it.
    const isTyped = field.kind !== "check" && field.kind !== "choice" && input.matches(":focus") &&
      input.value !== (input.dataset.sent ?? "");
    const isPending = control.pending > answered || isTyped;
    if (field.kind === "check") {
      if (!isPending) input.checked = field.value;
    } else if (field.kind === "choice") {
      if (input.dataset.options !== field.options.join("\n")) {
        input.replaceChildren(...field.options.map((name) => element("option", { value: name }, name)));
        input.dataset.options = field.options.join("\n");
      }
      if (!isPending) input.value = field.value;
    } else if (!isPending) {
      if (input.value !== field.value) input.value = field.value;
      input.dataset.sent = field.value;
      options?.replaceChildren(...field.options.map((name) => element("option", { value: name })));
      if (field.placeholder !== undefined) input.placeholder = field.placeholder;
    }
    if (unset) unset.hidden = !field.is_set;
    const wrong = field.error ?? null;
    whole.classList.toggle("gp-wrong", Boolean(wrong));
    input.setAttribute("aria-invalid", String(Boolean(wrong)));
    if (wrong) {
      input.setAttribute("aria-describedby", error.id);
      error.setAttribute("role", "alert");
      const facts = wrong.facts.flatMap(([name, text]) => [element("dt", {}, name), element("dd", {}, text)]);
      error.replaceChildren(
        element("p", {}, element("b", {}, wrong.title), `: ${wrong.message}`),
        facts.length ? element("dl", { class: "gp-facts" }, ...facts) : "",
      );
    } else {
      input.removeAttribute("aria-describedby");
      error.removeAttribute("role");
      error.replaceChildren();
    }
  }

  function draw() {
    const fields = model.get("fields");
    const places = { main, gpus, look, more };
    const names = new Set(fields.map((field) => field.name));
    for (const [name, control] of known) {
      if (names.has(name)) continue;
      control.whole.remove();
      known.delete(name);
    }
    const next = { main: 0, gpus: 0, look: 0, more: 0 };
    for (const field of fields) {
      let control = known.get(field.name);
      if (!control) known.set(field.name, control = make(field));
      const place = places[field.place];
      const at = next[field.place]++;
      if (place.children[at] !== control.whole) place.insertBefore(control.whole, place.children[at] ?? null);
      update(control, field);
    }
    gpus.hidden = !next.gpus;
    more.hidden = !next.more;
    const changed = fields.filter((field) => field.place === "more" && field.is_set).length;
    moreCount.textContent = changed ? `(${changed} set)` : "";
    if (fields.some((field) => field.place === "more" && field.error)) showMore(true);
  }

  function drawUndo() {
    undo.disabled = !model.get("can_undo");
    redo.disabled = !model.get("can_redo");
  }

  // ---- program text
  function showOpened(error) {
    const told = error ? `These settings cannot be opened: ${error}` : "The settings were opened.";
    const close = button("×", "Close the message", () => {
      shown.hidden = true;
      open.focus();
    });
    const message = element(
      "span",
      { class: error ? "gp-note-alarm" : "gp-hint", role: error ? "alert" : "status" },
      told,
    );
    shown.replaceChildren(element("div", { class: "gp-row" }, message, close));
    shown.hidden = false;
  }

  async function showCode(text) {
    const told = await copyText(text)
      ? "Copied."
      : "The browser does not allow copying from here: select the text and copy it.";
    const area = element("pre", { class: "gp-source", tabindex: "0", "aria-label": "Settings as Python" }, text);
    const close = button("×", "Close the program text", () => {
      shown.hidden = true;
      code.focus();
    });
    shown.replaceChildren(
      element("div", { class: "gp-row" }, element("span", { class: "gp-hint", role: "status" }, told), close),
      area,
    );
    shown.hidden = false;
  }

  // ---- the kernel
  let root = null;
  let number = 0;
  let answered = 0;
  let timers = [];
  let gone = false;

  function note(state) {
    root?.classList.toggle("gp-gone", state === "gone");
    root?.classList.toggle("gp-busy", state === "busy");
    root?.setAttribute("aria-busy", String(state === "busy" || state === "soon"));
    for (const part of [main, gpus, look, more, tools]) part.inert = state === "gone";
    working.textContent = state === "soon" ? "working …" : "";
    banner.dataset.state = state;
    const waiting = number - answered;
    const text = {
      busy: `The kernel is busy. ${
        waiting === 1 ? "Your change is waiting" : `${waiting} requests wait`
      } and will be answered when it is free.`,
      gone:
        "No longer connected: the kernel was restarted or has ended. This is the last picture; run the cell again to continue.",
    }[state];
    banner.hidden = !text;
    if (banner.textContent !== (text ?? "")) banner.textContent = text ?? "";
  }

  function watch() {
    if (gone) return;
    number += 1;
    try {
      model.send({ type: "ping", number });
    } catch {
      lost();
      return;
    }
    if (!timers.length) {
      timers = [setTimeout(() => note("soon"), SOON_MS), setTimeout(() => note("busy"), BUSY_MS)];
    } else if (banner.dataset.state === "busy") note("busy");
  }

  function pong(last) {
    answered = Math.max(answered, last);
    if (answered < number) {
      if (banner.dataset.state === "busy") note("busy");
      return;
    }
    timers.forEach(clearTimeout);
    timers = [];
    draw();
    if (!gone) note("fine");
  }

  function lost() {
    gone = true;
    timers.forEach(clearTimeout);
    timers = [];
    note("gone");
  }

  function keys(event) {
    if (!(event.ctrlKey || event.metaKey) || event.altKey) return;
    if (event.target.matches?.("input:not([type=checkbox])") && event.target.value !== event.target.dataset.sent) {
      return;
    }
    const key = event.key.toLowerCase();
    if (key !== "z" && key !== "y") return;
    event.preventDefault();
    event.stopPropagation();
    say({ type: key === "y" || event.shiftKey ? "redo" : "undo" });
  }

  function attach() {
    root = el.closest(".gp-explorer");
    if (!root) return false;
    const step = (by) => {
      const all =
        /** @type {HTMLElement[]} */ ([...root.querySelectorAll(":scope > .gp-tabs > .lm-TabBar [role=tab]")]);
      const at = all.findIndex((tab) => tab.getAttribute("aria-selected") === "true");
      say({ type: "tab", name: all[(at + by + all.length) % all.length].textContent.trim() });
    };
    disown = ownKeys(root, () => backToCell(root), [
      [".", "Next tab", () => step(1)],
      [",", "Previous tab", () => step(-1)],
    ]);
    tabs = foldedTabs(root);
    root.setAttribute("role", "region");
    root.setAttribute("aria-label", "Placement explorer");
    root.addEventListener("gp-sent", watch);
    root.addEventListener("keydown", keys, true);
    // The picture sends by itself.
    root.addEventListener("click", (event) => event.target.closest?.(".gp-body") && watch());
    if (gone) note("gone");
    return true;
  }
  let attaching = null;
  let disown = () => {};
  let tabs = () => {};
  if (!attach()) {
    attaching = setInterval(() => attach() && clearInterval(attaching), 20);
  }

  model.on("msg:custom", (message) => {
    if (message.type === "pong") pong(message.number);
    else if (message.type === "code") showCode(message.text);
    else if (message.type === "opened") showOpened(message.error);
    else if (message.type === "saved") {
      download(new Blob([message.text], { type: "application/json" }), "settings.json");
    }
  });
  // The manager of the widgets marks every model when the kernel restarts or ends.
  model.on("comm_live_update", lost);
  // One that is shut down says so only to whoever listens to the kernel itself.
  const kernel = model.widget_manager?.kernel;
  kernel?.disposed?.connect(lost);
  kernel?.statusChanged?.connect((_, status) => status === "dead" && lost());
  kernel?.connectionStatusChanged?.connect((_, status) => status === "disconnected" && lost());
  model.on("change:fields", draw);
  model.on("change:can_undo", drawUndo);
  model.on("change:can_redo", drawUndo);
  draw();
  drawUndo();
  return () => {
    clearInterval(attaching);
    timers.forEach(clearTimeout);
    disown();
    tabs();
    root?.removeEventListener("gp-sent", watch);
    root?.removeEventListener("keydown", keys, true);
  };
}

export default { render };
