//! Resolved values, and the ones among them that came from a Secret.

use std::fmt;

use secrecy::{ExposeSecret, SecretBox};
use zeroize::Zeroize;

use crate::types::OptionType;

/// A value that an option resolved to.
///
/// It has no `Serialize` and no `Display`, so that it can be written only through [`expose`](Self::expose); `Debug`
/// prints `***` for a secret.
#[derive(Clone, PartialEq)]
pub enum Resolved<T: OptionType> {
    /// Not from a Secret: may be shown and published.
    Public(T),
    /// From a Secret, directly or through a template: may only be sent to the provider.
    Secret(Sensitive<T>),
}

impl<T: OptionType> Resolved<T> {
    /// The value, secret or not. Only for the call that sends it to the provider.
    pub fn expose(&self) -> &T {
        match self {
            Self::Public(value) => value,
            Self::Secret(secret) => secret.expose(),
        }
    }

    /// The value, unless it is secret: for state, plans and messages.
    pub fn public(&self) -> Option<&T> {
        match self {
            Self::Public(value) => Some(value),
            Self::Secret(_) => None,
        }
    }

    /// True if the value came from a Secret.
    pub fn is_secret(&self) -> bool {
        matches!(self, Self::Secret(_))
    }

    /// The version of the Secrets that the value comes from: compare it to detect a change without the value.
    pub fn secret_version(&self) -> Option<&str> {
        match self {
            Self::Public(_) => None,
            Self::Secret(secret) => Some(secret.version()),
        }
    }

    /// The keyed digest of the value's sources, if the hub gave one for each: it may be stored, and equal digests mean equal values. None
    /// for a value that is not from a Secret, and for a list.
    pub fn secret_digest(&self) -> Option<&str> {
        match self {
            Self::Public(_) => None,
            Self::Secret(secret) => secret.digest(),
        }
    }

    /// A value derived from this one. It is secret if this one is.
    #[must_use]
    pub fn map<U: OptionType>(&self, make: impl FnOnce(&T) -> U) -> Resolved<U> {
        match self {
            Self::Public(value) => Resolved::Public(make(value)),
            Self::Secret(secret) => {
                let derived = Sensitive::new(make(secret.expose()), secret.version.clone());
                Resolved::Secret(derived.with_digest(secret.digest.clone()))
            }
        }
    }
}

impl<T: OptionType> fmt::Debug for Resolved<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Public(value) => f.debug_tuple("Public").field(value).finish(),
            Self::Secret(_) => f.write_str("Secret(***)"),
        }
    }
}

/// A value that came from a Secret. Its memory is wiped when it is dropped.
pub struct Sensitive<T: OptionType> {
    value: SecretBox<Wiped<T>>,
    version: String,
    digest: Option<String>,
}

impl<T: OptionType> Sensitive<T> {
    /// Wraps a value; `version` is made of the uid and resourceVersion of the Secrets it came from, never of the value.
    pub fn new(value: T, version: String) -> Self {
        Self { value: SecretBox::new(Box::new(Wiped(value))), version, digest: None }
    }

    /// With the keyed digest of its sources. It is never made from the value without the hub's key: the value could be guessed.
    #[must_use]
    pub fn with_digest(self, digest: Option<String>) -> Self {
        Self { digest, ..self }
    }

    /// The value.
    pub fn expose(&self) -> &T {
        &self.value.expose_secret().0
    }

    /// Version of the Secrets that the value came from.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The keyed digest of its sources, if there is one for each.
    pub fn digest(&self) -> Option<&str> {
        self.digest.as_deref()
    }
}

impl<T: OptionType> Clone for Sensitive<T> {
    fn clone(&self) -> Self {
        Self::new(self.expose().clone(), self.version.clone()).with_digest(self.digest.clone())
    }
}

impl<T: OptionType> PartialEq for Sensitive<T> {
    fn eq(&self, other: &Self) -> bool {
        self.version == other.version && self.expose() == other.expose()
    }
}

impl<T: OptionType> fmt::Debug for Sensitive<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// Lets `secrecy` wipe any option type.
struct Wiped<T: OptionType>(T);

impl<T: OptionType> Zeroize for Wiped<T> {
    fn zeroize(&mut self) {
        self.0.wipe();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret() -> Resolved<String> {
        Resolved::Secret(Sensitive::new("hunter2".to_owned(), "uid/7".to_owned()))
    }

    #[test]
    fn a_secret_shows_three_stars() {
        assert_eq!(format!("{:?}", secret()), "Secret(***)");
        assert_eq!(format!("{:#?}", Some(secret())), "Some(\n    Secret(***),\n)");
        assert_eq!(format!("{:?}", Sensitive::new(1_i64, "uid/7".into())), "***");
    }

    #[test]
    fn a_secret_is_exposed_only_on_demand() {
        assert_eq!(secret().expose(), "hunter2");
        assert_eq!(secret().public(), None);
        assert!(secret().is_secret());
        assert_eq!(secret().secret_version(), Some("uid/7"));
    }

    #[test]
    fn a_public_value_is_just_a_value() {
        let value = Resolved::Public(3_i64);
        assert_eq!((value.expose(), value.public()), (&3, Some(&3)));
        assert!(!value.is_secret());
        assert_eq!(value.secret_version(), None);
        assert_eq!(format!("{value:?}"), "Public(3)");
    }

    #[test]
    fn a_value_derived_from_a_secret_is_secret() {
        let upper = secret().map(|text| text.to_uppercase());
        assert_eq!((upper.is_secret(), upper.secret_version()), (true, Some("uid/7")));
        assert_eq!(upper.expose(), "HUNTER2");
        assert!(!Resolved::Public(3_i64).map(|n| n + 1).is_secret());
    }

    #[test]
    fn a_clone_and_a_derived_value_keep_the_digest() {
        let digested =
            Sensitive::new("hunter2".to_owned(), "uid/7".to_owned()).with_digest(Some("k.1".to_owned()));
        let value = Resolved::Secret(digested);
        assert_eq!(value.clone().secret_digest(), Some("k.1"));
        assert_eq!(value.map(|text| text.to_uppercase()).secret_digest(), Some("k.1"));
        assert_eq!((secret().secret_digest(), Resolved::Public(3_i64).secret_digest()), (None, None));
    }

    #[test]
    fn a_clone_is_equal_and_still_secret() {
        assert_eq!(secret(), secret().clone());
        assert_ne!(secret(), Resolved::Public("hunter2".to_owned()));
    }
}
