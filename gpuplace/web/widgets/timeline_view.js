// A measured step: lanes of boxes on a canvas, copies as arrows, the critical path outlined. Traits and messages: see
// TimelineView. Only what is in sight is drawn, and what is narrower than a pixel once a pixel, so that a step of
// 100,000 nodes can be dragged. Nothing is fetched from anywhere.

import { chip, element, tell } from "gpuplace/dom.js";
import { bytesText, grouped, timeText } from "gpuplace/text.js";

const LANE = 28;
const BAR = 20;
const THIN = 11; // of copies, and of lanes in which hardly anything runs
const THIN_BAR = 7;
const AXIS = 22;
const LABELS = 152; // at least
const MOST_LABELS = 280;
const SHARE = 60;
const LETTER = 7;
const RIGHT = 10;
const ON_PATH = 1;
const TRANSFER = 2;
const MOST_ARROWS = 400;

function render({ model, el }) {
  el.classList.add("gp", "gp-timeline");
  let step = read();
  let span = [0, step.total];
  let selected = -1;
  let hovered = -1;
  let lit = new Set();
  let tint = null;

  // ------------------------------------------------------------------------------------------------------- the data
  function read() {
    const head = model.get("step");
    const raw = model.get("columns");
    const count = head.count ?? 0;
    const buffer = raw.buffer ? raw.buffer.slice(raw.byteOffset, raw.byteOffset + raw.byteLength) : raw;
    let at = 0;
    const take = (Type) => {
      const found = new Type(buffer, at, count);
      at += Type.BYTES_PER_ELEMENT * count;
      return found;
    };
    const made = { ...head, start: take(Float64Array), end: take(Float64Array), bytes: take(Float64Array) };
    Object.assign(made, {
      name: take(Uint32Array),
      op: take(Uint32Array),
      lane: take(Uint32Array),
      last: take(Int32Array),
      copy: take(Int32Array),
    });
    made.tints = new Map(made.colours.map((one) => [one.name, { ...one, of: take(Uint16Array) }]));
    made.flags = take(Uint8Array);
    made.rows = made.lanes.map(() => []);
    for (let event = 0; event < count; event += 1) made.rows[made.lane[event]].push(event);
    made.place = new Uint32Array(count);
    for (const row of made.rows) row.forEach((event, place) => (made.place[event] = place));
    made.total = Math.max(made.total, 1e-3);
    const widths = made.lanes.map((lane) => 24 + LETTER * lane.label.length + (lane.share ? SHARE : 4));
    made.heights = made.lanes.map((lane) => (lane.thin ? THIN : LANE));
    made.whole = 0;
    made.tops = made.heights.map((height) => (made.whole += height) - height);
    made.labels = Math.min(Math.max(LABELS, ...widths), MOST_LABELS);
    return made;
  }

  const nameOf = (event) => step.names[step.name[event]];
  const opOf = (event) => step.ops[step.op[event]];

  // ------------------------------------------------------------------------------------------------------ the elements
  const button = (text, label, act) =>
    element("button", { type: "button", title: label, "aria-label": label, onclick: act }, text);
  const colour = element("select", {
    "aria-label": "Colour boxes by",
    onchange: () => tell(model, el, { type: "colour", colour: colour.value }),
  });
  const path = element("input", { type: "checkbox", checked: true, onchange: () => draw() });
  const arrows = element("input", { type: "checkbox", checked: true, onchange: () => draw() });
  const search = element("input", {
    type: "search",
    placeholder: "Find a node",
    "aria-label": "Find a node",
    oninput: () => find(search.value),
    onkeydown: (event) => {
      event.stopPropagation();
      if (event.key === "Enter") nextHit(event.shiftKey ? -1 : 1);
    },
  });
  const tools = element(
    "div",
    { class: "gp-timeline-tools" },
    button("−", "Zoom out", () => zoom(1.6)),
    button("+", "Zoom in", () => zoom(1 / 1.6)),
    button("Whole step", "Show the whole step", () => show(0, step.total)),
    button("Critical path", "Go to the next event of the critical path", () => alongPath(1)),
    element("label", {}, "Colour ", colour),
    element("label", {}, path, " path"),
    element("label", {}, arrows, " copies"),
    search,
  );
  const canvas = element("canvas", {
    class: "gp-lanes",
    tabindex: "0",
    role: "application",
    "aria-roledescription": "timeline",
    "aria-label": "",
  });
  // The canvas stays in sight and shows the lanes scrolled to.
  const space = element("div", { class: "gp-lanes-space" }, canvas);
  const scroller = element("div", { class: "gp-lanes-box", onscroll: () => draw() }, space);
  const said = element("div", { class: "gp-timeline-said", role: "status" });
  const legend = element("div", { class: "gp-timeline-legend" });
  const notes = element("div", { class: "gp-timeline-notes" });
  const summary = element("div", { class: "gp-timeline-summary" });
  el.append(element("div", { class: "gp-timeline-body" }, summary, tools, scroller, said, legend, notes));
  const pen = canvas.getContext("2d");

  // --------------------------------------------------------------------------------------------------------- geometry
  const room = () => Math.max(60, canvas.clientWidth - step.labels - RIGHT);
  const x = (time) => step.labels + ((time - span[0]) / (span[1] - span[0])) * room();
  const timeAt = (px) => span[0] + ((px - step.labels) / room()) * (span[1] - span[0]);
  const barOf = (lane) => (step.lanes[lane].thin ? THIN_BAR : BAR);
  const y = (lane) => AXIS + step.tops[lane] + (step.heights[lane] - barOf(lane)) / 2 - scroller.scrollTop;

  function show(from, to) {
    const least = Math.min(step.total, Math.max(step.total * 1e-7, 0.02));
    const width = Math.min(step.total, Math.max(to - from, least));
    const start = Math.min(Math.max(0, (from + to) / 2 - width / 2), step.total - width);
    span = [start, start + width];
    draw();
  }

  function zoom(factor, at = null) {
    const center = at ??
      (selected >= 0 && inSight(selected) ? (step.start[selected] + step.end[selected]) / 2 : (span[0] + span[1]) / 2);
    const width = Math.min(step.total, (span[1] - span[0]) * factor);
    const share = (center - span[0]) / (span[1] - span[0]);
    show(center - share * width, center + (1 - share) * width);
  }

  const pan = (share) => show(span[0] + share * (span[1] - span[0]), span[1] + share * (span[1] - span[0]));
  const inSight = (event) => step.end[event] >= span[0] && step.start[event] <= span[1];

  // The first event of a row that ends after a time.
  function firstAfter(row, time) {
    let low = 0;
    let high = row.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (step.end[row[middle]] < time) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  // ---------------------------------------------------------------------------------------------------------- drawing
  let waiting = false;
  function draw() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      paint();
    });
  }

  function paint() {
    const width = scroller.clientWidth;
    if (!width) return;
    const whole = AXIS + step.whole + 4;
    space.style.height = `${whole}px`;
    const height = Math.min(whole, scroller.clientHeight);
    const dots = window.devicePixelRatio || 1;
    if (canvas.width !== Math.round(width * dots) || canvas.height !== Math.round(height * dots)) {
      canvas.width = Math.round(width * dots);
      canvas.height = Math.round(height * dots);
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
    }
    const style = getComputedStyle(el);
    const tone = (name) => style.getPropertyValue(name).trim();
    const look = {
      ink: tone("--gp-ink"),
      faint: tone("--gp-faint"),
      ground: tone("--gp-ground"),
      raised: tone("--gp-raised"),
      line: tone("--gp-hairline"),
      copy: tone("--gp-copy"),
      path: tone("--gp-path"),
      focus: tone("--gp-focus"),
      mark: tone("--gp-mark"),
    };
    pen.setTransform(dots, 0, 0, dots, 0, 0);
    pen.clearRect(0, 0, width, height);
    pen.font = "11px system-ui, 'Liberation Sans', Arial, sans-serif";
    pen.textBaseline = "middle";
    paintAxis(look, height);
    let drawn = 0;
    pen.save();
    pen.beginPath();
    pen.rect(step.labels - 1, AXIS, room() + RIGHT, height);
    pen.clip();
    for (let number = 0; number < step.lanes.length; number += 1) {
      if (y(number) + LANE < AXIS || y(number) > height) continue;
      pen.fillStyle = look.raised;
      pen.fillRect(step.labels, y(number), room(), barOf(number));
      drawn += paintLane(number, look);
    }
    if (arrows.checked) paintCopies(look);
    if (selected >= 0 && inSight(selected)) outline(selected, look.focus, 3);
    if (hovered >= 0 && hovered !== selected && inSight(hovered)) outline(hovered, look.ink, 1.5);
    pen.restore();
    paintLabels(look);
    canvas.dataset.drawn = String(Number(canvas.dataset.drawn ?? 0) + 1);
    canvas.dataset.boxes = String(drawn);
    canvas.dataset.from = String(span[0]);
    canvas.dataset.to = String(span[1]);
  }

  function paintAxis(look, height) {
    const length = span[1] - span[0];
    const rough = length / Math.max(2, Math.floor(room() / 90));
    const power = 10 ** Math.floor(Math.log10(rough));
    const apart = [1, 2, 5, 10].map((digit) => digit * power).find((value) => value >= rough);
    pen.textAlign = "center";
    for (let tick = Math.ceil(span[0] / apart) * apart; tick <= span[1]; tick += apart) {
      const at = x(tick);
      pen.fillStyle = look.line;
      pen.fillRect(Math.round(at), AXIS - 5, 1, height);
      pen.fillStyle = look.faint;
      // Close up, times are told from the left edge on.
      const text = apart < span[0] / 1e4
        ? `+${timeText(tick - span[0])}`
        : timeText(Math.abs(tick) < apart / 1e6 ? 0 : tick);
      pen.textAlign = at < step.labels + 16 ? "left" : "center";
      pen.fillText(
        text,
        at < step.labels + 16 ? Math.max(at, step.labels) : Math.min(at, step.labels + room() - 12),
        9,
      );
    }
  }

  function paintLabels(look) {
    pen.textAlign = "left";
    pen.fillStyle = look.ground;
    pen.fillRect(0, 0, step.labels - 1, canvas.clientHeight);
    let before = null;
    pen.save();
    pen.beginPath();
    pen.rect(0, AXIS, step.labels, canvas.clientHeight);
    pen.clip();
    step.lanes.forEach((lane, number) => {
      if (y(number) + LANE < AXIS || y(number) > canvas.clientHeight) return;
      const top = y(number) + barOf(number) / 2;
      if (number && lane.task !== step.lanes[number - 1].task) {
        pen.fillStyle = look.faint;
        pen.fillRect(0, AXIS + step.tops[number] - scroller.scrollTop, step.labels, 1);
      }
      if (lane.thin && lane.owner === before) return; // too low for words, which are said of what is pointed at
      if (lane.owner !== before) {
        pen.fillStyle = lane.fill;
        pen.strokeStyle = look.faint;
        pen.lineWidth = lane.outlines;
        pen.beginPath();
        pen.roundRect(6, top - 6, 12, 12, lane.corners === "round" ? 5 : 1);
        pen.fill();
        pen.stroke();
      }
      pen.fillStyle = look.ink;
      const share = lane.owner !== before ? lane.share : "";
      pen.fillText(fitted(lane.label, step.labels - 24 - (share ? SHARE + 2 : 6)), 24, top);
      pen.fillStyle = look.faint;
      pen.fillText(share, step.labels - SHARE, top);
      before = lane.owner;
    });
    pen.restore();
  }

  function fitted(text, width) {
    if (pen.measureText(text).width <= width) return text;
    let kept = Math.max(0, Math.floor((width / pen.measureText(text).width) * text.length) - 1);
    while (kept > 0 && pen.measureText(`${text.slice(0, kept)}…`).width > width) kept -= 1;
    return kept > 1 ? `${text.slice(0, kept)}…` : "";
  }

  function paintLane(number, look) {
    const row = step.rows[number];
    const top = y(number);
    const perPixel = (span[1] - span[0]) / room();
    let drawn = 0;
    for (let place = firstAfter(row, span[0]); place < row.length; place += 1) {
      const event = row[place];
      if (step.start[event] > span[1]) break;
      const left = Math.max(x(step.start[event]), step.labels);
      const width = Math.min(x(step.end[event]), step.labels + room()) - left;
      drawn += 1;
      if (width < 1.2) {
        // A pixel's worth of events is one line, in the path's colour if one of them is on it.
        const until = step.start[event] + perPixel;
        let flags = step.flags[event];
        let isLit = lit.has(event);
        let next = place + 1;
        for (; next < row.length && step.end[row[next]] < until; next += 1) {
          flags |= step.flags[row[next]] & ON_PATH;
          isLit ||= lit.has(row[next]);
        }
        place = next - 1;
        pen.fillStyle = isLit
          ? look.mark
          : path.checked && flags & ON_PATH
          ? look.path
          : step.flags[event] & TRANSFER
          ? look.copy
          : fillOf(event);
        pen.fillRect(left, top, 1.2, BAR);
        continue;
      }
      paintBox(event, left, top, width, look);
    }
    return drawn;
  }

  const fillOf = (event) => tint.fills[tint.of[event]][0];

  function paintBox(event, left, top, width, look) {
    const isTransfer = step.flags[event] & TRANSFER;
    pen.fillStyle = isTransfer ? look.ground : fillOf(event);
    const bar = barOf(step.lane[event]);
    const corner = step.lanes[step.lane[event]].corners === "round" && width > 6 ? 4 : 1;
    pen.beginPath();
    pen.roundRect(left, top, width, bar, corner);
    pen.fill();
    if (isTransfer) {
      pen.save();
      pen.clip();
      pen.strokeStyle = look.copy;
      pen.lineWidth = 1;
      pen.beginPath();
      for (let at = Math.max(left, step.labels) - bar; at < Math.min(left + width, step.labels + room()); at += 6) {
        pen.moveTo(at, top + bar);
        pen.lineTo(at + bar, top);
      }
      pen.stroke();
      pen.restore();
    }
    const onPath = path.checked && step.flags[event] & ON_PATH;
    const isLit = lit.has(event);
    pen.lineWidth = isLit || onPath ? 2.5 : 0.7;
    pen.strokeStyle = isLit ? look.mark : onPath ? look.path : look.faint;
    if (width > 2.5 || onPath || isLit) {
      pen.beginPath();
      pen.roundRect(left, top, width, bar, corner);
      pen.stroke();
    }
    if (width > 26 && !isTransfer && bar === BAR) {
      pen.textAlign = "left";
      pen.fillStyle = tint.fills[tint.of[event]][1];
      pen.fillText(fitted(nameOf(event).split("/").pop(), width - 8), left + 4, top + bar / 2 + 0.5);
    }
  }

  function outline(event, tone, width) {
    const left = Math.max(x(step.start[event]), step.labels);
    const right = Math.min(x(step.end[event]), step.labels + room());
    pen.strokeStyle = tone;
    pen.lineWidth = width;
    pen.strokeRect(left - 2, y(step.lane[event]) - 2, Math.max(right - left, 1) + 4, barOf(step.lane[event]) + 4);
  }

  function paintCopies(look) {
    const seen = step.copies.filter((copy) => copy[3] >= span[0] && copy[2] <= span[1]);
    seen.sort((a, b) => b[4] - a[4]);
    const told = [];
    pen.strokeStyle = look.copy;
    pen.fillStyle = look.copy;
    for (const [sent, received, start, end, size] of seen.slice(0, MOST_ARROWS)) {
      const first = step.lane[sent];
      const last = step.lane[received];
      const down = last > first;
      const from = [x(start), y(first) + (down ? barOf(first) : 0)];
      const to = [x(end), y(last) + (down ? 0 : barOf(last))];
      pen.lineWidth = 1.3;
      pen.beginPath();
      pen.moveTo(...from);
      pen.lineTo(...to);
      pen.stroke();
      const angle = Math.atan2(to[1] - from[1], to[0] - from[0]);
      pen.beginPath();
      pen.moveTo(...to);
      pen.lineTo(to[0] - 7 * Math.cos(angle - 0.4), to[1] - 7 * Math.sin(angle - 0.4));
      pen.lineTo(to[0] - 7 * Math.cos(angle + 0.4), to[1] - 7 * Math.sin(angle + 0.4));
      pen.fill();
      const at = [(from[0] + to[0]) / 2 + 5, (from[1] + to[1]) / 2];
      if (
        size >= 0 && told.length < 40 && at[0] > step.labels &&
        told.every(([a, b]) => Math.abs(a - at[0]) > 56 || Math.abs(b - at[1]) > 12)
      ) {
        told.push(at);
        pen.save();
        pen.textAlign = at[0] > step.labels + room() - 60 ? "right" : "left";
        pen.lineWidth = 3;
        pen.strokeStyle = look.ground;
        pen.strokeText(bytesText(size), at[0] - (pen.textAlign === "right" ? 10 : 0), at[1]);
        pen.fillText(bytesText(size), at[0] - (pen.textAlign === "right" ? 10 : 0), at[1]);
        pen.restore();
      }
    }
  }

  // -------------------------------------------------------------------------------------------------------- selection
  function textOf(event) {
    const lane = step.lanes[step.lane[event]];
    const size = step.bytes[event] >= 0 ? `, ${bytesText(step.bytes[event])}` : "";
    const onPath = step.flags[event] & ON_PATH ? ", on the critical path" : "";
    return `${nameOf(event)} (${opOf(event)}) on ${lane.label}: ${timeText(step.end[event] - step.start[event])} from ${
      timeText(step.start[event])
    } on${size}${onPath}`;
  }

  // As StepTimeline.waits_for tells it.
  function waitText(event) {
    if (step.last[event] < 0) return "";
    if (step.copy[event] < 0) return `${nameOf(step.last[event])} on ${step.lanes[step.lane[step.last[event]]].owner}`;
    const [, , , , size, tensor, source] = step.copies[step.copy[event]];
    return `${size < 0 ? "" : `${bytesText(size)} `}copy of ${tensor} from ${source}`;
  }
  function toldOf(event) {
    if (event < 0) return "";
    const waits = waitText(event);
    return waits ? `${textOf(event)}; last input: ${waits}` : textOf(event);
  }

  function select(event, tellsPython = true) {
    selected = event;
    said.textContent = toldOf(event);
    canvas.setAttribute("aria-label", event < 0 ? step.text : toldOf(event));
    if (event >= 0) reveal(event);
    if (tellsPython) tell(model, el, { type: "select", event, node: event < 0 ? "" : nameOf(event) });
    draw();
  }

  function reveal(event) {
    const width = span[1] - span[0];
    const length = step.end[event] - step.start[event];
    if (step.start[event] < span[0] || step.end[event] > span[1]) {
      const wanted = Math.max(Math.min(width, step.total), length * 1.2);
      const center = (step.start[event] + step.end[event]) / 2;
      show(center - wanted / 2, center + wanted / 2);
    }
    const top = AXIS + step.tops[step.lane[event]];
    const high = step.heights[step.lane[event]];
    if (top < scroller.scrollTop + AXIS) scroller.scrollTop = top - AXIS;
    else if (top + high > scroller.scrollTop + scroller.clientHeight) {
      scroller.scrollTop = top + high - scroller.clientHeight;
    }
  }

  function eventAt(px, py) {
    const down = py - AXIS + scroller.scrollTop;
    const lane = py < AXIS ? -1 : step.tops.findLastIndex((top) => top <= down);
    if (lane < 0 || down > step.whole || px < step.labels) return -1;
    const near = 3 * ((span[1] - span[0]) / room());
    const time = timeAt(px);
    const row = step.rows[lane];
    let best = -1;
    for (let place = firstAfter(row, time - near); place < row.length; place += 1) {
      const event = row[place];
      if (step.start[event] > time + near) break;
      if (best < 0 || step.end[event] - step.start[event] > step.end[best] - step.start[best]) best = event;
      if (place > firstAfter(row, time - near) + 200) break;
    }
    return best;
  }

  const pathEvents = () => step.path;
  function alongPath(by) {
    const events = pathEvents();
    if (!events.length) return;
    const here = events.indexOf(selected);
    let next = here < 0 ? (by > 0 ? 0 : events.length - 1) : here + by;
    if (next < 0 || next >= events.length) next = (next + events.length) % events.length;
    select(events[next]);
  }

  let hits = [];
  function find(text) {
    let test = null;
    try {
      const pattern = new RegExp(text, "i");
      test = (name) => pattern.test(name);
    } catch {
      test = (name) => name.includes(text);
    }
    const found = new Set();
    if (text) step.names.forEach((name, i) => test(name) && found.add(i));
    hits = [];
    if (found.size) {
      for (let event = 0; event < step.count; event += 1) if (found.has(step.name[event])) hits.push(event);
    }
    lit = new Set(hits);
    said.textContent = text ? `${grouped(hits.length)} of ${grouped(step.count)} match` : toldOf(selected);
    draw();
  }
  function nextHit(by) {
    if (!hits.length) return;
    const after = by > 0
      ? hits.find((event) => event > selected)
      : [...hits].reverse().find((event) => event < selected);
    select(after ?? hits[by > 0 ? 0 : hits.length - 1]);
  }

  // The event of another lane nearest in time.
  function across(by) {
    const from = selected >= 0 ? step.lane[selected] : by > 0 ? -1 : step.rows.length;
    const time = selected >= 0 ? (step.start[selected] + step.end[selected]) / 2 : (span[0] + span[1]) / 2;
    for (let lane = from + by; lane >= 0 && lane < step.rows.length; lane += by) {
      const row = step.rows[lane];
      if (!row.length) continue;
      const place = Math.min(firstAfter(row, time), row.length - 1);
      select(row[place]);
      return;
    }
  }
  function along(by) {
    if (selected < 0) {
      across(1);
      return;
    }
    const row = step.rows[step.lane[selected]];
    const next = step.place[selected] + by;
    if (next >= 0 && next < row.length) select(row[next]);
  }

  canvas.addEventListener("keydown", (event) => {
    const act = {
      ArrowRight: () => (event.shiftKey ? pan(0.2) : along(1)),
      ArrowLeft: () => (event.shiftKey ? pan(-0.2) : along(-1)),
      ArrowDown: () => across(1),
      ArrowUp: () => across(-1),
      "+": () => zoom(1 / 1.6),
      "=": () => zoom(1 / 1.6),
      "-": () => zoom(1.6),
      0: () => show(0, step.total),
      Home: () => show(0, step.total),
      c: () => alongPath(1),
      C: () => alongPath(-1),
      Enter: () => selected >= 0 && zoomTo(selected),
      Escape: () => select(-1),
    }[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    act();
    event.preventDefault();
    event.stopPropagation();
  });
  const zoomTo = (event) => {
    const length = Math.max(step.end[event] - step.start[event], 0.01);
    show(step.start[event] - length, step.end[event] + length);
  };

  let drag = null;
  canvas.addEventListener("pointerdown", (event) => {
    drag = { at: event.offsetX, span: [...span], moved: false };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (drag) {
      const by = ((drag.at - event.offsetX) / room()) * (drag.span[1] - drag.span[0]);
      drag.moved ||= Math.abs(drag.at - event.offsetX) > 3;
      if (drag.moved) show(drag.span[0] + by, drag.span[1] + by);
      return;
    }
    const over = eventAt(event.offsetX, event.offsetY);
    if (over !== hovered) {
      hovered = over;
      canvas.title = over < 0 ? "" : textOf(over);
      draw();
    }
  });
  canvas.addEventListener("pointerup", (event) => {
    const was = drag;
    drag = null;
    if (was && !was.moved) {
      canvas.focus();
      select(eventAt(event.offsetX, event.offsetY));
    }
  });
  canvas.addEventListener("dblclick", (event) => {
    const there = eventAt(event.offsetX, event.offsetY);
    if (there >= 0) zoomTo(there);
  });
  // The plain wheel scrolls the page.
  canvas.addEventListener(
    "wheel",
    (event) => {
      if (event.ctrlKey || event.metaKey) zoom(event.deltaY > 0 ? 1.25 : 0.8, timeAt(event.offsetX));
      else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        pan((event.deltaX || event.deltaY) / room());
      } else return;
      event.preventDefault();
    },
    { passive: false },
  );

  // ------------------------------------------------------------------------------------------------------ around it
  function showAround() {
    summary.replaceChildren(
      element("b", {}, step.text),
      element("span", { class: "gp-timeline-path" }, step.path_text),
    );
    tools.hidden = !step.count;
    said.hidden = !step.count;
    legend.hidden = !step.count;
    scroller.hidden = !step.count;
    colour.replaceChildren(...step.colours.map(({ name }) => element("option", { value: name }, name)));
    showColour();
    const row = (label, items) => (items.length ? [element("h3", {}, label), element("ul", {}, ...items)] : []);
    const link = (node, text) =>
      element(
        "li",
        {},
        element("button", { type: "button", class: "gp-node", title: `Show ${node}`, onclick: () => goTo(node) }, node),
        ` ${text}`,
      );
    notes.replaceChildren(
      ...row("What to move", step.hints.map(([node, text]) => link(node, text))),
      ...row("Longest gaps", step.gaps.map(([node, text]) => (node ? link(node, text) : element("li", {}, text)))),
    );
    canvas.setAttribute("aria-label", step.text);
  }

  function showColour() {
    const name = model.get("colour");
    tint = step.tints.get(name) ?? { legend: [], fills: [], of: [] };
    colour.value = name;
    const how =
      "Drag to move, Ctrl and wheel to zoom; arrows go from event to event, + and − zoom, C follows the critical path.";
    legend.replaceChildren(
      ...tint.legend.map((look) => chip(look, look.text)),
      element("span", { class: "gp-hint" }, how),
    );
  }

  // The longest event of a node; -1 where it did not run.
  function longestOf(node) {
    const name = step.names.indexOf(node);
    const lasted = (event) => step.end[event] - step.start[event];
    let found = name < 0 ? -1 : step.name.indexOf(name);
    for (let event = found + 1; found >= 0 && event < step.count; event += 1) {
      if (step.name[event] === name && lasted(event) > lasted(found)) found = event;
    }
    return found;
  }

  function goTo(node) {
    const found = longestOf(node);
    if (found < 0) return;
    select(found);
    canvas.focus();
  }

  model.on("change:step", () => {
    const kept = span[1] - span[0] < step.total ? span : null;
    step = read();
    span = kept && kept[1] <= step.total ? kept : [0, step.total];
    if (selected >= step.count) selected = -1;
    showAround();
    draw();
  });
  model.on("change:colour", () => {
    showColour();
    draw();
  });
  // An event, or a node whose longest event is meant.
  model.on("change:goto", () => {
    const { event, node } = model.get("goto");
    if (event === undefined && node === undefined) return;
    if (node !== undefined && selected >= 0 && nameOf(selected) === node) return;
    const found = event ?? longestOf(node);
    if (found !== selected) select(found, false);
  });
  const sizes = new ResizeObserver(() => draw());
  sizes.observe(scroller);
  const themes = new MutationObserver(() => draw());
  for (const root of [document.body, document.documentElement]) {
    themes.observe(root, { attributes: true, attributeFilter: ["data-jp-theme-light", "class", "theme"] });
  }
  const scheme = matchMedia("(prefers-color-scheme: dark)"); // a page's theme
  scheme.addEventListener("change", draw);
  showAround();
  draw();
  return () => {
    sizes.disconnect();
    themes.disconnect();
    scheme.removeEventListener("change", draw);
  };
}

export default { render };
