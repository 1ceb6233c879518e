//! The writing requests: POST, PUT, and the kinds of PATCH.

use std::sync::Arc;

use http::HeaderMap;
use serde_json::Value;

use super::{
    decode::{self, decode, typed},
    fault::Fault,
    fields::{Managed, Manager, Operation, is_typed, scaled, updated},
    kinds::{Kind, Nature},
    merge_patch, meta, operations,
    request::{self, Query, Target},
    scale,
    state::{Inner, State},
    store::Object,
    write::{Author, Draft, OTHER_NAMESPACE, Written, ignored},
};

/// A writing request, read.
pub(super) struct Request<'a> {
    pub target: &'a Target,
    pub query: &'a Query,
    pub headers: &'a HeaderMap,
    pub body: &'a [u8],
}

impl Request<'_> {
    pub(super) fn author(&self, operation: Operation) -> Author {
        let manager = Manager {
            operation,
            name: request::manager(self.query, self.headers),
            api_version: self.target.kind.api_version(),
            subresource: self.target.subresource.clone(),
        };
        Author { manager, dry_run: self.query.dry_run() }
    }

    pub(super) fn strict(&self) -> bool {
        self.query.get("fieldValidation") == Some("Strict")
    }

    pub(super) fn json(&self) -> Result<Value, Fault> {
        serde_json::from_slice(self.body).map_err(|error| {
            Fault::bad_request(format!(
                "the object provided is unrecognized (must be of type {}): {error}",
                self.target.kind.kind
            ))
        })
    }
}

impl Inner {
    /// POST.
    pub(super) fn post(&self, state: &mut State, request: &Request<'_>) -> Result<Written, Fault> {
        let target = request.target;
        let mut value = decode(&self.kinds, &target.kind, request.json()?, request.strict())?;
        self.begin(state, target, &mut value)?;
        // Nobody owns what the server sets.
        for field in ["deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"] {
            meta::take(&mut value, field);
        }
        let author = request.author(Operation::Update);
        self.create(state, target, value, &author)
    }

