//! Helpers for resolved values in rules between fields, calls and texts. Pure.

use std::fmt;

use kraken_kind::{OptionType, Resolved};

use crate::fields::SECRET;

/// The result of an optional field: `Some(None)` if it is absent, `None` if a problem was recorded.
pub type Optional<T> = Option<Option<Resolved<T>>>;

/// The value for a rule between fields, if it is known.
#[allow(clippy::ref_option)] // the type of the methods of `SpecValidator`
pub fn given<T: OptionType>(taken: &Optional<T>) -> Option<&T> {
    taken.as_ref()?.as_ref().map(Resolved::expose)
}

/// The value for a call, if it is set.
pub fn exposed<T: OptionType>(value: Option<&Resolved<T>>) -> Option<T> {
    value.map(|value| value.expose().clone())
}

/// A value that consists of several options. It is secret if any of them is.
#[derive(Clone, PartialEq, Eq)]
pub struct Joined<T> {
    value: T,
    is_secret: bool,
}

impl<T> Joined<T> {
    /// `is_secret`: whether any part of the value came from a Secret.
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
    /// As text; a placeholder if it is secret.
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
    fn an_absent_or_invalid_value_is_not_returned() {
        assert_eq!(given(&Some(Some(Resolved::Public(1)))), Some(&1));
        assert_eq!((given::<i32>(&Some(None)), given::<i32>(&None)), (None, None));
    }

    #[test]
    fn a_value_with_a_secret_is_shown_as_a_placeholder() {
        assert_eq!(Joined::new("a", true).shown(), "***");
        assert_eq!(format!("{:?} {:?}", Joined::new("a", true), Joined::new("a", false)), "*** \"a\"");
    }
}
