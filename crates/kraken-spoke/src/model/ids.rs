//! Lists of ids. Pure.

use crate::dynamic::{DynKind, Observed};

/// The first ids, and the number of the others.
pub(crate) fn listed(ids: &[String]) -> String {
    const SHOWN: usize = 5;
    let more = ids.len().saturating_sub(SHOWN);
    let shown = ids.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    if more == 0 { shown } else { format!("{shown} and {more} more") }
}

/// The first ids that are not among the others.
pub(crate) fn without(ids: &[String], others: &[String]) -> Vec<String> {
    ids.iter().filter(|id| !others.contains(id)).cloned().collect()
}

/// The first ids, followed by the others that are not among them.
pub(crate) fn union(mut ids: Vec<String>, others: &[String]) -> Vec<String> {
    for id in others {
        if !ids.contains(id) {
            ids.push(id.clone());
        }
    }
    ids
}

/// The ids of the objects that the provider returns as deleted.
pub(crate) fn shown_as_deleted(kind: &dyn DynKind, observed: &Observed) -> Vec<String> {
    let mut ids = without(&kind.shown(observed), &kind.ids(observed));
    ids.retain(|id| kind.is_gone(&kind.select(observed.clone(), std::slice::from_ref(id)).0));
    ids
}
