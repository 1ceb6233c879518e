//! The journal of a resource: what was requested from the provider, and the states that it returned. It is a Secret, because states contain
//! the values of sensitive attributes, and it is written **before** anything is created.
//!
//! One entry per creation. An entry without a response is a creation whose result is not known: its process ended meanwhile.

use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;
use k8s_openapi::{
    ByteString,
    api::core::v1::Secret,
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference},
};
use kraken_spoke::{
    Failure, FailureClass, Identity,
    api::names::owned_name,
    runtime::{
        patch::{ApiError, within},
        watch::ObjectKey,
    },
};
use kraken_tfplugin::{Applied, ResourceState, Ticket};
use kube::{
    Api, Client, ResourceExt as _,
    api::{DeleteParams, Patch, PatchParams, PostParams},
    core::ApiResource,
};
use parking_lot::Mutex;
use serde_json::{Value as Json, json};

/// The type of the Secret.
pub const SECRET_TYPE: &str = "kraken-iac.eoinfennessy.com/tofu-state";
/// Keeps the Secret while an object exists, or may exist: a namespace that is deleted, and a deletion of dependents first, delete all
/// Secrets at once, and without its journal an object cannot be deleted.
pub const JOURNAL_FINALIZER: &str = "kraken-iac.eoinfennessy.com/tofu-state";
/// The key of its content.
const KEY: &str = "journal";

/// One creation of a resource, or its adoption.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    /// The launch.
    pub(crate) epoch: i64,
    /// When it was requested.
    pub(crate) at: Timestamp,
    /// The description with the marker that was sent, for types whose objects can be found by it.
    pub(crate) description: Option<String>,
    /// The permission with which the host of providers executes it; none for an adoption, and after the host had no answer.
    pub(crate) ticket: Option<Ticket>,
    /// Whether the provider answered.
    pub(crate) is_answered: bool,
    /// The state of the object, if there is one.
    pub(crate) state: Option<Stored>,
}

impl Entry {
    /// Whether it is the creation of this launch, and has no response yet.
    pub(crate) fn is_open(&self, epoch: i64) -> bool {
        self.epoch == epoch && !self.is_answered
    }
}

/// A state as it is stored.
#[derive(Clone, PartialEq)]
pub(crate) struct Stored {
    /// The version of the schema.
    pub(crate) version: i64,
    /// The value.
    pub(crate) value: Json,
    /// Data of the provider.
    pub(crate) private: Vec<u8>,
}

/// Without the value, which may be secret.
impl std::fmt::Debug for Stored {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stored").field("version", &self.version).finish_non_exhaustive()
    }
}

impl Stored {
    /// The stored form of a state; `None` if there is no object.
    pub(crate) fn of(version: i64, state: &ResourceState) -> Option<Self> {
        let value = state.value.to_json().ok().filter(|value| !value.is_null())?;
        Some(Self { version, value, private: state.private.clone() })
    }
}

/// What is recorded of a resource.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Journal {
    /// The oldest first.
    pub(crate) entries: Vec<Entry>,
    /// The name of the Secret with its sensitive outputs, if one was written.
    pub(crate) outputs: Option<String>,
}

impl Journal {
    /// Whether nothing exists any more, and nothing is being created.
    pub(crate) fn is_over(&self) -> bool {
        self.entries.iter().all(|entry| entry.is_answered && entry.state.is_none())
    }

    /// Completes the entry of this launch with the provider's answer. If it has no state, the object is as before.
    pub(crate) fn complete(&mut self, epoch: i64, version: i64, applied: &Applied, now: Timestamp) {
        if !self.entries.iter().any(|entry| entry.epoch == epoch) {
            // The journal was lost meanwhile.
            let (description, ticket, state) = (None, None, None);
            self.entries.push(Entry { epoch, at: now, description, ticket, is_answered: true, state });
        }
        for entry in self.entries.iter_mut().filter(|entry| entry.epoch == epoch) {
            entry.is_answered = true;
            if applied.state.exists() || !applied.is_failed() {
                entry.state = Stored::of(version, &applied.state);
            }
        }
    }
}

/// The journals of the resources of one kind.
pub(crate) struct Journals {
    client: Client,
    /// The field manager.
    manager: &'static str,
    resource: ApiResource,
    /// The key of the kind in names.
    key: String,
    /// By UID, as this process wrote or read it last.
    known: Mutex<HashMap<String, Known>>,
}

/// A journal as it is stored.
#[derive(Clone, Default)]
struct Known {
    journal: Option<Journal>,
    /// The version of the Secret; `None` if there is none.
    version: Option<String>,
    /// Whether it has the finalizer.
    is_held: bool,
}

impl Journals {
    pub(crate) fn new(client: Client, manager: &'static str, resource: ApiResource, key: String) -> Self {
        Self { client, manager, resource, key, known: Mutex::default() }
    }

