//! Names that come from users and end up in the path of a request.

use kraken_runtime::patch::ApiError;

/// Whether this is the name of an object (a DNS-1123 subdomain). One such as `../secrets/x` would lead a request to
/// another object, so every name that is not known to be an object's is checked before it is used.
pub fn is_object_name(name: &str) -> bool {
    let label = |label: &str| {
        let inner = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
        !label.is_empty() && label.bytes().all(inner) && !label.starts_with('-') && !label.ends_with('-')
    };
    name.len() <= 253 && name.split('.').all(label)
}

/// What the API server said, without the frame of a Rust error around it.
pub fn words(error: &ApiError) -> String {
    match error.source.as_ref() {
        kube::Error::Api(status) if !status.message.is_empty() => status.message.clone(),
        other => other.to_string(),
    }
}

/// At most `max` bytes of a text for people.
pub fn bounded(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    format!("{}…", &text[..text.floor_char_boundary(max)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_objects_pass() {
        for name in ["a", "my.app-1", "0", &"a".repeat(253)] {
            assert!(is_object_name(name), "{name}");
        }
    }

    #[test]
    fn names_that_would_leave_their_place_in_a_path_do_not() {
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
    fn a_bounded_text_keeps_whole_characters() {
        assert_eq!(bounded("äöü", 6), "äöü");
        assert_eq!(bounded("äöü", 3), "ä…");
    }
}
