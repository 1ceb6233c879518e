// The keyboard.

import { byId, h } from "./dom.js";
import { move, page } from "./list.js";
import { set, store } from "./store.js";

const KEYS = [
  ["/", "search"], ["↑ ↓ or k j", "move in the list"], ["Page Up, Page Down, Home, End", "move far"], ["Enter", "open the resource"],
  ["Esc", "close the resource, or clear the search"], ["1 … 5", "list, map, plans, drift, exports"], ["?", "this help"],
];

export function listenToKeys(views) {
  byId("help-button").addEventListener("click", help);
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || byId("dialog").open) return;
    const isTyping = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
    if (pressed(event.key, isTyping, event.target, views)) event.preventDefault();
  });
}

// Whether the key means something here.
function pressed(key, isTyping, target, views) {
  const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page(), PageUp: -page() };
  const letters = { j: 1, k: -1, Home: -Infinity, End: Infinity };
  const step = steps[key] ?? (isTyping ? undefined : letters[key]);
  if (key === "Escape") return escaped();
  if (store.view === "list" && step !== undefined) {
    move(step);
    return true;
  }
  if (key === "Enter" && store.view === "list" && (isTyping || target === document.body || target.id === "rows") && store.selected) {
    set({ open: store.selected });
    return true;
  }
  if (isTyping) return false;
  if (key === "/") {
    if (store.view !== "list") set({ view: "list" });
    byId("search").focus();
    byId("search").select();
    return true;
  }
  if (key === "?") {
    help();
    return true;
  }
  const view = views[Number(key) - 1];
  if (view) set({ view });
  return Boolean(view);
}

function escaped() {
  const search = byId("search");
  if (store.open !== null) set({ open: null });
  else if (store.query !== "") {
    search.value = "";
    set({ query: "" });
  } else search.blur();
  return true;
}

function help() {
  const dialog = byId("dialog");
  dialog.replaceChildren(h("h2", null, "Keys"),
    h("table", null, h("tbody", null, KEYS.map(([key, meaning]) => h("tr", null, h("th", null, key), h("td", null, meaning))))),
    h("p", { class: "buttons" }, h("button", { type: "button", onclick: () => dialog.close() }, "Close")));
  dialog.showModal();
}
