use kraken_aws::testing;
use serde_json::json;

use super::{KeyPairs, observed::KeyPair};

fn key(public: &str) -> KeyPair {
    KeyPair { key_name: "ops".into(), public_key: Some(public.to_owned()), ..KeyPair::default() }
}

#[test]
fn the_comment_of_a_key_is_ignored() {
    let compared = |key: &KeyPair| {
        testing::compared::<KeyPairs>(json!({"publicKey": {"value": "ssh-ed25519 AAAAB me@home"}}), key)
    };
    assert!(compared(&key("ssh-ed25519 AAAAB")).is_empty());
    assert_eq!(
        compared(&key("ssh-ed25519 AAAAC me@home")),
        ["publicKey: ssh-ed25519 AAAAC becomes ssh-ed25519 AAAAB: fixed"]
    );
    assert!(compared(&KeyPair::default()).is_empty());
}

#[test]
fn the_name_is_immutable() {
    let wanted = json!({"publicKey": {"value": "ssh-rsa AAAAB"}, "keyName": {"value": "web"}});
    assert_eq!(
        testing::compared::<KeyPairs>(wanted, &key("ssh-rsa AAAAB")),
        ["keyName: ops becomes web: fixed"]
    );
}

#[test]
fn either_a_public_key_or_a_generated_key_is_required() {
    let (given, made) = (json!({"value": "ssh-rsa AAAAB"}), json!({"secretName": "ops-key"}));
    for (spec, words) in [
        (json!({}), "spec.publicKey: is required"),
        (json!({"publicKey": given, "generate": made}), "spec.generate: cannot be combined with publicKey"),
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
