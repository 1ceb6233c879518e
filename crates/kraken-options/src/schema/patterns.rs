//! The patterns of the names in references.

/// A kind, with or without a dot and a group.
macro_rules! kind {
    () => {
        r"[A-Za-z][-A-Za-z0-9]{0,62}(\.[A-Za-z0-9][-A-Za-z0-9]*)*"
    };
}

/// The name of an object.
macro_rules! name {
    () => {
        r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
    };
}

/// The name of a namespace.
macro_rules! namespace {
    () => {
        r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
    };
}

/// The pattern of a kind, with or without a dot and a group.
pub const KIND_PATTERN: &str = concat!("^", kind!(), "$");
/// The pattern of the name of an object.
pub const NAME_PATTERN: &str = concat!("^", name!(), "$");
/// The pattern of the name of a namespace.
pub const NAMESPACE_PATTERN: &str = concat!("^", namespace!(), "$");
/// The pattern of a key of a ConfigMap or Secret.
pub const KEY_PATTERN: &str = r"^\.?[-_a-zA-Z0-9][-._a-zA-Z0-9]*$";
/// The pattern of a reference in one line: the kind, the namespace if it is another, the name, and the path if it has one.
pub(super) const SHORT_REF: &str = concat!("^", kind!(), "/(", namespace!(), ":)?", name!(), "(/.+)?$");
