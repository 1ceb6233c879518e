//! The hand-over of a replacement with `CreateFirst`: the new object is published and used before the former one is deleted.

use std::time::Duration;

use serde_json::Value;

use super::history::{Record, Version};
use super::judge::is_owned;
use super::order::{dependencies, dependent_uid};
use super::policy::{is_deleting, ledger, strings};
use super::{CallingProcess, Checks, Class, SLACK};
use crate::kinds::key;

impl Checks {
    /// After an object was deleted that neither a deletion of its resource nor its number explains.
    pub(super) fn check_hand_over(&mut self, now: Duration, by: &CallingProcess, uid: &str, id: &str) {
        let Some(record) = self.history.records.get(uid) else { return };
        let former = self.cloud.recorded_id(id);
        let is_replaced = |version: &Version| {
            let ledger = ledger(&version.value).unwrap_or_default();
            version.value["spec"]["lifecycle"]["replace"] == "CreateFirst"
                && strings(&ledger["outgoing"]).any(|outgoing| outgoing == former)
        };
        let candidates = self.history.candidates(record, by, now, self.calm);
        // The deletion of the resource ends its replacement.
        let is_ended = |version: &Version| is_deleting(&version.value);
        if candidates.is_empty()
            || !candidates.iter().all(is_replaced)
            || record.versions.iter().any(is_ended)
            || record.disturbed.is_some()
        {
            return;
        }
        let Some((published, since)) = self.published(record, uid) else { return };
        let found = if published == former {
            Some("which is published".to_owned())
        } else if now.saturating_sub(since) < self.replace_timeout {
            let user = self.user_of(record, former, now).or_else(|| self.target_with(record, former, now));
            user.map(|user| format!("which was published to {user} and may be in use"))
        } else {
            None
        };
        if let Some(why) = found {
            let message = format!("{former}, {why}, is deleted for {}, which creates first", record.title());
            self.violated(now, Class::NotHandedOver, message);
        }
    }

    /// The main id that is published of this resource, and since when. Nothing if another than its controller edited the state.
    fn published(&self, record: &Record, uid: &str) -> Option<(&str, Duration)> {
        let state = self.history.records.values().find(|state| {
            state.kind == "StateDeclaration"
                && state.namespace == record.namespace
                && state.gone.is_none()
                && state.disturbed.is_none()
                && is_owned(&state.latest().value, uid)
        })?;
        let id = |version: &Version| version.value["spec"]["id"].as_str().map(ToOwned::to_owned);
        let now = id(state.latest())?;
        let same = state.versions.iter().rev().take_while(|version| id(version).as_ref() == Some(&now));
        let since = same.last().map(|version| version.at).unwrap_or_default();
        Some((state.latest().value["spec"]["id"].as_str()?, since))
    }

    /// The target of a ConfigExport that has the former id, also if an edit of the export cannot be exported.
    fn target_with(&self, record: &Record, former: &str, now: Duration) -> Option<String> {
        let settled = now.checked_sub(SLACK)?;
        let is_old = |record: &Record| {
            record.gone.is_none() && record.disturbed.is_none() && record.latest().at <= settled
        };
        let is_exported = |target: &Value| {
            let mut all = self.history.records.iter();
            all.any(|(uid, export)| export.kind == "ConfigExport" && is_old(export) && is_owned(target, uid))
        };
        let target = self.history.records.values().find(|target| {
            let latest = &target.latest().value;
            let data = latest["data"].as_object();
            target.kind == "ConfigMap"
                && target.namespace == record.namespace
                && is_old(target)
                && data.into_iter().flatten().any(|(_, value)| value == former)
                && is_exported(latest)
        });
        target.map(Record::title)
    }

    /// A dependent with remote objects to which the hub's last answer gives the former id.
    fn user_of(&self, record: &Record, former: &str, now: Duration) -> Option<String> {
        let settled = now.checked_sub(SLACK)?;
        let node = (key(&record.kind), record.name.clone());
        let blockers = self.blockers(record, &node, settled);
        let gives = |request: &Value| {
            let answers = request["status"]["dependentValues"]["fromKrakenResources"].as_object();
            let of_kind = answers.into_iter().flatten().filter(|(kind, _)| key(kind) == node.0);
            let values = of_kind.filter_map(|(_, names)| names[&node.1].as_object());
            values.flat_map(|paths| paths.values()).any(|value| value == former)
        };
        let has_objects = |request: &Record| {
            let owner = dependent_uid(request).and_then(|uid| self.history.records.get(uid));
            owner.is_some_and(|owner| owner.gone.is_none() && ledger(&owner.latest().value).is_some())
        };
        let user = self.history.records.values().find(|request| {
            let dependent = super::order::dependent(request);
            request.kind == "DependencyRequest"
                && request.namespace == record.namespace
                && request.gone.is_none()
                && request.disturbed.is_none()
                && dependent.is_some_and(|dependent| blockers.contains(&dependent))
                && dependencies(&request.latest().value).any(|to| to == node)
                && gives(&request.latest().value)
                && has_objects(request)
        });
        user.map(Record::title)
    }
}
