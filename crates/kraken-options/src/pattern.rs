//! Patterns of administrators for names and ids. Pure.

/// Whether a text matches a pattern in which `*` matches any text, including the empty one.
pub fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_matches_whole_texts() {
        for (pattern, text, wanted) in [
            ("vpc-1", "vpc-1", true),
            ("vpc-1", "vpc-12", false),
            ("vpc-*", "vpc-", true),
            ("*", "", true),
            ("a*b", "ab", true),
            ("a*b", "aXb", true),
            ("a*b", "abX", false),
            ("*shop*", "arn:aws:iam::1:instance-profile/shop-web", true),
            ("a*a", "a", false),
            ("a*bc*c", "abc", false),
            ("*.*", "no dot", false),
            ("", "x", false),
        ] {
            assert_eq!(matches(pattern, text), wanted, "{pattern} {text}");
        }
    }
}
