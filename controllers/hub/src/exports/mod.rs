//! ConfigExports: values written to one ConfigMap or Secret.
//!
//! Gather what is known (client), [`resolve`] and [`decide`] (pure), [`write`] (client), [`report`] (pure), and one write of
//! the status at the end of every path.

pub mod decide;
pub mod gather;
mod labels;
pub mod report;
pub mod resolve;
mod target;
pub mod write;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use kraken_runtime::{clock::Instant, hash::HashMap};

use kraken_api::{ConfigExport, ConfigExportStatus, WhileWaiting};
use kraken_options::{Dependencies, KeyRef, Values};
use kraken_runtime::{
    coverage,
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
        gather::Gathered,
        report::{Kept, Next, Outcome},
        resolve::{Content, Plan, References, plan, references, target},
        write::{Done, Writer},
    },
    find::Gap,
    hold,
    index::{Asker, Asks, Class, Named},
    undecodable::Broken,
    world::{Version, World},
};

/// The kind, for logs and metrics.
pub const KIND: &str = "ConfigExport";

/// What the spec of an export refers to.
#[derive(Clone, Debug, PartialEq)]
pub struct Parsed {
    uid: Option<String>,
    generation: Option<i64>,
    /// What it names, and what comes of it: its target.
    pub asks: Asks,
    /// What its entries refer to.
    pub dependencies: Dependencies,
    /// Which entries refer to a Secret.
    pub secret_entries: BTreeSet<usize>,
}

impl Parsed {
    /// Finds what an export refers to.
    pub fn of(export: &ConfigExport) -> Self {
        let namespace = export.namespace().unwrap_or_default();
        let References { dependencies, secret_entries } = references(&export.spec);
        let named = |class, key: &KeyRef| Named::new(class, &namespace, &key.name);
        let maps = dependencies.config_maps.iter().map(|key| named(Class::ConfigMap, key));
        let secrets = dependencies.secrets.iter().map(|key| named(Class::Secret, key));
        let states = dependencies.resources.keys();
        let states = states.map(|wanted| Named::state(&namespace, &wanted.kind, &wanted.name));
        let asks = Asks {
            needs: maps.chain(secrets).chain(states).collect(),
            provides: Some(target(&namespace, &export.spec)),
        };
        let (uid, generation) = (export.uid(), export.metadata.generation);
        Self { uid, generation, asks, dependencies, secret_entries }
    }

