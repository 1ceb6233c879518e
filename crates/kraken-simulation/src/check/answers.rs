//! Checks that a status is about the values of its own generation: the hub has answered exactly these references.

use std::time::Duration;

use serde_json::Value;

use super::judge::is_owned;
use super::policy::ready;
use super::{CallingProcess, Checks, Class};
use crate::oracle::requests_all;

/// The reasons that state whether all references have values.
const ABOUT_VALUES: [&str; 2] = ["Available", "DependenciesNotReady"];

impl Checks {
    /// After a write of a resource: a user who edits a reference must not read that a value is missing, or that all is in
    /// place, before the hub has answered the request for this reference.
    pub(super) fn check_answer(
        &mut self,
        now: Duration,
        by: &CallingProcess,
        uid: &str,
        before: Option<&Value>,
        after: &Value,
    ) {
        let condition = ready(after);
        let is_about_values =
            condition["reason"].as_str().is_some_and(|reason| ABOUT_VALUES.contains(&reason))
                && condition["observedGeneration"] == after["metadata"]["generation"]
                && !after["metadata"]["deletionTimestamp"].is_string();
        if !is_about_values || before.is_some_and(|before| ready(before) == condition) {
            return;
        }
        let requests = self.history.records.values().filter(|request| {
            request.kind == "DependencyRequest"
                && request.versions.iter().any(|version| is_owned(&version.value, uid))
        });
        let known = requests.flat_map(|request| self.history.candidates(request, by, now, self.calm));
        // An answer that lags behind the request is one to other references.
        let current_requests: Vec<&Value> =
            known.map(|version| &*version.value).filter(|request| requests_all(after, request)).collect();
        let is_answered = |request: &&Value| {
            let answered = &request["status"]["observedGeneration"];
            answered.is_i64() && *answered == request["metadata"]["generation"]
        };
        if current_requests.is_empty() || current_requests.iter().any(is_answered) {
            return;
        }
        let title = self.history.records.get(uid).map(super::history::Record::title).unwrap_or_default();
        let message = format!(
            "{title} reports {} before the hub has answered: {}",
            condition["reason"], condition["message"]
        );
        self.violated(now, Class::Unanswered, message);
    }
}
