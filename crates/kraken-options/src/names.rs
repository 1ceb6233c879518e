//! Validation of names of objects, keys and kinds, according to the rules of Kubernetes.
//!
//! Checked here and not only by the schema: a name becomes a part of a URL path, and one such as `../../secrets/x` must
//! be rejected before a request is sent.

use std::fmt;

/// The kind in a reference: `VPC`, or with the provider's API group like kubectl's `kind.group`, `VPC.aws`.
///
/// It is a parsed name, which may [match](Self::matches) several kinds of the cluster. It is displayed in normalized
/// form, `vpc.aws`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KindRef {
    /// The kind in lower case, without hyphens.
    pub key: String,
    /// The API group in lower case, the first label or the whole group. Without a group, the kind must be unambiguous.
    pub group: Option<String>,
}

impl KindRef {
    /// Splits a kind at its first dot. Every text is accepted: names are checked when they are resolved.
    pub fn of(text: &str) -> Self {
        let (kind, group) = match text.split_once('.') {
            Some((kind, group)) => (kind, Some(group.to_lowercase())),
            None => (text, None),
        };
        Self { key: kind.chars().filter(|c| *c != '-').flat_map(char::to_lowercase).collect(), group }
    }

    /// Whether it names the kind `kind` of the API group `group`. A group is given by its first label or whole.
    pub fn matches(&self, kind: &str, group: &str) -> bool {
        let first_label = group.split('.').next().unwrap_or_default();
        let is_group = |wanted: &str| wanted == group || wanted == first_label;
        self.key == Self::of(kind).key && self.group.as_deref().is_none_or(is_group)
    }
}

impl fmt::Display for KindRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.group {
            Some(group) => write!(f, "{}.{group}", self.key),
            None => f.write_str(&self.key),
        }
    }
}

/// The normalized form of a kind: lower case, without hyphens, followed by a dot and the group if there is one.
/// `EC2Instance`, `ec2instance` and `ec2-instance` are one kind; so are `VPC.aws` and `vpc.AWS`.
pub fn kind_key(kind: &str) -> String {
    KindRef::of(kind).to_string()
}

/// Longest name of an object, and longest key of a ConfigMap or Secret.
const MAX_NAME: usize = 253;
/// Longest name of a kind, and of a namespace.
const MAX_LABEL: usize = 63;

/// The error in the name of an object, which must be a DNS-1123 subdomain.
pub(crate) fn name_fault(name: &str) -> Option<String> {
    length_fault(name, MAX_NAME).or_else(|| {
        let fault = "is not a name of an object (lower case letters, digits, \"-\" and \".\")";
        (!name.split('.').all(is_label)).then(|| quoted_fault(name, fault))
    })
}

/// The error in the name of a namespace, which must be a DNS-1123 label.
pub(crate) fn namespace_fault(name: &str) -> Option<String> {
    length_fault(name, MAX_LABEL).or_else(|| {
        let fault = "is not a name of a namespace (lower case letters, digits and \"-\")";
        (!is_label(name)).then(|| quoted_fault(name, fault))
    })
}

fn is_label(label: &str) -> bool {
    let inner = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
    !label.is_empty() && label.bytes().all(inner) && !label.starts_with('-') && !label.ends_with('-')
}

/// The error in a key of a ConfigMap or Secret.
pub(crate) fn key_fault(key: &str) -> Option<String> {
    let allowed = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_' | b'.');
    length_fault(key, MAX_NAME).or_else(|| {
        let valid = key.bytes().all(allowed) && key != "." && !key.starts_with("..");
        let fault = "is not a key of a ConfigMap or Secret (letters, digits, \"-\", \"_\" and \".\")";
        (!valid).then(|| quoted_fault(key, fault))
    })
}

/// The error in the name of a kind, which may contain a dot and a group.
pub(crate) fn kind_fault(text: &str) -> Option<String> {
    let allowed = |c: u8| c.is_ascii_alphanumeric() || c == b'-';
    let (kind, group) = text.split_once('.').map_or((text, None), |(kind, group)| (kind, Some(group)));
    let of_kind = length_fault(kind, MAX_LABEL).or_else(|| {
        let valid = kind.bytes().all(allowed) && kind.starts_with(|c: char| c.is_ascii_alphabetic());
        (!valid).then(|| quoted_fault(kind, "is not a kind (letters, digits and \"-\", a letter first)"))
    });
    let fault = "is not an API group: write the kind as KIND or KIND.GROUP, for example VPC.aws";
    of_kind.or_else(|| {
        group
            .filter(|group| name_fault(&group.to_ascii_lowercase()).is_some())
            .map(|group| quoted_fault(group, fault))
    })
}

fn quoted_fault(name: &str, fault: &str) -> String {
    format!("{} {fault}", crate::bounds::quote(name))
}

fn length_fault(text: &str, max: usize) -> Option<String> {
    if text.is_empty() {
        Some("is empty".to_owned())
    } else if text.chars().nth(max).is_some() {
        Some(format!("is longer than {max} characters"))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_matched_ignoring_case_and_hyphens() {
        for kind in ["EC2Instance", "ec2-instance", "ec2instance", "EC2-INSTANCE"] {
            assert_eq!(kind_key(kind), "ec2instance");
        }
    }

    #[test]
    fn a_kind_may_name_its_group_by_the_first_label_or_whole() {
        let (kind, group) = ("VPC", "aws.kraken-iac.eoinfennessy.com");
        for text in ["VPC", "vpc.aws", "V-PC.AWS", "VPC.aws.kraken-iac.eoinfennessy.com"] {
            assert!(KindRef::of(text).matches(kind, group), "{text}");
        }
        for text in ["VPC.gcp", "VPC.kraken-iac", "VPC.aws.example.com", "VPC.", "Subnet.aws", "VPC.aw"] {
            assert!(!KindRef::of(text).matches(kind, group), "{text}");
        }
        // Hyphens are significant in a group: a-ws differs from aws.
        assert_eq!(kind_key("EC2-Instance.A-ws"), "ec2instance.a-ws");
        assert_eq!(KindRef::of("vpc.aws").to_string(), "vpc.aws");
    }

    #[test]
    fn names_that_kubernetes_accepts_are_accepted() {
        for name in ["a", "db", "my.app-1", "0", &"a".repeat(253)] {
            assert_eq!(name_fault(name), None, "{name}");
        }
        for key in ["a", "A_b.C-d", ".hidden", "tls.crt", &"k".repeat(253)] {
            assert_eq!(key_fault(key), None, "{key}");
        }
        for kind in
            ["EC2Instance", "ec2-instance", "static", &"k".repeat(63), "VPC.aws", "vpc.AWS.example-x.com"]
        {
            assert_eq!(kind_fault(kind), None, "{kind}");
        }
    }

    #[test]
    fn names_with_url_syntax_are_rejected() {
        for name in
            ["", "..", "../x", "a/b", "a?b", "A", "-a", "a-", "a..b", "a b", "ä", "a%2fb", &"a".repeat(254)]
        {
            assert!(name_fault(name).is_some(), "{name}");
        }
        for key in ["", ".", "..", "..a", "a/b", "a b", "ä", &"k".repeat(254)] {
            assert!(key_fault(key).is_some(), "{key}");
        }
        for kind in [
            "",
            "-",
            "1a",
            "a.",
            ".a",
            "a..b",
            "a.b/c",
            "a.-b",
            "a/b",
            "É",
            &"k".repeat(64),
            &format!("a.{}", "b".repeat(254)),
        ] {
            assert!(kind_fault(kind).is_some(), "{kind}");
        }
    }
}
