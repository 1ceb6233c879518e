//! Server-side apply: what kube-apiserver checks around it. The merge is in [`super::fields`].

use serde_json::{Value, json};

use super::{
    decode::{self, decode_applied, typed},
    fault::Fault,
    fields::{Managed, Operation, applied},
    meta,
    patch::{Request, emptied},
    state::{Inner, State},
    write::{Draft, Written, ignored},
};

impl Inner {
    /// Server-side apply.
    pub(super) fn apply(&self, state: &mut State, request: &Request<'_>) -> Result<Written, Fault> {
        let (target, query) = (request.target, request.query);
        let kind = &target.kind;
        let mut config = request.json()?;
        let existing = state.store.get(kind.index, &target.key()).cloned();
        if existing.is_none() && !target.subresource.is_empty() {
            return Err(Fault::not_found(kind, &target.name));
        }
        let (api_version, named) = (text(&config["apiVersion"]), text(&config["kind"]));
        if api_version != kind.api_version() || named != kind.kind {
            let slash = if api_version.contains('/') { "" } else { "/" };
            let message = format!("invalid object type: {slash}{api_version}, Kind={named}");
            return Err(Fault::bad_request(message));
        }
        config = typed(kind, config)?;
        if config["metadata"].get("managedFields").is_some_and(|fields| !fields.is_null()) {
            return Err(Fault::bad_request("metadata.managedFields must be nil"));
        }
        let author = request.author(Operation::Apply);
        let (nothing, nobody) = (json!({}), Managed::default());
        let (live, managed) = match &existing {
            Some(existing) => (&*existing.value, &*existing.managed),
            None => (&nothing, &nobody),
        };
        let zero = decode::zero_object(kind);
        let how = (query.is_true("force"), ignored(kind, &target.subresource), zero.as_ref());
        let schemas = (&*kind.schema, &*self.kinds.meta);
        let applied = applied(schemas, live, &config, managed, &author.manager, &self.now(), how)?;
        let metadata = applied.value["metadata"].clone();
        let emptied = emptied(kind, &applied.value);
        // What Go's types cannot hold is an internal error here.
        let malformed = |fault: Fault| if kind.is_custom() { fault } else { fault.unconverted() };
        let value = decode_applied(&self.kinds, kind, applied.value, request.strict()).map_err(malformed)?;
        let is_raw =
            kind.is_custom() && target.subresource.is_empty() && is_raw(&metadata, &value["metadata"]);
        let draft = Draft { value, managed: applied.managed, is_raw, emptied };
        let Some(existing) = existing else {
            let Draft { mut value, managed, is_raw, .. } = draft;
            if let Some(uid) = value["metadata"]["uid"].as_str() {
                let why = format!(
                    "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
                );
                return Err(Fault::conflict(kind, &target.name, &why));
            }
            self.place(target, &mut value)?;
            self.check_name(target, &value)?;
            self.begin(state, target, &mut value)?;
            self.admit(state, target, &target.name, true)?;
            if !author.dry_run {
                meta::take(&mut value, "resourceVersion");
            }
            return self.insert(state, target, Draft { is_raw, ..Draft::new(value, managed) }, &author);
        };
        self.check_name(target, &draft.value)?;
        self.replace(state, target, &existing, draft, &author)
    }
}

/// Whether applied metadata has something empty that is stored and that no reader sees.
fn is_raw(applied: &Value, seen: &Value) -> bool {
    let is_empty = |value: &Value| match value {
        Value::Null => true,
        Value::Object(map) => map.is_empty() || map.values().any(Value::is_null),
        Value::Array(items) => items.is_empty(),
        _ => false,
    };
    let fields = ["labels", "annotations", "finalizers", "ownerReferences"];
    fields.into_iter().any(|field| {
        applied.get(field).is_some_and(|value| is_empty(value) && seen.get(field) != Some(value))
    })
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
