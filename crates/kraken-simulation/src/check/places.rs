//! Where the objects of resources are: an Account has a region and credentials, and users edit it. Controllers are restarted with
//! another account or region, too.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Checks;
use super::history::Record;
use super::remote::place_of;

impl Checks {
    /// Whether nobody can know where the objects of a resource are: people removed parts of its record, and an Account of its
    /// namespace has moved, or its controller has been restarted elsewhere.
    pub(super) fn has_lost_its_place(&self, uid: &str, record: &Record) -> bool {
        let is_near = |account: &&Record| account.kind == "Account" && account.namespace == record.namespace;
        let has_moved =
            || self.places_of(uid).len() > 1 || self.history.records.values().filter(is_near).any(has_moved);
        record.disturbed.is_some() && has_moved()
    }

    /// Where objects were launched for a resource.
    fn places_of(&self, uid: &str) -> BTreeSet<&str> {
        self.launched.iter().filter(|(_, of)| *of == uid).map(|(id, _)| place_of(id)).collect()
    }
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
