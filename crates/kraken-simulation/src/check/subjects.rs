//! Checks the objects that a call to the cloud changes: their owner, its policies, and claims of objects without one.

use std::{collections::BTreeMap, time::Duration};

use kraken_kind::api::DISRUPTION_GROUP_LABEL;
use kraken_simulator::Kind;
use serde_json::Value;

use super::{
    CallingProcess, Checks, Class, SLACK,
    call::{ParsedCall, Verb},
    history::Version,
    judge::all,
    policy::{Policy, adopted, external_ids, ledger},
    remote::{CLUSTER, PREFIX, RELEASED, RemoteObject, plain, remote_kind},
};
use crate::schedule::Controller;

/// The tag of an instance that was stopped to change it.
const DISRUPTION: &str = "kraken-iac.eoinfennessy.com/disruption";

impl Checks {
    /// After a call that changed, tagged or deleted this object.
    pub(super) fn judge_subject(
        &mut self,
        now: Duration,
        by: &CallingProcess,
        parsed: &ParsedCall,
        id: &str,
        remote: &RemoteObject,
    ) {
        let what = format!("{} of {id}", parsed.action);
        if remote.cluster().is_some_and(|cluster| !self.is_this_cluster(cluster)) {
            return self.violated(now, Class::NotOurs, format!("{what}, which belongs to another cluster"));
        }
        // A read that lags shows the owner tags before the change.
        let is_recent = self.tampered.get(id).is_some_and(|at| !self.is_long_ago(*at + self.tag_lag, now));
        let Some(uid) = remote.uid().map(ToOwned::to_owned) else {
            if parsed.verb == Verb::Tag && parsed.is_about_ownership() {
                self.judge_claim(now, by, parsed, id, remote);
            } else if !is_recent && !self.released.contains(id) && !self.is_recorded(id) {
                self.violated(now, Class::NotOurs, format!("{what}, which has no owner tags"));
            }
            return;
        };
        let is_recent = is_recent && !self.has_tags_of_its_adoption(by, id, &uid);
        if parsed.verb == Verb::Tag && parsed.uid().is_some_and(|new| new != uid) && !is_recent {
            if !self.may_take_over(now, by, parsed, id, remote, &uid) {
                self.violated(now, Class::NotOurs, format!("{what} takes it from {uid}"));
            }
            return;
        }
        let Some(record) = self.history.records.get(&uid) else {
            let is_removal = parsed.is_of_a_deletion() && self.removes_orphans;
            if !is_removal && !is_recent {
                self.violated(
                    now,
                    Class::NotOurs,
                    format!("{what}, which belongs to {uid}, which never was"),
                );
            }
            return;
        };
        if record.gone.is_some() && self.removes_orphans && parsed.is_of_a_deletion() {
            return; // the policy of a deleted object does not apply
        }
        if record.gone.is_some_and(|gone| self.is_long_ago(gone, now)) {
            if !self.removes_orphans && !is_recent {
                self.violated(
                    now,
                    Class::NotOurs,
                    format!("{what}, which belongs to {}, which is deleted", record.title()),
                );
            }
            return;
        }
        if Controller::of(&record.kind) != by.controller {
            if !is_recent {
                let title = record.title();
                self.violated(now, Class::NotOurs, format!("{what}, which belongs to {title}"));
            }
            return;
        }
        if parsed.action == "StopInstances" && !is_recent {
            self.judge_disruption(now, id, &uid);
        }
        // Its tags may name another resource now than the one that the call is for.
        if !is_recent {
            self.judge_policies(now, by, parsed, id, remote, &uid);
        }
    }

    /// Whether the call takes an object from a resource that does not exist any more: for another one of its name, which from then on
    /// counts as the one that created it, or for one that adopts it.
    fn may_take_over(
        &mut self,
        now: Duration,
        by: &CallingProcess,
        parsed: &ParsedCall,
        id: &str,
        remote: &RemoteObject,
        former: &str,
    ) -> bool {
        let (former, next) = (self.history.records.get(former), parsed.uid());
        let next = next.and_then(|uid| Some((uid, self.history.records.get(uid)?)));
        let (Some(former), Some((uid, record))) = (former.filter(|former| former.gone.is_some()), next)
        else {
            return false;
        };
        if former.title() == record.title() {
            self.launched.insert(id.to_owned(), uid.to_owned());
            return true;
        }
        let candidates = self.history.candidates(record, by, now, self.calm);
        candidates.iter().any(|version| adopts(&version.value, id, remote))
    }

