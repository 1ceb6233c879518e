//! What is reported to be in place must be in place for a controller without a memory, too.
//!
//! After everything has settled, all controllers restart. Each observes its resources again and compares every field (rules,
//! routes, attributes, tags) with the spec. A call that changes the object of a resource that was Ready shows that the
//! condition was wrong, or that the two processes disagree.

use std::time::Duration;

use kraken_kind::api::interval;
use kraken_simulator::hook::Call;

use super::{
    CallingProcess, Checks, Class,
    call::ParsedCall,
    end::{OBSERVED, ignores_drift},
    policy::{is_deleting, is_resource, ready},
};

impl Checks {
    /// Everything has settled and all controllers restart: resources that are Ready must not be changed from now on.
    pub(super) fn expect_in_place(&mut self, now: Duration) {
        self.restarted_at = Some(now);
        let objects = (self.view.objects)();
        let is_in_place = |object: &serde_json::Value| {
            // What was changed out of band since the last resync is noticed at the next start.
            let own = object["spec"]["lifecycle"]["resyncInterval"].as_str().map(interval::parse);
            let is_watched =
                own.is_none_or(|own| own.is_ok_and(|own| own.is_some_and(|own| own <= OBSERVED)));
            is_resource(object)
                && is_watched
                && !is_deleting(object)
                && !ignores_drift(object)
                && ready(object)["status"] == "True"
        };
        let ready = objects.iter().filter(|object| is_in_place(object));
        self.in_place = ready.map(|object| super::history::uid_of(object).to_owned()).collect();
    }

    /// Users delete everything: from now on each resource may be changed.
    pub(super) fn expect_nothing(&mut self) {
        self.in_place.clear();
    }

    /// After a call that may change something.
    pub(super) fn check_in_place(&mut self, now: Duration, by: &CallingProcess, call: &Call) {
        if self.in_place.is_empty() {
            return;
        }
        let parsed = ParsedCall::of(call);
        let subjects = parsed.subjects.iter();
        let owners = subjects.filter_map(|id| self.cloud.0.get(&format!("{id}{}", by.place))?.uid());
        let owner = parsed.uid().into_iter().chain(owners).find(|uid| self.in_place.contains(*uid));
        let Some(owner) = owner.map(ToOwned::to_owned) else { return };
        let title =
            self.history.records.get(&owner).map_or_else(|| owner.clone(), super::history::Record::title);
        let message = format!(
            "{title} was Ready before all controllers restarted, and then {} was called with {}",
            call.name,
            String::from_utf8_lossy(&call.body)
        );
        self.violated(now, Class::NotInPlace, message);
    }
}
