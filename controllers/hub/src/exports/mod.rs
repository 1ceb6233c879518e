//! ConfigExports: values written to one ConfigMap or Secret.
//!
//! Gather what is known (client), [`resolve`] and [`decide`] (pure), [`write`] (client), [`report`] (pure), and one write of
//! the status at the end of every path.

pub mod decide;
pub mod gather;
pub mod report;
pub mod resolve;
mod target;
pub mod write;

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Instant,
};

use kraken_api::{ConfigExport, ConfigExportStatus};
use kraken_runtime::{
    patch::{ApiError, apply_status},
    queue::Requeue,
    watch::ObjectKey,
};
use kube::{Api, Resource, ResourceExt};
use parking_lot::Mutex;
use serde_json::json;
use tracing::{debug, warn};

use crate::{
    exports::{
        report::{Next, Outcome},
        resolve::{Content, Plan, dependencies, plan, target},
        write::{Done, Writer},
    },
    index::{Asker, Asks, Class, Named},
    world::{Version, World},
};

/// The kind, for logs and metrics.
pub const KIND: &str = "ConfigExport";

/// What an export names, and what comes of it: its target.
pub fn asks(export: &ConfigExport) -> Asks {
    let namespace = export.namespace().unwrap_or_default();
    let dependencies = dependencies(&export.spec);
    let maps = dependencies.config_maps.iter().map(|key| Named::new(Class::ConfigMap, &namespace, &key.name));
    let secrets = dependencies.secrets.iter().map(|key| Named::new(Class::Secret, &namespace, &key.name));
    let states =
        dependencies.resources.keys().map(|wanted| Named::state(&namespace, &wanted.kind, &wanted.name));
    Asks {
        needs: maps.chain(secrets).chain(states).collect(),
        provides: Some(target(&namespace, &export.spec)),
    }
}

/// Exports that are in place, by the versions of all they were made from: as long as those are the same, nothing has to be
/// read, and no digest of a value is needed anywhere.
#[derive(Debug, Default)]
pub struct Settled {
    places: Mutex<HashMap<String, Place>>,
}

/// The versions by which an export is in place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    generation: Option<i64>,
    inputs: BTreeMap<Named, Option<Version>>,
    target: Option<Version>,
}

impl Settled {
    fn is(&self, uid: &str, place: &Place) -> bool {
        place.target.is_some() && self.places.lock().get(uid) == Some(place)
    }

    fn set(&self, uid: String, place: Place) {
        self.places.lock().insert(uid, place);
    }

    /// Forgets the export with this UID.
    pub fn forget(&self, uid: &str) {
        self.places.lock().remove(uid);
    }
}

/// Carries one export out.
pub async fn reconcile(world: Arc<World>, key: ObjectKey) -> Requeue {
    let start = Instant::now();
    let metrics = &world.shell.metrics;
    let Some(export) = world.exports.get(&key).filter(|export| export.metadata.deletion_timestamp.is_none())
    else {
        // What it made goes with it, by Kubernetes' garbage collection.
        return Requeue::Never;
    };
    let outcome = run(&world, &export).await;
    if matches!(outcome, Outcome::Waiting(_))
        && let Some(left) = world.wake.motion.hold_export(export.meta(), jiff::Timestamp::now())
    {
        return Requeue::After(left);
    }
    metrics.reconciled(KIND, outcome.reason().as_str(), start.elapsed());
    debug!(kind = KIND, namespace = %key.namespace, name = %key.name, reason = outcome.reason().as_str(), "carried out");
    if outcome.requeue() == Requeue::Backoff {
        metrics.reconcile_failed(KIND, "Transient");
        warn!(kind = KIND, namespace = %key.namespace, name = %key.name, ?outcome, "the export failed and is tried again");
    }
    match report(&world, &export, &outcome).await {
        Ok(()) => outcome.requeue(),
        Err(error) => {
            metrics.reconcile_failed(KIND, "Transient");
            warn!(kind = KIND, namespace = %key.namespace, name = %key.name, %error, "the status could not be written");
            Requeue::Backoff
        }
    }
}

