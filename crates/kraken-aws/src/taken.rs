//! Values that were taken, on their way into rules between fields, into calls and into texts. Pure.

use std::fmt;

use kraken_spoke::{OptionType, Resolved};

use crate::fields::SECRET;

/// What an option that may be absent came to: `Some(None)` if it is, `None` if a problem was recorded.
pub type Optional<T> = Option<Option<Resolved<T>>>;

/// The value for a rule between fields, if it is known.
#[allow(clippy::ref_option)] // it is what taking returns
pub fn given<T: OptionType>(taken: &Optional<T>) -> Option<&T> {
    taken.as_ref()?.as_ref().map(Resolved::expose)
}

/// The value for a call, if one is wanted.
pub fn exposed<T: OptionType>(value: Option<&Resolved<T>>) -> Option<T> {
    value.map(|value| value.expose().clone())
}

/// What is made of several options: as secret as the most secret of them.
#[derive(Clone, PartialEq, Eq)]
pub struct Joined<T> {
    value: T,
    is_secret: bool,
}

impl<T> Joined<T> {
    /// A value with whether any part of it came from a Secret.
    pub fn new(value: T, is_secret: bool) -> Self {
        Self { value, is_secret }
    }

    /// The value, secret or not.
    pub fn expose(&self) -> &T {
        &self.value
    }

    /// Whether any part of it came from a Secret.
    pub fn is_secret(&self) -> bool {
        self.is_secret
    }
}

impl<T: fmt::Display> Joined<T> {
    /// As text, if it may be shown.
    pub fn shown(&self) -> String {
        if self.is_secret { SECRET.to_owned() } else { self.value.to_string() }
    }
}

impl<T: fmt::Debug> fmt::Debug for Joined<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_secret { f.write_str(SECRET) } else { self.value.fmt(f) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_absent_or_a_problem_is_not_given() {
        assert_eq!(given(&Some(Some(Resolved::Public(1)))), Some(&1));
        assert_eq!((given::<i32>(&Some(None)), given::<i32>(&None)), (None, None));
    }

    #[test]
    fn what_holds_a_secret_shows_stars() {
        assert_eq!(Joined::new("a", true).shown(), "***");
        assert_eq!(format!("{:?} {:?}", Joined::new("a", true), Joined::new("a", false)), "*** \"a\"");
    }
}
