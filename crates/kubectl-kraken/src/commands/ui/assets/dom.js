// Elements from data. Text is always text: nothing of a cluster is ever parsed as HTML.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "hidden" || name === "disabled") element[name] = true;
    else element.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child !== undefined && child !== null && child !== false) element.append(child);
  }
  return element;
}

export function h(tag, props, ...children) {
  return fill(document.createElement(tag), props, children);
}

export function svg(tag, props, ...children) {
  return fill(document.createElementNS(SVG, tag), props, children);
}

export function byId(id) {
  return document.getElementById(id);
}

// A button that copies a text.
export function copyButton(text, label = "copy") {
  const button = h("button", { type: "button", class: "small", title: `Copy: ${text}`, onclick: async (event) => {
    event.stopPropagation();
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "copied";
    } catch {
      button.textContent = "not copied";
    }
    setTimeout(() => { button.textContent = label; }, 1200);
  } }, label);
  return button;
}

// A command of the terminal with its button.
export function command(text) {
  return h("div", { class: "command" }, h("code", null, text), copyButton(text));
}

// At most one call in this time, the last one always.
export function throttled(milliseconds, call) {
  let timer = null;
  let last = 0;
  return () => {
    if (timer !== null) return;
    timer = setTimeout(() => { timer = null; last = Date.now(); call(); }, Math.max(0, last + milliseconds - Date.now()));
  };
}
