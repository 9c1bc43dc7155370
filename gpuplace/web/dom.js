// What the explorer's scripts share: making elements, chips of devices, and sending to Python.

function element(tag, properties = {}, ...children) {
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

function chip(look, text) {
  const node = element("span", { class: `gp-chip gp-${look.corners}${look.outlines > 1 ? " gp-more" : ""}` });
  node.style.background = look.fill;
  node.classList.toggle("gp-blank", look.fill === "#ffffff");
  node.textContent = text ?? look.text ?? look.label;
  return node;
}

// Sends a message and tells the controls, which watch whether Python answers.
function tell(model, el, message) {
  try {
    model.send(message);
  } catch {
    // The connection is gone; the controls say so.
  }
  el.dispatchEvent(new CustomEvent("gp-sent", { bubbles: true }));
}

const grouped = (number) => number.toLocaleString("en");
