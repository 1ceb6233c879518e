//! The objects of the tests: Disks, remote objects and requests.

use kraken_api::{FINALIZER, REFERENCES_FINALIZER};
use kraken_model::ledger::sealed;
use serde_json::{Value, json};

use super::disk::GROUP;

const UID: &str = "u-1";

/// A Disk `a` in the namespace `ns`, as the API server stores it.
#[derive(Clone, Debug)]
pub(super) struct Disk(Value);

/// A Disk that was just created: it has no status, and no remote objects can exist.
pub(super) fn disk() -> Disk {
    Disk(json!({
        "apiVersion": format!("{GROUP}/v1"),
        "kind": "Disk",
        "metadata": {
            "name": "a", "namespace": "ns", "uid": UID, "resourceVersion": "10", "generation": 1,
            "creationTimestamp": "2100-01-01T00:00:00Z",
        },
        "spec": {"size": {"value": 1}, "lifecycle": {}},
    }))
}

/// A Disk that is stored already, as a restarted controller finds it.
pub(super) fn stored(disk: Value) -> Disk {
    Disk(disk)
}

impl Disk {
    pub(super) fn spec(mut self, field: &str, value: Value) -> Self {
        self.0["spec"][field] = value;
        self
    }

    pub(super) fn lifecycle(mut self, option: &str, value: Value) -> Self {
        self.0["spec"]["lifecycle"][option] = value;
        self
    }

    pub(super) fn annotated(mut self, name: &str, value: &str) -> Self {
        self.0["metadata"]["annotations"][name] = json!(value);
        self
    }

    pub(super) fn status(mut self, field: &str, value: Value) -> Self {
        self.0["status"][field] = value;
        self
    }

    /// With a status that reports the last generation as ready.
    pub(super) fn ready(self) -> Self {
        let ready = json!({"type": "Ready", "status": "True", "reason": "Available", "message": "in place: disk-1",
            "observedGeneration": 1, "lastTransitionTime": "2026-01-01T00:00:00Z"});
        self.status("conditions", json!([ready])).status("observedGeneration", json!(1))
    }

    /// With the remote object `disk-1`, which its first launch created and which was in place.
    pub(super) fn launched(self) -> Self {
        let in_place = json!({"generation": 1, "spec": "digest", "inputs": ""});
        self.ready()
            .status("externalIds", json!(["disk-1"]))
            .status("inPlace", in_place)
            .ledger(&json!({"objects": ["disk-1"], "confirmed": 1}))
            .creation("2020-01-01T00:00:00Z")
    }

    /// With the finalizer and the ledger of the first launch, changed by these members.
    pub(super) fn ledger(mut self, members: &Value) -> Self {
        self.0["metadata"]["finalizers"] = json!([FINALIZER]);
        self.ledger_of(UID, members)
    }

    /// As a backup restores it under another UID, with its status: the ledger is that of the Disk of this name that had the UID `u-0`,
    /// changed by these members.
    pub(super) fn restored(mut self, members: &Value) -> Self {
        self.0["metadata"]["finalizers"] = json!([FINALIZER]);
        self.ledger_of("u-0", members)
    }

    fn ledger_of(self, uid: &str, members: &Value) -> Self {
        let mut ledger = json!({"uid": uid, "resource": "Disk/ns/a", "epoch": 1, "at": "2026-01-01T00:00:00Z", "hash": "digest"});
        // What a launched Disk has on record stays, as in the loop.
        for (member, value) in self.0["status"]["ledger"].as_object().into_iter().flatten() {
            ledger[member].clone_from(value);
        }
        json_patch::merge(&mut ledger, members);
        let ledger = sealed(serde_json::from_value(ledger).unwrap());
        self.status("ledger", json!(ledger))
    }

    /// With these remote objects on record.
    pub(super) fn objects(self, ids: &[&str]) -> Self {
        self.status("externalIds", json!(ids)).ledger(&json!({ "objects": ids }))
    }

    /// With an edit of the spec since it was in place.
    pub(super) fn edited(mut self) -> Self {
        self.0["metadata"]["generation"] = json!(2);
        self
    }

    /// With a request to delete it.
    pub(super) fn deleted(mut self) -> Self {
        self.0["metadata"]["deletionTimestamp"] = json!("2026-01-02T00:00:00Z");
        self
    }

    /// Created at this time.
    pub(super) fn creation(mut self, time: &str) -> Self {
        self.0["metadata"]["creationTimestamp"] = json!(time);
        self
    }

    /// The stored object.
    pub(super) fn json(self) -> Value {
        self.0
    }

    /// With the finalizer, and without a ledger: nothing was launched after the finalizer was written.
    pub(super) fn finalizer_only(mut self) -> Self {
        self.0["metadata"]["finalizers"] = json!([FINALIZER]);
        self
    }

    /// Without the finalizer, which another client removed.
    pub(super) fn without_finalizer(mut self) -> Self {
        self.0["metadata"].as_object_mut().unwrap().remove("finalizers");
        self
    }
}

/// A remote object of the first launch that is in place.
pub(super) fn remote(id: &str) -> Value {
    json!({"id": id, "state": "available", "size": 1, "epoch": 1})
}

/// The same with one other field.
pub(super) fn with(mut object: Value, field: &str, value: Value) -> Value {
    object[field] = value;
    object
}

/// One without owner tags.
pub(super) fn bare(id: &str) -> Value {
    with(remote(id), "tagged", json!(false))
}

/// The DependencyRequest of a Disk with a reference to ConfigMap `sizes`, with this status.
pub(super) fn request(status: &Value) -> Value {
    json!({
        "apiVersion": "core.kraken-iac.eoinfennessy.com/v1alpha1",
        "kind": "DependencyRequest",
        "metadata": {
            "name": "disk.testing.a", "namespace": "ns", "uid": "r-1", "resourceVersion": "5", "generation": 1,
            "finalizers": [REFERENCES_FINALIZER],
            "ownerReferences": [{"apiVersion": format!("{GROUP}/v1"), "kind": "Disk", "name": "a", "uid": UID,
                "controller": true}],
        },
        "spec": {"spoke": "kraken-test", "configMapDependencies": [{"name": "sizes", "key": "small"}]},
        "status": status,
    })
}

/// An option that refers to ConfigMap `sizes`.
pub(super) fn from_config_map() -> Value {
    json!({"valueFrom": {"configMap": {"name": "sizes", "key": "small"}}})
}
