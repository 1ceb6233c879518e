//! `lifecycle.deletion`: whether a remote object is deleted or kept. Adopted or created is a property of each object, and not of the
//! resource.

use kraken_api::{Deletion, Lifecycle, ResourceStatus};

use crate::{ids::union, ledger::Ledger};

/// What happens to each remote object when it is deleted or replaced.
#[derive(Clone, Copy, Debug)]
pub struct ReleasePolicy<'a> {
    /// The options of the spec.
    pub lifecycle: &'a Lifecycle,
    /// The ids that existed before the resource.
    pub adopted: &'a [String],
    /// The ids that this cluster created before the resource.
    pub taken_back: &'a [String],
}

impl<'a> ReleasePolicy<'a> {
    /// The policy for these records.
    pub fn of(lifecycle: &'a Lifecycle, adopted: &'a [String], ledger: Option<&'a Ledger>) -> Self {
        let taken_back = ledger.map(|ledger| ledger.taken_back.as_slice()).unwrap_or_default();
        Self { lifecycle, adopted, taken_back }
    }

    /// The ids among these that a deletion keeps although the spec does not state it.
    pub fn silently_kept(&self, ids: &[String]) -> Vec<String> {
        let is_stated = self.lifecycle.deletion.is_some();
        ids.iter().filter(|id| !is_stated && self.keeps(id)).cloned().collect()
    }

    /// Whether the object is kept.
    pub fn keeps(&self, id: &String) -> bool {
        // Without a record of adopted ids, every object may have been adopted.
        let is_unknown =
            self.adopted.is_empty() && !self.taken_back.contains(id) && self.lifecycle.adopt.is_some();
        let is_adopted = self.adopted.contains(id);
        self.lifecycle.deletion(is_unknown || is_adopted) == Deletion::Retain
    }

    /// Whether any of the recorded objects is deleted; without recorded objects, the policy of the resource decides.
    pub fn deletes_any(&self, recorded: &[String]) -> bool {
        let by_default = self.adopted.is_empty() && self.lifecycle.adopt.is_none();
        match self.lifecycle.deletion {
            Some(deletion) => deletion == Deletion::Delete,
            None => by_default || recorded.iter().any(|id| !self.keeps(id)),
        }
    }
}

/// The ids that existed before the resource, from the status and the ledger.
pub fn adopted(status: Option<&ResourceStatus>, ledger: Option<&Ledger>) -> Vec<String> {
    let of_status = status.map(|status| status.adopted.clone()).unwrap_or_default();
    union(of_status, ledger.map(|ledger| ledger.adopted.as_slice()).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(list: &[&str]) -> Vec<String> {
        list.iter().map(|id| (*id).to_owned()).collect()
    }

    #[test]
    fn adopted_object_is_kept_and_created_object_is_deleted() {
        let lifecycle = Lifecycle::default();
        let adopted = ids(&["i-1"]);
        let policy = ReleasePolicy::of(&lifecycle, &adopted, None);
        assert!(policy.keeps(&"i-1".to_owned()));
        assert!(!policy.keeps(&"i-2".to_owned()));
        assert!(!policy.deletes_any(&ids(&["i-1"])));
        assert!(policy.deletes_any(&ids(&["i-1", "i-2"])));
    }

    #[test]
    fn explicit_deletion_policy_applies_to_all_objects() {
        for (deletion, keeps) in [(Deletion::Retain, true), (Deletion::Delete, false)] {
            let lifecycle = Lifecycle { deletion: Some(deletion), ..Lifecycle::default() };
            let adopted = ids(&["i-1"]);
            let policy = ReleasePolicy::of(&lifecycle, &adopted, None);
            assert!(["i-1", "i-2"].iter().all(|id| policy.keeps(&(*id).to_owned()) == keeps));
            assert_eq!(policy.deletes_any(&[]), !keeps);
        }
    }

    #[test]
    fn missing_adoption_record_prevents_deletion() {
        let adopt = kraken_api::Adopt::Id(kraken_api::ById { id: "i-1".into() });
        let lifecycle = Lifecycle { adopt: Some(adopt), ..Lifecycle::default() };
        let policy = ReleasePolicy::of(&lifecycle, &[], None);
        assert!(policy.keeps(&"i-2".to_owned()) && !policy.deletes_any(&[]));
        let taken_back = Ledger { taken_back: ids(&["i-2"]), ..Ledger::default() };
        let policy = ReleasePolicy::of(&lifecycle, &[], Some(&taken_back));
        assert!(!policy.keeps(&"i-2".to_owned()) && policy.keeps(&"i-3".to_owned()));
        assert_eq!(policy.silently_kept(&ids(&["i-2", "i-3"])), ids(&["i-3"]));
        let nothing = Lifecycle::default();
        assert!(ReleasePolicy::of(&nothing, &[], None).deletes_any(&[]));
    }
}
