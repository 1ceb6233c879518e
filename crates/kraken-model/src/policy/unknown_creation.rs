//! A creation whose result is not known, of an object that cannot be searched for: nothing is created a second time, and no record is
//! removed, until a person says whether the object exists.

use jiff::Timestamp;
use kraken_api::{CREATION_CONFIRMED_ANNOTATION, reasons::Reason};
use kraken_kind::Fate;

use crate::{outcome::Outcome, policy::Permit};

/// Whether all objects of the last launch, which was recorded at this time, are known: by the journal, or because a person confirmed
/// since that no other exists.
pub fn permits(
    fate: &Fate,
    launched: Option<Timestamp>,
    confirmed: Option<Timestamp>,
    progress: Reason,
) -> Permit {
    match fate {
        Fate::Known => Ok(()),
        Fate::Running(what) => Err(Outcome::InProgress(progress, what.clone())),
        Fate::Unknown(_) if is_denied(fate, launched, confirmed) => Ok(()),
        Fate::Unknown(why) => Err(Outcome::CreationUnknown(format!(
            "{why}, and objects of this type cannot be searched for. Look for it at the provider. If it exists, set lifecycle.adopt.id to its \
             id, or, if this resource is being deleted, delete it; if none exists, annotate the resource with \
             {CREATION_CONFIRMED_ANNOTATION}=<the current time, such as 2026-01-31T12:00:00Z>"
        ))),
    }
}

/// Whether a person confirmed that the launch created nothing.
pub fn is_denied(fate: &Fate, launched: Option<Timestamp>, confirmed: Option<Timestamp>) -> bool {
    matches!(fate, Fate::Unknown(_)) && confirmed.zip(launched).is_some_and(|(at, launched)| at > launched)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_confirmation_after_the_launch_says_that_it_created_nothing() {
        let at = |second| Some(Timestamp::from_second(second).unwrap());
        let unknown = Fate::Unknown("the provider ended".to_owned());
        let held = |launched, confirmed| permits(&unknown, launched, confirmed, Reason::Creating).is_err();
        assert!(held(at(5), None) && held(at(5), at(4)) && held(at(5), at(5)) && held(None, at(9)));
        assert!(!held(at(5), at(6)));
        assert!(permits(&Fate::Known, at(5), None, Reason::Creating).is_ok());
        let running = permits(&Fate::Running("creates".to_owned()), at(5), at(9), Reason::Deleting);
        assert!(matches!(running, Err(Outcome::InProgress(Reason::Deleting, _))), "{running:?}");
    }
}
