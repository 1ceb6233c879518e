//! `lifecycle.paused`: nothing is created, changed or deleted.

use kraken_api::Lifecycle;

use crate::{outcome::Outcome, policy::Permit};

/// Whether a reconcile may go on.
pub fn permits(lifecycle: &Lifecycle) -> Permit {
    if lifecycle.paused { Err(Outcome::Paused) } else { Ok(()) }
}
