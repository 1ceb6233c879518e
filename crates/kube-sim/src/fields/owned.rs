//! What becomes of the ownership when an object is written.

use std::sync::LazyLock;

use serde_json::Value;

use super::{
    compare::compare,
    element::Node,
    managed::{Entry, Managed, Manager},
    set::Set,
};
use crate::schema::Schema;

/// Fields without an owner.
static UNOWNED: LazyLock<Set> = LazyLock::new(|| {
    let mut set = Set::of(&["apiVersion", "kind", "metadata"]);
    let meta = Set::of(&[
        "name",
        "namespace",
        "creationTimestamp",
        "selfLink",
        "uid",
        "clusterName",
        "generation",
        "managedFields",
        "resourceVersion",
    ]);
    set.put(&super::element::field("metadata"), meta);
    set
});

/// Without fields that have no owner or that the endpoint does not write.
pub(super) fn own(set: &Set, ignored: &[&str]) -> Set {
    let mut own = if ignored.is_empty() { set.clone() } else { set.without(&Set::of(ignored)) };
    own.subtract(&UNOWNED);
    own
}

/// After a write other than an apply: the writer is the only owner of the changed fields.
pub(in super::super) fn updated(
    schemas: (&Schema, &Schema),
    live: Option<&Value>,
    new: &Value,
    managed: &Managed,
    manager: &Manager,
    now: &str,
    ignored: &[&str],
) -> Managed {
    let node = Node::Root(schemas.0, schemas.1);
    let comparison = compare(node, live, Some(new)).without(ignored);
    let mut changed = comparison.modified;
    changed.extend(&comparison.added);
    let mut after = managed.decoded();
    for entry in &mut after.0 {
        entry.set.subtract(&changed);
        entry.set.subtract(&comparison.removed);
    }
    let gained = own(&changed, ignored);
    if !gained.is_empty() {
        match after.0.iter_mut().find(|entry| entry.manager == *manager) {
            Some(entry) => {
                entry.set.extend(&gained);
                now.clone_into(&mut entry.time);
            }
            None => {
                after.0.push(Entry { manager: manager.clone(), time: now.to_owned(), set: gained });
            }
        }
    }
    after.capped().sorted()
}
