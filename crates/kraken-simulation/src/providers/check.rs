//! The checks: never two objects of a resource, none left behind, none lost, and no standby that writes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kraken_simulator::hook::{Answer, Call};
use serde_json::{Value, json};

use super::{KINDS, NAMESPACE};
use crate::engine::providers::Remote;
use crate::engine::{Caller, Checker, Event, EventKind, ProcessId, View, Violation};
use crate::kinds::served;
use crate::provider_types::{ADDRESS, NAME, SIZE, ZONE};
use crate::schedule::{Controller, ObjectName, Operation, Propagation, Side};

/// The reason of a resource of which nobody can know whether its object exists.
const UNKNOWN: &str = "CreationUnknown";
const CONFIRMED: &str = "creation-confirmed-at";
/// How the operations are printed that back a namespace up, and that lose it.
const SAVE: &str = "save the manifests";
const LOSE: &str = "lose ";
/// How a restore is printed, and one that leaves out finalizers.
const RESTORE: &str = "restore ";
const WITHOUT: &str = "without finalizers";
/// The type of the Secret of a journal.
const JOURNAL: &str = kraken_tofu::journal::SECRET_TYPE;

/// The checks of one schedule.
#[derive(Debug, Default)]
pub struct ProviderCheck {
    /// The processes that had the lease at some time.
    led: BTreeSet<ProcessId>,
    /// The journals after the last write of one, by name, with their versions.
    journals: BTreeMap<String, String>,
    /// Those of the last backup.
    saved: Option<BTreeMap<String, String>>,
    /// Journals that were lost although their last version is in no backup: what they named may exist twice, or without a resource.
    lost: BTreeSet<String>,
    /// Whether the namespace is lost, or was restored without finalizers: until the next reconcile of a resource, its deletion leaves
    /// its object behind.
    is_unheld: bool,
}

impl ProviderCheck {
    /// Whether its journal was lost.
    fn is_lost(&self, kind: &str, name: &str) -> bool {
        let resource = ObjectName::new(NAMESPACE, kind, name);
        self.lost.iter().any(|journal| is_journal_of(journal, &resource))
    }

    /// Whether a person has to say what exists of it.
    fn is_unknown(&self, name: &ObjectName, object: &Value) -> bool {
        ready(object).1 == UNKNOWN && (name.kind == "KtestNote" || self.saved.is_some())
    }

    /// Whether the object may be without a resource.
    fn is_lost_object(&self, remote: &Remote) -> bool {
        let kind = KINDS.into_iter().find(|(_, of)| *of == remote.type_name);
        self.is_unheld || kind.is_some_and(|(kind, _)| self.is_lost(kind, remote.text(NAME)))
    }

    /// Learns what a backup contains, and what is lost with the namespace.
    fn learn(&mut self, view: &View<'_>, event: &EventKind) {
        match event {
            EventKind::Operation(text) if text.starts_with(SAVE) => {
                let saved = saved(view);
                // The journal of a resource that is being deleted, and is not in the backup, is restored without it.
                let alone = journals(view).map(|(name, _)| name).filter(|name| !saved.contains_key(name));
                self.lost.extend(alone);
                self.saved = Some(saved);
            }
            EventKind::Operation(text) if text.starts_with(RESTORE) => {
                self.is_unheld = text.contains(WITHOUT);
            }
            EventKind::Operation(text) if text.starts_with(LOSE) => {
                self.is_unheld = true;
                let saved = self.saved.clone().unwrap_or_default();
                let is_newer = |(name, version): &(&String, &String)| saved.get(*name) != Some(*version);
                self.lost.extend(self.journals.iter().filter(is_newer).map(|(name, _)| name.clone()));
            }
            EventKind::Call(call) if call.writes && call.name.ends_with(" secrets") => {
                self.journals = journals(view).collect();
            }
            _ => {}
        }
    }

    /// The resources with more objects than they may have at any time: only those exist besides one that a replacement deletes.
    fn too_many(&self, view: &View<'_>) -> Vec<Violation> {
        let mut all = BTreeMap::<(String, String), Vec<String>>::new();
        for (id, remote) in view.world.objects() {
            let name = remote.text(NAME).to_owned();
            all.entry((remote.type_name, name)).or_default().push(id);
        }
        let too_many =
            all.into_iter().filter(|(_, ids)| ids.len() > 1).filter_map(|((type_name, name), ids)| {
                let (kind, _) = KINDS.into_iter().find(|(_, of)| *of == type_name)?;
                let object = ObjectName::new(NAMESPACE, kind, &name);
                // A restored record names nothing.
                let most = if self.saved.is_some() { 2 } else { 1 };
                let replaced = outgoing(view, &object);
                let kept = ids.iter().filter(|id| !replaced.contains(id)).count();
                let is_wrong = kept > most && !self.is_lost(kind, &name);
                is_wrong.then(|| violation(view, "one object", format!("{object} has {}", ids.join(", "))))
            });
        too_many.collect()
    }
}

