//! Creates the Secret that a resource generates for itself, before it is requested like any other reference. Client
//! required.
//!
//! The data is generated once: if the Secret is deleted later, a new one would not match the remote object, and the
//! missing reference is reported instead. Only the API server receives the data.

use k8s_openapi::{api::core::v1::Secret, apimachinery::pkg::apis::meta::v1::OwnerReference};
use kraken_api::{Deletion, reasons::Reason};
use kraken_model::{ledger, outcome::Outcome, policy::undecoded};
use kraken_runtime::patch::within;
use kube::{Api, api::PostParams, core::ObjectMeta};
use secrecy::ExposeSecret;

use crate::context::{Reconcile, owner_reference, place};

/// Creates the Secret if the spec requires one, nothing was created yet, and no Secret of that name exists. An existing
/// one is used, unless it is about to be deleted.
pub(super) async fn make(reconcile: &Reconcile<'_>) -> Result<(), Outcome> {
    let Reconcile { context, object, .. } = reconcile;
    let own = context.kind.own_secret(object.spec()).filter(|_| ledger::of(object).is_none());
    let Some(own) = own else {
        return Ok(());
    };
    let texts = (own.make)().map_err(Outcome::Internal)?;
    let texts = texts.iter().map(|(key, text)| ((*key).to_owned(), text.expose_secret().to_owned()));
    // A remote object that outlives the resource must stay usable: its Secret then does not get an owner reference
    // either.
    let goes_with_it = {
        let lifecycle = object.lifecycle();
        lifecycle.deletion(lifecycle.adopt.is_some()) == Deletion::Delete
    };
    let owners = if goes_with_it { Some(vec![owner_reference(context, object)]) } else { None };
    let (namespace, _) = place(&**object);
    let name = own.name.to_string();
    let secret = Secret {
        metadata: ObjectMeta { name: Some(name.clone()), owner_references: owners, ..ObjectMeta::default() },
        type_: Some(own.type_.to_owned()),
        immutable: Some(true),
        string_data: Some(texts.collect()),
        ..Secret::default()
    };
    let api: Api<Secret> = Api::namespaced(context.manager.client.clone(), &namespace);
    let params = PostParams { field_manager: Some(context.manager.name.to_owned()), ..PostParams::default() };
    match within("create the resource's own Secret", api.create(&params, &secret)).await {
        Ok(_) => Ok(()),
        Err(error) if error.is_conflict() => {
            let read = within("read the resource's own Secret", api.get_metadata_opt(&name));
            match read.await.map_err(Outcome::Kubernetes)? {
                Some(secret) if !will_be_deleted(&secret.metadata, &owner_reference(context, object)) => {
                    Ok(())
                }
                _ => Err(Outcome::InProgress(
                    Reason::Creating,
                    format!(
                        "waiting for the deletion of Secret {name}, which is owned by an earlier resource of this name"
                    ),
                )),
            }
        }
        Err(error) => Err(Outcome::Kubernetes(error)),
    }
}

/// What to say about the Secret of a resource whose remote objects are deleted, if it stays: a person created it, or it lost its owner,
/// as by `kubectl delete --cascade=orphan`.
pub(crate) async fn left_behind(reconcile: &Reconcile<'_>) -> Option<String> {
    let Reconcile { context, object, .. } = reconcile;
    // A spec that does not decode names none.
    let own = undecoded::of(object).is_none().then(|| context.kind.own_secret(object.spec()))??;
    let name = own.name.to_string();
    let api: Api<Secret> = Api::namespaced(context.manager.client.clone(), &place(&**object).0);
    // The event says less if it cannot be read.
    let secret = within("read the resource's own Secret", api.get_metadata_opt(&name)).await.ok()??;
    let stays = secret.metadata.owner_references.iter().flatten().next().is_none();
    stays.then(|| format!("Secret {name} has no owner and is not deleted"))
}

/// Whether a Secret is being deleted, or will be by the garbage collector because it is owned by an earlier resource of
/// this name: an object launched with its key would soon have none.
fn will_be_deleted(secret: &ObjectMeta, own: &OwnerReference) -> bool {
    let is_former =
        |owner: &OwnerReference| (&owner.kind, &owner.name) == (&own.kind, &own.name) && owner.uid != own.uid;
    secret.deletion_timestamp.is_some() || secret.owner_references.iter().flatten().any(is_former)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn key_pair(name: &str, uid: &str) -> OwnerReference {
        let (kind, name, uid) = ("KeyPair".to_owned(), name.to_owned(), uid.to_owned());
        OwnerReference { kind, name, uid, ..OwnerReference::default() }
    }

    #[test]
    fn secret_owned_by_an_earlier_resource_of_the_name_is_not_used() {
        let own = key_pair("ops", "2");
        let owned = |owner| ObjectMeta { owner_references: Some(vec![owner]), ..ObjectMeta::default() };
        assert!(will_be_deleted(&owned(key_pair("ops", "1")), &own));
        assert!(!will_be_deleted(&owned(own.clone()), &own), "its own Secret, written before a crash");
        assert!(!will_be_deleted(&owned(key_pair("dev", "1")), &own), "two resources can share a Secret");
        assert!(!will_be_deleted(&ObjectMeta::default(), &own), "a Secret that a person created");
        let deleted = json!({"deletionTimestamp": "2026-01-01T00:00:00Z"});
        assert!(will_be_deleted(&serde_json::from_value(deleted).unwrap(), &own));
    }
}
