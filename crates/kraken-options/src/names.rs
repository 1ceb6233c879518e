//! Names: what Kubernetes accepts as the name of an object, a key or a kind.
//!
//! Checked here and not only by the schema: a name becomes a part of a URL path, and one such as `../../secrets/x` must
//! never get that far.

/// The form in which kinds are compared: lower case, without hyphens, so that
/// `EC2Instance`, `ec2instance` and `ec2-instance` are one kind.
pub fn kind_key(kind: &str) -> String {
    kind.chars().filter(|c| *c != '-').flat_map(char::to_lowercase).collect()
}

/// Longest name of an object, and longest key of a ConfigMap or Secret.
const MAX_NAME: usize = 253;
/// Longest name of a kind.
const MAX_KIND: usize = 63;

/// What is wrong with the name of an object, which must be a DNS-1123 subdomain.
pub(crate) fn name_fault(name: &str) -> Option<String> {
    let label = |label: &str| {
        let inner = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
        !label.is_empty() && label.bytes().all(inner) && !label.starts_with('-') && !label.ends_with('-')
    };
    length_fault(name, MAX_NAME).or_else(|| {
        let fault = "is not a name of an object (lower case letters, digits, \"-\" and \".\")";
        (!name.split('.').all(label)).then(|| said_of(name, fault))
    })
}

/// What is wrong with a key of a ConfigMap or Secret.
pub(crate) fn key_fault(key: &str) -> Option<String> {
    let allowed = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_' | b'.');
    length_fault(key, MAX_NAME).or_else(|| {
        let valid = key.bytes().all(allowed) && key != "." && !key.starts_with("..");
        let fault = "is not a key of a ConfigMap or Secret (letters, digits, \"-\", \"_\" and \".\")";
        (!valid).then(|| said_of(key, fault))
    })
}

/// What is wrong with the name of a kind.
pub(crate) fn kind_fault(kind: &str) -> Option<String> {
    let allowed = |c: u8| c.is_ascii_alphanumeric() || c == b'-';
    length_fault(kind, MAX_KIND).or_else(|| {
        let valid = kind.bytes().all(allowed) && kind.starts_with(|c: char| c.is_ascii_alphabetic());
        (!valid).then(|| said_of(kind, "is not a kind (letters, digits and \"-\", a letter first)"))
    })
}

fn said_of(name: &str, fault: &str) -> String {
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
    fn kinds_are_matched_without_case_and_hyphens() {
        for kind in ["EC2Instance", "ec2-instance", "ec2instance", "EC2-INSTANCE"] {
            assert_eq!(kind_key(kind), "ec2instance");
        }
    }

    #[test]
    fn names_that_kubernetes_accepts_are_accepted() {
        for name in ["a", "db", "my.app-1", "0", &"a".repeat(253)] {
            assert_eq!(name_fault(name), None, "{name}");
        }
        for key in ["a", "A_b.C-d", ".hidden", "tls.crt", &"k".repeat(253)] {
            assert_eq!(key_fault(key), None, "{key}");
        }
        for kind in ["EC2Instance", "ec2-instance", "static", &"k".repeat(63)] {
            assert_eq!(kind_fault(kind), None, "{kind}");
        }
    }

    #[test]
    fn names_that_would_leave_their_place_in_a_url_are_refused() {
        for name in
            ["", "..", "../x", "a/b", "a?b", "A", "-a", "a-", "a..b", "a b", "ä", "a%2fb", &"a".repeat(254)]
        {
            assert!(name_fault(name).is_some(), "{name}");
        }
        for key in ["", ".", "..", "..a", "a/b", "a b", "ä", &"k".repeat(254)] {
            assert!(key_fault(key).is_some(), "{key}");
        }
        for kind in ["", "-", "1a", "a.b", "a/b", "É", &"k".repeat(64)] {
            assert!(kind_fault(kind).is_some(), "{kind}");
        }
    }
}
