//! The values of EC2's filters. Pure.

/// Whether a filter with this value finds a text: `*` is any number of characters, `?` at most one, and a backslash makes the next
/// character literal.
pub fn matches(pattern: &str, text: &str) -> bool {
    let pattern = parsed(pattern);
    let text: Vec<char> = text.chars().collect();
    // For each position of the text, whether the parts of the pattern so far match what is before it.
    let mut reached = vec![false; text.len() + 1];
    reached[0] = true;
    for part in pattern {
        let mut next = vec![false; text.len() + 1];
        for at in 0..=text.len() {
            let before = at.checked_sub(1);
            next[at] = match part {
                Part::Any => reached[at] || before.is_some_and(|before| next[before]),
                Part::AtMostOne => reached[at] || before.is_some_and(|before| reached[before]),
                Part::One(c) => before.is_some_and(|before| reached[before] && text[before] == c),
            };
        }
        reached = next;
    }
    reached[text.len()]
}

enum Part {
    Any,
    AtMostOne,
    One(char),
}

fn parsed(pattern: &str) -> Vec<Part> {
    let (mut parts, mut chars) = (vec![], pattern.chars());
    while let Some(c) = chars.next() {
        parts.push(match c {
            '*' => Part::Any,
            '?' => Part::AtMostOne,
            '\\' => Part::One(chars.next().unwrap_or('\\')),
            c => Part::One(c),
        });
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lookup::literal;

    #[test]
    fn a_pattern_matches_as_a_filter_of_ec2() {
        for (pattern, text, is_match) in [
            ("ubuntu-*-server-*", "ubuntu-24.04-amd64-server-20260101", true),
            ("ubuntu-*-server-*", "ubuntu-24.04-amd64-minimal-20260101", false),
            ("*", "", true),
            ("a?c", "abc", true),
            ("a?c", "ac", true),
            ("a?c", "abbc", false),
            ("a*b*c", "aXbYbZc", true),
            ("Web", "web", false),
            (r"50\%\*", "50%*", true),
            (r"50\*", "500", false),
            ("é*", "éa", true),
            ("", "a", false),
        ] {
            assert_eq!(matches(pattern, text), is_match, "{pattern} {text}");
        }
    }

    #[test]
    fn a_literal_matches_only_itself() {
        let text = r"a*b?c\d";
        assert!(matches(&literal(text), text));
        assert!(!matches(&literal(text), r"aXb?c\d"));
    }
}
