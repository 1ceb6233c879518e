// Plans that await approval.

import { get, named, post } from "./api.js";
import { byId, command, h, throttled } from "./dom.js";
import { store } from "./store.js";

const refresh = throttled(500, load);

export function renderPlans(view) {
  view.replaceChildren(h("div", { id: "plans", class: "page" }, h("p", { class: "quiet" }, "Loading…")));
  load();
}

export function updatePlans() {
  if (byId("plans")) refresh();
}

async function load() {
  const place = byId("plans");
  if (!place) return;
  try {
    const plans = (await get("/api/plans")).filter((one) => store.namespace === "" || one.namespace === store.namespace);
    const cards = plans.map((one) => {
      const key = [one.namespace, one.group, one.kind, one.name].join("/");
      return h("article", null, h("h2", null, `${one.kind}/${one.name}`, h("span", { class: "quiet" }, ` in ${one.namespace}`)), planCard(key, one.plan));
    });
    place.replaceChildren(...(cards.length > 0 ? cards : [h("p", { class: "quiet" }, "No plan awaits approval.")]));
  } catch (error) {
    place.replaceChildren(h("p", { class: "message" }, error.message));
  }
}

// One plan with its changes, and how to approve exactly this one.
export function planCard(key, plan) {
  const { namespace, kind, name } = named(key);
  const answer = h("p", { role: "status" });
  const approve = async (event) => {
    if (!(await confirmed(kind, name, plan))) return;
    event.target.disabled = true;
    try {
      await post("/api/approve", { ...named(key), hash: plan.hash });
      answer.textContent = "approved";
    } catch (error) {
      answer.textContent = error.message;
      event.target.disabled = false;
    }
  };
  return h("div", { class: "plan" },
    h("p", null, h("strong", null, plan.action), ` ${plan.what ?? ""} `, h("code", null, plan.hash)),
    plan.stale && h("p", { class: "message" }, plan.stale),
    (plan.changes ?? []).length > 0 && h("table", null,
      h("thead", null, h("tr", null, ["Field", "Have", "Want"].map((title) => h("th", null, title)))),
      h("tbody", null, plan.changes.map((change) => h("tr", null, h("td", null, `spec.${change.path}`), h("td", null, change.have), h("td", null, change.want))))),
    store.session.canWrite
      ? h("button", { type: "button", class: "approve", onclick: approve }, "Approve…")
      : command(`kubectl kraken approve ${kind.toLowerCase()}/${name} -n ${namespace} --hash ${plan.hash}`),
    answer);
}

function confirmed(kind, name, plan) {
  const dialog = byId("dialog");
  return new Promise((done) => {
    const answer = (value) => () => { dialog.close(); done(value); };
    dialog.replaceChildren(
      h("h2", null, `Approve the plan of ${kind}/${name}?`),
      h("p", null, `${plan.action} ${plan.what ?? ""}`),
      h("p", { class: "quiet" }, `Plan ${plan.hash}. A plan that changed since is not approved.`),
      h("p", { class: "buttons" }, h("button", { type: "button", onclick: answer(false) }, "Cancel"),
        h("button", { type: "button", id: "confirm", class: "approve", onclick: answer(true) }, "Approve")));
    dialog.addEventListener("cancel", () => done(false), { once: true });
    dialog.showModal();
  });
}
