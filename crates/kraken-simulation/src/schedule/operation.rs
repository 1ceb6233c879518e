//! The operations.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::millis;
use super::names::{Controller, ObjectName, Remote};

/// Operations of users and other tools on the cluster, the cloud and the installation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Operation {
    /// `kubectl apply --server-side --force-conflicts` of one manifest.
    Apply {
        /// With apiVersion, kind, metadata.name and metadata.namespace.
        object: Value,
    },
    /// `kubectl replace`: the object becomes the manifest, without the finalizers and annotations that others wrote.
    Replace {
        /// As for apply.
        object: Value,
    },
    /// `kubectl replace --force`: deleted, and recreated after the deletion.
    Recreate {
        /// As for apply.
        object: Value,
    },
    /// `kubectl patch --type merge` of one field.
    Edit {
        /// The object.
        object: ObjectName,
        /// A JSON pointer to the field, of which the fields on the way are created: `/spec/lifecycle/replace`.
        path: String,
        /// Its new value; without one it is removed.
        value: Option<Value>,
    },
    /// Sets or removes one key of a ConfigMap or Secret, which is created for that if need be.
    SetData {
        /// The ConfigMap or Secret.
        object: ObjectName,
        /// The key.
        key: String,
        /// Its new text; without one the key is removed.
        value: Option<String>,
    },
    /// `kubectl scale`, through the scale subresource.
    Scale {
        /// An EC2Instance.
        object: ObjectName,
        /// The number.
        replicas: i64,
    },
    /// `kubectl delete --wait=false`.
    Delete {
        /// What.
        object: ObjectName,
        /// What becomes of its dependents.
        propagation: Propagation,
    },
    /// `kubectl delete namespace`.
    DeleteNamespace {
        /// Its name.
        name: String,
    },
    /// `kubectl create namespace`; nothing if there is one.
    CreateNamespace {
        /// Its name.
        name: String,
    },
    /// Sets `lifecycle.adopt`, to the id or the `Name` tag that a remote object has now.
    Adopt {
        /// The resource that adopts it.
        object: ObjectName,
        /// What.
        remote: Remote,
        /// By its id; otherwise by its `Name` tag.
        by_id: bool,
    },
    /// Approves the plan in `status.plan`.
    Approve {
        /// The object.
        object: ObjectName,
        /// Approves an earlier plan, or a wrong hash.
        stale: bool,
    },
    /// Sets an annotation to the present time: `reconcile-requested-at` or `creation-confirmed-at`.
    Annotate {
        /// The object.
        object: ObjectName,
        /// The annotation, without the domain.
        annotation: String,
    },
    /// Removes Kraken's records from the object's metadata or status.
    Strip {
        /// The object.
        object: ObjectName,
        /// What.
        lost: Lost,
    },
    /// Writes into the status by the status subresource.
    ForgeStatus {
        /// The object.
        object: ObjectName,
        /// A merge patch of the status.
        status: Value,
    },
    /// Stores the plan that the status shows under the hash of the last approval: what a client could try that may write a
    /// status and may not approve.
    ForgePlan {
        /// The object.
        object: ObjectName,
    },
    /// Makes one object the controlling owner of another, so that it is garbage-collected with it.
    Own {
        /// The object that gets an owner.
        object: ObjectName,
        /// The owner.
        owner: ObjectName,
    },
    /// Creates a remote object out of band, with a `Name` tag of this name.
    CreateRemote {
        /// The kind that Kraken would give it.
        kind: String,
        /// The name for other operations.
        name: String,
        /// With the owner tags of this object, like a copy made by a user.
        tags_of: Option<ObjectName>,
    },
    /// Changes or deletes a remote object out of band.
    TamperRemote {
        /// Which.
        remote: Remote,
        /// How.
        tamper: Tamper,
    },
    /// Restarts a controller with another region or account.
    Restart {
        /// Which.
        controller: Controller,
        /// Its region; without one that of before.
        region: Option<String>,
        /// Its account; without one that of before.
        account: Option<String>,
    },
    /// The credentials of all spokes expire and are renewed.
    ExpireCredentials {
        /// The time for which the cloud rejects them.
        #[serde(rename = "lastsMillis", with = "millis")]
        lasts: Duration,
    },
    /// Takes a backup of the API server's storage.
    Backup,
    /// Restores the last backup of the API server's storage, and with it its former resourceVersions.
    Restore,
    /// Saves the manifest of an object, or those of all objects of a namespace, as Velero does.
    SaveManifests {
        /// An object, or a namespace.
        object: ObjectName,
    },
    /// An object is lost without its controller: it goes at once, without its finalizers. Its remote object remains.
    Vanish {
        /// An object, or a namespace, which goes with all that is in it.
        object: ObjectName,
    },
    /// Creates what exists no more from the saved manifests: with another UID and without owners.
    RestoreManifests {
        /// The object or the namespace that was saved.
        object: ObjectName,
        /// Whether the finalizers are restored.
        finalizers: bool,
        /// Whether the status is restored, except that of the requests that the hub answers.
        #[serde(default)]
        status: bool,
    },
}

/// `propagationPolicy` of a deletion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Propagation {
    /// Dependents are deleted afterwards.
    Background,
    /// Dependents are deleted before.
    Foreground,
    /// Dependents stay, without the owner reference.
    Orphan,
}

/// What an object loses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Lost {
    /// All finalizers.
    Finalizers,
    /// All owner references.
    OwnerReferences,
    /// The ledger annotation.
    Ledger,
    /// All annotations.
    Annotations,
    /// All labels.
    Labels,
    /// The whole status.
    Status,
    /// The first id in the status.
    FirstId,
}

/// An out-of-band change of a remote object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Tamper {
    /// It is deleted.
    Delete,
    /// It loses all identity tags.
    StripOwnerTags,
    /// It gets the owner tags of another object.
    OwnerTagsOf(ObjectName),
    /// A tag is set, or removed without a value.
    Tag {
        /// The key.
        key: String,
        /// The value.
        value: Option<String>,
    },
    /// A property of it is changed; which of those that its kind has is decided by the number.
    Change {
        /// Chooses among the changes of the kind.
        number: usize,
    },
}
