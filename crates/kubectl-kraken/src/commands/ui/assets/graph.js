// Draws resources in the layers that the server computed: each to the right of what it uses.

import { h, svg } from "./dom.js";
import { set, stateOf, store } from "./store.js";

const WIDTH = 210;
const GAP = 70;
const HEIGHT = 34;

export function drawGraph({ nodes, edges, more }) {
  const layers = Array.from({ length: Math.max(...nodes.map((node) => node.layer)) + 1 }, () => []);
  for (const node of nodes) layers[node.layer].push(node);
  const places = placed(layers, edges);
  const height = Math.max(1, ...layers.map((layer) => layer.length)) * HEIGHT + 10;
  const width = layers.length * (WIDTH + GAP);
  const lines = edges.map(([user, used]) => {
    const [from, to] = [places.get(used), places.get(user)];
    if (!from || !to) return null;
    const [x1, y1, x2, y2] = [from.x + WIDTH, from.y + 13, to.x, to.y + 13];
    return svg("path", { class: "edge", d: `M${x1} ${y1}C${x1 + GAP / 2} ${y1} ${x2 - GAP / 2} ${y2} ${x2} ${y2}` });
  });
  const boxes = nodes.map((node) => box(node, places.get(node.id)));
  return h("div", { class: "graph" },
    svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "Graph of references" }, lines, boxes),
    more > 0 && h("p", { class: "quiet" }, `${more} more resources are not drawn; search for them in the list.`));
}

// Each node near the middle of those that it uses, so that edges cross less.
function placed(layers, edges) {
  const places = new Map();
  const used = new Map();
  for (const [user, of] of edges) used.set(user, [...(used.get(user) ?? []), of]);
  layers.forEach((layer, x) => {
    const middle = (node) => {
      const around = (used.get(node.id) ?? []).map((id) => places.get(id)?.y ?? 0);
      return around.length > 0 ? around.reduce((sum, y) => sum + y, 0) / around.length : 0;
    };
    const sorted = layer.map((node) => [middle(node), node]).sort(([one], [other]) => one - other);
    sorted.forEach(([, node], y) => places.set(node.id, { x: x * (WIDTH + GAP), y: y * HEIGHT + 4 }));
  });
  return places;
}

function box(node, { x, y }) {
  const state = stateOf(store.rows.get(node.key));
  const text = node.object.length > 28 ? `${node.object.slice(0, 27)}…` : node.object;
  const open = () => { if (node.key) set({ open: node.key, selected: node.key }); };
  // ConfigMaps and Secrets are not read, so that their state is not known.
  const props = node.key
    ? { "data-key": node.key, "data-base": "node", class: `node state-${state.name}`, tabindex: 0, role: "button", onclick: open, onkeydown: (event) => { if (event.key === "Enter") open(); } }
    : { class: "node outside" };
  return svg("g", { ...props, transform: `translate(${x} ${y})` },
    svg("title", null, node.object), svg("rect", { width: WIDTH, height: 26, rx: 4 }),
    svg("text", { x: 8, y: 17 }, svg("tspan", { class: "mark" }, node.key ? state.mark : ""), node.key ? ` ${text}` : text));
}
