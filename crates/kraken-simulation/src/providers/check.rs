//! The checks: never two objects of a resource, none left behind, none lost, and no standby that writes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kraken_simulator::hook::{Answer, Call};
use serde_json::{Value, json};

use super::{KINDS, NAMESPACE};
use crate::engine::providers::{ADDRESS, NAME, Remote, SIZE, ZONE};
use crate::engine::{Caller, Checker, Event, ProcessId, View, Violation};
use crate::kinds::served;
use crate::schedule::{Action, Controller, ObjectName, Operation, Propagation, Schedule, Side};

/// The reason of a resource of which nobody can know whether its object exists.
const UNKNOWN: &str = "CreationUnknown";
const CONFIRMED: &str = "creation-confirmed-at";
/// The type of the Secret of a journal.
const JOURNAL: &str = kraken_tofu::journal::SECRET_TYPE;

/// The checks of one schedule.
#[derive(Debug)]
pub struct ProviderCheck {
    /// The resources that are replaced at some time: until their dependents have moved, both objects exist.
    replaced: BTreeSet<ObjectName>,
    /// The processes that had the lease at some time.
    led: BTreeSet<ProcessId>,
}

impl ProviderCheck {
    /// For this schedule.
    pub fn new(schedule: &Schedule) -> Self {
        let replaced = schedule.steps.iter().filter_map(|step| match &step.action {
            Action::Operation(Operation::Edit { object, path, .. }) if path.ends_with(ZONE) => {
                Some(object.clone())
            }
            Action::Operation(Operation::Apply { object } | Operation::Recreate { object }) => {
                Some(ObjectName::of(object))
            }
            _ => None,
        });
        let mut applied = BTreeMap::<ObjectName, usize>::new();
        replaced.for_each(|name| *applied.entry(name).or_default() += 1);
        // The first manifest replaces nothing.
        let replaced = applied.into_iter().filter(|(_, times)| *times > 1).map(|(name, _)| name).collect();
        Self { replaced, led: BTreeSet::new() }
    }

    /// The resources with more objects than they may have at any time.
    fn too_many(&self, view: &View<'_>) -> Vec<Violation> {
        let mut counts = BTreeMap::<(String, String), usize>::new();
        for remote in view.world.objects().values() {
            *counts.entry((remote.type_name.clone(), remote.text(NAME).to_owned())).or_default() += 1;
        }
        let too_many = counts.into_iter().filter_map(|((type_name, name), number)| {
            let (kind, _) = KINDS.into_iter().find(|(_, of)| *of == type_name)?;
            let object = ObjectName::new(NAMESPACE, kind, &name);
            let most = if self.replaced.contains(&object) { 2 } else { 1 };
            (number > most).then(|| violation(view, "one object", format!("{object} has {number} objects")))
        });
        too_many.collect()
    }
}

fn violation(view: &View<'_>, invariant: &str, message: String) -> Violation {
    Violation { at: view.now, invariant: invariant.to_owned(), message }
}

/// All resources, with the type of each.
fn resources(view: &View<'_>) -> Vec<(ObjectName, &'static str, Arc<Value>)> {
    let of_kind = |(kind, type_name): (&'static str, &'static str)| {
        let served = served(kind);
        let objects = served.map(|served| view.api.objects(served.group, served.plural)).unwrap_or_default();
        objects.into_iter().map(move |object| {
            let name = object["metadata"]["name"].as_str().unwrap_or_default();
            (ObjectName::new(NAMESPACE, kind, name), type_name, object)
        })
    };
    KINDS.into_iter().flat_map(of_kind).collect()
}

fn ready(object: &Value) -> (bool, &str) {
    let conditions = object["status"]["conditions"].as_array();
    let ready = conditions.and_then(|all| all.iter().find(|one| one["type"] == "Ready"));
    let text = |field: &str| ready.and_then(|ready| ready[field].as_str()).unwrap_or_default();
    (text("status") == "True", text("reason"))
}

fn is_deleted(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
}

/// Whether its size is that of `KtestFile/a`.
fn refers(object: &Value) -> bool {
    !object["spec"][SIZE]["valueFrom"].is_null()
}

