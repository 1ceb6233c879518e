// The list of resources. Only the rows that are visible are elements, so that thousands of resources cost nothing.

import { byId, h } from "./dom.js";
import { fixFirst } from "./fix.js";
import { FILTERS, inNamespace, set, shown, stateOf, store } from "./store.js";

const HEIGHT = 28; // of a row in pixels, as in style.css
const AROUND = 8; // rows beyond the visible ones
let rows = [];
let scroller = null;
let space = null;

export function renderList(view) {
  scroller = h("div", { class: "rows", id: "rows", tabindex: "0", role: "listbox", "aria-label": "Resources", onscroll: () => requestAnimationFrame(draw) });
  space = h("div", { class: "space" });
  scroller.append(space);
  const headings = ["Name", "State", "Id", "Note"].map((name) => h("span", null, name));
  view.replaceChildren(
    h("div", { id: "filters", class: "filters" }),
    h("div", { id: "fix" }),
    h("div", { class: "row headings", "aria-hidden": "true" }, headings),
    scroller,
  );
  updateList();
}

export function updateList() {
  if (!scroller?.isConnected) return;
  rows = shown();
  if (!rows.some((row) => row.key === store.selected)) store.selected = rows[0]?.key ?? null;
  byId("filters").replaceChildren(...filters());
  byId("fix").replaceChildren(...fixFirst());
  draw();
}

function filters() {
  const own = store.sorted.filter(inNamespace);
  return Object.entries(FILTERS).map(([name, [label, is]]) => {
    const number = own.filter(is).length;
    const pressed = store.filter === name;
    return h("button", { type: "button", class: "filter", "data-filter": name, "aria-pressed": String(pressed), disabled: number === 0 && !pressed,
      onclick: () => set({ filter: pressed ? "all" : name }) }, `${label} ${number}`);
  });
}

function draw() {
  if (!scroller?.isConnected) return;
  space.style.height = `${rows.length * HEIGHT}px`;
  const first = Math.max(0, Math.floor(scroller.scrollTop / HEIGHT) - AROUND);
  const last = Math.min(rows.length, Math.ceil((scroller.scrollTop + scroller.clientHeight) / HEIGHT) + AROUND);
  const isTree = store.query === "" && store.filter === "all";
  const elements = [];
  for (let index = first; index < last; index += 1) elements.push(element(rows[index], index, isTree));
  if (rows.length === 0) {
    const text = { loading: "Loading…", live: "No resource matches." }[store.state] ?? "";
    elements.push(h("p", { class: "empty" }, text));
  }
  space.replaceChildren(...elements);
  scroller.setAttribute("aria-activedescendant", store.selected ? `row-${store.selected}` : "");
}

function element(row, index, isTree) {
  const state = stateOf(row);
  const [id, ...others] = row.ids;
  const short = id?.startsWith("arn:") ? `…/${id.split("/").pop()}` : id;
  const line = h("div", {
    class: `row state-${state.name}`, role: "option", id: `row-${row.key}`, "data-key": row.key, "aria-selected": String(row.key === store.selected),
    "aria-setsize": rows.length, "aria-posinset": index + 1, onclick: () => set({ selected: row.key, open: row.key }),
  },
  h("span", { class: "name", title: `${row.namespace} ${row.object}` }, isTree && h("span", { class: "branch" }, row.branch), h("span", { class: "kind" }, `${row.kind}/`), row.name),
  h("span", { class: "state", title: state.word }, h("span", { class: "mark" }, state.mark), ` ${row.reason}`),
  h("span", { class: "id", title: row.ids.join("\n") }, short ?? "-", others.length > 0 && ` +${others.length}`),
  h("span", { class: "note", title: row.note }, row.note));
  line.style.transform = `translateY(${index * HEIGHT}px)`;
  return line;
}

// Moves the cursor by a number of rows, and scrolls so that it is visible.
export function move(by) {
  if (rows.length === 0) return;
  const at = Math.max(0, rows.findIndex((row) => row.key === store.selected));
  const to = Math.min(rows.length - 1, Math.max(0, at + by));
  store.selected = rows[to].key;
  const top = to * HEIGHT;
  if (top < scroller.scrollTop) scroller.scrollTop = top;
  else if (top + HEIGHT > scroller.scrollTop + scroller.clientHeight) scroller.scrollTop = top + HEIGHT - scroller.clientHeight;
  draw();
}

// The number of rows that fit.
export function page() {
  return scroller ? Math.max(1, Math.floor(scroller.clientHeight / HEIGHT) - 1) : 1;
}
