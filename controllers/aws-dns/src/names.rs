//! Names of DNS: their formats, and the form in which they are compared. Pure.

use kraken_aws::bounds::Pattern;

/// The name of a zone.
pub(crate) static ZONE_NAME: Pattern = Pattern::new(
    r"^([a-zA-Z0-9_]([a-zA-Z0-9_-]{0,61}[a-zA-Z0-9_])?\.)*[a-zA-Z0-9_]([a-zA-Z0-9_-]{0,61}[a-zA-Z0-9_])?\.?$",
    254,
    "must be a domain name, such as example.com",
);
/// The name of a record.
pub(crate) static RECORD_NAME: Pattern = Pattern::new(
    r"^(\*\.)?([a-zA-Z0-9_]([a-zA-Z0-9_-]{0,61}[a-zA-Z0-9_])?\.)*[a-zA-Z0-9_]([a-zA-Z0-9_-]{0,61}[a-zA-Z0-9_])?\.?$",
    254,
    "must be a full domain name, such as www.example.com or *.example.com",
);
/// The id of a zone.
pub(crate) static ZONE_ID: Pattern = Pattern::new(
    r"^(/hostedzone/)?[A-Z0-9]{1,32}$",
    44,
    "must be the id of a hosted zone, such as Z0123456789ABCDEFGHIJ",
);
/// The set identifier of a record, which is a part of the name of its owner's record.
pub(crate) static SET_IDENTIFIER: Pattern = Pattern::new(
    r"^[a-z0-9_][a-z0-9_-]{0,31}$",
    32,
    "must have 1 to 32 lowercase letters, digits, - and _, such as blue",
);
/// The id of a health check.
pub(crate) static HEALTH_CHECK_ID: Pattern = Pattern::new(
    r"^[a-zA-Z0-9-]{1,64}$",
    64,
    "must be the id of a health check, such as 0123abcd-4567-89ab-cdef-0123456789ab",
);
/// The name that an alias refers to.
pub(crate) static TARGET_NAME: Pattern =
    Pattern::new(r"^[!-~]+$", 1_024, "must be a DNS name, without spaces");
/// A value of a record.
pub(crate) static VALUE: Pattern = Pattern::new(
    r"^[!-~]([ -~]*[!-~])?$",
    4_000,
    "must have 1 to 4000 printable ASCII characters, with no space at its ends",
);

/// A name in the form in which names are compared: lowercase, without the last dot, and with `*` as it is written.
pub(crate) fn canonical(name: &str) -> String {
    let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
    match name.strip_prefix("\\052") {
        Some(rest) => format!("*{rest}"),
        None => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_compared_without_case_and_last_dot() {
        assert_eq!(canonical("WWW.Example.com."), "www.example.com");
        assert_eq!(canonical("\\052.example.com."), "*.example.com");
    }

    #[test]
    fn names_and_ids_have_the_formats_of_route_53() {
        for (bound, text) in [
            (&ZONE_NAME, "example.com"),
            (&ZONE_NAME, "example.com."),
            (&RECORD_NAME, "*.example.com"),
            (&RECORD_NAME, "_d930.www.example.com."),
            (&ZONE_ID, "Z0123456789"),
            (&ZONE_ID, "/hostedzone/Z0123456789"),
            (&SET_IDENTIFIER, "blue-1"),
        ] {
            assert_eq!(bound.check(text), Ok(()), "{text}");
        }
        for (bound, text) in [
            (&ZONE_NAME, "*.example.com"),
            (&ZONE_NAME, "https://example.com"),
            (&RECORD_NAME, "www example.com"),
            (&RECORD_NAME, ""),
            (&ZONE_ID, "example.com"),
            (&SET_IDENTIFIER, "Blue"),
            (&SET_IDENTIFIER, "a.b"),
        ] {
            assert!(bound.check(text).is_err(), "{text}");
        }
    }
}
