//! The journal of a resource: what was requested from the provider, and the states that it returned. It is a Secret, because states contain
//! the values of sensitive attributes, and it is written **before** anything is created.
//!
//! One entry per creation. An entry without a response is a creation whose result is not known: its process ended meanwhile.
//!
//! The journal has the name of its resource. One that a former resource of the name left (a backup was restored, or somebody removed its
//! finalizer and applied it again) is taken over, with the objects in it.

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
        mutants::{self, Mutant},
        patch::{ApiError, set_finalizer, within},
        watch::ObjectKey,
    },
};
use kraken_tfplugin::{Applied, ResourceState, Ticket};
use kube::{
    Api, Client, ResourceExt as _,
    api::{DeleteParams, Patch, PatchParams, PostParams},
    core::{ApiResource, DynamicObject},
};
use parking_lot::Mutex;
use serde_json::{Value as Json, json};
use tracing::info;

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
    /// As this process wrote or read it last.
    known: Mutex<HashMap<ObjectKey, Known>>,
}

/// A journal as it is stored.
#[derive(Clone, Default)]
struct Known {
    /// The UID of the resource of which it is.
    uid: String,
    journal: Option<Journal>,
    /// The version of the Secret; `None` if there is none.
    version: Option<String>,
    /// Its finalizers. Backup tools and people have their own on Secrets.
    finalizers: Vec<String>,
    /// Whether it is deleted with its resource.
    is_owned: bool,
}

impl Known {
    fn is_of(&self, identity: &Identity) -> bool {
        self.uid == identity.uid
    }

    /// Whether it has the finalizer of journals.
    fn is_held(&self) -> bool {
        self.finalizers.iter().any(|one| one == JOURNAL_FINALIZER)
    }

    /// Its finalizers with that of journals, or without it.
    fn finalizers(&self, is_held: bool) -> Vec<String> {
        let others = self.finalizers.iter().filter(|one| *one != JOURNAL_FINALIZER).cloned();
        others.chain(is_held.then(|| JOURNAL_FINALIZER.to_owned())).collect()
    }
}

impl Journals {
    pub(crate) fn new(client: Client, manager: &'static str, resource: ApiResource, key: String) -> Self {
        Self { client, manager, resource, key, known: Mutex::default() }
    }

    /// The journal of a resource; `None` if it has none. What a former resource of the name left is taken over.
    pub(crate) async fn read(&self, identity: &Identity) -> Result<Option<Journal>, Failure> {
        let known = self.known(identity).await?;
        if known.is_of(identity) {
            return Ok(known.journal);
        }
        // Or this one is the former one, and this process does not know it yet.
        let ObjectKey { namespace, name } = key_of(identity)?;
        let resources =
            Api::<DynamicObject>::namespaced_with(self.client.clone(), &namespace, &self.resource);
        let read = within("read the owner of the journal", resources.get_metadata_opt(&name)).await;
        let living = read.map_err(|error| failed(&error))?;
        if living.is_none_or(|living| living.metadata.uid.as_ref() != Some(&identity.uid)) {
            return Err(left(identity));
        }
        let (former, journal) = (known.uid.clone(), known.journal.clone());
        self.put(identity, known, journal.clone().unwrap_or_default()).await?;
        info!(resource = identity.owner, former, "took over what a former resource of this name left");
        Ok(journal)
    }

    /// The journal of a resource of which an object is created next. What a former resource left has to be observed before.
    pub(crate) async fn begin(&self, identity: &Identity) -> Result<Journal, Failure> {
        Ok(self.own(identity).await?.journal.unwrap_or_default())
    }

    /// The journal as it is stored, for a look: another process may write it next.
    pub(crate) async fn stored(&self, identity: &Identity) -> Result<Option<Journal>, Failure> {
        Ok(self.fetch(identity).await?.journal)
    }

