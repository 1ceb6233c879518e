//! Lists of ids. Pure.

/// The first ids, and the number of the others.
pub fn listed(ids: &[String]) -> String {
    const SHOWN: usize = 5;
    let more = ids.len().saturating_sub(SHOWN);
    let shown = ids.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    if more == 0 { shown } else { format!("{shown} and {more} more") }
}

/// The first ids that are not among the others.
pub fn without(ids: &[String], others: &[String]) -> Vec<String> {
    ids.iter().filter(|id| !others.contains(id)).cloned().collect()
}

/// The first ids, followed by the others that are not among them.
pub fn union(mut ids: Vec<String>, others: &[String]) -> Vec<String> {
    for id in others {
        if !ids.contains(id) {
            ids.push(id.clone());
        }
    }
    ids
}