    /// The journal of a resource; `None` if it has none.
    pub(crate) async fn read(&self, identity: &Identity) -> Result<Option<Journal>, Failure> {
        Ok(self.known(identity).await?.journal)
    }

    async fn known(&self, identity: &Identity) -> Result<Known, Failure> {
        if let Some(known) = self.known.lock().get(&identity.uid) {
            return Ok(known.clone());
        }
        let known = self.fetch(identity).await?;
        self.known.lock().insert(identity.uid.clone(), known.clone());
        Ok(known)
    }

    /// The same as it is stored, for a look: another process may write it next.
    pub(crate) async fn stored(&self, identity: &Identity) -> Result<Option<Journal>, Failure> {
        Ok(self.fetch(identity).await?.journal)
    }

    async fn fetch(&self, identity: &Identity) -> Result<Known, Failure> {
        let (namespace, name) = self.place(identity)?;
        let read = within("read the journal", self.api(&namespace).get_opt(&name)).await;
        let Some(secret) = read.map_err(|error| failed(&error))? else { return Ok(Known::default()) };
        let is_held = secret.finalizers().iter().any(|one| one == JOURNAL_FINALIZER);
        let (version, text) =
            (secret.metadata.resource_version, secret.data.and_then(|mut data| data.remove(KEY)));
        let text = text.ok_or_else(|| unreadable(&namespace, &name))?;
        let journal = decode(&text.0).ok_or_else(|| unreadable(&namespace, &name))?;
        Ok(Known { journal: Some(journal), version, is_held })
    }

    /// Writes the journal of a resource, if it changed. A process that is not the leader any more, and does not know it yet, is
    /// rejected: what it knows of the journal is outdated, and so is what it would do next.
    pub(crate) async fn write(&self, identity: &Identity, journal: Journal) -> Result<(), Failure> {
        let known = self.known(identity).await?;
        let is_held = !journal.is_over();
        // A former version made journals without a finalizer.
        if known.journal.as_ref() == Some(&journal) && known.is_held == is_held {
            return Ok(());
        }
        let (namespace, name) = self.place(identity)?;
        let api = self.api(&namespace);
        let finalizers: Vec<_> = is_held.then(|| JOURNAL_FINALIZER.to_owned()).into_iter().collect();
        let content = ByteString(encode(&journal).to_string().into_bytes());
        // Until it is written, what is stored is not known.
        self.known.lock().remove(&identity.uid);
        let written = if let Some(version) = &known.version {
            let patch = json!({
                "metadata": {"resourceVersion": version, "finalizers": finalizers},
                "data": {KEY: content},
            });
            let params =
                PatchParams { field_manager: Some(self.manager.to_owned()), ..PatchParams::default() };
            within("write the journal", api.patch(&name, &params, &Patch::Merge(&patch))).await
        } else {
            let secret = Secret {
                metadata: ObjectMeta {
                    name: Some(name.clone()),
                    owner_references: Some(vec![owner_of(&self.resource, identity)]),
                    finalizers: Some(finalizers),
                    ..ObjectMeta::default()
                },
                type_: Some(SECRET_TYPE.to_owned()),
                data: Some(BTreeMap::from([(KEY.to_owned(), content)])),
                ..Secret::default()
            };
            let params = PostParams { field_manager: Some(self.manager.to_owned()), ..PostParams::default() };
            within("write the journal", api.create(&params, &secret)).await
        };
        let version = written.map_err(|error| failed(&error))?.metadata.resource_version;
        self.known.lock().insert(identity.uid.clone(), Known { journal: Some(journal), version, is_held });
        Ok(())
    }

    /// Deletes the journal of a resource that releases its object.
    pub(crate) async fn delete(&self, identity: &Identity) -> Result<(), Failure> {
        self.forget(identity).await?;
        let (namespace, name) = self.place(identity)?;
        let api = self.api(&namespace);
        match within("delete the journal", api.delete(&name, &DeleteParams::default())).await {
            Err(error) if !error.is_not_found() => Err(failed(&error)),
            _ => Ok(()),
        }
    }

    /// Forgets a resource that is gone, whose journal may be deleted with it.
    pub(crate) async fn forget(&self, identity: &Identity) -> Result<(), Failure> {
        let known = self.known.lock().remove(&identity.uid);
        if known.is_some_and(|known| !known.is_held) {
            return Ok(());
        }
        let (namespace, name) = self.place(identity)?;
        let patch = json!({"metadata": {"finalizers": []}});
        let params = PatchParams { field_manager: Some(self.manager.to_owned()), ..PatchParams::default() };
        let api = self.api(&namespace);
        match within("release the journal", api.patch(&name, &params, &Patch::Merge(&patch))).await {
            Err(error) if !error.is_not_found() => Err(failed(&error)),
            _ => Ok(()),
        }
    }

