//! Names from users that become part of a request's path.

use kraken_runtime::patch::ApiError;

/// Whether this is the name of an object (a DNS-1123 subdomain). A name such as `../secrets/x` would direct a request
/// to another object, so every unverified name is checked before it is used.
pub(crate) fn is_object_name(name: &str) -> bool {
    let label = |label: &str| {
        let inner = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
        !label.is_empty() && label.bytes().all(inner) && !label.starts_with('-') && !label.ends_with('-')
    };
    name.len() <= 253 && name.split('.').all(label)
}

/// The message of the API server, without the Rust error around it.
pub(crate) fn words(error: &ApiError) -> String {
    match error.source.as_ref() {
        kube::Error::Api(status) if !status.message.is_empty() => status.message.clone(),
        other => other.to_string(),
    }
}

/// A text for users, truncated to at most `max` bytes.
pub(crate) fn bounded(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    format!("{}…", &text[..text.floor_char_boundary(max)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_object_names_are_accepted() {
        for name in ["a", "my.app-1", "0", &"a".repeat(253)] {
            assert!(is_object_name(name), "{name}");
        }
    }

    #[test]
    fn names_with_url_syntax_are_rejected() {
        for name in [
            "",
            ".",
            "..",
            "../x",
            "a/b",
            "a?b",
            "a#b",
            "A",
            "-a",
            "a-",
            "a..b",
            "a b",
            "ä",
            "a%2fb",
            &"a".repeat(254),
        ] {
            assert!(!is_object_name(name), "{name}");
        }
    }

    #[test]
    fn a_truncated_text_has_whole_characters() {
        assert_eq!(bounded("äöü", 6), "äöü");
        assert_eq!(bounded("äöü", 3), "ä…");
    }
}
