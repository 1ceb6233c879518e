// What the page knows, and who is told about a change. The server computes it; here it is only kept.

export const store = {
  rows: new Map(), // by key
  sorted: [], // in the order of the tree
  frame: { namespaces: [], headlines: [], fixFirst: [], forbidden: [], problem: null },
  session: { namespace: null, canWrite: false, server: "" },
  state: "loading",
  view: "list",
  namespace: "", // of several; empty for all
  query: "",
  filter: "all",
  selected: null, // the key of the row under the cursor
  open: null, // the key of the resource in the detail pane
};

const listeners = new Set();

export function subscribe(listener) {
  listeners.add(listener);
}

// Tells everyone: `what` is "rows" for an update of the server, "view" for everything that the person did.
export function notify(what) {
  for (const listener of listeners) listener(what);
}

export function set(changes) {
  Object.assign(store, changes);
  notify("view");
}

export function apply(update) {
  if (update.isFirst) store.rows.clear();
  for (const key of update.removed) store.rows.delete(key);
  for (const row of update.rows) {
    row.object = `${row.kind}/${row.name}`;
    row.text = [row.namespace, row.object, row.reason, row.note, ...row.ids].join(" ").toLowerCase();
    store.rows.set(row.key, row);
  }
  if (update.frame) store.frame = update.frame;
  store.sorted = [...store.rows.values()].sort((one, other) => one.position - other.position);
  notify("rows");
}

// Mark, class and word of a state: never a color alone.
export function stateOf(row) {
  if (!row) return { mark: "○", name: "absent", word: "does not exist" };
  if (row.deleting) return { mark: "⊗", name: "deleting", word: "being deleted" };
  if (row.pendingPlan) return { mark: "◆", name: "approval", word: "awaits approval" };
  if (row.ready === "True" && row.drifted) return { mark: "▲", name: "drift", word: "drifted" };
  if (row.ready === "True") return { mark: "●", name: "ready", word: "ready" };
  if (row.next === "Controller") return { mark: "◐", name: "progress", word: "in progress" };
  return { mark: "✕", name: "failed", word: "not ready" };
}

export const FILTERS = {
  all: ["all", () => true],
  notReady: ["not ready", (row) => row.ready !== "True"],
  approval: ["awaiting approval", (row) => row.pendingPlan],
  drift: ["drifted", (row) => row.drifted],
  deleting: ["being deleted", (row) => row.deleting],
};

export function inNamespace(row) {
  return store.namespace === "" || row.namespace === store.namespace;
}

// The rows that the list shows.
export function shown() {
  const words = store.query.toLowerCase().split(/\s+/).filter(Boolean);
  const [, is] = FILTERS[store.filter];
  return store.sorted.filter((row) => inNamespace(row) && is(row) && words.every((word) => row.text.includes(word)));
}