    fn api(&self, namespace: &str) -> Api<Secret> {
        Api::namespaced(self.client.clone(), namespace)
    }

    /// The namespace and the name of the Secret. The name ends with a part of the UID: a later resource of the same name has another
    /// journal.
    fn place(&self, identity: &Identity) -> Result<(String, String), Failure> {
        let Some((_, ObjectKey { namespace, name })) = identity.resource() else {
            return Err(unreadable("", &identity.owner));
        };
        let uid: String = identity.uid.chars().filter(char::is_ascii_alphanumeric).take(8).collect();
        Ok((namespace.to_string(), owned_name(&format!("state.{}", self.key), &format!("{name}-{uid}"))))
    }
}

/// The reference with which the Secrets of a resource are deleted with it.
pub(crate) fn owner_of(resource: &ApiResource, identity: &Identity) -> OwnerReference {
    OwnerReference {
        api_version: resource.api_version.clone(),
        kind: resource.kind.clone(),
        name: identity.resource().map(|(_, key)| key.name.to_string()).unwrap_or_default(),
        uid: identity.uid.clone(),
        controller: Some(true),
        block_owner_deletion: Some(false),
    }
}

fn encode(journal: &Journal) -> Json {
    let entries = journal.entries.iter().map(|entry| {
        let state = entry.state.as_ref().map(|state| {
            json!({"version": state.version, "value": state.value, "private": hex::encode(&state.private)})
        });
        json!({
            "epoch": entry.epoch, "at": entry.at.to_string(), "description": entry.description,
            "answered": entry.is_answered, "state": state, "ticket": entry.ticket.as_ref().map(|ticket| {
                json!({"host": ticket.host, "uid": ticket.uid, "number": ticket.number})
            }),
        })
    });
    json!({"entries": entries.collect::<Vec<_>>(), "outputs": journal.outputs})
}

/// `None` if it is no journal.
fn decode(text: &[u8]) -> Option<Journal> {
    let json: Json = serde_json::from_slice(text).ok()?;
    let entry = |entry: &Json| {
        let state = match &entry["state"] {
            Json::Null => None,
            state => Some(Stored {
                version: state["version"].as_i64()?,
                value: state["value"].clone(),
                private: hex::decode(state["private"].as_str()?).ok()?,
            }),
        };
        Some(Entry {
            epoch: entry["epoch"].as_i64()?,
            at: entry["at"].as_str()?.parse().ok()?,
            description: entry["description"].as_str().map(str::to_owned),
            ticket: ticket(&entry["ticket"]),
            is_answered: entry["answered"].as_bool()?,
            state,
        })
    };
    let entries = json["entries"].as_array()?.iter().map(entry).collect::<Option<_>>()?;
    Some(Journal { entries, outputs: json["outputs"].as_str().map(str::to_owned) })
}

fn ticket(json: &Json) -> Option<Ticket> {
    let text = |name: &str| json[name].as_str().map(str::to_owned);
    Some(Ticket { host: text("host")?, uid: text("uid")?, number: json["number"].as_u64()? })
}

fn failed(error: &ApiError) -> Failure {
    Failure {
        class: FailureClass::Transient,
        action: "failed to access the journal of the resource".to_owned(),
        code: String::new(),
        message: error.to_string(),
    }
}

fn unreadable(namespace: &str, name: &str) -> Failure {
    Failure {
        class: FailureClass::Terminal,
        action: "failed to read the journal of the resource".to_owned(),
        code: String::new(),
        message: format!(
            "the Secret {namespace}/{name} was edited and is no journal; restore it, or delete it if status.externalIds names the object"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn journal_round_trips_and_anything_else_is_none() {
        let stored = Stored { version: 1, value: json!({"id": "x"}), private: vec![0, 255] };
        let entry = |is_answered: bool, state| Entry {
            epoch: 3,
            at: "2026-01-31T12:00:00Z".parse().unwrap(),
            description: Some("web".to_owned()),
            ticket: (!is_answered).then(|| Ticket { host: "a".to_owned(), uid: "u".to_owned(), number: 7 }),
            is_answered,
            state,
        };
        let entries = vec![entry(false, None), entry(true, Some(stored))];
        let journal = Journal { entries, outputs: Some("web-key".to_owned()) };
        assert_eq!(decode(encode(&journal).to_string().as_bytes()), Some(journal));
        for text in ["", "{}", r#"{"entries": [{}]}"#, r#"{"entries": [{"epoch": "1"}]}"#] {
            assert_eq!(decode(text.as_bytes()), None, "{text}");
        }
        let state = Stored { version: 1, value: json!({"password": "hunter2"}), private: vec![] };
        assert!(!format!("{state:?}").contains("hunter2"));
    }
}