async fn run(world: &World, export: &ConfigExport) -> Outcome {
    let namespace = export.namespace().unwrap_or_default();
    let uid = export.uid().unwrap_or_default();
    let asks = asks(export);
    let target = target(&namespace, &export.spec);
    let strays =
        || world.wake.owned.lock().of(&uid).into_iter().filter(|named| *named != target).collect::<Vec<_>>();
    let place = Place {
        generation: export.metadata.generation,
        inputs: asks.needs.iter().map(|named| (named.clone(), world.version(named))).collect(),
        target: world.version(&target),
    };
    if world.circles(&asks).is_empty() && strays().is_empty() && world.wake.settled.is(&uid, &place) {
        return Outcome::Exported(export.spec.entries.len());
    }
    let gathered = match gather::gather(world, export, &asks).await {
        Ok(values) => plan(&namespace, &export.spec, &values),
        Err(error) => match plan(&namespace, &export.spec, &kraken_options::Values::default()).plan {
            // An edit is needed whatever the values are.
            Plan::Invalid(why) => return Outcome::Invalid(why),
            _ => return Outcome::Unreadable(error.to_string()),
        },
    };
    let shell = &world.shell;
    let writer =
        Writer { client: shell.client.clone(), metrics: shell.metrics.clone(), manager: shell.name, export };
    let outcome = match gathered.plan {
        Plan::Invalid(why) => return Outcome::Invalid(why),
        Plan::Waiting(why) => match writer.bring(&target, None).await {
            Ok(_) => Outcome::Waiting(why),
            Err(error) => Outcome::Failed(error.to_string()),
        },
        Plan::Ready(content) => match writer.bring(&target, Some(&content)).await {
            Ok(done) => settle(world, uid.clone(), place, &content, done),
            Err(error) => Outcome::Failed(gathered.scrubber.scrub(&error.to_string())),
        },
    };
    // What an earlier spec had it write goes even if the new target cannot be written: the spec names it no more.
    for stray in strays() {
        if let Err(error) = writer.bring(&stray, None).await {
            return Outcome::Failed(error.to_string());
        }
    }
    outcome
}

fn settle(world: &World, uid: String, place: Place, content: &Content, done: Done) -> Outcome {
    match done {
        Done::InPlace(version) => {
            world.wake.settled.set(uid, Place { target: Some(version), ..place });
            Outcome::Exported(content.0.len())
        }
        Done::Foreign(owner) => Outcome::NotOwned(owner),
        // Content is wanted, so nothing being there means that the old one is on its way out.
        Done::Leaving | Done::Absent => Outcome::Leaving,
    }
}

async fn report(world: &World, export: &ConfigExport, outcome: &Outcome) -> Result<(), ApiError> {
    let Next::Write(status, told) = report::next(export, outcome, jiff::Timestamp::now()) else {
        return Ok(());
    };
    let asker = Asker::Export(ObjectKey::of(export.meta()));
    let version = export.resource_version();
    if world.wake.written.is_current(&asker, &status, version.as_deref()) {
        return Ok(());
    }
    match apply(world, export, &status).await {
        Ok(object) => {
            world.wake.written.note(asker, &status, version, object.resource_version());
        }
        // It went, or another of its name came, which has an event of its own.
        Err(error) if error.is_not_found() || error.is_conflict() && !error.is_invalid() => return Ok(()),
        Err(error) => return Err(error),
    }
    if let Some(told) = told {
        let object = export.object_ref(&());
        world.shell.events.publish(&object, told.type_.into(), told.reason, "Export", &told.note).await;
    }
    Ok(())
}

async fn apply(
    world: &World,
    export: &ConfigExport,
    status: &ConfigExportStatus,
) -> Result<ConfigExport, ApiError> {
    let api: Api<ConfigExport> =
        Api::namespaced(world.shell.client.clone(), &export.namespace().unwrap_or_default());
    let name = export.name_any();
    let object = json!({
        "apiVersion": ConfigExport::api_version(&()),
        "kind": ConfigExport::kind(&()),
        "metadata": {"name": name, "uid": export.metadata.uid},
        "status": status,
    });
    apply_status(&api, world.shell.name, &name, &object).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_export_names_what_its_templates_name_too() {
        let entries = json!([
            {"key": "a", "valueFrom": {"templateString": "{{ .EC2-Instance.web.x }}{{ .ConfigMap.app.y }}"}},
            {"key": "b", "valueFrom": {"secret": {"name": "db", "key": "password"}}},
        ]);
        let mut export = ConfigExport::new("e", resolve::tests::spec("Secret", entries));
        export.metadata.namespace = Some("ns".into());
        let asks = asks(&export);
        let needs = [
            Named::new(Class::ConfigMap, "ns", "app"),
            Named::new(Class::Secret, "ns", "db"),
            Named::state("ns", "ec2instance", "web"),
        ];
        assert_eq!(asks.needs, needs.into());
        assert_eq!(asks.provides, Some(Named::new(Class::Secret, "ns", "app")));
    }

    #[test]
    fn an_export_is_settled_only_by_the_same_versions() {
        let version = |resource_version: &str| {
            Some(Version { uid: "u".into(), resource_version: resource_version.into() })
        };
        let settled = Settled::default();
        let place = |target| Place { generation: Some(1), inputs: BTreeMap::new(), target };
        settled.set("e".into(), place(version("1")));
        assert!(settled.is("e", &place(version("1"))));
        assert!(!settled.is("e", &place(version("2"))), "edited by hand");
        assert!(!settled.is("e", &place(None)), "deleted by hand");
        assert!(!settled.is("e", &Place { generation: Some(2), ..place(version("1")) }), "another spec");
        settled.forget("e");
        assert!(!settled.is("e", &place(version("1"))));
    }
}
