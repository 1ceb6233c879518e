//! Names of the objects that Kraken creates beside a user's resource.

use sha2::{Digest, Sha256};

/// The longest name Kubernetes takes, in bytes.
const MAX_NAME: usize = 253;

/// The name of the DependencyRequest and of the StateDeclaration of a resource: `<kind>-<name>`.
///
/// A kind key has no hyphen, so the name is unambiguous. A name that would be too long for Kubernetes is cut and ends
/// in a digest of the whole, so that a resource may itself have a name of 253 characters.
pub fn owned_name(kind_key: &str, name: &str) -> String {
    let full = format!("{kind_key}-{name}");
    if full.len() <= MAX_NAME {
        return full;
    }
    let digest = hex::encode(&Sha256::digest(full.as_bytes())[..8]);
    let kept: String = full.chars().take(MAX_NAME - digest.len() - 1).collect();
    format!("{}-{digest}", kept.trim_end_matches(['-', '.']))
}

#[cfg(test)]
mod tests {
    use super::owned_name;

    #[test]
    fn joins_kind_and_name() {
        assert_eq!(owned_name("ec2instance", "web"), "ec2instance-web");
    }

    #[test]
    fn long_names_fit_and_stay_apart() {
        let (a, b) = ("a".repeat(253), format!("{}b", "a".repeat(252)));
        let (first, second) = (owned_name("ec2instance", &a), owned_name("ec2instance", &b));
        assert!(first.len() <= 253 && second.len() <= 253);
        assert_ne!(first, second);
    }
}
