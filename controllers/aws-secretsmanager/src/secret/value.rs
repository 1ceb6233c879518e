//! Which value a secret has, without reading it: the id of each version that Kraken makes contains a digest of its value. Pure.
//!
//! The id of a version is the token of the call that makes it, so that one call sets the value and its digest. The digest comes from that of
//! the hub, which has a key: it tells whether a Secret has another value, and not which. A version that somebody else makes has another id.

use kraken_aws::{
    diff::difference,
    fields::{ABSENT, NOT_SHOWN, SECRET, digest},
    prelude::*,
};

use super::{
    api::{Change, Desired, SecretSpec},
    observed::Secret,
};

/// The id of a version with the desired value of the secret with this name; none if there is no value, or the hub gave no digest. `before` is
/// the current version, or the token of the creation: so each change has an id of its own, also the one to a former value, and a repeated
/// call has the same. 33 of 32 to 64 characters.
pub(super) fn version(desired: &Desired, name: &str, before: &str) -> Option<String> {
    Some(format!("{}{}", beginning(desired, name)?, digest(&[before])))
}

/// The beginning of the ids of all versions with the desired value. With the name: equal values of two secrets are not seen.
fn beginning(desired: &Desired, name: &str) -> Option<String> {
    let value = desired.secret_string.as_ref()?.secret_digest()?;
    Some(format!("{}-", digest(&["secretString", name, value])))
}

impl SecretSpec {
    /// Without a digest from the hub, it is unknown whether the value differs.
    pub(super) fn compare_value(desired: &Desired, secret: &Secret) -> Option<Difference<Change>> {
        let wanted = beginning(desired, &secret.name)?;
        let have = secret.version.as_deref();
        let shown = if have.is_some() { NOT_SHOWN } else { ABSENT };
        (!have.is_some_and(|have| have.starts_with(&wanted)))
            .then(|| difference("secretString", SECRET, shown, Change::Value))
    }
}
