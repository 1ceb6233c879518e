//! The number of objects that may exist: a create call never leads to more than the spec, and a replacement in progress, account for.

use kraken_kind::dynamic::Kind;

use crate::{
    ids::{listed, union},
    observation::Observation,
    outcome::Outcome,
    policy::Permit,
};

/// Whether the observed objects leave room for those that a create call adds.
pub fn permits(kind: &dyn Kind, observation: &Observation<'_>) -> Permit {
    let Observation { target, shown, .. } = observation;
    let outgoing = target.ledger.as_ref().map(|ledger| ledger.outgoing.as_slice()).unwrap_or_default();
    let max = kind.max_objects(&target.desired);
    // A call creates what the current objects lack. Others of the resource, which no replacement names, remain.
    let new = max.saturating_sub(observation.current.ids().len()).max(1);
    match excess(&shown.live, &shown.unseen, outgoing, new, max) {
        Some(why) => Err(Outcome::LaunchRefused(why)),
        _ => Ok(()),
    }
}

/// Why nothing may be created, if with up to `new` new ones more objects would exist than are accounted for: by the spec,
/// and by a replacement in progress for the objects that existed when it started.
fn excess(live: &[String], unseen: &[String], outgoing: &[String], new: usize, max: usize) -> Option<String> {
    let all = union(live.to_vec(), unseen);
    let unexplained: Vec<String> = all.into_iter().filter(|id| !outgoing.contains(id)).collect();
    (unexplained.len().saturating_add(new) > max).then(|| {
        format!(
            "{} remote objects of this resource exist, the next call would create {new}, and its spec accounts for {max}: {}. \
             No object is created until the surplus objects are deleted; please report this",
            unexplained.len(),
            listed(&unexplained)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(list: &[&str]) -> Vec<String> {
        list.iter().map(|id| (*id).to_owned()).collect()
    }

    #[test]
    fn launch_never_exceeds_what_spec_and_replacement_account_for() {
        let (old, new) = (ids(&["i-1", "i-2"]), ids(&["i-3"]));
        let all = ids(&["i-1", "i-2", "i-3"]);
        assert_eq!(excess(&all, &[], &old, 1, 2), None);
        assert!(excess(&all, &ids(&["i-4"]), &old, 1, 2).is_some(), "objects that are not visible yet count");
        assert!(excess(&all, &[], &[], 1, 3).is_some());
        assert!(excess(&all, &[], &old, 2, 2).is_some(), "a launch that creates two objects counts twice");
        assert_eq!(excess(&new, &[], &[], 1, 2), None);
        assert_eq!(excess(&[], &[], &[], 1, 1), None);
        assert!(excess(&[], &[], &[], 1, 0).is_some());
    }
}
