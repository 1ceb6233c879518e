//! Checks that a loss of many remote objects of a kind at once is not made good without a confirmation: the wrong
//! credentials or an accident are more likely than that all of them are to be created again.

use std::time::Duration;

use kraken_kind::api::CREATION_CONFIRMED_ANNOTATION;
use serde_json::Value;

use super::{
    CallingProcess, Checks, Class,
    history::Record,
    judge::is_owned,
    policy::{external_ids, ready},
    remote::{RemoteObjects, plain, remote_kind},
};

/// Losses that are at most this far apart belong together.
const AT_ONCE: Duration = Duration::from_secs(2);
/// Launches that are at most this far apart follow from one sweep: less than the time for which a controller waits for
/// other losses.
const OF_ONE_SWEEP: Duration = Duration::from_secs(3);
/// The time after its start from which on a process has observed every resource.
const KNOWS_ALL: Duration = Duration::from_secs(20);

/// A remote object of a resource that was deleted out of band while the resource was ready.
#[derive(Clone, Copy, Debug)]
pub(super) struct Loss {
    at: Duration,
    /// When another object was launched for the resource.
    recreated: Option<Duration>,
}

impl Checks {
    /// Records the objects that exist in the cloud of before and not in this one.
    pub(super) fn note_losses(&mut self, now: Duration, cloud: &RemoteObjects) {
        for (id, before) in &self.cloud.0 {
            let is_lost = before.alive && cloud.0.get(id).is_none_or(|remote| !remote.alive);
            let Some(uid) = before.uid().filter(|_| is_lost) else { continue };
            self.lost.insert(id.clone(), (uid.to_owned(), now));
            let Some(record) = self.history.records.get(uid) else { continue };
            let object = &record.latest().value;
            let is_recorded = external_ids(object).any(|known| known == plain(id));
            if is_recorded
                && remote_kind(&record.kind) == Some(before.kind)
                && has_recreation_limit(record, object)
            {
                self.losses.insert(uid.to_owned(), Loss { at: now, recreated: None });
            }
        }
    }

    /// After an object was launched for this UID.
    pub(super) fn check_recreation(&mut self, now: Duration, by: &CallingProcess, uid: &str) {
        let Some(loss) = self.losses.get_mut(uid) else { return };
        loss.recreated = Some(now);
        let at = loss.at;
        let Some(record) = self.history.records.get(uid) else { return };
        let first = at.saturating_sub(AT_ONCE);
        // Only faults are an excuse: the losses are operations themselves.
        let knew_all = self.history.began_at(by).is_some_and(|began| began + KNOWS_ALL <= first)
            && self.faults_until <= first;
        if !knew_all || self.elects(by) || self.changed_account(record, first) {
            return;
        }
        let is_of_this_sweep = |(uid, other): &(&String, &Loss)| {
            let is_near = other.at.abs_diff(at) <= AT_ONCE
                && other.recreated.is_some_and(|recreated| recreated + OF_ONE_SWEEP >= now);
            let of = self.history.records.get(*uid);
            is_near
                && of.is_some_and(|of| {
                    of.kind == record.kind
                        && account(of) == account(record)
                        && self.is_untouched(uid, of, first)
                })
        };
        let lost = self.losses.iter().filter(is_of_this_sweep).count();
        let all = self.history.all_live().filter(|(_, other)| other.kind == record.kind).count();
        // More than the share of `--vanished-share`, which is 20 percent.
        if lost >= self.vanished_minimum && lost * 3 > all {
            let message = format!(
                "{lost} of {all} resources of {} are recreated after their remote objects disappeared at once",
                record.kind
            );
            self.violated(now, Class::Unconfirmed, message);
        }
    }

    /// Whether neither the resource nor the values of its references have changed since then: it was observed with all
    /// others of its kind.
    fn is_untouched(&self, uid: &str, record: &Record, since: Duration) -> bool {
        let known = record.versions.iter().rev().find(|version| version.at < since);
        let Some(known) = known else { return false };
        let mut later = record.versions.iter().filter(|version| version.at >= since);
        let requests = self.history.records.values().filter(|request| {
            request.kind == "DependencyRequest"
                && request.versions.iter().any(|version| is_owned(&version.value, uid))
        });
        let mut answers = requests.flat_map(|request| &request.versions);
        later.all(|version| edit(&version.value) == edit(&known.value))
            && !answers.any(|version| version.at >= since)
    }

    /// Whether an Account of the namespace has changed since then.
    fn changed_account(&self, record: &Record, since: Duration) -> bool {
        let accounts = self
            .history
            .records
            .values()
            .filter(|account| account.kind == "Account" && account.namespace == record.namespace);
        accounts
            .flat_map(|account| account.versions.iter().map(|version| version.at).chain(account.gone))
            .any(|at| at >= since)
    }

    /// Whether this controller elects a leader: another process may not have observed everything.
    fn elects(&self, by: &CallingProcess) -> bool {
        self.history
            .all_live()
            .any(|(_, record)| record.kind == "Lease" && record.name == by.controller.name())
    }
}

/// Whether a resource is ready and observed with all others of its kind, and its objects are recreated without a
/// confirmation only if few are lost.
fn has_recreation_limit(record: &Record, object: &Value) -> bool {
    let lifecycle = &object["spec"]["lifecycle"];
    record.gone.is_none()
        && ready(object)["status"] == "True"
        && lifecycle["resyncInterval"].is_null()
        && object["metadata"]["deletionTimestamp"].is_null()
        && object["metadata"]["annotations"][CREATION_CONFIRMED_ANNOTATION].is_null()
}

/// The Account that a resource names.
fn account(record: &Record) -> &Value {
    &record.latest().value["spec"]["account"]["name"]
}

/// The parts of an object of which a change triggers a reconcile.
fn edit(object: &Value) -> (&Value, Option<Value>, &Value) {
    let annotations = object["metadata"]["annotations"].clone();
    let annotations = annotations.as_object().is_some_and(|all| !all.is_empty()).then_some(annotations);
    (&object["metadata"]["generation"], annotations, &object["metadata"]["deletionTimestamp"])
}
