//! The garbage collector: deletes objects without owners, and handles orphaning and foreground deletion.

use std::{collections::BTreeSet, sync::Arc};

use serde_json::Value;

use super::{Pace, text};
use crate::{
    delete::Options,
    kinds::Kind,
    meta,
    request::Target,
    state::{Inner, State},
    store::{Key, Object},
};

/// An action.
#[derive(Clone, Debug)]
enum Task {
    /// None of its owners exists or stays; in the foreground if its owner waits for it and it has dependents itself.
    Delete(Target, String, bool),
    /// It is to be deleted in the foreground, and so is one of its dependents already: it stops blocking its owners, so that
    /// they do not wait for each other.
    Unblock(Target),
    /// It has existing and missing owners: remove the references to the missing ones.
    Forget(Target, BTreeSet<String>),
    /// All its dependents are deleted or orphaned: remove this finalizer.
    Release(Target, &'static str),
}

/// Collects for as long as it is polled.
pub(super) async fn run(server: Arc<Inner>, mut pace: Pace, changed: &(impl Fn() + Sync)) {
    let mut seen = 0;
    loop {
        server.wait_for_change(&mut seen).await;
        loop {
            let mut tasks = server.tasks(&server.state.lock());
            let Some(task) = pace.take(&mut tasks) else { break };
            pace.pause().await;
            server.perform(&task);
            changed();
        }
    }
}

impl Inner {
    /// The pending actions.
    fn tasks(&self, state: &State) -> Vec<Task> {
        let mut tasks = Vec::new();
        for kind in self.kinds.iter() {
            for object in state.store.table(kind.index).into_iter().flat_map(|table| table.objects.values()) {
                self.task_of_dependent(state, kind, object, &mut tasks);
                if object.is_deleting() {
                    self.task_of_owner(state, kind, object, &mut tasks);
                }
            }
        }
        tasks
    }

    fn task_of_dependent(&self, state: &State, kind: &Arc<Kind>, object: &Object, tasks: &mut Vec<Task>) {
        if !object.is_owned || object.is_deleting() {
            return;
        }
        let owners = object.meta("ownerReferences").as_array().map(Vec::as_slice).unwrap_or_default();
        let namespace = text(&object.value["metadata"], "namespace");
        let (mut absent, mut present, mut leaving) = (BTreeSet::new(), 0, BTreeSet::new());
        for owner in owners {
            match self.owner(state, namespace, owner) {
                Owner::Unknown => return,
                Owner::Absent => drop(absent.insert(text(owner, "uid").to_owned())),
                Owner::Leaving => drop(leaving.insert(text(owner, "uid").to_owned())),
                Owner::Present => present += 1,
            }
        }
        let target = target(kind, object);
        let must_go = || {
            !absent.is_empty()
                || is_blocking(owners, &leaving)
                || leaving.iter().any(|owner| self.was_dependent(state, kind, object, owner))
        };
        if present == 0 && must_go() {
            let dependents =
                if leaving.is_empty() { Vec::new() } else { self.dependents(state, object.uid()) };
            let is_cycle = dependents.iter().any(|(dependent, _)| {
                state
                    .store
                    .get(dependent.kind.index, &dependent.key())
                    .is_some_and(|object| is_leaving(object))
            });
            let blocks = owners.iter().any(|owner| owner["blockOwnerDeletion"] == true);
            tasks.push(if is_cycle && blocks {
                Task::Unblock(target)
            } else {
                Task::Delete(target, object.uid().to_owned(), !dependents.is_empty())
            });
        } else if present > 0 && !(absent.is_empty() && leaving.is_empty()) {
            absent.append(&mut leaving);
            tasks.push(Task::Forget(target, absent));
        }
    }

    /// Whether a dependent must be deleted or must forget its owner before that stops waiting for its dependents.
    fn precedes_owner(&self, state: &State, dependent: &Target, owner: &Object) -> bool {
        let Some(object) = state.store.get(dependent.kind.index, &dependent.key()) else { return false };
        let mut tasks = Vec::new();
        if !object.is_deleting() && self.was_dependent(state, &dependent.kind, object, owner.uid()) {
            self.task_of_dependent(state, &dependent.kind, object, &mut tasks);
        }
        tasks.iter().any(|task| matches!(task, Task::Delete(..) | Task::Forget(..)))
    }

    /// Whether the object already had this owner when the foreground deletion of the owner began: only then does it not
    /// matter that it does not block it.
    fn was_dependent(&self, state: &State, kind: &Kind, object: &Object, owner: &str) -> bool {
        let tables = state.store.tables.iter();
        let mut entries = tables.flat_map(|table| table.history.iter());
        let began = entries.find(|entry| entry.after.uid() == owner && is_leaving(&entry.after));
        let Some(began) = began.map(|entry| entry.revision) else { return false };
        let history = state.store.table(kind.index).into_iter().flat_map(|table| table.history.iter());
        let mut later = history.filter(|entry| entry.revision > began && entry.after.uid() == object.uid());
        let then = match later.next() {
            Some(entry) => entry.before.as_deref(),
            None => Some(object),
        };
        let owners = then.and_then(|then| then.meta("ownerReferences").as_array());
        // One that stopped blocking is no longer deleted for it.
        let is_it = |reference: &Value| reference["uid"] == owner && reference["blockOwnerDeletion"] != true;
        owners.into_iter().flatten().any(is_it)
    }

