//! The desired state of a key pair, and its comparison with the observed state. Pure.

use kraken_aws::{bounds::KEY_NAME, diff::fixed, validator::SpecValidator};
use kraken_spoke::{Difference, Resolved, Resolver};

use super::{
    api::{KeyPairSpec, PUBLIC_KEY},
    aws::KeyPair,
    generated,
};

/// The desired state.
#[derive(Debug)]
pub(crate) struct Desired {
    pub(super) public_key: Resolved<String>,
    pub(super) key_name: Option<Resolved<String>>,
}

/// Only tags can be changed in place.
#[derive(Debug)]
pub(crate) enum Change {}

pub(super) fn desired(spec: &KeyPairSpec, values: &mut Resolver<'_>) -> Option<Desired> {
    let mut validator = SpecValidator::new(values);
    let public_key = match (&spec.public_key, &spec.generate) {
        (Some(given), None) => validator.one("publicKey", given, |key: &str| PUBLIC_KEY.check(key)),
        (None, Some(generate)) => {
            if spec.lifecycle.adopt.is_some() {
                validator.problem(
                    "generate",
                    "cannot be combined with lifecycle.adopt: an adopted key pair has its own key",
                );
            }
            validator.one("generate.secretName", &generated::public_half(generate), |key: &str| {
                PUBLIC_KEY.check(key)
            })
        }
        (Some(_), Some(_)) => {
            validator.problem("generate", "cannot be combined with publicKey; remove one of them");
            None
        }
        (None, None) => {
            validator.problem("publicKey", "is required unless generate: {secretName: ...} is set");
            None
        }
    };
    let key_name = validator.public_if("keyName", spec.key_name.as_ref(), |name: &str| KEY_NAME.check(name));
    let desired = Desired { public_key: public_key?, key_name: key_name? };
    validator.is_valid().then_some(desired)
}

/// The key without its comment.
fn bare(key: &str) -> String {
    key.split_whitespace().take(2).collect::<Vec<_>>().join(" ")
}

pub(super) fn differences(desired: &Desired, key: &KeyPair) -> Vec<Difference<Change>> {
    let name = fixed("keyName", desired.key_name.as_ref(), Some(&key.key_name));
    let wanted = desired.public_key.map(|key| bare(key));
    let have = key.public_key.as_deref().map(bare);
    // Not compared if AWS does not return it.
    let public_key = have.and_then(|have| fixed("publicKey", Some(&wanted), Some(&have)));
    name.into_iter().chain(public_key).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key_pair::KeyPairs;
    use kraken_aws::testing::{self, rendered};
    use serde_json::json;

    fn key(public: &str) -> KeyPair {
        KeyPair { key_name: "ops".into(), public_key: Some(public.to_owned()), ..KeyPair::default() }
    }

    #[test]
    fn the_comment_of_a_key_is_ignored() {
        let wanted =
            testing::desired::<KeyPairs>(json!({"publicKey": {"value": "ssh-ed25519 AAAAB me@home"}}));
        assert!(differences(&wanted, &key("ssh-ed25519 AAAAB")).is_empty());
        assert_eq!(
            rendered(differences(&wanted, &key("ssh-ed25519 AAAAC me@home"))),
            ["publicKey: ssh-ed25519 AAAAC becomes ssh-ed25519 AAAAB: fixed"]
        );
        assert!(differences(&wanted, &KeyPair::default()).is_empty());
    }

    #[test]
    fn the_name_is_immutable() {
        let wanted = testing::desired::<KeyPairs>(json!({
            "publicKey": {"value": "ssh-rsa AAAAB"}, "keyName": {"value": "web"},
        }));
        assert_eq!(
            rendered(differences(&wanted, &key("ssh-rsa AAAAB"))),
            ["keyName: ops becomes web: fixed"]
        );
    }

    #[test]
    fn either_a_public_key_or_a_generated_key_is_required() {
        let (given, made) = (json!({"value": "ssh-rsa AAAAB"}), json!({"secretName": "ops-key"}));
        for (spec, words) in [
            (json!({}), "spec.publicKey: is required"),
            (
                json!({"publicKey": given, "generate": made}),
                "spec.generate: cannot be combined with publicKey",
            ),
            (
                json!({"generate": made, "lifecycle": {"adopt": {"id": "ops"}}}),
                "cannot be combined with lifecycle.adopt",
            ),
            (json!({"generate": {"secretName": "Ops Key"}}), "spec.generate.secretName"),
        ] {
            let found = testing::problems::<KeyPairs>(spec);
            assert!(found.iter().any(|problem| problem.contains(words)), "{found:?}");
        }
    }

    #[test]
    fn an_invalid_public_key_is_rejected_and_not_quoted() {
        for wrong in ["", "AAAAB", "-----BEGIN OPENSSH PRIVATE KEY-----", "ssh-dss AAAAB", "ssh-rsa x"] {
            let found = testing::problems::<KeyPairs>(json!({"publicKey": {"value": wrong}}));
            assert_eq!(
                found,
                ["spec.publicKey: must be an OpenSSH public key: ssh-ed25519 or ssh-rsa, then AAAA..."]
            );
        }
    }
}
