// The pane with one resource.

import { address, get, named, post } from "./api.js";
import { byId, command, copyButton, h, throttled } from "./dom.js";
import { planCard } from "./plans.js";
import { set, stateOf, store } from "./store.js";

let shownKey = null;
let unfolded = new Set(["manifest"]);
let preview = null;

export function updateDetail(what) {
  const pane = byId("detail");
  pane.hidden = store.open === null;
  if (store.open === null) {
    shownKey = null;
    pane.replaceChildren();
    return;
  }
  if (store.open !== shownKey) {
    shownKey = store.open;
    preview = null;
    pane.replaceChildren(h("p", { class: "quiet" }, "Loading…"));
    load();
  } else if (what === "rows") {
    again();
  }
}

const again = throttled(1000, () => { if (shownKey) load(); });

async function load() {
  const key = shownKey;
  const pane = byId("detail");
  try {
    const [detail, events] = await Promise.all([
      get(`/api/object/${address(key)}`),
      get(`/api/events/${address(key)}`).catch((error) => error.message),
    ]);
    if (key !== shownKey) return;
    const top = pane.scrollTop;
    pane.replaceChildren(...content(detail, events));
    pane.scrollTop = top;
  } catch (error) {
    if (key === shownKey) pane.replaceChildren(close(), h("h1", null, key.split("/").slice(2).join("/")), h("p", null, error.message));
  }
}

function close() {
  return h("button", { type: "button", class: "small close", title: "Close ( Esc )", onclick: () => set({ open: null }) }, "✕");
}

function content(detail, events) {
  const row = detail.resource;
  const live = store.rows.get(detail.key) ?? row;
  const state = stateOf(live);
  return [
    close(),
    h("h1", null, h("span", { class: `mark state-${state.name}` }, state.mark), ` ${row.kind}/${row.name}`),
    h("p", { class: "quiet" }, `namespace ${row.namespace} · ${state.word} · ${row.reason}`, detail.location && ` · ${detail.location}`, detail.created && ` · since ${age(detail.created)}`),
    row.note && h("p", { class: row.ready === "True" ? "" : "message" }, row.note),
    row.ids.length > 0 && h("p", { class: "ids" }, row.ids.map((id) => h("span", null, h("code", null, id), copyButton(id)))),
    causes(detail.why.rootCauses),
    detail.plan && section("Plan", planCard(detail.key, detail.plan)),
    detail.drift.length > 0 && section("Drift", driftTable(detail.drift), command(`kubectl kraken drift --accept ${argument(row)} -n ${row.namespace}`)),
    section("Uses", links(detail.uses, "Nothing.")),
    section("Used by", links(detail.usedBy, "Nothing.")),
    section("Deletion", h("p", null, detail.deletion), ...deletion(detail.key)),
    section("Events", eventList(events)),
    section("Conditions", conditions(detail.conditions ?? [])),
    fold("manifest", "YAML", detail.manifest),
    detail.status !== "" && fold("status", "Status", detail.status),
  ].filter(Boolean);
}

function section(title, ...children) {
  return h("section", null, h("h2", null, title), children);
}

export function argument(row) {
  return `${row.kind.toLowerCase()}/${row.name}`;
}

function causes(roots) {
  if (roots.length === 0) return null;
  return section("Root causes", h("ol", null, roots.map((root) => h("li", null,
    `${root.object}: ${root.message}`,
    root.usedBy.length > 0 && h("p", { class: "quiet" }, `used by ${root.usedBy.map((hop) => `${hop.object} ${hop.via}`).join(" ← ")}`),
    root.remedy && (root.remedy.startsWith("kubectl ") ? command(root.remedy) : h("p", null, root.remedy))))));
}

function links({ objects, more }, none) {
  if (objects.length === 0) return h("p", { class: "quiet" }, none);
  return h("ul", { class: "links" },
    objects.map((one) => h("li", null, link(one.key, one.object), h("span", { class: "quiet" }, ` ${one.via}`))),
    more > 0 && h("li", { class: "quiet" }, `and ${more} more`));
}

// A resource by its name, with its state; what is no resource of Kraken is only named.
export function link(key, object) {
  if (!key) return h("span", null, object);
  const state = stateOf(store.rows.get(key));
  return h("button", { type: "button", class: "link", "data-key": key, onclick: () => set({ open: key, selected: key }) },
    h("span", { class: `mark state-${state.name}` }, state.mark), ` ${object}`);
}

export function driftTable(drift) {
  return h("table", null,
    h("thead", null, h("tr", null, ["Field", "Want", "Have", "Since"].map((name) => h("th", null, name)))),
    h("tbody", null, drift.map((diff) => h("tr", null, h("td", null, `spec.${diff.path}`), h("td", null, diff.want), h("td", null, diff.have), h("td", null, diff.since ? age(diff.since) : "-")))));
}

function deletion(key) {
  if (!store.session.canWrite) return [];
  const ask = (withDependents) => async () => {
    try {
      preview = await post("/api/preview-deletion", { ...named(key), withDependents });
    } catch (error) {
      preview = { entries: [], error: error.message };
    }
    if (key === shownKey) load();
  };
  return [
    h("p", null,
      h("button", { type: "button", class: "small", onclick: ask(false) }, "preview"), " ",
      h("button", { type: "button", class: "small", onclick: ask(true) }, "preview with everything that uses it")),
    preview && h("div", { id: "preview" }, preview.error && h("p", { class: "message" }, preview.error),
      h("ul", { class: "links" }, preview.entries.map((entry) => h("li", null, h("strong", null, `${entry.action} `), `${entry.kind}/${entry.name}`,
        h("span", { class: "quiet" }, ` ${entry.effects.join("; ")}`)))),
      h("p", { class: "quiet" }, "Dry runs: nothing was deleted.")),
  ].filter(Boolean);
}

function eventList(events) {
  if (typeof events === "string") return h("p", { class: "quiet" }, events);
  if (events.length === 0) return h("p", { class: "quiet" }, "None.");
  return h("ul", { class: "events" }, events.map((event) => h("li", { class: event.type === "Warning" ? "warning" : "" },
    h("span", { class: "quiet" }, event.last ? `${age(event.last)} ` : ""), h("strong", null, event.reason), ` ${event.message}`, event.count > 1 && ` (${event.count}×)`)));
}

function conditions(all) {
  if (all.length === 0) return h("p", { class: "quiet" }, "None yet.");
  return h("table", null, h("tbody", null, all.map((one) => h("tr", null,
    h("td", null, one.type), h("td", null, one.status), h("td", null, one.reason), h("td", null, one.message)))));
}

function fold(name, title, text) {
  const details = h("details", { class: "yaml", "data-fold": name }, h("summary", null, title, " ", copyButton(text)), h("pre", null, text));
  details.open = unfolded.has(name);
  details.addEventListener("toggle", () => { if (details.open) unfolded.add(name); else unfolded.delete(name); });
  return details;
}

export function age(time) {
  const seconds = Math.max(0, (Date.now() - Date.parse(time)) / 1000);
  for (const [unit, length] of [["d", 86400], ["h", 3600], ["m", 60]]) {
    if (seconds >= length) return `${Math.floor(seconds / length)}${unit}`;
  }
  return `${Math.floor(seconds)}s`;
}
