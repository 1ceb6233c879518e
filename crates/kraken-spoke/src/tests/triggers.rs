//! The changes of a resource that trigger a reconcile.

use std::sync::Arc;

use kraken_runtime::watch::{Change, RawObject};
use serde_json::{Value, json};

use super::{
    disk::Disks,
    fixtures::{Disk, disk},
};
use crate::{
    controller::triggers::is_trigger,
    dynamic::{DynKind, Object},
};

fn decoded(object: &Value) -> Arc<Object> {
    let raw: RawObject = serde_json::from_str(&object.to_string()).unwrap();
    Arc::new(Disks::new(true, false).decode(&raw).unwrap())
}

/// Whether the change from the first version of a Disk to the second one triggers a reconcile.
fn triggers(before: Disk, now: Disk, version: &str) -> bool {
    let (before, mut now) = (before.json(), now.json());
    now["metadata"]["resourceVersion"] = json!(version);
    is_trigger(&Change::Applied(decoded(&now), Some(decoded(&before))))
}

#[test]
fn status_of_an_older_generation_triggers_a_reconcile() {
    let edited = || disk().launched().edited();
    let current = || edited().status("observedGeneration", json!(2));
    assert!(triggers(current(), edited(), "11"), "a status was set back");
    assert!(!triggers(edited(), current(), "11"), "this controller reports the current generation");
    assert!(!triggers(current(), current(), "11"));
}

#[test]
fn older_version_of_a_restored_backup_triggers_a_reconcile() {
    assert!(triggers(disk().launched(), disk().launched(), "9"));
    assert!(!triggers(disk().launched(), disk().launched(), "11"));
}