    fn task_of_owner(&self, state: &State, kind: &Arc<Kind>, object: &Object, tasks: &mut Vec<Task>) {
        let has = |name: &str| {
            object.meta("finalizers").as_array().into_iter().flatten().any(|finalizer| finalizer == name)
        };
        let (orphans, waits) = (has("orphan"), has("foregroundDeletion"));
        if !orphans && !waits {
            return;
        }
        let dependents = self.dependents(state, object.uid());
        if orphans {
            for (target, _) in &dependents {
                tasks.push(Task::Forget(target.clone(), BTreeSet::from([object.uid().to_owned()])));
            }
            if dependents.is_empty() {
                tasks.push(Task::Release(target(kind, object), "orphan"));
            }
        } else if !dependents
            .iter()
            .any(|(target, blocks)| *blocks || self.precedes_owner(state, target, object))
        {
            tasks.push(Task::Release(target(kind, object), "foregroundDeletion"));
        }
    }

    /// The objects with this UID as an owner, and whether they block the owner's deletion.
    fn dependents(&self, state: &State, uid: &str) -> Vec<(Target, bool)> {
        let mut dependents = Vec::new();
        for kind in self.kinds.iter() {
            let objects = state.store.table(kind.index).into_iter().flat_map(|table| table.objects.values());
            for object in objects.filter(|object| object.is_owned) {
                let owners = object.meta("ownerReferences").as_array().into_iter().flatten();
                let mut owners = owners.filter(|owner| owner["uid"] == uid).peekable();
                if owners.peek().is_some() {
                    let blocks = owners.any(|owner| owner["blockOwnerDeletion"] == true);
                    dependents.push((target(kind, object), blocks));
                }
            }
        }
        dependents
    }

    fn owner(&self, state: &State, namespace: &str, owner: &Value) -> Owner {
        let (group, _) = text(owner, "apiVersion").split_once('/').unwrap_or_default();
        let named = text(owner, "kind");
        let kind = self.kinds.iter().find(|kind| kind.kind == named && kind.group == group);
        let Some(kind) = kind else { return Owner::Unknown };
        let namespace = if kind.namespaced { namespace } else { "" };
        let key = Key { namespace: namespace.to_owned(), name: text(owner, "name").to_owned() };
        match state.store.get(kind.index, &key).filter(|object| object.uid() == text(owner, "uid")) {
            None => Owner::Absent,
            Some(object) if is_leaving(object) => Owner::Leaving,
            Some(_) => Owner::Present,
        }
    }

    fn perform(&self, task: &Task) {
        let mut state = self.state.lock();
        match task {
            Task::Delete(target, uid, waits) => {
                let still = self.tasks(&state).iter().any(|task| {
                    matches!(task, Task::Delete(other, of, _) if of == uid && other.key() == target.key())
                });
                if still && self.delete(&mut state, target, &Options::collected(uid, *waits)).is_err() {
                    tracing::debug!(name = target.name, "not collected: it changed meanwhile");
                }
            }
            Task::Unblock(target) => self.edit(&mut state, target, |value| {
                let owners = value["metadata"]["ownerReferences"].as_array_mut();
                for owner in owners.into_iter().flatten().filter(|owner| owner["blockOwnerDeletion"] == true)
                {
                    owner["blockOwnerDeletion"] = false.into();
                }
            }),
            Task::Forget(target, owners) => self.edit(&mut state, target, |value| {
                let mut left = value["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default();
                left.retain(|owner| !owners.contains(text(owner, "uid")));
                let left = if left.is_empty() { Value::Null } else { Value::Array(left) };
                meta::set(value, "ownerReferences", left);
            }),
            Task::Release(target, finalizer) => self.edit(&mut state, target, |value| {
                let mut left = value["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
                left.retain(|name| name != finalizer);
                let left = if left.is_empty() { Value::Null } else { Value::Array(left) };
                meta::set(value, "finalizers", left);
            }),
        }
    }
}

/// What became of an owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    /// It is there.
    Present,
    /// It waits for its dependents.
    Leaving,
    /// It is deleted.
    Absent,
    /// Its kind is not served.
    Unknown,
}

/// Whether an object waits for the deletion of its dependents.
fn is_leaving(object: &Object) -> bool {
    let mut finalizers = object.meta("finalizers").as_array().into_iter().flatten();
    object.is_deleting() && finalizers.any(|finalizer| finalizer == "foregroundDeletion")
}

fn is_blocking(owners: &[Value], leaving: &BTreeSet<String>) -> bool {
    owners.iter().any(|owner| leaving.contains(text(owner, "uid")) && owner["blockOwnerDeletion"] == true)
}

fn target(kind: &Arc<Kind>, object: &Object) -> Target {
    let Key { namespace, name } = Key::of(&object.value);
    Target { kind: kind.clone(), namespace, name, subresource: String::new() }
}