    /// Writes the journal of a resource, if it changed. A process that is not the leader any more, and does not know it yet, is
    /// rejected: what it knows of the journal is outdated, and so is what it would do next.
    pub(crate) async fn write(&self, identity: &Identity, journal: Journal) -> Result<(), Failure> {
        let known = self.own(identity).await?;
        // A former version made journals without a finalizer.
        let is_held = known.is_held() == must_be_held(&journal);
        if known.journal.as_ref() == Some(&journal) && is_held && known.is_owned {
            return Ok(());
        }
        self.put(identity, known, journal).await
    }

    async fn own(&self, identity: &Identity) -> Result<Known, Failure> {
        let known = self.known(identity).await?;
        if known.is_of(identity) { Ok(known) } else { Err(left(identity)) }
    }

    async fn known(&self, identity: &Identity) -> Result<Known, Failure> {
        let key = key_of(identity)?;
        if let Some(known) = self.known.lock().get(&key).filter(|known| known.is_of(identity)) {
            return Ok(known.clone());
        }
        let known = self.fetch(identity).await?;
        self.known.lock().insert(key, known.clone());
        Ok(known)
    }

    /// The journal is read again next time.
    pub(crate) fn unlearn(&self, identity: &Identity) {
        if let Ok(key) = key_of(identity) {
            self.known.lock().remove(&key);
        }
    }

    async fn fetch(&self, identity: &Identity) -> Result<Known, Failure> {
        let (namespace, name) = self.place(identity)?;
        let own = identity.uid.clone();
        let read = within("read the journal", self.api(&namespace).get_opt(&name)).await;
        let Some(secret) = read.map_err(|error| failed(&error))? else {
            return Ok(Known { uid: own, is_owned: true, ..Known::default() });
        };
        let content = secret.data.as_ref().and_then(|data| decode(&data.get(KEY)?.0));
        let (uid, journal) = content.ok_or_else(|| unreadable(&namespace, &name))?;
        let is_owned = is_owned(&secret.metadata, &identity.uid);
        let ObjectMeta { resource_version: version, finalizers, .. } = secret.metadata;
        // A former resource of the name that left nothing but its journal leaves that, too.
        let uid = if journal.is_over() { own } else { uid };
        let finalizers = finalizers.unwrap_or_default();
        Ok(Known { uid, journal: Some(journal), version, finalizers, is_owned })
    }

    async fn put(&self, identity: &Identity, known: Known, journal: Journal) -> Result<(), Failure> {
        let (namespace, name) = self.place(identity)?;
        let api = self.api(&namespace);
        let finalizers = known.finalizers(must_be_held(&journal));
        let owners = vec![owner_of(&self.resource, identity)];
        let content = ByteString(encode(&identity.uid, &journal).to_string().into_bytes());
        // Until it is written, what is stored is not known.
        self.known.lock().remove(&key_of(identity)?);
        let mut changed = None;
        if let Some(version) = &known.version {
            let version = Some(version).filter(|_| !mutants::active(Mutant::JournalUnversioned));
            let mut patch = json!({
                "metadata": {"resourceVersion": version, "finalizers": finalizers},
                "data": {KEY: content},
            });
            if !known.is_owned {
                patch["metadata"]["ownerReferences"] = json!(owners);
            }
            let params =
                PatchParams { field_manager: Some(self.manager.to_owned()), ..PatchParams::default() };
            match within("write the journal", api.patch(&name, &params, &Patch::Merge(&patch))).await {
                // That of a former resource was just collected.
                Err(error) if known.journal.as_ref().is_none_or(Journal::is_over) && error.is_not_found() => {
                }
                written => changed = Some(written.map_err(|error| failed(&error))?),
            }
        }
        let written = if let Some(written) = changed {
            written
        } else {
            let secret = Secret {
                metadata: ObjectMeta {
                    name: Some(name.clone()),
                    owner_references: Some(owners),
                    finalizers: Some(finalizers),
                    ..ObjectMeta::default()
                },
                type_: Some(SECRET_TYPE.to_owned()),
                data: Some(BTreeMap::from([(KEY.to_owned(), content)])),
                ..Secret::default()
            };
            let params = PostParams { field_manager: Some(self.manager.to_owned()), ..PostParams::default() };
            let created = within("write the journal", api.create(&params, &secret)).await;
            created.map_err(|error| failed(&error))?
        };
        let ObjectMeta { resource_version: version, finalizers, .. } = written.metadata;
        let known = Known {
            uid: identity.uid.clone(),
            journal: Some(journal),
            version,
            finalizers: finalizers.unwrap_or_default(),
            is_owned: true,
        };
        self.known.lock().insert(key_of(identity)?, known);
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
        let known = self.known.lock().remove(&key_of(identity)?);
        if known.is_some_and(|known| known.is_of(identity) && !known.is_held()) {
            return Ok(());
        }
        let (namespace, name) = self.place(identity)?;
        let api = self.api(&namespace);
        // Read without its content, which may have been edited: it is released all the same.
        let read = within("read the journal", api.get_metadata_opt(&name)).await;
        let Some(secret) = read.map_err(|error| failed(&error))? else { return Ok(()) };
        // The next resource of the name may have taken it over.
        let is_held = secret.finalizers().iter().any(|one| one == JOURNAL_FINALIZER);
        if !is_held || !is_owned(&secret.metadata, &identity.uid) {
            return Ok(());
        }
        let released = set_finalizer(&api, self.manager, &secret.metadata, JOURNAL_FINALIZER, false).await;
        match released {
            Err(error) if !error.is_not_found() => Err(failed(&error)),
            _ => Ok(()),
        }
    }

