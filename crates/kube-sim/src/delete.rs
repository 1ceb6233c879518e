//! DELETE of one object or of many.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{
    cause::Cause,
    fault::{Fault, deleted},
    kinds::{Kind, Nature},
    meta,
    request::{Query, Target, dry_run_cause},
    selectors::Selector,
    state::{Inner, State},
    store::{Key, Object},
};

/// The finalizers of Kubernetes' own garbage collector.
const ORPHAN: &str = "orphan";
const FOREGROUND: &str = "foregroundDeletion";

/// The result of a deletion.
#[derive(Debug)]
pub(super) enum Deleted {
    /// The object remains until its finalizers are removed.
    Pending(Arc<Object>),
    /// It is deleted: the body of the response.
    Gone(Value),
}

/// How to delete.
#[derive(Debug, Default)]
pub(super) struct Options {
    policy: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
    dry_run: bool,
    /// Whether `orphanDependents` is false: an object that remains is then answered with 202.
    pub cascades: bool,
}

impl Options {
    /// Reads the body and the query.
    pub(super) fn read(query: &Query, body: &[u8]) -> Result<Self, Fault> {
        let body: Value = if body.is_empty() {
            Value::Null
        } else {
            serde_json::from_slice(body).map_err(|error| Fault::bad_request(error.to_string()))?
        };
        // The query only counts without a body.
        let query = |key: &str| query.get(key).filter(|_| body.is_null());
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let policy = text(&body["propagationPolicy"]).or(query("propagationPolicy").map(str::to_owned));
        let mut causes = Vec::new();
        if let Some(policy) = policy.as_deref() {
            if body["orphanDependents"].is_boolean() {
                let why = "orphanDependents and deletionPropagation cannot be both set";
                causes.push(Cause::invalid("propagationPolicy", &policy.into(), why));
            }
            if !["Background", "Foreground", "Orphan"].contains(&policy) {
                let message = format!(
                    "Unsupported value: {policy:?}: supported values: \"Foreground\", \"Background\", \"Orphan\", \"nil\""
                );
                let field = "propagationPolicy".to_owned();
                causes.push(Cause { reason: "FieldValueNotSupported", message, field });
            }
        }
        let dry_run = query("dryRun").or(body["dryRun"][0].as_str());
        causes.extend(dry_run.and_then(dry_run_cause));
        if !causes.is_empty() {
            return Err(Fault::invalid_as("DeleteOptions", "meta.k8s.io", "", &causes));
        }
        let orphans = body["orphanDependents"].as_bool();
        let policy_of = |orphans: bool| if orphans { "Orphan" } else { "Background" }.to_owned();
        Ok(Self {
            policy: policy.or(orphans.map(policy_of)),
            cascades: orphans == Some(false),
            uid: text(&body["preconditions"]["uid"]),
            resource_version: text(&body["preconditions"]["resourceVersion"]),
            dry_run: dry_run.is_some(),
        })
    }

    /// Like the garbage collector, with a UID precondition: the object's finalizers apply.
    pub(super) fn collected(uid: &str, waits: bool) -> Self {
        let policy = waits.then(|| "Foreground".to_owned());
        Self { policy, uid: Some(uid.to_owned()), ..Self::default() }
    }

    /// In the background.
    pub(super) fn in_background() -> Self {
        Self { policy: Some("Background".to_owned()), ..Self::default() }
    }
}

