//! Scrubbing: removes secrets from text and JSON of other programs, such as error messages of the provider.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;

use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use zeroize::Zeroize;

use crate::encodings::forms;

/// The replacement of a secret.
const STARS: &str = "***";
/// Shorter secrets are scrubbed only if they are the whole text: `1` or `eu` occur in many texts.
const MIN_LENGTH: usize = 4;
/// Shorter lines of a secret are not scrubbed separately.
const MIN_LINE: usize = 8;
/// The maximum number of lines of one secret that are scrubbed separately.
const MAX_LINES: usize = 1000;

/// Removes secrets from text and JSON.
///
/// A secret of at least 4 characters is replaced by `***` wherever it occurs, also encoded (base64, percent) or escaped (JSON, XML,
/// Rust), and so is each line of at least 8 characters of a secret with several lines. A shorter secret is replaced only where it
/// is the whole text.
pub struct Scrubber {
    /// Replaced anywhere.
    patterns: BTreeSet<String>,
    /// Replaced only as the whole text.
    short: BTreeSet<String>,
}

impl Scrubber {
    /// A scrubber for these secrets.
    pub fn new(secrets: &[SecretString]) -> Self {
        let mut scrubber = Self { patterns: BTreeSet::new(), short: BTreeSet::new() };
        for secret in secrets {
            let text = secret.expose_secret();
            scrubber.add(text);
            scrubber.add(text.trim());
            for line in text.lines().map(str::trim).take(MAX_LINES) {
                if line.chars().nth(MIN_LINE - 1).is_some() {
                    scrubber.patterns.insert(line.to_owned());
                }
            }
        }
        scrubber
    }

    /// The text without secrets.
    pub fn scrub(&self, text: &str) -> String {
        if self.short.contains(text.trim()) {
            return STARS.to_owned();
        }
        let mut found: Vec<_> = self.patterns.iter().flat_map(|pattern| occurrences(text, pattern)).collect();
        found.sort_unstable_by_key(|range| range.start);
        // Matches that overlap or touch are replaced together: replacing one first would leave a part of the other.
        let mut scrubbed = String::with_capacity(text.len());
        let mut end = None;
        for range in found {
            match end {
                Some(last) if range.start <= last => end = Some(range.end.max(last)),
                _ => {
                    scrubbed.push_str(text.get(end.unwrap_or(0)..range.start).unwrap_or_default());
                    scrubbed.push_str(STARS);
                    end = Some(range.end);
                }
            }
        }
        scrubbed.push_str(text.get(end.unwrap_or(0)..).unwrap_or_default());
        scrubbed
    }

    /// The value in which every string, key or number that contains a secret is replaced by `***`.
    #[must_use]
    pub fn scrub_json(&self, mut value: Value) -> Value {
        let mut left = vec![&mut value];
        while let Some(node) = left.pop() {
            match node {
                Value::String(text) if self.holds(text) => {
                    text.zeroize();
                    text.push_str(STARS);
                }
                Value::Number(number) if self.patterns.contains(&number.to_string()) => *node = STARS.into(),
                Value::Array(items) => left.extend(items),
                Value::Object(members) => {
                    if members.keys().any(|key| self.holds(key)) {
                        let kept = std::mem::take(members).into_iter();
                        *members = kept
                            .map(|(key, member)| {
                                (if self.holds(&key) { STARS.to_owned() } else { key }, member)
                            })
                            .collect();
                    }
                    left.extend(members.values_mut());
                }
                _ => {}
            }
        }
        value
    }

    fn holds(&self, text: &str) -> bool {
        self.short.contains(text.trim())
            || self.patterns.iter().any(|pattern| text.contains(pattern.as_str()))
    }

    fn add(&mut self, secret: &str) {
        if secret.trim().is_empty() {
            return;
        }
        if secret.chars().nth(MIN_LENGTH - 1).is_none() {
            self.short.insert(secret.to_owned());
        } else {
            self.patterns.extend(forms(secret));
        }
    }
}

impl Drop for Scrubber {
    fn drop(&mut self) {
        let (patterns, short) = (std::mem::take(&mut self.patterns), std::mem::take(&mut self.short));
        patterns.into_iter().chain(short).for_each(|mut text| text.zeroize());
    }
}

impl fmt::Debug for Scrubber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scrubber(***)")
    }
}

/// The occurrences of `pattern` in `text`, with overlapping ones merged. Linear (Knuth, Morris and Pratt), because both may be
/// untrusted.
fn occurrences(text: &str, pattern: &str) -> Vec<Range<usize>> {
    if pattern.is_empty() || !text.contains(pattern) {
        return Vec::new();
    }
    let pattern = pattern.as_bytes();
    let borders = borders(pattern);
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut matched = 0;
    for (at, byte) in text.bytes().enumerate() {
        matched = extend(pattern, &borders, matched, byte);
        if matched == pattern.len() {
            let range = at + 1 - pattern.len()..at + 1;
            match found.last_mut() {
                Some(last) if range.start < last.end => last.end = range.end,
                _ => found.push(range),
            }
        }
    }
    found
}

