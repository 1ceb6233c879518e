// The tables of all drift and of all exports.

import { get } from "./api.js";
import { driftTable, link } from "./detail.js";
import { byId, command, h, throttled } from "./dom.js";
import { store } from "./store.js";

const refresh = throttled(500, load);

export function renderTable(view) {
  view.replaceChildren(h("div", { id: "table", class: "page" }, h("p", { class: "quiet" }, "Loading…")));
  load();
}

export function updateTable() {
  if (byId("table")) refresh();
}

async function load() {
  const view = store.view;
  const place = byId("table");
  if (!place) return;
  try {
    const all = await get(`/api/${view}`);
    if (view !== store.view) return;
    const own = all.filter((one) => store.namespace === "" || (one.namespace ?? one.key.split("/")[0]) === store.namespace);
    const none = view === "drift" ? "No drift is reported." : "No ConfigExport.";
    place.replaceChildren(...(own.length > 0 ? own.map(view === "drift" ? drifted : exported) : [h("p", { class: "quiet" }, none)]));
  } catch (error) {
    place.replaceChildren(h("p", { class: "message" }, error.message));
  }
}

function drifted(one) {
  const key = [one.namespace, one.group, one.kind, one.name].join("/");
  return h("article", null, h("h2", null, link(key, `${one.kind}/${one.name}`), h("span", { class: "quiet" }, ` in ${one.namespace}`)),
    driftTable(one.drift), command(`kubectl kraken drift --accept ${one.kind.toLowerCase()}/${one.name} -n ${one.namespace}`));
}

function exported(one) {
  const [namespace, , kind, name] = one.key.split("/");
  const source = (from) => [link(from.key, from.object), from.path && h("span", { class: "quiet" }, ` ${from.path}`), " "];
  return h("article", null, h("h2", null, link(one.key, `${kind}/${name}`), h("span", { class: "quiet" }, ` in ${namespace} writes ${one.target}`)),
    h("table", null,
      h("thead", null, h("tr", null, h("th", null, "Key"), h("th", null, "From"))),
      h("tbody", null, one.entries.map((entry) => h("tr", null, h("td", null, entry.key), h("td", null, entry.from.length > 0 ? entry.from.map(source) : "a literal"))))));
}
