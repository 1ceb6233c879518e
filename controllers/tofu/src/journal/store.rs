//! Reads and writes the Secrets with the journals. Client required.

use std::collections::{BTreeMap, HashMap};

use k8s_openapi::{
    ByteString,
    api::core::v1::Secret,
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference},
};
use kraken_kind::{
    Failure, Identity,
    api::names::owned_name,
    runtime::{
        patch::{set_finalizer, within},
        watch::ObjectKey,
    },
};
use kube::{
    Api, Client, ResourceExt as _,
    api::{DeleteParams, Patch, PatchParams, PostParams},
    core::{ApiResource, DynamicObject},
};
use parking_lot::Mutex;
use serde_json::json;
use tracing::info;

use super::{
    JOURNAL_FINALIZER, Journal, SECRET_TYPE,
    content::{decode, encode},
    failures::{failed, left, unreadable},
};

/// The key of the content.
const KEY: &str = "journal";

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
        let key = key_of(identity)?;
        let finalizers = known.finalizers(must_be_held(&journal));
        let content = ByteString(encode(&identity.uid, &journal).to_string().into_bytes());
        // Until it is written, what is stored is not known.
        self.known.lock().remove(&key);
        let written = match self.changed(identity, &known, &finalizers, &content).await? {
            Some(written) => written,
            None => self.created(identity, finalizers, content).await?,
        };
        let ObjectMeta { resource_version: version, finalizers, .. } = written.metadata;
        let known = Known {
            uid: identity.uid.clone(),
            journal: Some(journal),
            version,
            finalizers: finalizers.unwrap_or_default(),
            is_owned: true,
        };
        self.known.lock().insert(key, known);
        Ok(())
    }

    /// The Secret with the new content, if it still has the known version; `None` if there is none.
    async fn changed(
        &self,
        identity: &Identity,
        known: &Known,
        finalizers: &[String],
        content: &ByteString,
    ) -> Result<Option<Secret>, Failure> {
        let Some(version) = &known.version else { return Ok(None) };
        let mut patch = json!({
            "metadata": {"resourceVersion": version, "finalizers": finalizers},
            "data": {KEY: content},
        });
        if !known.is_owned {
            patch["metadata"]["ownerReferences"] = json!([owner_of(&self.resource, identity)]);
        }
        let (namespace, name) = self.place(identity)?;
        let (api, patch) = (self.api(&namespace), Patch::Merge(&patch));
        let params = PatchParams { field_manager: Some(self.manager.to_owned()), ..PatchParams::default() };
        match within("write the journal", api.patch(&name, &params, &patch)).await {
            // That of a former resource was just collected.
            Err(error) if known.journal.as_ref().is_none_or(Journal::is_over) && error.is_not_found() => {
                Ok(None)
            }
            written => written.map(Some).map_err(|error| failed(&error)),
        }
    }

    /// A new Secret: that fails if there is one.
    async fn created(
        &self,
        identity: &Identity,
        finalizers: Vec<String>,
        content: ByteString,
    ) -> Result<Secret, Failure> {
        let (namespace, name) = self.place(identity)?;
        let secret = Secret {
            metadata: ObjectMeta {
                name: Some(name),
                owner_references: Some(vec![owner_of(&self.resource, identity)]),
                finalizers: Some(finalizers),
                ..ObjectMeta::default()
            },
            type_: Some(SECRET_TYPE.to_owned()),
            data: Some(BTreeMap::from([(KEY.to_owned(), content)])),
            ..Secret::default()
        };
        let params = PostParams { field_manager: Some(self.manager.to_owned()), ..PostParams::default() };
        let api = self.api(&namespace);
        within("write the journal", api.create(&params, &secret)).await.map_err(|error| failed(&error))
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
    !journal.is_over()
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
