//! The rules of the account that a resource uses.

use kraken_api::{Adopt, Location, reasons::Reason};
use kraken_kind::account::{AccountKind, Rules};
use kraken_options::{RestrictedValue, summary};

use crate::{outcome::Outcome, policy::Permit};

/// Whether they allow what the spec uses, and its adoption.
pub fn permits(rules: Option<&dyn Rules>, taken: &[RestrictedValue], adopt: Option<&Adopt>) -> Permit {
    let refused = rules.map(|rules| rules.refused(taken, adopt)).unwrap_or_default();
    if refused.is_empty() {
        return Ok(());
    }
    Err(Outcome::Account(Reason::NotAllowedByAccount, summary(&refused)))
}

/// Whether the account may be used where its credentials lead.
pub fn permits_location(rules: Option<&dyn Rules>, here: Option<&Location>) -> Permit {
    let violation = rules.zip(here).and_then(|(rules, here)| rules.location_violation(here));
    violation.map_or(Ok(()), |why| Err(Outcome::Account(Reason::AccountNotReady, why)))
}

/// Whether a resource without remote objects may use the account of this name, which is being deleted: nothing is created with it.
pub fn permits_while_deleted(kind: &AccountKind, name: &str, is_launched: bool) -> Permit {
    if is_launched {
        return Ok(());
    }
    let message = format!(
        "{} {name} is being deleted: nothing is created with it; name another in {}, or create it again when it is gone",
        kind.kind,
        kind.path()
    );
    Err(Outcome::Account(Reason::AccountNotReady, message))
}
