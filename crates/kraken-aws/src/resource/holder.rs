//! A value that must be unique, and the object that has it. Pure.

use kraken_kind::{Failure, FailureClass};

use crate::{
    lookup::Tagged,
    tags::{self, CLUSTER, OWNER, Tags, UID},
};

/// The failure of a call for which `what`, such as "the name web", would have to be free, with the object that has it, its owner and the
/// required action. `own` are the tags of the resource that calls.
pub fn in_use(refusal: Failure, what: &str, holder: &impl Tagged, own: &Tags) -> Failure {
    let (class, owner) = owner_of(holder.tags(), own);
    let message = format!("{what} is in use by {}, {owner}", holder.id());
    Failure { class, message, ..refusal }
}

/// The class of the failure of a call that an object with the tags `holder` prevents. `own` are the tags of the resource that calls.
pub fn class_of_holder(holder: &Tags, own: &Tags) -> FailureClass {
    owner_of(holder, own).0
}

/// Whether an object with the tags `holder` is a former one of the resource with the tags `own`.
pub fn is_replaced(holder: &Tags, own: &Tags) -> bool {
    has_same(CLUSTER, holder, own) && has_same(UID, holder, own)
}

fn has_same(key: &str, tags: &Tags, own: &Tags) -> bool {
    own.contains_key(key) && tags.get(key) == own.get(key)
}

/// Who owns an object with these tags, relative to the resource with the tags `own`, and the required action.
fn owner_of(tags: &Tags, own: &Tags) -> (FailureClass, String) {
    let same = |key: &str| has_same(key, tags, own);
    let words = match tags::owner(tags) {
        None => "which is not managed by Kraken: use another value, or adopt the object with lifecycle.adopt".to_owned(),
        Some(owner) if !same(CLUSTER) => format!("which belongs to {} of another cluster", owner.owner),
        Some(_) if is_replaced(tags, own) => {
            "which this resource replaces: set lifecycle.replace to DeleteFirst, or change the conflicting value".to_owned()
        }
        Some(owner) if same(OWNER) => format!(
            "which an earlier {} left behind, with UID {}: delete it, or use another value",
            owner.owner, owner.uid
        ),
        Some(owner) => {
            let words = format!("which belongs to {}; Kraken tries again when that is deleted", owner.owner);
            return (FailureClass::InUse, words);
        }
    };
    (FailureClass::Terminal, words)
}
