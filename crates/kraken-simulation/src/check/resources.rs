//! Checks what spokes write to their resources: the finalizer, the ledger, and the start of a replacement.

use std::time::Duration;

use kraken_simulator::hook::Call;
use serde_json::Value;

use super::judge::all;
use super::places::is_missed;
use super::policy::{is_held, ledger};
use super::remote::{place_of, remote_kind};
use super::{CallingProcess, Checks, Class};

impl Checks {
    /// After a write of a resource.
    pub(super) fn check_resource(
        &mut self,
        now: Duration,
        by: &CallingProcess,
        uid: &str,
        before: Option<&Value>,
        after: Option<&Value>,
    ) {
        if before.is_some_and(is_held) && !after.is_some_and(is_held) {
            self.check_finalizer(now, by, uid);
        }
        let Some(after) = after else { return };
        self.check_answer(now, by, uid, before, after);
        let plan = &after["status"]["plan"];
        // Only what a controller shows for the first time: a plan that a client stored is preserved by other writes.
        let is_shown = before.is_none_or(|before| before["status"]["plan"]["hash"] != plan["hash"]);
        if let Some(hash) = plan["hash"].as_str().filter(|_| is_shown) {
            let key = (uid.to_owned(), hash.to_owned());
            self.plans.entry(key).or_insert_with(|| plan.clone());
        }
        let boundary =
            |object: &Value| ledger(object).map_or(Value::Null, |ledger| ledger["replacedBefore"].clone());
        let begins = before
            .is_some_and(|before| boundary(before) != boundary(after) && ledger(before).is_some())
            && !boundary(after).is_null();
        if !begins {
            return;
        }
        let Some(record) = self.history.records.get(uid) else { return };
        let title = record.title();
        // The last version is this very write.
        let candidates = self.history.candidates(record, by, now, self.calm);
        let candidates = candidates.get(..candidates.len().saturating_sub(1)).unwrap_or_default();
        if all(candidates, |policy| policy.protect) {
            self.violated(
                now,
                Class::Protected,
                format!("a replacement of {title} begins, which is protected"),
            );
        } else if self.is_only_drift(by, uid, candidates) && record.disturbed.is_none() {
            self.violated(
                now,
                Class::DriftReplaced,
                format!("a replacement of {title} begins, without an edit"),
            );
        }
    }

    /// The finalizer must outlive the remote objects.
    fn check_finalizer(&mut self, now: Duration, by: &CallingProcess, uid: &str) {
        let Some(record) = self.history.records.get(uid) else { return };
        let has_unknown_location = self.has_unknown_location(uid, record);
        let is_excused = has_unknown_location || self.is_searched_elsewhere(uid, record, by);
        let title = record.title();
        let kind = remote_kind(&record.kind);
        let cloud = (self.view.cloud)();
        // A retained object that is being deleted needs no finalizer.
        let keeps = record.latest().policy().keeps();
        let left = cloud.of_uid(uid).find(|(id, remote)| {
            let is_a_copy = self.tampered.contains_key(*id);
            let is_held_for = remote.alive || (remote.exists && !keeps);
            is_held_for
                && Some(remote.kind) == kind
                && !is_a_copy
                && !is_missed(record, &by.place, place_of(id))
        });
        let left = left.map(|(id, _)| id.clone());
        let is_hidden = left.as_ref().is_some_and(|id| self.may_be_hidden(id, uid, record));
        if let Some(record) = self.history.records.get_mut(uid).filter(|_| is_excused || is_hidden) {
            record.excused = true;
        }
        if let Some(id) = left.filter(|_| !has_unknown_location && !is_hidden) {
            self.violated(
                now,
                Class::FinalizerEarly,
                format!("the finalizer of {title} went while {id} exists"),
            );
        }
    }

    /// A ledger is valid only if the object was not changed since the decision.
    pub(super) fn check_precondition(&mut self, now: Duration, by: &CallingProcess, call: &Call) {
        if !by.controller.is_spoke() || !call.name.starts_with("PATCH") {
            return;
        }
        // Most calls are patches of a status: they are not parsed.
        let Ok(body) = std::str::from_utf8(&call.body) else { return };
        let tests = |path: &str| body.contains(&format!("{{\"op\":\"test\",\"path\":\"{path}\""));
        if body.contains("\"ledger\":{") && !(tests("/metadata/resourceVersion") && tests("/metadata/uid")) {
            let message =
                format!("the ledger of {}/{} is written without a precondition", call.namespace, call.object);
            self.violated(now, Class::NoPrecondition, message);
        }
    }
}
