//! What becomes of the ownership when an object is scaled: only that of the number of replicas can change.

use super::{
    element::field,
    managed::{Entry, Managed, Manager, Operation},
    set::Set,
};

/// After a write of the scale; `path` leads to the number in the object, and 0 is no number.
///
/// It follows kube-apiserver, which knows managers that did not apply by their version, too. That of a scale is another
/// one, so the field is taken from them and given back in an entry of its own, without a time.
pub(in super::super) fn scaled(
    managed: &Managed,
    path: &[String],
    manager: &Manager,
    (old, new): (i64, i64),
) -> Managed {
    let replicas = set_of(path);
    let has = |set: &Set| !set.intersection(&replicas).is_empty();
    let mut after = managed.decoded();
    let mut owners: Vec<Manager> =
        after.0.iter().filter(|entry| has(&entry.set)).map(|entry| entry.manager.clone()).collect();
    if !owners.is_empty() && old != new {
        owners.clear();
        if new != 0 {
            owners.push(manager.clone());
        }
    }
    for entry in after.0.iter_mut().filter(|entry| has(&entry.set)) {
        if entry.manager.operation == Operation::Update || !owners.contains(&entry.manager) {
            entry.set = entry.set.difference(&replicas);
        }
    }
    owners.retain(|owner| owner.operation == Operation::Update);
    let own = |manager: Manager| Entry { manager, time: String::new(), set: replicas.clone() };
    after.0.extend(owners.into_iter().map(own));
    after.sorted()
}

/// The set of one path.
fn set_of(path: &[String]) -> Set {
    let mut set = Set::default();
    match path {
        [] => {}
        [last] => drop(set.members.insert(field(last))),
        [first, rest @ ..] => set.put(&field(first), set_of(rest)),
    }
    set
}
