//! What permits a change: an edit, and not only drift; an approval.

use super::call::Verb;
use super::history::Version;
use super::judge::{all, is_owned};
use super::policy::approved;
use super::{Checks, SLACK};

impl Checks {
    /// Whether the desired state of these versions was in place before with the same values, so that a difference is
    /// drift.
    pub(super) fn is_only_drift(&self, uid: &str, candidates: &[Version]) -> bool {
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
        let place = &record.latest().value["status"]["inPlace"];
        let since =
            record.versions.iter().rev().take_while(|version| version.value["status"]["inPlace"] == *place);
        let Some(since) = since.last().map(|version| version.at) else { return false };
        // A value that changed after that, or not long before, is an edit.
        let requests = self.history.records.values().filter(|request| {
            request.kind == "DependencyRequest"
                && request.namespace == record.namespace
                && request.versions.iter().any(|version| is_owned(&version.value, uid))
        });
        let changed = requests.flat_map(|request| request.versions.windows(2)).filter(|pair| {
            let values = |version: &Version| version.value["status"]["dependentValues"].clone();
            values(&pair[0]) != values(&pair[1])
        });
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
}
