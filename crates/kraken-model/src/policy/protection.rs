//! `lifecycle.protect`: nothing is deleted.

use kraken_api::Lifecycle;

use crate::{ids::listed, outcome::Outcome, policy::Permit};

/// Whether the remote objects of a resource that is being deleted may be deleted.
pub fn permits_deletion(lifecycle: &Lifecycle) -> Permit {
    if !lifecycle.protect {
        return Ok(());
    }
    Err(Outcome::Protected(
        "spec.lifecycle.protect is true: set it to false to allow the deletion".to_owned(),
    ))
}

/// Whether it holds the replacement of an object.
pub fn holds_replacement(lifecycle: &Lifecycle) -> bool {
    lifecycle.protect
}

/// Whether these replaced objects may be deleted.
pub fn permits_deletion_of_replaced(lifecycle: &Lifecycle, ids: &[String]) -> Permit {
    if !holds_replacement(lifecycle) {
        return Ok(());
    }
    Err(Outcome::Protected(format!(
        "{} is replaced and kept while spec.lifecycle.protect is true: set it to false to allow its deletion",
        listed(ids)
    )))
}