    /// Whether this is what the spec of this very export refers to.
    pub fn is_of(&self, export: &ConfigExport) -> bool {
        (&self.uid, self.generation) == (&export.metadata.uid, export.metadata.generation)
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
    if let Some(broken) = world.wake.undecodable.get(&key) {
        return report_undecodable(&world, &key, &broken).await;
    }
    let Some(export) = world.exports.get(&key).filter(|export| export.metadata.deletion_timestamp.is_none())
    else {
        // What it made goes with it, by Kubernetes' garbage collection.
        return Requeue::Never;
    };
    let Carried { outcome, unsaid, again } = run(&world, &export).await;
    coverage::note(KIND, outcome.name());
    if let Some(left) = unsaid {
        return Requeue::After(left);
    }
    metrics.reconciled(KIND, outcome.reason().as_str(), start.elapsed());
    debug!(kind = KIND, namespace = %key.namespace, name = %key.name, reason = outcome.reason().as_str(), "carried out");
    if outcome.requeue() == Requeue::Backoff {
        metrics.reconcile_failed(KIND, "Transient");
        warn!(kind = KIND, namespace = %key.namespace, name = %key.name, ?outcome, "the export failed and is tried again");
    }
    match report(&world, &export, &outcome).await {
        Ok(()) => again.map_or_else(|| outcome.requeue(), Requeue::After),
        Err(error) => {
            metrics.reconcile_failed(KIND, "Transient");
            warn!(kind = KIND, namespace = %key.namespace, name = %key.name, %error, "the status could not be written");
            Requeue::Backoff
        }
    }
}

async fn report_undecodable(world: &World, key: &ObjectKey, broken: &Broken) -> Requeue {
    let shell = &world.shell;
    match world.wake.undecodable.report(shell.client.clone(), shell.name, key, broken).await {
        Ok(()) => Requeue::Never,
        Err(error) => {
            warn!(kind = KIND, namespace = %key.namespace, name = %key.name, %error, "the status could not be written");
            Requeue::Backoff
        }
    }
}

/// What a run came to.
#[derive(Debug)]
struct Carried {
    outcome: Outcome,
    /// How long nothing is said of it, because it may pass by itself.
    unsaid: Option<Duration>,
    /// When it is looked at again.
    again: Option<Duration>,
}

impl From<Outcome> for Carried {
    fn from(outcome: Outcome) -> Self {
        Self { outcome, unsaid: None, again: None }
    }
}

async fn run(world: &World, export: &ConfigExport) -> Carried {
    let namespace = export.namespace().unwrap_or_default();
    let uid = export.uid().unwrap_or_default();
    let asker = Asker::Export(ObjectKey::of(export.meta()));
    let parsed = world.wake.parsed(export);
    let asks = &parsed.asks;
    let target = target(&namespace, &export.spec);
    let strays = || {
        let made = world.wake.owned.lock().of(&namespace, &uid);
        made.into_iter().filter(|named| *named != target).collect::<Vec<_>>()
    };
    let place = Place {
        generation: export.metadata.generation,
        inputs: world.versions(asks),
        target: world.version(&target),
    };
    if world.circles(&asker, asks).is_empty() && strays().is_empty() && world.wake.settled.is(&uid, &place) {
        world.wake.holds.clear(&asker);
        return Outcome::Exported(export.spec.entries.len()).into();
    }
    let planned = |values: &Values| plan(&namespace, &export.spec, &parsed.secret_entries, values);
    let (gathered, gap) = match gather::gather(world, &namespace, &asker, &parsed).await {
        Ok(Gathered { values, gap }) => (planned(&values), gap),
        Err(error) => match planned(&Values::default()).plan {
            // An edit is needed whatever the values are.
            Plan::Invalid(why) => return Outcome::Invalid(why).into(),
            _ => return Outcome::Unreadable(error.to_string()).into(),
        },
    };
    let shell = &world.shell;
    let writer =
        Writer { client: shell.client.clone(), metrics: shell.metrics.clone(), manager: shell.name, export };
    let carried = match gathered.plan {
        Plan::Invalid(why) => return Outcome::Invalid(why).into(),
        Plan::Waiting(why) => {
            wait(world, &writer, &asker, &target, Waiting { why, gap: gap.unwrap_or(Gap::Certain) }).await
        }
        Plan::Ready(content) => {
            world.wake.holds.clear(&asker);
            match writer.bring(&target, Some(&content)).await {
                Ok(done) => settle(world, uid.clone(), place, &content, done).into(),
                Err(error) => Outcome::Failed(gathered.scrubber.scrub(&error.to_string())).into(),
            }
        }
    };
    // What an earlier spec had it write goes even if the new target cannot be written: the spec names it no more.
    for stray in strays() {
        if let Err(error) = writer.bring(&stray, None).await {
            return Outcome::Failed(error.to_string()).into();
        }
    }
    carried
}

/// Values are missing, and why.
struct Waiting {
    why: String,
    gap: Gap,
}

/// The target outlives its values for a while, or for as long as they are missing: a source that is created again is missing
/// for a moment only.
async fn wait(
    world: &World,
    writer: &Writer<'_>,
    asker: &Asker,
    target: &Named,
    Waiting { why, gap }: Waiting,
) -> Carried {
    let status = writer.export.status.as_ref();
    let is_answered = status.is_some_and(|status| {
        status.observed_generation.is_some()
            && status.observed_generation == writer.export.metadata.generation
    });
    let unsaid = world.wake.holds.left(asker, gap, is_answered, None);
    let left = hold::TARGET_GRACE.saturating_sub(world.wake.holds.missing_for(asker));
    let kept = match writer.export.spec.while_waiting {
        WhileWaiting::Keep => Kept::AsLongAsNeeded,
        WhileWaiting::Delete if !left.is_zero() => Kept::ForAWhile,
        WhileWaiting::Delete => match writer.bring(target, None).await {
            Ok(_) => Kept::No,
            Err(error) => return Outcome::Failed(error.to_string()).into(),
        },
    };
    let again = (kept == Kept::ForAWhile).then_some(left);
    Carried { outcome: Outcome::Waiting(why, kept), unsaid, again }
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
    let asker = Asker::Export(ObjectKey::of(export.meta()));
    let (status, told) = match report::next(export, outcome, kraken_runtime::clock::now()) {
        Next::Write(status, told) => (status, told),
        // What the store shows is right, and what was sent last is something else: its event would wake nobody.
        Next::Nothing if world.wake.written.is_uncertain(&asker, export.status.as_ref()) => {
            (Box::new(report::own(export)), None)
        }
        Next::Nothing => return Ok(()),
    };
    let version = export.resource_version();
    if world.wake.written.is_current(&asker, &status, version.as_deref()) {
        return Ok(());
    }
    world.wake.written.sending(&asker, &status);
    match apply(world, export, &status).await {
        Ok(object) => {
            world.wake.written.note(asker, &status, version, object.resource_version());
        }
        // It went, which has an event of its own; a conflict has none.
        Err(error) if error.is_not_found() => return Ok(()),
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
        let asks = Parsed::of(&export).asks;
        let needs = [
            Named::new(Class::ConfigMap, "ns", "app"),
            Named::new(Class::Secret, "ns", "db"),
            Named::state("ns", "ec2instance", "web"),
        ];
        assert_eq!(asks.needs, needs.into());
        assert_eq!(asks.provides, Some(Named::new(Class::Secret, "ns", "app")));
    }

    #[test]
    fn references_are_parsed_once_for_each_spec_and_once_for_each_plan() {
        let entries =
            json!([{"key": "a", "valueFrom": {"templateString": "{{ .VPC.main }}{{ .ConfigMap.app.y }}"}}]);
        let mut export = ConfigExport::new("e", resolve::tests::spec("ConfigMap", entries));
        export.metadata.namespace = Some("ns".into());
        export.metadata.generation = Some(1);
        let wake = crate::wake::Wake::new(Arc::default(), 1);
        let parses = |run: &dyn Fn()| {
            let before = resolve::tests::PARSED.with(std::cell::Cell::get);
            run();
            resolve::tests::PARSED.with(std::cell::Cell::get) - before
        };
        let look = || drop(wake.parsed(&export));
        assert_eq!((parses(&look), parses(&look)), (1, 0));
        let parsed = wake.parsed(&export);
        let one_plan = || drop(plan("ns", &export.spec, &parsed.secret_entries, &Values::default()));
        assert_eq!(parses(&one_plan), 1);
        assert!(parsed.is_of(&export));
        export.metadata.generation = Some(2);
        assert!(!parsed.is_of(&export));
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
