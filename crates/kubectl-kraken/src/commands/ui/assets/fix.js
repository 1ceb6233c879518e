// What to fix first: the root causes, ranked by the server by how many resources each holds back.

import { command, h } from "./dom.js";
import { notify, set, store } from "./store.js";

const FEW = 3;
let isLong = false;

export function fixFirst() {
  const own = store.frame.fixFirst.filter((one) => store.namespace === "" || one.namespace === store.namespace);
  const persons = own.filter((one) => !one.inProgress);
  const progress = own.length - persons.length;
  if (own.length === 0) return [];
  const few = isLong ? persons : persons.slice(0, FEW);
  const more = persons.length - few.length;
  const toggle = () => { isLong = !isLong; notify("view"); };
  return [h("section", { class: "fix", "aria-label": "Fix first" },
    persons.length > 0 && h("h2", null, "Fix first"),
    h("ol", null, few.map(item)),
    (more > 0 || isLong) && h("button", { type: "button", class: "small", onclick: toggle }, isLong ? "fewer" : `${more} more`),
    progress > 0 && h("p", { class: "quiet" }, `In progress, nothing to do: ${progress}`))];
}

function item(one) {
  const others = one.holdsBack.filter((object) => object !== one.object).length;
  const isNamed = one.message.toLowerCase().startsWith(one.object.replace("/", " ").toLowerCase());
  const text = isNamed ? one.message : `${one.object}: ${one.message}`;
  const isResource = store.rows.has(one.key);
  return h("li", null,
    isResource ? h("button", { type: "button", class: "link", onclick: () => set({ selected: one.key, open: one.key }) }, text) : text,
    others > 0 && h("span", { class: "unblocks" }, ` unblocks ${others}`),
    one.remedy && (one.remedy.startsWith("kubectl ") ? command(one.remedy) : h("p", { class: "quiet" }, one.remedy)));
}
