//! A key of our own making: its halves in a Secret, before AWS hears of it. Whatever crashes, the private half is there
//! before it is needed, and AWS is never asked for it.

use std::collections::BTreeMap;

use kraken_spoke::{
    Opt, OwnSecret,
    options::{KeyRef, ValueFrom},
    runtime::random,
};
use secrecy::SecretString;
use ssh_key::{LineEnding, PrivateKey, private::Ed25519Keypair};
use zeroize::Zeroizing;

use super::api::{Generate, KeyPairSpec};

/// What Kubernetes' own type for SSH keys calls the private half.
const PRIVATE: &str = "ssh-privatekey";
const PUBLIC: &str = "ssh-publickey";

/// The Secret that a spec wants made.
pub(super) fn secret(spec: &KeyPairSpec) -> Option<OwnSecret> {
    let Generate { secret_name } = spec.generate.as_ref()?;
    Some(OwnSecret { name: secret_name.clone(), type_: "kubernetes.io/ssh-auth", make })
}

/// The reference to the half that AWS gets.
pub(super) fn public_half(generate: &Generate) -> Opt<String> {
    let key = KeyRef { name: generate.secret_name.clone(), key: PUBLIC.to_owned() };
    Opt::ValueFrom(ValueFrom::Secret(key))
}

fn make() -> Result<BTreeMap<&'static str, SecretString>, String> {
    let failed = |error: ssh_key::Error| format!("failed to make a key: {error}");
    let mut seed = Zeroizing::new([0; 32]);
    random::fill(&mut *seed).map_err(|error| format!("failed to make a key: {error}"))?;
    let key = PrivateKey::from(Ed25519Keypair::from_seed(&seed));
    let private = key.to_openssh(LineEnding::LF).map_err(failed)?;
    let public = key.public_key().to_openssh().map_err(failed)?;
    Ok([(PRIVATE, SecretString::from(private.as_str())), (PUBLIC, SecretString::from(public))].into())
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::*;

    #[test]
    fn the_halves_belong_together_and_no_two_keys_are_the_same() {
        let (one, other) = (make().unwrap(), make().unwrap());
        let private = PrivateKey::from_openssh(one[PRIVATE].expose_secret()).unwrap();
        assert_eq!(private.public_key().to_openssh().unwrap(), one[PUBLIC].expose_secret());
        assert!(one[PUBLIC].expose_secret().starts_with("ssh-ed25519 AAAA"));
        assert_ne!(one[PUBLIC].expose_secret(), other[PUBLIC].expose_secret());
    }
}
