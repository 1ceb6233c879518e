//! Where the objects of resources are: an Account has a region and credentials, and users edit it. Controllers are restarted with
//! another account or region, too.

use std::collections::BTreeSet;

use serde_json::Value;

use super::history::{Record, Version};
use super::policy::recorded_place;
use super::remote::{place_of, suffix};
use super::{CallingProcess, Checks};
use crate::schedule::Controller;

impl Checks {
    /// Whether nobody can know where the objects of a resource are: users removed parts of its record, and an Account of its
    /// namespace has moved, or its controller has been restarted elsewhere.
    pub(super) fn has_unknown_location(&self, uid: &str, record: &Record) -> bool {
        let is_near = |account: &&Record| account.kind == "Account" && account.namespace == record.namespace;
        let has_moved =
            || self.places_of(uid).len() > 1 || self.history.records.values().filter(is_near).any(has_moved);
        record.disturbed.is_some() && has_moved()
    }

    /// Whether an object was launched for a resource where this process [cannot find it](is_missed).
    pub(super) fn is_searched_elsewhere(&self, uid: &str, record: &Record, by: &CallingProcess) -> bool {
        self.places_of(uid).into_iter().any(|place| is_missed(record, &by.place, place))
    }

    /// Whether the controller of a resource cannot find an object at this place, because it [works elsewhere](is_missed) now.
    pub(super) fn is_out_of_reach(&self, record: &Record, place: &str) -> bool {
        let by = self.working_at.get(&Controller::of(&record.kind));
        by.is_some_and(|by| is_missed(record, by, place))
    }

    /// Where objects were launched for a resource.
    fn places_of(&self, uid: &str) -> BTreeSet<&str> {
        self.launched.iter().filter(|(_, of)| *of == uid).map(|(id, _)| place_of(id)).collect()
    }
}

/// Whether a process that works at the place `by` cannot find an object of a resource at this place: users removed the record of
/// the place, or restored a backup without it, and the process works elsewhere, or has recorded another place since. Other edits of
/// the record are no reason.
pub(super) fn is_missed(record: &Record, by: &str, place: &str) -> bool {
    let object = &record.latest().value;
    let recorded = recorded_place(object).as_ref().map(suffix);
    let has_account = !object["spec"]["account"].is_null();
    let searched = recorded.or_else(|| (!has_account).then(|| by.to_owned()));
    searched.is_some_and(|searched| place != searched && is_forgotten(record, place))
}

/// Whether the last version that names this place was replaced by another than the controller.
fn is_forgotten(record: &Record, place: &str) -> bool {
    let names =
        |version: &Version| recorded_place(&version.value).is_some_and(|named| suffix(&named) == place);
    let next = record.versions.iter().rposition(names).and_then(|last| record.versions.get(last + 1));
    next.is_some_and(|next| record.displaced.contains(&next.at))
}

fn has_moved(account: &Record) -> bool {
    account.gone.is_some()
        || account.versions.windows(2).any(|pair| place(&pair[0].value) != place(&pair[1].value))
}

/// What decides where an Account is.
fn place(account: &Value) -> [&Value; 3] {
    let spec = &account["spec"];
    [&spec["region"], &spec["assumeRoleARN"], &spec["credentials"]]
}
