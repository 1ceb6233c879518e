//! Names of the internal objects that Kraken creates for a user's resource.

use kraken_options::kind_key;
use sha2::{Digest, Sha256};

use crate::DOMAIN;

/// The maximum length of a kind in a name, in bytes. Kind and group are also a label value, which has at most 63.
const MAX_KIND: usize = 38;
/// The maximum length of a group in a name, in bytes.
const MAX_GROUP: usize = 24;
/// The maximum length of a resource's name in a name, in bytes. All parts together have at most 253.
const MAX_NAME: usize = 188;
/// The number of bytes of a digest that keeps truncated names distinct.
const DIGEST: usize = 16;

/// A kind with its group, as used in names and labels: `vpc.aws`.
///
/// The group distinguishes kinds of different providers with the same name. A group in Kraken's domain is shortened to its
/// first label; any other ends with a digest, so that names of different groups never collide.
pub fn owner_kind(kind: &str, group: &str) -> String {
    format!("{}.{}", kind_part(&kind_key(kind)), group_part(group))
}

/// The name of the DependencyRequest and of the StateDeclaration of a resource: `<kind>.<group>.<name>`, for example
/// `vpc.aws.main`. `owner_kind` is the result of [`owner_kind()`].
///
/// Neither a kind nor a group of one label has a dot, so the name is unambiguous. A part that is too long is truncated and
/// ends with a digest, so that a resource itself can have a name of 253 characters.
pub fn owned_name(owner_kind: &str, name: &str) -> String {
    format!("{owner_kind}.{}", cut(name, MAX_NAME, "-"))
}

/// The name of the resource that owns the DependencyRequest or StateDeclaration with this name; `None` if the name was
/// truncated.
pub fn owner_name<'a>(owner_kind: &str, owned_name: &'a str) -> Option<&'a str> {
    let name = owned_name.strip_prefix(owner_kind)?.strip_prefix('.')?;
    (name.len() < MAX_NAME).then_some(name)
}

/// The kind, as [`owner_kind()`] returns it, and the name of the resource that owns the DependencyRequest with this name;
/// `None` if the name was truncated, or is not one that Kraken gives.
///
/// No client can change the name of an object, as it can its labels and owner references.
pub fn owner(owned_name: &str) -> Option<(&str, &str)> {
    let kind = kind_of(owned_name)?;
    Some((kind, owner_name(kind, owned_name)?))
}

/// The kind, as [`owner_kind()`] returns it, of the resource that owns the object with this name, also if the name was truncated.
pub fn kind_of(owned_name: &str) -> Option<&str> {
    let (end, _) = owned_name.match_indices('.').nth(1)?;
    owned_name.get(..end)
}

/// The kind in a reference, in the format of names: `vpc.aws`, or `vpc` if the reference has no group.
///
/// The reference may contain the first label of the group or the whole group.
pub fn referenced_kind(kind: &str) -> String {
    let Some((kind, group)) = kind.split_once('.') else { return kind_part(&kind_key(kind)) };
    let group = group.to_lowercase();
    // A group in Kraken's domain is represented by its first label.
    let group = if group.contains('.') { group_part(&group) } else { cut(&group, MAX_GROUP, "-") };
    format!("{}.{group}", kind_part(&kind_key(kind)))
}

fn kind_part(key: &str) -> String {
    // No hyphen: the prefix `static-` is reserved for users.
    cut(key, MAX_KIND, "")
}

fn group_part(group: &str) -> String {
    let label = group.strip_suffix(DOMAIN).and_then(|label| label.strip_suffix('.'));
    if let Some(label) = label.filter(|label| !label.contains('.')) {
        return cut(label, MAX_GROUP, "-");
    }
    let first = group.split('.').next().unwrap_or_default();
    let kept: String = first.chars().take(MAX_GROUP - DIGEST - 1).collect();
    joined(kept.trim_end_matches('-'), "-", group)
}

/// The text, truncated with a digest of the whole text if it is too long.
fn cut(text: &str, max: usize, separator: &str) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    let kept: String = text.chars().take(max - DIGEST - separator.len()).collect();
    joined(kept.trim_end_matches(['-', '.']), separator, text)
}

fn joined(kept: &str, separator: &str, whole: &str) -> String {
    let digest = hex::encode(&Sha256::digest(whole.as_bytes())[..DIGEST / 2]);
    format!("{kept}{separator}{digest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const AWS: &str = "aws.kraken-iac.eoinfennessy.com";

    #[test]
    fn a_name_consists_of_kind_group_and_name() {
        assert_eq!(owner_kind("EC2Instance", AWS), "ec2instance.aws");
        assert_eq!(owned_name(&owner_kind("EC2-Instance", AWS), "my.web"), "ec2instance.aws.my.web");
    }

    #[test]
    fn an_owner_is_read_from_a_name_that_is_not_truncated() {
        let kind = owner_kind("Subnet", AWS);
        assert_eq!(owner_name(&kind, &owned_name(&kind, "my.web")), Some("my.web"));
        assert_eq!(owner_name(&kind, &owned_name(&kind, &"a".repeat(253))), None);
        assert_eq!(owner_name(&kind, "vpc.aws.my.web"), None);
        for group in [AWS, "aws.example.com"] {
            let kind = owner_kind("Subnet", group);
            assert_eq!(owner(&owned_name(&kind, "my.web")), Some((kind.as_str(), "my.web")));
            assert_eq!(owner(&owned_name(&kind, &"a".repeat(253))), None);
            assert_eq!(kind_of(&owned_name(&kind, &"a".repeat(253))), Some(kind.as_str()));
        }
        assert_eq!(owner("subnet.aws"), None);
    }

    #[test]
    fn groups_with_the_same_first_label_have_different_names() {
        let kinds = [AWS, "aws.example.com", "aws.other.kraken-iac.eoinfennessy.com", "aws"];
        let names: std::collections::BTreeSet<_> = kinds.map(|group| owner_kind("VPC", group)).into();
        assert_eq!(names.len(), kinds.len(), "{names:?}");
        for name in names {
            assert_eq!(name.split('.').count(), 2, "{name}");
        }
    }

    #[test]
    fn a_reference_can_have_no_group_a_first_label_or_a_whole_group() {
        assert_eq!(referenced_kind("VPC"), "vpc");
        assert_eq!(referenced_kind("VPC.aws"), "vpc.aws");
        assert_eq!(referenced_kind(&format!("V-PC.{AWS}")), owner_kind("VPC", AWS));
        assert_eq!(referenced_kind("VPC.aws.example.com"), owner_kind("VPC", "aws.example.com"));
    }

    #[test]
    fn long_names_are_truncated_and_remain_distinct() {
        let (a, b) = ("a".repeat(253), format!("{}b", "a".repeat(252)));
        let kind = owner_kind(&"K".repeat(63), &format!("{}.{DOMAIN}", "g".repeat(63)));
        assert!(kind.len() <= 63, "a label has no room for {kind}");
        let (first, second) = (owned_name(&kind, &a), owned_name(&kind, &b));
        assert!(first.len() <= 253 && second.len() <= 253);
        assert_ne!(first, second);
        assert_ne!(
            kind,
            owner_kind(&format!("{}x", "K".repeat(62)), &format!("{}.{DOMAIN}", "g".repeat(63)))
        );
    }
}