/// The ids that the record of a resource names as replaced.
fn outgoing(view: &View<'_>, name: &ObjectName) -> Vec<String> {
    let resource = resources(view).into_iter().find(|(other, ..)| other == name);
    let ids = resource.and_then(|(.., object)| object["status"]["ledger"]["outgoing"].as_array().cloned());
    let ids = ids.unwrap_or_default();
    ids.iter().filter_map(Value::as_str).map(str::to_owned).collect()
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

/// The journals in the cluster, with their versions.
fn journals(view: &View<'_>) -> impl Iterator<Item = (String, String)> + use<> {
    let is_journal = |secret: &Arc<Value>| secret["type"] == JOURNAL;
    let secrets = view.api.objects("", "secrets").into_iter().filter(is_journal);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    secrets
        .map(move |secret| (text(&secret["metadata"]["name"]), text(&secret["metadata"]["resourceVersion"])))
}

/// Those that a backup contains together with their resources: what is being deleted is in none.
fn saved(view: &View<'_>) -> BTreeMap<String, String> {
    let secrets = view.api.objects("", "secrets");
    let is_deleted =
        |name: &str| secrets.iter().any(|one| one["metadata"]["name"] == name && is_deleted(one));
    let resources: Vec<_> =
        resources(view).into_iter().filter(|(.., object)| !self::is_deleted(object)).collect();
    let has_resource = |journal: &str| resources.iter().any(|(name, ..)| is_journal_of(journal, name));
    journals(view).filter(|(name, _)| !is_deleted(name) && has_resource(name)).collect()
}

fn is_journal_of(journal: &str, resource: &ObjectName) -> bool {
    let (begin, end) = (format!("state.{}.", resource.kind.to_lowercase()), format!(".{}", resource.name));
    journal.starts_with(&begin) && journal.ends_with(&end)
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
fn unsettled(check: &ProviderCheck, view: &View<'_>) -> Vec<String> {
    let all = resources(view);
    let target = all.iter().find(|(name, ..)| name.kind == "KtestFile" && name.name == "a");
    let target = target.filter(|(.., object)| !is_deleted(object) && ready(object).0);
    // What is in place of a resource of which nothing can be known may refer to it, too.
    let is_used = all.iter().any(|(.., object)| refers(object) || ready(object).1 == UNKNOWN);
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
        if check.is_unknown(name, object) {
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
            _ if check.is_lost(&name.kind, &name.name) => {}
            others => found.push(format!("{name} is Ready and has {} objects", others.len())),
        }
    }
    let orphans = view.world.objects().into_iter().filter(|(_, remote)| {
        !owned.iter().any(|(type_name, name)| *type_name == remote.type_name && name == remote.text(NAME))
            && !check.is_lost_object(remote)
    });
    found.extend(orphans.map(|(id, remote)| format!("{id} of {} has no resource", remote.text(NAME))));
    found
}

/// The fields of an object that are not those of the spec.
fn differences(view: &View<'_>, name: &ObjectName, object: &Value, remote: &Remote) -> Vec<String> {
    let targets = view.world.named(KINDS[0].1, "a");
    let mut found = vec![];
    for field in [NAME, SIZE, ZONE] {
        // One that was lost may exist beside it.
        let wanted: Vec<&str> = match &object["spec"][field] {
            value if !value["valueFrom"].is_null() => targets.iter().map(|one| one.text(ADDRESS)).collect(),
            value => vec![value["value"].as_str().unwrap_or_default()],
        };
        if !wanted.contains(&remote.text(field)) {
            found.push(format!("{name} has {field} {:?} and should have {wanted:?}", remote.text(field)));
        }
    }
    if object["status"]["externalIds"] != json!([remote.text("id")]) {
        found.push(format!("{name} names {} and has {}", object["status"]["externalIds"], remote.text("id")));
    }
    found
}

impl Checker for ProviderCheck {
    fn event(&mut self, view: &View<'_>, event: &Event) -> Vec<Violation> {
        self.learn(view, &event.what);
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
        unsettled(self, view)
    }

    fn settled(&mut self, view: &View<'_>) -> Vec<Violation> {
        unsettled(self, view).into_iter().map(|text| violation(view, "as desired", text)).collect()
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
        // One that waited for a reference asks only when it is deleted, and what it refers to waits for it.
        let is_unknown = |(name, _, object): &(ObjectName, _, Arc<Value>)| self.is_unknown(name, object);
        let asks = resources(view).iter().any(is_unknown);
        let (unknown, others): (Vec<_>, Vec<_>) = resources(view).into_iter().partition(|resource| {
            is_unknown(resource) || (asks && ready(&resource.2).1 == "DeletionBlocked")
        });
        let is_asked = |journal: &str| unknown.iter().any(|(name, ..)| is_journal_of(journal, name));
        let is_of_asked = |remote: &Remote| {
            unknown.iter().any(|(name, of, _)| *of == remote.type_name && name.name == remote.text(NAME))
        };
        let mut left: Vec<String> = others
            .into_iter()
            .map(|(name, _, object)| format!("{name} is left: {}", ready(&object).1))
            .collect();
        left.extend(
            view.world
                .objects()
                .into_iter()
                .filter(|(_, remote)| !self.is_lost_object(remote) && !is_of_asked(remote))
                .map(|(id, remote)| format!("{id} of {} is left", remote.text(NAME))),
        );
        let journals = journals(view)
            .filter(|(name, _)| !self.is_unheld && !self.lost.contains(name) && !is_asked(name));
        left.extend(journals.map(|(name, _)| format!("the journal {name} is left")));
        left.into_iter().map(|text| violation(view, "nothing is left", text)).collect()
    }
}
