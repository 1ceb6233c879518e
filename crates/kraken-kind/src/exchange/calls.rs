//! What the loop passes to the calls of a kind, and what they return.

use std::collections::BTreeMap;

use kraken_options::SecretName;
use kraken_runtime::watch::ObjectKey;
use secrecy::SecretString;
use sha2::{Digest, Sha256};

use crate::dynamic::Desired;

/// The owner of a remote object. The call that creates the object writes it as tags. Another object can take over a
/// name, but not a UID.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    /// UID of the cluster's `kube-system` namespace.
    pub cluster: String,
    /// UID of the resource.
    pub uid: String,
    /// `Kind/namespace/name`, for people who use the provider's console.
    pub owner: String,
}

impl Identity {
    /// The kind, namespace and name of the resource; `None` if the text is another, as in tags that somebody edited.
    pub fn resource(&self) -> Option<(&str, ObjectKey)> {
        let (kind, key) = self.owner.split_once('/')?;
        let (namespace, name) = key.split_once('/')?;
        Some((kind, ObjectKey::new(namespace, name)))
    }

    /// The idempotency token of one launch: 64 hexadecimal digits, the same for the same cluster, resource and epoch.
    pub fn token(&self, epoch: i64) -> String {
        hex::encode(Sha256::digest(format!("{}/{}/{epoch}", self.cluster, self.uid)))
    }
}

/// One create call, persisted before it is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The number of this launch of the resource, from 1. It is a tag on the objects that the launch creates.
    pub epoch: i64,
    /// Sent as `ClientToken` where the API accepts one: a repeated call returns the same objects.
    pub token: String,
}

/// One resource's request to observe its remote objects. One call serves many requests.
#[derive(Clone, Debug)]
pub struct ObserveRequest {
    /// The owner of the objects.
    pub identity: Identity,
    /// The known ids of the owner's objects; may be empty.
    pub ids: Vec<String>,
    /// Also search by tag for objects of the owner that are not among `ids`: after a crash, and before the finalizer is
    /// removed.
    pub search: bool,
    /// Also read attributes that need one call per object: after an edit, not on a resync.
    pub deep: bool,
    /// The number of the last launch on record, 0 if there is none: a kind that keeps a journal must know of it.
    pub launched: i64,
    /// Whether the resource itself recorded that launch before it was made: a journal that does not exist then was not begun. Otherwise
    /// the record was rebuilt from others.
    pub is_own_record: bool,
    /// What a look-up searches for, which is its desired state; `None` for any other kind.
    pub wanted: Option<Desired>,
}

/// An existing remote object that could be adopted.
#[derive(Clone, Debug)]
pub struct Candidate<O> {
    /// The provider's id.
    pub id: String,
    /// The owner according to the tags, if the object is owned by a resource of any cluster.
    pub owner: Option<Identity>,
    /// The cluster whose resource created it and released it later, if it did.
    pub created_by: Option<String>,
    /// The object as [`crate::Calls::observe`] returns it.
    pub observed: O,
}

impl<T> Candidate<T> {
    /// Converts the observed value to another type.
    pub fn map<O>(self, form: impl FnOnce(T) -> O) -> Candidate<O> {
        let Self { id, owner, created_by, observed } = self;
        Candidate { id, owner, created_by, observed: form(observed) }
    }
}

/// A Secret that a resource creates for itself, such as a private key. The loop writes it before anything is created,
/// and only if no Secret of that name exists; [`crate::Kind::desired`] refers to it like to any other. An existing one
/// is read, so the author of the resource must be allowed to get it: the type of the name marks the field of the spec, for
/// which the admission policy checks that.
#[derive(Clone, Debug)]
pub struct OwnSecret {
    /// Its name, in the resource's namespace.
    pub name: SecretName,
    /// Its type, such as `kubernetes.io/ssh-auth`.
    pub type_: &'static str,
    /// Generates the data, by key; the error states why that was not possible.
    pub make: fn() -> Result<BTreeMap<&'static str, SecretString>, String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity() -> Identity {
        Identity { cluster: "c".into(), uid: "u".into(), owner: "EC2Instance/ns/a".into() }
    }

    #[test]
    fn token_is_stable_and_differs_by_epoch_uid_and_cluster() {
        let token = identity().token(1);
        assert_eq!(token.len(), 64);
        assert_eq!(token, identity().token(1));
        assert_ne!(token, identity().token(2));
        assert_ne!(token, Identity { uid: "v".into(), ..identity() }.token(1));
        assert_ne!(token, Identity { cluster: "d".into(), ..identity() }.token(1));
    }
}
