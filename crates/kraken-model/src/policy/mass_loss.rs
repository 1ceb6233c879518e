//! The mass loss of remote objects: if many of a kind vanish at once, nothing is recreated until a person confirms. The losses are
//! counted in `shared/vanished.rs` of `kraken-spoke`.

use std::time::Duration;

use jiff::Timestamp;
use kraken_api::{CREATION_CONFIRMED_ANNOTATION, reasons::Reason};

use crate::{ids::listed, outcome::Outcome, policy::Permit};

/// How long a confirmation is valid.
const CONFIRMED_FOR: Duration = Duration::from_hours(1);

/// Whether the lost objects of a resource may be recreated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recreation {
    /// They may be recreated.
    Allowed,
    /// Other resources may have a loss too: observe again.
    Wait,
    /// This many of this many resources have a loss: a person must confirm.
    Held(usize, usize),
}

/// Whether a person confirmed the loss.
pub fn is_confirmed(confirmed: Option<Timestamp>, now: Timestamp) -> bool {
    confirmed.is_some_and(|at| at.duration_until(now).unsigned_abs() < CONFIRMED_FOR)
}

/// Whether these vanished objects may be recreated.
pub fn permits(recreation: Recreation, ids: &[String]) -> Permit {
    let ids = listed(ids);
    match recreation {
        Recreation::Allowed => Ok(()),
        Recreation::Wait => {
            let message = format!("{ids} vanished; checking for losses of other resources");
            Err(Outcome::InProgress(Reason::Creating, message))
        }
        Recreation::Held(lost, all) => Err(Outcome::MassLossHeld(format!(
            "{ids} vanished together with remote objects of {} other resources of this kind, of {all} in total: nothing is recreated \
             until a person confirms the loss. Check that the controller has the right credentials, region and endpoint; then \
             annotate each of these resources with {CREATION_CONFIRMED_ANNOTATION}=<the current time, such as 2026-01-31T12:00:00Z>",
            lost.saturating_sub(1)
        ))),
    }
}