    fn api(&self, namespace: &str) -> Api<Secret> {
        Api::namespaced(self.client.clone(), namespace)
    }

    /// The namespace and the name of the Secret.
    fn place(&self, identity: &Identity) -> Result<(String, String), Failure> {
        let ObjectKey { namespace, name } = key_of(identity)?;
        Ok((namespace.to_string(), owned_name(&format!("state.{}", self.key), &name)))
    }

    /// The name of the Secret, for a person.
    pub(crate) fn name(&self, identity: &Identity) -> String {
        self.place(identity).map(|(_, name)| name).unwrap_or_default()
    }
}

fn key_of(identity: &Identity) -> Result<ObjectKey, Failure> {
    identity.resource().map(|(_, key)| key).ok_or_else(|| unreadable("", &identity.owner))
}

/// Whether the Secret is deleted with the resource with this UID.
fn is_owned(secret: &ObjectMeta, uid: &str) -> bool {
    secret.owner_references.iter().flatten().any(|owner| owner.uid == uid)
}

/// Whether an object exists, or may exist.
fn must_be_held(journal: &Journal) -> bool {
    !journal.is_over() && !mutants::active(Mutant::JournalNotHeld)
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

fn encode(uid: &str, journal: &Journal) -> Json {
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
    json!({"resource": uid, "entries": entries.collect::<Vec<_>>(), "outputs": journal.outputs})
}

/// The UID of its resource, and the journal; `None` if it is none.
fn decode(text: &[u8]) -> Option<(String, Journal)> {
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
    let journal = Journal { entries, outputs: json["outputs"].as_str().map(str::to_owned) };
    Some((json["resource"].as_str()?.to_owned(), journal))
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

/// Another resource of the name has a journal that is not over.
fn left(identity: &Identity) -> Failure {
    Failure {
        class: FailureClass::Transient,
        action: "failed to use the journal of the resource".to_owned(),
        code: String::new(),
        message: format!("it is of a resource {} with another UID; looking again", identity.owner),
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
        let text = encode("u", &journal).to_string();
        assert_eq!(decode(text.as_bytes()), Some(("u".to_owned(), journal)));
        let wrong =
            [r#"{"resource": "u", "entries": [{}]}"#, r#"{"resource": "u", "entries": [{"epoch": "1"}]}"#];
        for text in ["", "{}", r#"{"entries": []}"#].into_iter().chain(wrong) {
            assert_eq!(decode(text.as_bytes()), None, "{text}");
        }
        let state = Stored { version: 1, value: json!({"password": "hunter2"}), private: vec![] };
        assert!(!format!("{state:?}").contains("hunter2"));
    }
}
