// The page: what is around the views, and which view is shown.

import { follow, get, takeToken } from "./api.js";
import { updateDetail } from "./detail.js";
import { byId, h } from "./dom.js";
import { listenToKeys } from "./keys.js";
import { renderList, updateList } from "./list.js";
import { renderMap, updateMap } from "./map.js";
import { renderPlans, updatePlans } from "./plans.js";
import { apply, inNamespace, set, store, subscribe } from "./store.js";
import { renderTable, updateTable } from "./tables.js";

const VIEWS = {
  list: ["List", renderList, updateList],
  map: ["Map", renderMap, updateMap],
  plans: ["Plans", renderPlans, updatePlans],
  drift: ["Drift", renderTable, updateTable],
  exports: ["Exports", renderTable, updateTable],
};
const THEMES = { auto: "◑", light: "☀", dark: "☾" };
let shownView = null;
let shownNamespace = "";

function update(what) {
  updateTabs();
  updateFrame();
  const [, render, refresh] = VIEWS[store.view];
  // Another namespace is another content of the same view.
  if (store.view !== shownView || store.namespace !== shownNamespace) {
    shownView = store.view;
    shownNamespace = store.namespace;
    location.hash = store.view;
    render(byId("view"));
  } else refresh(what);
  updateDetail(what);
}

function updateTabs() {
  const own = store.sorted.filter(inNamespace);
  const counts = { plans: own.filter((row) => row.pendingPlan).length, drift: own.filter((row) => row.drifted).length };
  byId("tabs").replaceChildren(...Object.entries(VIEWS).map(([name, [title]], index) =>
    h("button", { type: "button", role: "tab", "data-view": name, title: `( ${index + 1} )`, "aria-selected": String(name === store.view), onclick: () => set({ view: name }) },
      title, counts[name] > 0 && h("span", { class: "count" }, String(counts[name])))));
}

function updateFrame() {
  const { namespaces, headlines, forbidden, problem } = store.frame;
  const chosen = namespaces.indexOf(store.namespace);
  byId("headline").textContent = chosen >= 0 ? headlines[chosen] : headlines.length === 1 ? headlines[0] : headlines.length > 1 ? `${namespaces.length} namespaces, ${store.rows.size} resources` : "";
  choice(namespaces);
  const texts = {
    lost: "The connection to the command is lost; it is tried again. If the command has ended, run kubectl kraken ui again.",
    refused: "Open the address that kubectl kraken ui printed last: this one is of another run, or without its token.",
  };
  const text = texts[store.state] ?? (problem ? `The cluster does not answer, so that this may be old: ${problem}` : forbidden.length > 0 ? `Not shown, because you may not list them: ${forbidden.join(", ")}` : "");
  byId("banner").textContent = text;
  byId("banner").hidden = text === "";
}

// The namespaces to choose from, if the command was started for all.
function choice(namespaces) {
  const place = byId("namespace");
  if (store.session.namespace !== null) {
    // The headline has it too.
    place.textContent = namespaces.length === 0 ? store.session.namespace : "";
    return;
  }
  const options = ["", ...namespaces];
  if (place.dataset.options === options.join()) return;
  place.dataset.options = options.join();
  const select = h("select", { "aria-label": "Namespace", onchange: () => set({ namespace: select.value }) }, options.map((name) => h("option", { value: name }, name || "all namespaces")));
  select.value = store.namespace;
  place.replaceChildren(select);
}

function theme(name) {
  document.documentElement.dataset.theme = name;
  byId("theme").textContent = THEMES[name];
  byId("theme").setAttribute("aria-label", `Theme: ${name}`);
}

async function start() {
  theme(localStorage.getItem("kraken-theme") ?? "auto");
  byId("theme").addEventListener("click", () => {
    const names = Object.keys(THEMES);
    const next = names[(names.indexOf(document.documentElement.dataset.theme) + 1) % names.length];
    localStorage.setItem("kraken-theme", next);
    theme(next);
  });
  const hasToken = takeToken();
  const wanted = location.hash.slice(1);
  if (wanted in VIEWS) store.view = wanted;
  window.addEventListener("hashchange", () => {
    const name = location.hash.slice(1);
    if (name in VIEWS && name !== store.view) set({ view: name });
    // The address of another run, opened in this tab.
    if (name.startsWith("token=")) location.reload();
  });
  byId("search").addEventListener("input", (event) => set({ query: event.target.value, view: "list" }));
  listenToKeys(Object.keys(VIEWS));
  subscribe(update);
  if (!hasToken) {
    set({ state: "refused" });
    return;
  }
  try {
    store.session = await get("/api/session");
  } catch {
    // What is wrong is said by the stream below.
  }
  document.title = `Kraken ${store.session.namespace ?? ""}`.trim();
  update("view");
  await follow(apply, (state) => set({ state }));
}

start();
