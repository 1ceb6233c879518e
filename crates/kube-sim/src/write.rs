//! Creating and updating objects: the order of checks is that of kube-apiserver's generic registry.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{
    cause::Cause,
    decode,
    fault::{Fault, MODIFIED},
    fields::{Managed, Manager},
    kinds::{Kind, Nature},
    meta,
    request::Target,
    schema::apply_defaults,
    state::{Inner, State},
    store::{Key, Object},
    strategy,
};

/// What a body of another namespace is answered with.
pub(super) const OTHER_NAMESPACE: &str =
    "the namespace of the provided object does not match the namespace sent on the request";

/// The result of a write.
#[derive(Debug)]
pub(super) enum Written {
    /// The current object.
    Stored(u16, Arc<Object>),
    /// It was the last finalizer: the object is deleted.
    Gone(Arc<Object>),
}

/// The field manager and operation.
#[derive(Debug)]
pub(super) struct Author {
    pub manager: Manager,
    pub dry_run: bool,
}

/// An object on its way into the store.
#[derive(Debug)]
pub(super) struct Draft {
    pub value: Value,
    pub managed: Managed,
    /// Whether it is stored with empty metadata that no reader sees, so that it is a write even without a change.
    pub is_raw: bool,
    /// The data that the request sets to nothing.
    pub emptied: Vec<&'static str>,
}

impl Draft {
    /// Of a request that says what it stores.
    pub(super) fn new(value: Value, managed: Managed) -> Self {
        Self { value, managed, is_raw: false, emptied: Vec::new() }
    }
}

impl Target {
    /// The key in etcd, which some errors name.
    pub(super) fn storage_key(&self) -> String {
        let group = if self.kind.is_custom() { format!("{}/", self.kind.group) } else { String::new() };
        let namespace =
            if self.namespace.is_empty() { String::new() } else { format!("{}/", self.namespace) };
        format!("/registry/{group}{}/{namespace}{}", self.kind.plural, self.name)
    }

    /// The key of the object that is named.
    pub(super) fn key(&self) -> Key {
        Key { namespace: self.namespace.clone(), name: self.name.clone() }
    }
}

impl Inner {
    /// The metadata that a new object needs before anything else is looked at; generates the name.
    pub(super) fn begin(&self, state: &mut State, target: &Target, value: &mut Value) -> Result<(), Fault> {
        self.place(target, value)?;
        let metadata = &value["metadata"];
        if let (Some(prefix), None) = (metadata["generateName"].as_str(), metadata["name"].as_str()) {
            let prefix = prefix.get(..prefix.len().min(58)).unwrap_or(prefix);
            let name = format!("{prefix}{}", state.uids.suffix());
            meta::set(value, "name", name.into());
        }
        Ok(())
    }

    /// The namespace of the request is that of the object.
    pub(super) fn place(&self, target: &Target, value: &mut Value) -> Result<(), Fault> {
        match value["metadata"]["namespace"].as_str() {
            None if target.namespace.is_empty() => Ok(()),
            None => {
                meta::set(value, "namespace", target.namespace.clone().into());
                Ok(())
            }
            Some(namespace) if namespace == target.namespace => Ok(()),
            Some(_) => Err(Fault::bad_request(OTHER_NAMESPACE)),
        }
    }

    /// Whether the namespace takes new objects.
    pub(super) fn admit(
        &self,
        state: &State,
        target: &Target,
        name: &str,
        creates: bool,
    ) -> Result<(), Fault> {
        if target.namespace.is_empty() {
            return Ok(());
        }
        let namespaces = self.kinds.find("", "namespaces").ok_or_else(Fault::no_path)?;
        let key = Key { namespace: String::new(), name: target.namespace.clone() };
        let Some(namespace) = state.store.get(namespaces.index, &key) else {
            return Err(Fault::not_found(namespaces, &target.namespace));
        };
        if creates && namespace.value["status"]["phase"] == "Terminating" {
            return Err(Fault::terminating(&target.kind, name, &target.namespace));
        }
        Ok(())
    }

