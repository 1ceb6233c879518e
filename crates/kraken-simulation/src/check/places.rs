//! Where the objects of resources are: an Account has a region and credentials, and users edit it.

use serde_json::Value;

use super::Checks;
use super::history::Record;

impl Checks {
    /// Whether nobody can know where the objects of a resource are: people removed parts of its record, and an Account of its
    /// namespace has moved.
    pub(super) fn has_lost_its_place(&self, record: &Record) -> bool {
        let is_near = |account: &&Record| account.kind == "Account" && account.namespace == record.namespace;
        record.disturbed.is_some() && self.history.records.values().filter(is_near).any(has_moved)
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