    /// After an instance was stopped: no more resources of its disruption group have one that is stopped for a change than each of them
    /// ever accepted. Faults, and users who set marks, can prevent that a controller knows of one.
    fn judge_disruption(&mut self, now: Duration, id: &str, uid: &str) {
        let group = |uid: &str| {
            let record = self.history.records.get(uid).filter(|record| record.gone.is_none())?;
            let label = &record.latest().value["metadata"]["labels"][DISRUPTION_GROUP_LABEL];
            Some((record.namespace.clone(), label.clone()))
        };
        let accepted = |uid: &str| {
            let versions = self.history.records.get(uid).map(|record| record.versions.iter());
            let max = |value: &Value| value["spec"]["lifecycle"]["maxUnavailable"].as_u64().unwrap_or(1);
            versions.into_iter().flatten().map(|version| max(&version.value)).max().unwrap_or(1)
        };
        if now < self.faults_until + SLACK || self.tampered.contains_key(id) {
            return;
        }
        let of_group = group(uid);
        let others = self.cloud.0.iter().filter(|(other, remote)| {
            let owner = remote.uid().filter(|owner| *owner != uid);
            remote.is_stopped
                && remote.tags.get(DISRUPTION).is_some_and(|mark| mark.contains("stop"))
                && !self.tampered.contains_key(*other)
                && owner.is_some_and(|owner| of_group.is_some() && group(owner) == of_group)
        });
        let others: BTreeMap<&str, &String> =
            others.filter_map(|(other, remote)| Some((remote.uid()?, other))).collect();
        let max = others.keys().map(|owner| accepted(owner)).fold(accepted(uid), u64::min);
        if others.len() as u64 >= max
            && let Some(other) = others.values().next()
        {
            let message = format!(
                "{id} is stopped for a change while {other} of another resource is: {} of at most {max}",
                others.len() + 1
            );
            self.violated(now, Class::TwoStopped, message);
        }
    }

    /// Whether the resource that created the object still has it on record: it keeps it without its tags, too.
    fn is_recorded(&self, id: &str) -> bool {
        let record = self.launched.get(id).and_then(|uid| self.history.records.get(uid));
        record.is_some_and(|record| {
            record.gone.is_none() && external_ids(&record.latest().value).any(|known| known == plain(id))
        })
    }

    fn judge_policies(
        &mut self,
        now: Duration,
        by: &CallingProcess,
        parsed: &ParsedCall,
        id: &str,
        remote: &RemoteObject,
        uid: &str,
    ) {
        let Some(record) = self.history.records.get(uid) else { return };
        let candidates = self.history.candidates(record, by, now, self.calm);
        let what = format!("{} of {id} for {}", parsed.action, record.title());
        let all = |forbids: fn(&Policy) -> bool| all(candidates, forbids);
        let deletes = parsed.verb == Verb::Delete;
        let is_scaling = deletes && self.was_surplus(now, by, id, uid, record);
        // Until the caller has proven to know the request for deletion, an older spec may be the reason for the call.
        let is_for_deletion = all(|policy| policy.deleting)
            || (candidates.last().is_some_and(|version| version.policy().deleting)
                && remote_kind(&record.kind) == Some(remote.kind)
                && !is_scaling
                && !candidates.iter().any(|version| {
                    ledger(&version.value).is_some_and(|ledger| ledger["outgoing"] != Value::Null)
                }));
        // Its adoption was observed, and no client has removed the record of it since.
        let was_adopted = self.was_adopted_by(id, uid) && record.disturbed.is_none();
        let is_adopted = |version: &Version| {
            let policy = version.policy();
            let is_recorded = || adopted(&version.value).iter().any(|adopted| adopted == plain(id));
            policy.retain || (!policy.delete && (was_adopted || is_recorded()))
        };
        // An object is adopted or created, whatever other objects of its resource are.
        let is_created =
            self.is_launched_for(id, uid) && remote.kind != Kind::KeyPair && record.disturbed.is_none();
        let is_kept = |version: &Version| {
            let recorded = adopted(&version.value);
            let is_unknown = version.policy().adopts && recorded.is_empty();
            version.policy().retain || is_unknown || recorded.iter().any(|adopted| adopted == plain(id))
        };
        // A disruption in progress is completed in any case. Its mark is removed at last, again if the reads lag.
        let removes_mark = !parsed.untags.is_empty() && parsed.untags.iter().all(|key| key == DISRUPTION);
        let is_disrupted = removes_mark || remote.tags.contains_key(DISRUPTION);
        let is_own = parsed.is_about_ownership();
        let found = if all(|policy| policy.paused) {
            Some((Class::Paused, "which is paused"))
        } else if deletes && !is_scaling && all(|policy| policy.protect) {
            Some((Class::Protected, "which is protected"))
        } else if deletes && !is_scaling && !candidates.is_empty() && candidates.iter().all(is_adopted) {
            Some((Class::Retained, "which leaves it behind"))
        } else if parsed.verb == Verb::Untag
            && is_own
            && is_created
            // The volume of an instance that was terminated just before is still listed.
            && remote_kind(&record.kind) == Some(remote.kind)
            && !candidates.is_empty()
            && !candidates.iter().any(is_kept)
        {
            Some((Class::Released, "which created it and does not retain it"))
        } else if !is_disrupted && self.is_only_drift(by, uid, candidates) && all(|policy| policy.report) {
            Some((Class::Reported, "whose drift is only reported"))
        } else if !is_disrupted && !is_own && self.is_unapproved(uid, candidates, parsed.verb) {
            Some((Class::Unapproved, "of which no such plan is approved"))
        } else {
            None
        };
        if let Some((class, why)) = found {
            self.violated(now, class, format!("{what}, {why}"));
        } else if deletes && is_for_deletion {
            self.check_order(now, uid);
        } else if deletes && !is_scaling {
            self.check_hand_over(now, by, uid, id);
        }
    }

