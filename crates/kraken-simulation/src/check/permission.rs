//! What permits a change: an edit, and not only drift; an approval.

use std::time::Duration;

use serde_json::Value;

use super::call::Verb;
use super::history::{Record, Version};
use super::judge::{all, is_owned};
use super::policy::approved;
use super::{CallingProcess, Checks, SLACK};

impl Checks {
    /// Whether the desired state of these versions was in place before with the same values, so that a difference is
    /// drift.
    pub(super) fn is_only_drift(&self, by: &CallingProcess, uid: &str, candidates: &[Version]) -> bool {
        let Some(record) = self.history.records.get(uid) else { return false };
        let in_place = |version: &Version| {
            let object = &version.value;
            let place = &object["status"]["inPlace"];
            !version.policy().deleting
                && place["generation"].is_i64()
                && place["generation"] == object["metadata"]["generation"]
        };
        if candidates.is_empty() || !candidates.iter().all(in_place) {
            return false;
        }
        let latest = &record.latest().value;
        let is_same = |version: &&Version| version.value["status"]["inPlace"] == latest["status"]["inPlace"];
        let same: Vec<&Version> = record.versions.iter().rev().take_while(is_same).collect();
        let Some(since) = same.last().map(|version| version.at) else { return false };
        // A restored backup undid an edit that was carried out: reverting that is an edit, too.
        let generation = |value: &Value| value["metadata"]["generation"].as_i64();
        let is_undone = |version: &Version| generation(&version.value) > generation(latest);
        if record.versions.iter().rev().take(same.len() + 1).any(is_undone) {
            return false;
        }
        // A value that changed after that, or not long before, is an edit.
        let requests = self.history.records.values().filter(|request| {
            request.kind == "DependencyRequest"
                && request.namespace == record.namespace
                && request.versions.iter().any(|version| is_owned(&version.value, uid))
        });
        let requests: Vec<&Record> = requests.collect();
        if self.has_other_values(record, requests.iter().flat_map(|request| &request.versions)) {
            return false;
        }
        // A process that was suspended may have recorded that values are in place which had changed in the meantime.
        if requests.iter().any(|request| self.may_lag(request, by, since)) {
            return false;
        }
        let changed = requests
            .iter()
            .flat_map(|request| request.versions.windows(2))
            .filter(|pair| self.values(&pair[0]) != self.values(&pair[1]));
        // So is one of its Account, which adds tags.
        let accounts = self
            .history
            .records
            .values()
            .filter(|account| account.kind == "Account" && account.namespace == record.namespace);
        let edited = accounts
            .flat_map(|account| account.versions.iter().map(|version| version.at).chain(account.gone));
        let last = changed.map(|pair| pair[1].at).chain(edited).max();
        last.is_none_or(|last| last + SLACK < since)
    }

    /// Whether this process may have known other values of a request at this time than the last ones.
    fn may_lag(&self, request: &Record, by: &CallingProcess, at: Duration) -> bool {
        let known = self.history.candidates(request, by, at, self.calm).iter().filter(|known| known.at <= at);
        let values: Vec<_> =
            known.map(|known| self.values(known)).filter(serde_json::Value::is_object).collect();
        values.windows(2).any(|pair| pair[0] != pair[1])
    }

    /// Whether a required approval is missing.
    pub(super) fn is_unapproved(&self, uid: &str, candidates: &[Version], verb: Verb) -> bool {
        if !all(candidates, |policy| policy.manual) {
            return false;
        }
        let is_granted = |version: &Version| {
            let object = &version.value;
            let Some(hash) = approved(object) else { return false };
            // What was approved is the plan that a controller showed under this hash, and not what a client stored under it.
            let Some(shown) = self.plans.get(&(uid.to_owned(), hash.to_owned())) else { return false };
            let stored = &object["status"]["plan"];
            if ["hash", "action", "what", "changes", "target"]
                .iter()
                .any(|field| stored[*field] != shown[*field])
            {
                return false;
            }
            let action = shown["action"].as_str().unwrap_or_default();
            let deleting = version.policy().deleting;
            match verb {
                Verb::Create => matches!(action, "Create" | "Replace"),
                _ if deleting => action == "Delete",
                Verb::Delete => matches!(action, "Replace" | "Change" | "Create" | "Adopt"),
                Verb::Change | Verb::Tag | Verb::Untag => action != "Delete",
            }
        };
        !candidates.iter().any(is_granted)
    }
    /// The values in the hub's answer, with those that the named versions of Secrets had instead of the versions, which change
    /// without the values.
    fn values(&self, request: &Version) -> Value {
        let mut values = request.value["status"]["dependentValues"].clone();
        let secrets = values.get_mut("fromSecrets").and_then(Value::as_object_mut);
        for keys in secrets.into_iter().flatten().filter_map(|(_, keys)| keys.as_object_mut()) {
            for (key, version) in keys.iter_mut() {
                if let Some(value) = self.secret_value(version, key) {
                    *version = value;
                }
            }
        }
        values
    }

    /// The value of a key in a version of a Secret; null if it had no such key.
    fn secret_value(&self, version: &Value, key: &str) -> Option<Value> {
        let secret = self.history.records.get(version["uid"].as_str()?)?;
        let is_named = |of: &&Version| of.value["metadata"]["resourceVersion"] == version["resourceVersion"];
        secret.versions.iter().find(is_named).map(|named| named.value["data"][key].clone())
    }

    /// Whether the values of a resource, in these versions of its requests, differ from those at the time when the inputs that are
    /// in place were recorded first. A reconcile that began before an edit of a value can record the former inputs again long after
    /// it, because its calls wait while AWS throttles.
    fn has_other_values<'a>(&self, record: &Record, requests: impl Iterator<Item = &'a Version>) -> bool {
        let inputs = |version: &Version| version.value["status"]["inPlace"]["inputs"].clone();
        let recorded = inputs(record.latest());
        let first = record.versions.iter().rev().take_while(|version| inputs(version) == recorded).last();
        let Some(first) = first.filter(|_| recorded.is_string()) else { return false };
        let with_values: Vec<_> =
            requests.filter(|request| request.value["status"]["dependentValues"].is_object()).collect();
        let newest = |until: Duration| {
            let known = with_values.iter().filter(|request| request.at <= until);
            known.max_by_key(|request| request.at).map(|request| self.values(request))
        };
        newest(first.at).is_some_and(|values| newest(Duration::MAX) != Some(values))
    }
}