    /// Stores a new object.
    pub(super) fn insert(
        &self,
        state: &mut State,
        target: &Target,
        draft: Draft,
        author: &Author,
    ) -> Result<Written, Fault> {
        let Draft { mut value, managed, is_raw, .. } = draft;
        let kind = &target.kind;
        self.place(target, &mut value)?;
        for field in ["deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "managedFields"] {
            meta::take(&mut value, field);
        }
        meta::set(&mut value, "uid", state.uids.uid().into());
        meta::set(&mut value, "creationTimestamp", self.now().into());
        strategy::before_create(kind, &mut value);
        let name = value["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let is_of = !kind.is_custom() || decode::is_of(kind, &value);
        let causes = if is_of { meta::check(kind, &value) } else { Vec::new() };
        let causes = strategy::check(kind, &value, None, "", causes);
        if !causes.is_empty() {
            return Err(invalid(kind, &value, &name, &causes));
        }
        let is_versioned =
            value["metadata"]["resourceVersion"].as_str().is_some_and(|version| version != "0");
        if is_versioned && !author.dry_run {
            return Err(Fault::internal("resourceVersion should not be set on objects to be created"));
        }
        let key = Key::of(&value);
        if let Some(existing) = state.store.get(kind.index, &key) {
            let fault = if value["metadata"]["generateName"].is_string() {
                Fault::already_generated(kind, &name)
            } else {
                Fault::already_exists(kind, &name)
            };
            return Err(if existing.is_deleting() {
                fault.prefixed("object is being deleted: ")
            } else {
                fault
            });
        }
        let stored = value.clone();
        if kind.is_custom() {
            apply_defaults(&mut value, &kind.schema);
        }
        let lacks_defaults = is_raw || stored != value;
        if author.dry_run {
            return Ok(Written::Stored(201, Arc::new(Object::new(value, Arc::new(managed), lacks_defaults))));
        }
        let stored = self.store(state, kind, value, Arc::new(managed), lacks_defaults);
        Ok(Written::Stored(201, stored))
    }

    /// Gives a version its number, and stores it.
    pub(super) fn store(
        &self,
        state: &mut State,
        kind: &Kind,
        mut value: Value,
        managed: Arc<Managed>,
        lacks_defaults: bool,
    ) -> Arc<Object> {
        meta::set(&mut value, "resourceVersion", state.store.next().to_string().into());
        let object = Arc::new(Object::new(value, managed, lacks_defaults));
        let before = state.store.put(kind.index, object.clone());
        state.notify_watches(kind.index);
        let was = |field: &str| before.as_ref().map_or(&Value::Null, |before| before.meta(field));
        let changed = |field: &str| *object.meta(field) != *was(field);
        // The garbage collector and the namespace controller do not depend on a status or a spec.
        if changed("ownerReferences")
            || (object.is_deleting() && (changed("finalizers") || changed("deletionTimestamp")))
        {
            state.notify_controllers();
        }
        object
    }

    /// Removes an object for good.
    pub(super) fn remove(&self, state: &mut State, kind: &Kind, existing: &Object) {
        let mut last = (*existing.value).clone();
        meta::set(&mut last, "resourceVersion", state.store.next().to_string().into());
        let last = Arc::new(Object::new(last, existing.managed.clone(), false));
        state.store.remove(kind.index, &Key::of(&existing.value), last);
        state.notify_watches(kind.index);
        state.notify_controllers();
    }

    /// Stores a new version of an object.
    pub(super) fn replace(
        &self,
        state: &mut State,
        target: &Target,
        existing: &Arc<Object>,
        draft: Draft,
        author: &Author,
    ) -> Result<Written, Fault> {
        let Draft { mut value, managed, mut is_raw, emptied } = draft;
        let (kind, old) = (&target.kind, &*existing.value);
        let name = target.name.as_str();
        self.admit(state, target, name, false)?;
        // Times alone are no change, unless something was requested that is not stored.
        let is_timeless =
            managed.is_like(&existing.managed) && (managed == *existing.managed || value == *old);
        let managed = if is_timeless { existing.managed.clone() } else { Arc::new(managed) };
        let version = value["metadata"]["resourceVersion"].as_str();
        if let Some(version) =
            version.filter(|version| !version.is_empty() && version.parse::<u64>().is_err())
        {
            return Err(Fault::internal(format!("strconv.ParseUint: parsing {version:?}: invalid syntax")));
        }
        match version {
            None | Some("" | "0") if kind.unconditional => {
                meta::set(&mut value, "resourceVersion", old["metadata"]["resourceVersion"].clone());
            }
            None | Some("" | "0") => {
                let cause =
                    Cause::invalid("metadata.resourceVersion", &json!(0), "must be specified for an update");
                return Err(Fault::invalid_as(&kind.plural, &kind.group, name, &[cause]));
            }
            Some(version) if old["metadata"]["resourceVersion"] != version => {
                return Err(Fault::conflict(kind, name, MODIFIED));
            }
            Some(_) => {}
        }
        self.place(target, &mut value)?;
        meta::take(&mut value, "managedFields");
        meta::set(&mut value, "generation", old["metadata"]["generation"].clone());
        let is_of = !kind.is_custom() || decode::is_of(kind, &value);
        strategy::before_update(kind, &target.subresource, &mut value, old);
        if !is_of && target.subresource == "status" {
            // Such an object has no defaults, but its status is stored in one that has.
            let without = value.clone();
            apply_defaults(&mut value, &kind.schema);
            is_raw = value != without;
        }
        keep_system_fields(&mut value, old);
        let mut causes = meta::check_update(&value, old);
        causes.extend(meta::check(kind, &value));
        causes = strategy::check(kind, &value, Some(old), &target.subresource, causes);
        for field in emptied.into_iter().filter(|field| old["immutable"] == true && old[*field].is_null()) {
            causes.push(strategy::is_immutable(field));
        }
        if !causes.is_empty() {
            return Err(invalid(kind, &value, name, &causes));
        }
        if strategy::is_finished(kind, &value, old) {
            let last = Arc::new(Object::new(value, managed, false));
            if !author.dry_run {
                self.remove(state, kind, existing);
            }
            return Ok(Written::Gone(last));
        }
        if !author.dry_run {
            meta::take(&mut value, "selfLink"); // only the storage drops it: what ends here never gets there
        }
        let is_same = value == *old && managed == existing.managed && !existing.lacks_defaults && !is_raw;
        if is_same {
            return Ok(Written::Stored(200, existing.clone()));
        }
        if author.dry_run {
            return Ok(Written::Stored(200, Arc::new(Object::new(value, managed, false))));
        }
        Ok(Written::Stored(200, self.store(state, kind, value, managed, is_raw)))
    }
}

/// The validation errors name the kind that the object says.
fn invalid(kind: &Kind, value: &Value, name: &str, causes: &[Cause]) -> Fault {
    match value["kind"].as_str().filter(|_| kind.is_custom()) {
        Some(named) => Fault::invalid_as(named, &kind.group, name, causes),
        None => Fault::invalid(kind, name, causes),
    }
}

/// Fields that an update cannot change.
fn keep_system_fields(value: &mut Value, old: &Value) {
    let old = &old["metadata"];
    if value["metadata"]["uid"].is_null() {
        meta::set(value, "uid", old["uid"].clone());
    }
    meta::set(value, "creationTimestamp", old["creationTimestamp"].clone());
    if old["deletionTimestamp"].is_string() {
        meta::set(value, "deletionTimestamp", old["deletionTimestamp"].clone());
    }
    let is_set = old["deletionGracePeriodSeconds"].is_number();
    if is_set && value["metadata"]["deletionGracePeriodSeconds"].is_null() {
        meta::set(value, "deletionGracePeriodSeconds", old["deletionGracePeriodSeconds"].clone());
    }
}

/// Fields that an endpoint of a kind does not write.
pub(super) fn ignored(kind: &Kind, subresource: &str) -> &'static [&'static str] {
    match (kind.nature, subresource) {
        (Nature::Custom, "") if kind.status => &["status"],
        (Nature::Custom, "status") => &["spec"],
        (Nature::Namespace, "") => &["status"],
        (Nature::Namespace, "status") => &["spec"],
        _ => &[],
    }
}