/// For each length of a prefix of `pattern`, the length of its longest border: a shorter prefix that it also ends with.
fn borders(pattern: &[u8]) -> Vec<usize> {
    let mut borders = vec![0, 0];
    let mut matched = 0;
    for byte in pattern.iter().skip(1) {
        matched = extend(pattern, &borders, matched, *byte);
        borders.push(matched);
    }
    borders
}

fn extend(pattern: &[u8], borders: &[usize], mut matched: usize, byte: u8) -> usize {
    loop {
        if pattern.get(matched) == Some(&byte) {
            return matched + 1;
        }
        if matched == 0 {
            return 0;
        }
        matched = borders.get(matched).copied().unwrap_or(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn scrubber(secrets: &[&str]) -> Scrubber {
        Scrubber::new(&secrets.iter().map(|secret| SecretString::from(*secret)).collect::<Vec<_>>())
    }

    fn scrubs(secrets: &[&str], text: &str, scrubbed: &str) {
        assert_eq!(scrubber(secrets).scrub(text), scrubbed);
    }

    #[test]
    fn a_secret_is_replaced_everywhere() {
        scrubs(&["hunter2"], "user x: hunter2, again hunter2!", "user x: ***, again ***!");
        scrubs(&["hunter2"], "hunter", "hunter");
        scrubs(&[], "hunter2", "hunter2");
        scrubs(&["ünïcode"], "äünïcodeä", "ä***ä");
    }

    #[test]
    fn a_secret_with_white_space_around_is_replaced_without_it_too() {
        scrubs(&["hunter2\n"], "password 'hunter2' is weak", "password '***' is weak");
    }

    #[test]
    fn encoded_and_escaped_secrets_are_replaced() {
        scrubs(&["hunter2!"], "data eHh4aHVudGVyMiF5eXk= sent", "data eHh4***F5eXk= sent");
        scrubs(&["a\"b\\c"], r#"{"p": "a\"b\\c"}"#, r#"{"p": "***"}"#);
        scrubs(&["pass word/"], "?p=pass%20word%2F&q", "?p=***&q");
    }

    #[test]
    fn overlapping_secrets_are_replaced_completely() {
        scrubs(&["abcd", "cdef"], "xabcdefx", "x***x");
        scrubs(&["abcd", "abcdefgh"], "abcdefgh abcd", "*** ***");
        scrubs(&["aaaa"], "baaaaaaab", "b***b");
        scrubs(&["abab"], "xababab", "x***");
    }

    #[test]
    fn a_short_secret_is_replaced_only_as_the_whole_text() {
        scrubs(&["abc"], "abc", "***");
        scrubs(&["abc"], " abc\n", "***");
        scrubs(&["abc"], "abcd", "abcd");
        scrubs(&["", "  ", "\n\n\n\n\n"], "a b\n\n\n\n\n", "a b\n\n\n\n\n");
    }

    #[test]
    fn a_line_of_a_long_secret_is_replaced() {
        scrubs(&["first line\nx\nsecond line"], "bad: second line", "bad: ***");
        scrubs(&["first line\nx\nsecond line"], "x", "x");
    }

    #[test]
    fn a_secret_in_json_is_replaced_by_stars() {
        let value =
            json!({"a": ["see hunter2", 1, true, null], "hunter2": {"b": "ok"}, "n": 12345, "s": "abc"});
        assert_eq!(
            scrubber(&["hunter2", "12345", "abc", "1"]).scrub_json(value),
            json!({"a": ["***", 1, true, null], "***": {"b": "ok"}, "n": "***", "s": "***"})
        );
    }

    #[test]
    fn json_deeper_than_the_stack_is_scrubbed() {
        let mut deep = Value::from("hunter2");
        for _ in 0..200_000 {
            deep = Value::Array(vec![deep]);
        }
        let mut scrubbed = scrubber(&["hunter2"]).scrub_json(deep);
        while let Value::Array(items) = scrubbed {
            scrubbed = items.into_iter().next().unwrap();
        }
        assert_eq!(scrubbed, "***");
    }

    #[test]
    fn a_scrubber_shows_nothing() {
        assert_eq!(format!("{:?}", scrubber(&["hunter2"])), "Scrubber(***)");
    }

    #[test]
    fn repetitive_text_takes_linear_time() {
        let text = "a".repeat(2_000_000);
        assert_eq!(scrubber(&[&"a".repeat(100_000)]).scrub(&text), "***");
    }
}