    /// Creates an object that a request describes whole.
    fn create(
        &self,
        state: &mut State,
        target: &Target,
        value: Value,
        author: &Author,
    ) -> Result<Written, Fault> {
        let name = value["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        self.admit(state, target, &name, true)?;
        let managed = self.owned(target, None, &value, &Managed::default(), author);
        self.insert(state, target, Draft::new(value, managed), author)
    }

    fn owned(
        &self,
        target: &Target,
        live: Option<&Value>,
        new: &Value,
        managed: &Managed,
        author: &Author,
    ) -> Managed {
        let schemas = (&*target.kind.schema, &*self.kinds.meta);
        let ignored = ignored(&target.kind, &target.subresource);
        if live.is_some() && managed.is_empty() {
            return Managed::default(); // it is not tracked
        }
        if !is_tracked(target, live, new) {
            return Managed::default();
        }
        // Default fields of a new object have no owner.
        let zero = decode::zero_object(&target.kind);
        let live = live.or(zero.as_ref());
        updated(schemas, live, new, managed, &author.manager, &self.now(), ignored)
    }

    /// PUT.
    pub(super) fn put(&self, state: &mut State, request: &Request<'_>) -> Result<Written, Fault> {
        let target = request.target;
        let author = request.author(Operation::Update);
        if target.subresource == "scale" {
            return self.put_scale(state, request, &author);
        }
        let body = typed(&target.kind, request.json()?)?;
        self.check_name(target, &body)?;
        let emptied = emptied(&target.kind, &body);
        let mut value = decode(&self.kinds, &target.kind, body, request.strict())?;
        let Some(existing) = state.store.get(target.kind.index, &target.key()).cloned() else {
            if !target.kind.upserts {
                return Err(Fault::not_found(&target.kind, &target.name));
            }
            if let Some(uid) = value["metadata"]["uid"].as_str() {
                return Err(other_uid(target, uid, "", author.dry_run));
            }
            // Only a POST must not have one.
            if !author.dry_run {
                meta::take(&mut value, "resourceVersion");
            }
            self.begin(state, target, &mut value)?;
            return self.create(state, target, value, &author);
        };
        if let Some(uid) = value["metadata"]["uid"].as_str().filter(|uid| *uid != existing.uid()) {
            return Err(other_uid(target, uid, existing.uid(), author.dry_run));
        }
        self.update(state, target, &existing, (value, emptied), &author)
    }

    /// Stores the result of a write other than an apply.
    fn update(
        &self,
        state: &mut State,
        target: &Target,
        existing: &Arc<Object>,
        (mut value, emptied): (Value, Vec<&'static str>),
        author: &Author,
    ) -> Result<Written, Fault> {
        let said = meta::take(&mut value, "managedFields");
        // A subresource does not change who owns what.
        let said = said
            .filter(|_| target.subresource.is_empty())
            .and_then(|list| Managed::read(&list, target.kind.is_custom()));
        let managed = said.as_ref().unwrap_or(&existing.managed);
        let managed = self.owned(target, Some(&existing.value), &value, managed, author);
        self.replace(state, target, existing, Draft { emptied, ..Draft::new(value, managed) }, author)
    }

    /// PATCH.
    pub(super) fn patch(&self, state: &mut State, request: &Request<'_>) -> Result<Written, Fault> {
        let type_ = request::content_type(request.headers);
        let target = request.target;
        match type_ {
            request::APPLY => return self.apply(state, request),
            "application/merge-patch+json" | "application/json-patch+json" => {}
            "application/strategic-merge-patch+json" if !target.kind.is_custom() => {}
            _ => {
                let also =
                    if target.kind.is_custom() { "" } else { ", application/strategic-merge-patch+json" };
                return Err(Fault::unsupported_media_type(format!(
                    "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml{also}"
                )));
            }
        }
        let author = request.author(Operation::Update);
        let Some(existing) = state.store.get(target.kind.index, &target.key()).cloned() else {
            return Err(Fault::not_found(&target.kind, &target.name));
        };
        if target.subresource == "scale" {
            let scale = patched(scale::of(&target.kind, &existing.value), type_, request.body)?;
            return self.rescale(state, target, &existing, &scale, &author).map_err(Fault::of_patch);
        }
        let mut before = (*existing.value).clone();
        if request.body.windows(13).any(|part| part == b"managedFields") {
            let managed = serde_json::to_value(&*existing.managed).unwrap_or_default();
            meta::set(&mut before, "managedFields", managed);
        }
        let value = patched(before, type_, request.body)?;
        let emptied = emptied(&target.kind, &value);
        let value = decode(&self.kinds, &target.kind, value, request.strict()).map_err(Fault::of_patch)?;
        self.check_name(target, &value)?;
        self.update(state, target, &existing, (value, emptied), &author)
    }

    /// A change by a Kubernetes controller, without a version precondition.
    pub(super) fn edit(&self, state: &mut State, target: &Target, change: impl FnOnce(&mut Value)) {
        let Some(existing) = state.store.get(target.kind.index, &target.key()).cloned() else { return };
        let mut value = (*existing.value).clone();
        change(&mut value);
        let manager = Manager {
            operation: Operation::Update,
            name: "kube-controller-manager".to_owned(),
            api_version: target.kind.api_version(),
            subresource: target.subresource.clone(),
        };
        let author = Author { manager, dry_run: false };
        if let Err(fault) = self.update(state, target, &existing, (value, Vec::new()), &author) {
            tracing::debug!(?fault, name = target.name, "a controller's change was rejected");
        }
    }

    /// The names in the body are those of the path.
    pub(super) fn check_name(&self, target: &Target, body: &Value) -> Result<(), Fault> {
        let namespace = body["metadata"]["namespace"].as_str().unwrap_or_default();
        if !namespace.is_empty() && namespace != target.namespace {
            return Err(Fault::bad_request(OTHER_NAMESPACE));
        }
        match body["metadata"]["name"].as_str() {
            None | Some("") => Err(Fault::bad_request(format!(
                "the name of the object ({} based on URL) was undeterminable: name must be provided",
                target.name
            ))),
            Some(name) if name == target.name => Ok(()),
            Some(name) => Err(Fault::bad_request(format!(
                "the name of the object ({name}) does not match the name on the URL ({})",
                target.name
            ))),
        }
    }

    fn put_scale(&self, state: &mut State, request: &Request<'_>, author: &Author) -> Result<Written, Fault> {
        let target = request.target;
        let Some(existing) = state.store.get(target.kind.index, &target.key()).cloned() else {
            return Err(Fault::not_found(&target.kind, &target.name));
        };
        let scale = request.json()?;
        self.check_name(target, &scale)?;
        self.rescale(state, target, &existing, &scale, author)
    }

    /// Writes the number of a scale into the spec; the answer is the scale.
    fn rescale(
        &self,
        state: &mut State,
        target: &Target,
        existing: &Arc<Object>,
        scale: &Value,
        author: &Author,
    ) -> Result<Written, Fault> {
        let value = scale::with(&target.kind, &existing.value, scale)?;
        let (kind, main) = (&target.kind, Target { subresource: String::new(), ..target.clone() });
        let replicas = (scale::replicas(kind, &existing.value), scale::replicas(kind, &value));
        let managed = scaled(&existing.managed, scale::path(kind), &author.manager, replicas);
        let written = self.replace(state, &main, existing, Draft::new(value, managed), author)?;
        match written {
            Written::Stored(code, object) => {
                let scale = scale::of(&target.kind, &object.value);
                Ok(Written::Stored(code, Arc::new(Object::new(scale, Arc::default(), false))))
            }
            gone @ Written::Gone(_) => Ok(gone),
        }
    }
}

/// The object is not the one that a PUT is for.
fn other_uid(target: &Target, wanted: &str, is: &str, dry_run: bool) -> Fault {
    let key = target.storage_key();
    let key = if dry_run { key.trim_start_matches("/registry") } else { &key };
    let why = format!(
        "StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: {wanted}, UID in object meta: {is}"
    );
    Fault::conflict(&target.kind, &target.name, &why)
}

/// The data that is there and empty: an immutable object must not get it, although it is not stored.
pub(super) fn emptied(kind: &Kind, value: &Value) -> Vec<&'static str> {
    let is_empty = |field: &&str| value[*field].as_object().is_some_and(serde_json::Map::is_empty);
    match kind.nature {
        // `data` is set to nothing by default.
        Nature::ConfigMap => ["binaryData"].into_iter().filter(is_empty).collect(),
        Nature::Secret => ["data"].into_iter().filter(is_empty).collect(),
        _ => Vec::new(),
    }
}

/// Whether the part of a custom resource that the endpoint does not write can be compared: otherwise the server forgets
/// who owns what, although it does not store that part. The part that it writes is validated.
fn is_tracked(target: &Target, live: Option<&Value>, new: &Value) -> bool {
    if !decode::is_of(&target.kind, new) {
        return false;
    }
    let other = if target.subresource == "status" { "spec" } else { "status" };
    let (Some(value), Some(schema)) = (new.get(other), target.kind.schema.properties.get(other)) else {
        return true;
    };
    !target.kind.is_custom()
        || live.and_then(|live| live.get(other)) == Some(value)
        || is_typed(schema, value)
}

/// The object with a patch.
fn patched(mut value: Value, type_: &str, body: &[u8]) -> Result<Value, Fault> {
    if type_ == "application/json-patch+json" {
        let operations: Vec<Value> = serde_json::from_slice(body)
            .map_err(|error| Fault::bad_request(format!("error decoding patch: {error}")))?;
        for operation in &operations {
            operations::apply(&mut value, operation).ok_or_else(Fault::patch_failed)?;
        }
        return Ok(value);
    }
    let patch: Value = serde_json::from_slice(body)
        .map_err(|error| Fault::bad_request(format!("error decoding patch: {error}")))?;
    if !patch.is_object() {
        return Err(Fault::bad_request("error decoding patch: not an object"));
    }
    merge_patch::apply(&mut value, patch);
    Ok(value)
}