    /// Owner tags may be set on an object without owner if it is adopted or recorded.
    fn judge_claim(
        &mut self,
        now: Duration,
        by: &CallingProcess,
        parsed: &ParsedCall,
        id: &str,
        remote: &RemoteObject,
    ) {
        let Some(uid) = parsed.uid() else { return };
        let what = format!("{} claims {id} for {uid}", parsed.action);
        let Some(record) = self.history.records.get(uid) else {
            return self.violated(now, Class::NotOurs, format!("{what}, which never was"));
        };
        let candidates = self.history.candidates(record, by, now, self.calm);
        let is_launched = self.is_launched_for(id, uid);
        let is_on_record = record.versions.iter().any(|version| {
            let outgoing = ledger(&version.value).unwrap_or_default();
            external_ids(&version.value).any(|known| known == plain(id))
                || super::policy::strings(&outgoing["outgoing"]).any(|known| known == plain(id))
                || adopted(&version.value).iter().any(|known| known == plain(id))
        });
        // Its name is on record, and a person made another one of that name.
        let is_by_name = remote.kind == Kind::KeyPair && self.tampered.contains_key(id);
        let is_adopted = candidates.iter().any(|version| adopts(&version.value, id, remote));
        let is_paused = all(candidates, |policy| policy.paused);
        let title = record.title();
        // The ledger of an adoption is written before the claim; an object that was observed before is claimed again.
        let is_observed = record
            .versions
            .iter()
            .any(|version| external_ids(&version.value).any(|known| known == plain(id)));
        // What this cluster created and released is taken back.
        let is_taken_back = remote.tags.get(CLUSTER).is_some_and(|cluster| cluster.starts_with(RELEASED));
        if is_adopted && !is_taken_back && !is_launched && !is_observed && remote.kind != Kind::KeyPair {
            self.note_adoption(now, by, id, uid);
        }
        if !is_launched && !is_on_record && !is_adopted && !is_by_name {
            self.violated(
                now,
                Class::NotOurs,
                format!("{what}, {title}, which neither has it on record nor adopts it"),
            );
        } else if is_paused {
            self.violated(now, Class::Paused, format!("{what}, {title}, which is paused"));
        }
    }
}

fn adopts(object: &Value, id: &str, remote: &RemoteObject) -> bool {
    let adopt = &object["spec"]["lifecycle"]["adopt"];
    let has = |(key, value): (&String, &Value)| {
        remote.tags.get(key).map(String::as_str) == value.as_str() && !key.starts_with(PREFIX)
    };
    adopt["id"] == plain(id)
        || adopt["tags"].as_object().is_some_and(|tags| !tags.is_empty() && tags.iter().all(has))
}
