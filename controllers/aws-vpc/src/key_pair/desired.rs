//! The key of a key pair: given or generated, and its comparison. Pure.

use kraken_aws::{bounds::rule, import::literal, prelude::*};
use serde_json::Value;

use super::{
    api::{Change, Desired, KeyPairSpec, PUBLIC_KEY},
    generated,
    observed::KeyPair,
};

impl KeyPairSpec {
    /// The public key of the spec, or of the Secret with a generated one.
    pub(super) fn key(&self, validator: &mut SpecValidator<'_, '_>) -> Option<Resolved<String>> {
        match (&self.public_key, &self.generate) {
            (Some(given), None) => validator.one("publicKey", given, rule(&PUBLIC_KEY)),
            (None, Some(generate)) => {
                if self.lifecycle.adopt.is_some() {
                    let why = "cannot be combined with lifecycle.adopt: an adopted key pair has its own key";
                    validator.problem("generate", why);
                }
                validator.one("generate.secretName", &generated::public_half(generate), rule(&PUBLIC_KEY))
            }
            (Some(_), Some(_)) => {
                validator.problem("generate", "cannot be combined with publicKey; remove one of them");
                None
            }
            (None, None) => {
                validator.problem("publicKey", "is required unless generate: {secretName: ...} is set");
                None
            }
        }
    }

    /// Not compared if AWS does not return it.
    /// AWS has no public key of some old key pairs: without it, the key pair cannot be imported.
    pub(super) fn import_key(key: &KeyPair) -> Option<Value> {
        key.public_key.as_deref().map(|key| literal(bare(key)))
    }

    pub(super) fn compare_key(desired: &Desired, key: &KeyPair) -> Option<Difference<Change>> {
        let wanted = desired.public_key.map(|key| bare(key));
        let have = bare(key.public_key.as_deref()?);
        fixed("publicKey", Some(&wanted), Some(&have))
    }
}

/// The key without its comment.
fn bare(key: &str) -> String {
    key.split_whitespace().take(2).collect::<Vec<_>>().join(" ")
}