/// What is not as it should be once nothing happens any more.
fn unsettled(view: &View<'_>) -> Vec<String> {
    let all = resources(view);
    let target = all.iter().find(|(name, ..)| name.kind == "KtestFile" && name.name == "a");
    let target = target.filter(|(.., object)| !is_deleted(object) && ready(object).0);
    let is_used = all.iter().any(|(.., object)| refers(object));
    let mut found = vec![];
    let mut owned = BTreeSet::new();
    for (name, type_name, object) in &all {
        owned.insert((*type_name, name.name.clone()));
        let objects = view.world.named(type_name, &name.name);
        let (is_ready, reason) = ready(object);
        // Or two people gave it a value and a reference, which the condition says.
        let is_both = refers(object) && !object["spec"][SIZE]["value"].is_null();
        let waits = is_both || (refers(object) && target.is_none());
        // Somebody has to say whether its object exists.
        if reason == UNKNOWN && name.kind == "KtestNote" {
            continue;
        }
        if is_deleted(object) {
            if !(is_used && name.kind == "KtestFile" && name.name == "a") {
                found.push(format!("{name} is still being deleted: {reason}"));
            }
            continue;
        }
        if waits {
            continue;
        }
        match objects.as_slice() {
            _ if !is_ready => found.push(format!("{name} is not Ready: {reason}")),
            [remote] => found.extend(differences(view, name, object, remote)),
            others => found.push(format!("{name} is Ready and has {} objects", others.len())),
        }
    }
    let orphans = view.world.objects().into_iter().filter(|(_, remote)| {
        !owned.iter().any(|(type_name, name)| *type_name == remote.type_name && name == remote.text(NAME))
    });
    found.extend(orphans.map(|(id, remote)| format!("{id} of {} has no resource", remote.text(NAME))));
    found
}

/// The fields of an object that are not those of the spec.
fn differences(view: &View<'_>, name: &ObjectName, object: &Value, remote: &Remote) -> Vec<String> {
    let target = view.world.named(KINDS[0].1, "a");
    let mut found = vec![];
    for field in [NAME, SIZE, ZONE] {
        let wanted = match &object["spec"][field] {
            value if !value["valueFrom"].is_null() => {
                target.first().map(|target| target.text(ADDRESS).to_owned()).unwrap_or_default()
            }
            value => value["value"].as_str().unwrap_or_default().to_owned(),
        };
        if remote.text(field) != wanted {
            found.push(format!("{name} has {field} {:?} and should have {wanted:?}", remote.text(field)));
        }
    }
    if object["status"]["externalIds"] != json!([remote.text("id")]) {
        found.push(format!("{name} names {} and has {}", object["status"]["externalIds"], remote.text("id")));
    }
    found
}

impl Checker for ProviderCheck {
    fn event(&mut self, view: &View<'_>, _: &Event) -> Vec<Violation> {
        self.too_many(view)
    }

    fn called(
        &mut self,
        view: &View<'_>,
        caller: &Caller,
        side: Side,
        call: &Call,
        _: &Answer,
    ) -> Vec<Violation> {
        let id = caller.process;
        let leases = view.api.objects("coordination.k8s.io", "leases");
        let lease = leases.iter().find(|lease| lease["metadata"]["name"] == "kraken-tofu");
        let Some(lease) = lease.filter(|_| id.controller == Controller::Tofu) else { return vec![] };
        if lease["spec"]["holderIdentity"] == caller.identity {
            self.led.insert(id);
        }
        let is_write = side == Side::Kube && call.writes && !call.name.ends_with(" leases");
        if is_write && !self.led.contains(&id) {
            return vec![violation(view, "a standby writes nothing", format!("{id} sent {}", call.name))];
        }
        vec![]
    }

    fn pending(&mut self, view: &View<'_>) -> Vec<String> {
        unsettled(view)
    }

    fn settled(&mut self, view: &View<'_>) -> Vec<Violation> {
        unsettled(view).into_iter().map(|text| violation(view, "as desired", text)).collect()
    }

    /// Answers those that ask what exists, and deletes all.
    fn teardown(&mut self, view: &View<'_>) -> Vec<Operation> {
        let mut operations = vec![];
        for (name, type_name, object) in resources(view) {
            if ready(&object).1 == UNKNOWN {
                // As the condition says: a person deletes what is at the provider, and confirms that nothing exists.
                for remote in view.world.named(type_name, &name.name) {
                    view.world.delete(remote.text("id"));
                }
                operations
                    .push(Operation::Annotate { object: name.clone(), annotation: CONFIRMED.to_owned() });
            }
            operations.push(Operation::Delete { object: name, propagation: Propagation::Background });
        }
        operations
    }

    fn emptied(&mut self, view: &View<'_>) -> Vec<Violation> {
        let mut left: Vec<String> = resources(view)
            .into_iter()
            .map(|(name, _, object)| format!("{name} is left: {}", ready(&object).1))
            .collect();
        left.extend(
            view.world
                .objects()
                .into_iter()
                .map(|(id, remote)| format!("{id} of {} is left", remote.text(NAME))),
        );
        let secrets = view.api.objects("", "secrets");
        let journals = secrets.iter().filter(|secret| secret["type"] == JOURNAL);
        left.extend(journals.map(|secret| format!("the journal {} is left", secret["metadata"]["name"])));
        left.into_iter().map(|text| violation(view, "nothing is left", text)).collect()
    }
}
