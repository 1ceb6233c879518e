// The map of a namespace: boxes for VPCs, zones and subnets, chips for what is in them, and the graph of everything else.

import { get } from "./api.js";
import { byId, h, throttled } from "./dom.js";
import { drawGraph } from "./graph.js";
import { set, stateOf, store } from "./store.js";

// Short words of kinds that are frequent; others are written out.
const SHORT = { EC2Instance: "EC2", NATGateway: "NAT", InternetGateway: "IGW", SecurityGroup: "SG", RouteTable: "RT", TargetGroup: "TG", LoadBalancer: "LB", ListenerRule: "rule", Listener: "listener" };
const refresh = throttled(1000, load);
let last = "";

export function renderMap(view) {
  last = "";
  view.replaceChildren(h("div", { id: "map", class: "page map" }, h("p", { class: "quiet" }, "Loading…")));
  load();
}

export function updateMap() {
  const place = byId("map");
  if (!place) return;
  // The states at once, the structure after the server has answered.
  for (const chip of place.querySelectorAll("[data-key]")) paint(chip);
  refresh();
}

function namespace() {
  return store.namespace || store.session.namespace || store.frame.namespaces[0];
}

async function load() {
  const place = byId("map");
  const name = namespace();
  if (!place) return;
  if (!name) {
    place.replaceChildren(h("p", { class: "quiet" }, "No resources."));
    return;
  }
  try {
    const map = await get(`/api/map/${encodeURIComponent(name)}`);
    const text = JSON.stringify([name, map]);
    if (text === last || !place.isConnected) return;
    last = text;
    const others = map.others.nodes.length > 0 ? [h("h2", null, map.vpcs.length > 0 ? "Everything else, by references" : "By references"), drawGraph(map.others)] : [];
    const title = store.session.namespace || store.namespace ? [] : [h("p", { class: "quiet" }, `Namespace ${name}; choose another one above.`)];
    place.replaceChildren(...title, ...map.vpcs.map(vpc), ...others);
  } catch (error) {
    place.replaceChildren(h("p", { class: "message" }, error.message));
  }
}

function paint(chip) {
  const row = store.rows.get(chip.dataset.key);
  const state = stateOf(row);
  chip.setAttribute("class", `${chip.dataset.base} state-${state.name}${chip.dataset.key === store.open ? " open" : ""}`);
  chip.querySelector(".mark").textContent = state.mark;
  const title = `${row?.object ?? chip.dataset.key}: ${state.word}${row?.note ? `\n${row.note}` : ""}${row?.ids.length ? `\n${row.ids.join("\n")}` : ""}`;
  if (chip instanceof HTMLElement) chip.title = title;
}

function chip(item, label = "") {
  const [, , kind, name] = item.key.split("/");
  const element = h("button", { type: "button", "data-key": item.key, "data-base": "chip", onclick: () => set({ open: item.key, selected: item.key }) },
    h("span", { class: "mark" }), ` ${SHORT[kind] ?? kind} `, h("b", null, name), label && h("span", { class: "quiet" }, ` ${label}`));
  paint(element);
  return element;
}

function vpc(one) {
  return h("section", { class: "vpc" },
    h("div", { class: "line" }, chip(one, one.label), one.gateways.map((gateway) => chip(gateway))),
    h("div", { class: "inside" },
      h("div", { class: "zones" }, one.zones.map(zone), one.zones.length === 0 && h("p", { class: "quiet" }, "No subnets.")),
      one.balancers.length > 0 && h("div", { class: "balancers" }, one.balancers.map(balancer))),
    one.others.length > 0 && h("div", { class: "line" }, one.others.map((other) => chip(other))));
}

function zone(one) {
  return h("div", { class: "zone" }, h("h3", null, one.name || "zone not known yet"), one.subnets.map((subnet) =>
    h("div", { class: "subnet" }, chip(subnet, subnet.label), h("div", { class: "line" }, subnet.inside.map((inside) => chip(inside))))));
}

function balancer(one) {
  return h("div", { class: "balancer" }, chip(one, one.label), one.listeners.map((listener) => h("div", { class: "listener" },
    forward(chip(listener, listener.label), listener.targets),
    listener.rules.map((rule) => h("div", { class: "rule" }, forward(chip(rule, rule.label), rule.targets))))));
}

function forward(from, groups) {
  return h("div", { class: "line" }, from, groups.map((group) => [h("span", { class: "arrow" }, "→"), chip(group), group.targets.length > 0 && h("span", { class: "arrow" }, "→"), group.targets.map((target) => chip(target))]));
}