impl Inner {
    /// Deletes one object, or marks it.
    pub(super) fn delete(
        &self,
        state: &mut State,
        target: &Target,
        options: &Options,
    ) -> Result<Deleted, Fault> {
        let kind = &target.kind;
        let existing = state.store.get(kind.index, &target.key()).cloned();
        let existing = existing.ok_or_else(|| Fault::not_found(kind, &target.name))?;
        if kind.nature == Nature::Namespace
            && ["default", "kube-system", "kube-public"].contains(&target.name.as_str())
        {
            return Err(Fault::forbidden(kind, &target.name, "this namespace may not be deleted"));
        }
        check_preconditions(kind, &existing, options)?;
        let finalizers = finalizers_after(&existing, options.policy.as_deref());
        let mut value = (*existing.value).clone();
        let was_deleting = existing.is_deleting();
        if kind.nature == Nature::Namespace {
            if !was_deleting {
                meta::set(&mut value, "deletionTimestamp", self.now().into());
                value["status"]["phase"] = "Terminating".into();
                meta::set(&mut value, "finalizers", finalizers);
                return Ok(Deleted::Pending(self.marked(state, kind, value, &existing, options)));
            }
            if existing.value["spec"]["finalizers"].as_array().is_some_and(|list| !list.is_empty()) {
                return Ok(Deleted::Pending(existing));
            }
        }
        if finalizers.is_null() {
            if !options.dry_run {
                self.remove(state, kind, &existing);
            }
            return Ok(Deleted::Gone(deleted(kind, &target.name, existing.meta("uid"))));
        }
        meta::set(&mut value, "finalizers", finalizers);
        if !was_deleting {
            meta::set(&mut value, "deletionTimestamp", self.now().into());
            if let Some(generation) =
                existing.meta("generation").as_i64().filter(|generation| *generation > 0)
            {
                meta::set(&mut value, "generation", json!(generation + 1));
            }
        }
        meta::set(&mut value, "deletionGracePeriodSeconds", json!(0));
        if value == *existing.value && !existing.lacks_defaults {
            return Ok(Deleted::Pending(existing));
        }
        Ok(Deleted::Pending(self.marked(state, kind, value, &existing, options)))
    }

    fn marked(
        &self,
        state: &mut State,
        kind: &Kind,
        value: Value,
        existing: &Object,
        options: &Options,
    ) -> Arc<Object> {
        if options.dry_run {
            return Arc::new(Object::new(value, existing.managed.clone(), false));
        }
        self.store(state, kind, value, existing.managed.clone(), false)
    }

    /// Deletes each object that is selected; returns them as they were.
    pub(super) fn delete_all(
        &self,
        state: &mut State,
        target: &Target,
        selector: &Selector,
        options: &Options,
    ) -> Result<Vec<Arc<Object>>, Fault> {
        let table = state.store.table(target.kind.index);
        let objects = table.into_iter().flat_map(|table| table.objects.values());
        let objects: Vec<Arc<Object>> =
            objects.filter(|object| selector.matches(&object.value)).cloned().collect();
        for object in &objects {
            let Key { namespace, name } = Key::of(&object.value);
            let one = Target { namespace, name, ..target.clone() };
            match self.delete(state, &one, options) {
                Err(fault) if fault.code != 404 => return Err(fault),
                _ => {}
            }
        }
        Ok(objects)
    }
}

fn check_preconditions(kind: &Kind, existing: &Object, options: &Options) -> Result<(), Fault> {
    let name = existing.meta("name").as_str().unwrap_or_default();
    let (uid, version) = (existing.uid(), existing.meta("resourceVersion").as_str().unwrap_or_default());
    if let Some(wanted) = options.uid.as_deref().filter(|wanted| *wanted != uid) {
        let why = format!(
            "the UID in the precondition ({wanted}) does not match the UID in record ({uid}). The object might have been deleted and then recreated"
        );
        return Err(Fault::delete_conflict(kind, name, &why));
    }
    if let Some(wanted) = options.resource_version.as_deref().filter(|wanted| *wanted != version) {
        let why = format!(
            "the ResourceVersion in the precondition ({wanted}) does not match the ResourceVersion in record ({version}). The object might have been modified"
        );
        return Err(Fault::delete_conflict(kind, name, &why));
    }
    Ok(())
}

/// The finalizers of the object after the request of its deletion; null for none.
fn finalizers_after(existing: &Object, policy: Option<&str>) -> Value {
    let before = existing.meta("finalizers").as_array().cloned().unwrap_or_default();
    let has = |name: &str| before.iter().any(|finalizer| finalizer == name);
    let orphans = match policy {
        Some(policy) => policy == "Orphan",
        None => has(ORPHAN),
    };
    let waits = match policy {
        Some(policy) => policy == "Foreground",
        None => has(FOREGROUND),
    };
    let mut after: Vec<Value> =
        before.iter().filter(|name| **name != ORPHAN && **name != FOREGROUND).cloned().collect();
    if orphans {
        after.push(ORPHAN.into());
    }
    if waits {
        after.push(FOREGROUND.into());
    }
    if after.is_empty() { Value::Null } else { Value::Array(after) }
}
