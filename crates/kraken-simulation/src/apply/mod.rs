//! Performs operations: on the API server like users with kubectl, and out of band on the cloud. An operation on a
//! missing object has no effect.

mod cloud;
mod cluster;
mod create;
mod kube;
mod manifests;
mod remote;
mod set;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use kraken_simulator::Simulator;

use crate::apiserver::{ApiServer, Revisions, Snapshot};
use crate::schedule::{Controller, ObjectName, Operation, Remote, Tamper};

pub use kube::Kube;
pub(crate) use set::set;

/// The time that `kubectl replace --force` waits for the deletion of the object before it recreates it.
const RECREATE: Duration = Duration::from_secs(20);

/// What operations are carried out on.
pub trait Installation {
    /// The cluster.
    fn api(&self) -> &ApiServer;
    /// The cloud in which a controller works now.
    fn cloud(&self, controller: Controller) -> Option<Arc<Simulator>>;
    /// The cloud of an account in a region, if it was used.
    fn cloud_at(&self, account: &str, region: &str) -> Option<Arc<Simulator>>;
    /// All clouds that were used.
    fn clouds(&self) -> Vec<Arc<Simulator>>;
    /// Restarts a controller with another region or account; without one that of before.
    fn restart(&self, controller: Controller, region: Option<&str>, account: Option<&str>);
}

/// State between operations.
#[derive(Debug, Default)]
pub struct Memory {
    /// The plan that was approved last, or read last, of each object.
    plans: BTreeMap<ObjectName, String>,
    backup: Option<Snapshot>,
    /// The manifests that were saved last, of each object or namespace.
    manifests: BTreeMap<ObjectName, Vec<serde_json::Value>>,
}

/// Performs an operation, and returns its result: nothing for success, otherwise the error or the reason why it had no
/// effect.
pub fn operation(engine: &dyn Installation, memory: &mut Memory, operation: &Operation) -> Option<String> {
    let kube = Kube::new(engine.api());
    let result = match operation {
        Operation::Apply { object } => kube.apply(object),
        Operation::Replace { object } => kube.replace(object),
        Operation::Recreate { object } => recreate(engine.api(), object.clone()),
        Operation::Edit { object, path, value } => cluster::edit(&kube, object, path, value.clone()),
        Operation::SetData { object, key, value } => cluster::set_data(&kube, object, key, value.as_deref()),
        Operation::Scale { object, replicas } => cluster::scale(&kube, object, *replicas),
        Operation::Delete { object, propagation } => kube.delete(object, *propagation),
        Operation::DeleteNamespace { name } => cluster::delete_namespace(&kube, name),
        Operation::CreateNamespace { name } => cluster::create_namespace(&kube, name),
        Operation::Adopt { object, remote, by_id } => {
            remote::find(engine, remote).and_then(|found| cluster::adopt(&kube, object, &found, *by_id))
        }
        Operation::Approve { object, stale } => cluster::approve(&kube, memory, object, *stale),
        Operation::Annotate { object, annotation } => cluster::annotate(&kube, object, annotation),
        Operation::Strip { object, lost } => cluster::strip(&kube, object, *lost),
        Operation::ForgeStatus { object, status } => cluster::forge(&kube, object, status),
        Operation::ForgePlan { object } => cluster::forge_plan(&kube, object),
        Operation::Own { object, owner } => cluster::own(&kube, object, owner),
        Operation::CreateRemote { kind, name, tags_of } => {
            create::create(engine, kind, name, tags_of.as_ref())
        }
        Operation::TamperRemote { remote, tamper } => remote::find(engine, remote).and_then(|found| {
            let tags = match tamper {
                Tamper::OwnerTagsOf(object) => remote::owner_tags(&kube, object)?,
                _ => vec![],
            };
            cloud::tamper(&found, tamper, &tags)
        }),
        Operation::Restart { controller, region, account } => {
            engine.restart(*controller, region.as_deref(), account.as_deref());
            Ok(())
        }
        Operation::ExpireCredentials { lasts } => {
            expire(engine.clouds(), *lasts);
            Ok(())
        }
        Operation::Backup => {
            memory.backup = Some(engine.api().snapshot());
            Ok(())
        }
        Operation::Restore => match &memory.backup {
            Some(backup) => {
                engine.api().restore(backup, Revisions::Bumped);
                Ok(())
            }
            None => Err("there is no backup".to_owned()),
        },
        Operation::SaveManifests { object } => manifests::save(engine.api(), memory, object),
        Operation::Vanish { object } => manifests::vanish(engine.api(), object),
        Operation::RestoreManifests { object, finalizers, status } => {
            manifests::restore(engine.api(), memory, object, *finalizers, *status)
        }
    };
    result.err()
}

/// Freezes a remote object in Describe calls for some time.
pub(crate) fn stale(engine: &dyn Installation, remote: &Remote, lasts: Duration) {
    if let Ok(found) = remote::find(engine, remote) {
        found.cloud.keep_described(found.kind, &found.id, lasts);
    }
}

/// Hides a remote object from Describe calls for some time. A recently hidden object remains visible, because an endless delay
/// cannot be distinguished from a deletion.
pub(crate) fn hide(engine: &dyn Installation, remote: &Remote, lasts: Duration) {
    const CAUGHT_UP: Duration = Duration::from_secs(15);
    let Ok(found) = remote::find(engine, remote) else { return };
    if found.cloud.described_since(&found.id).is_some_and(|since| since.elapsed() >= CAUGHT_UP) {
        found.cloud.hide(found.kind, &found.id, lasts);
    }
}

/// Deletes the object, and recreates it after its deletion; gives up after a timeout.
fn recreate(api: &ApiServer, object: serde_json::Value) -> Result<(), String> {
    let name = ObjectName::of(&object);
    Kube::new(api).delete(&name, crate::schedule::Propagation::Background)?;
    let api = api.clone();
    tokio::spawn(async move {
        let until = tokio::time::Instant::now() + RECREATE;
        while tokio::time::Instant::now() < until {
            let kube = Kube::new(&api);
            if kube.get(&name).is_none() {
                let _ = kube.create(&object); // its namespace may be deleted: then it is not recreated
                return;
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    });
    Ok(())
}

fn expire(clouds: Vec<Arc<Simulator>>, lasts: Duration) {
    for cloud in &clouds {
        cloud.expire_credentials();
    }
    tokio::spawn(async move {
        tokio::time::sleep(lasts).await;
        for cloud in &clouds {
            cloud.clear_failures();
        }
    });
}

/// The cloud in which the controller of a kind works.
fn cloud_of(engine: &dyn Installation, kind: &str) -> Option<Arc<Simulator>> {
    engine.cloud(Controller::of(kind))
}

#[cfg(test)]
mod tests;
