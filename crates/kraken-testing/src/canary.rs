//! Finds a marker that every Secret value of a test contains, in each encoding in which a value could be disclosed.
//!
//! A text is read once for all forms, because logs at trace level have tens of megabytes.

use std::fmt;

use anyhow::Result;

use crate::random::random_bytes;

/// The marker of runs that must be deterministic, such as simulations.
pub const MARKER: &str = "canary";

/// The length of the parts of a marker that are searched for too, because a value can leak truncated.
const PART: usize = 8;

/// The letters of a random marker. No word, id, date or hexadecimal number contains eight of them in a row, and no encoding of
/// JSON, YAML or a URL changes them.
const LETTERS: &[u8; 16] = b"ghjkmnpqrstvwxyz";

/// A new marker of 16 letters.
///
/// # Errors
/// When the system has no random bytes.
pub fn random_marker() -> Result<String> {
    let bytes: [u8; 8] = random_bytes()?;
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    Ok(digits.map(|digit| char::from(LETTERS[usize::from(digit)])).collect())
}

/// The forms of one or more markers.
pub struct Canary {
    forms: Vec<(String, &'static str)>,
    /// Whether a form starts with these two bytes.
    starts: Vec<bool>,
}

impl fmt::Debug for Canary {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Canary").finish_non_exhaustive()
    }
}

impl Default for Canary {
    fn default() -> Self {
        Self::new()
    }
}

impl Canary {
    /// All forms of [`MARKER`].
    pub fn new() -> Self {
        Self::of(&[MARKER])
    }

    /// All forms of these markers, and each part of eight characters of a longer one.
    pub fn of(markers: &[&str]) -> Self {
        let forms: Vec<(String, &'static str)> = markers.iter().flat_map(|marker| forms(marker)).collect();
        let mut starts = vec![false; 1 << 16];
        for (form, _) in &forms {
            if let [first, second, ..] = form.as_bytes() {
                starts[pair(*first, *second)] = true;
            }
        }
        Self { forms, starts }
    }

    /// The first form in this text.
    pub fn found(&self, text: &str) -> Option<&'static str> {
        self.find(text.as_bytes()).map(|(_, form)| form)
    }

    /// The first form in these bytes, and its position.
    pub fn find(&self, bytes: &[u8]) -> Option<(usize, &'static str)> {
        for (at, two) in bytes.windows(2).enumerate() {
            if self.starts[pair(two[0], two[1])] {
                let rest = &bytes[at..];
                let form = self.forms.iter().find(|(form, _)| rest.starts_with(form.as_bytes()));
                if let Some((_, name)) = form {
                    return Some((at, *name));
                }
            }
        }
        None
    }
}

fn pair(first: u8, second: u8) -> usize {
    (usize::from(first) << 8) | usize::from(second)
}

/// The forms of a marker. The marker itself is before its parts.
fn forms(marker: &str) -> Vec<(String, &'static str)> {
    let mut forms = vec![
        (marker.to_owned(), "as it is"),
        (joined(marker, "", |byte| format!("{byte:02x}")), "in hexadecimal"),
        (joined(marker, "", |byte| format!("{byte:02X}")), "in hexadecimal"),
        (joined(marker, "", |byte| format!("%{byte:02x}")), "percent-encoded"),
        (joined(marker, "", |byte| format!("%{byte:02X}")), "percent-encoded"),
        (joined(marker, "", |byte| format!("\\u{byte:04x}")), "escaped as JSON"),
        (joined(marker, "", |byte| format!("\\u{byte:04X}")), "escaped as JSON"),
        // As Rust's `Debug` and JSON write bytes.
        (joined(marker, ", ", |byte| byte.to_string()), "as a list of bytes"),
        (joined(marker, ",", |byte| byte.to_string()), "as a list of bytes"),
    ];
    // In base64 a text has three different forms depending on its offset; characters that depend on adjacent bytes
    // are omitted.
    for before in 0..3_usize {
        let padded = [vec![0; before], marker.as_bytes().to_vec()].concat();
        let first = (before * 8).div_ceil(6);
        let last = padded.len() * 8 / 6;
        let text: String = base64(&padded).chars().take(last).skip(first).collect();
        forms.push((text.replace('+', "-").replace('/', "_"), "in base64 of URLs"));
        forms.push((text, "in base64"));
    }
    // The form of URLs is usually the same.
    forms.sort_by_key(|(_, name)| *name == "in base64 of URLs");
    if marker.len() > PART {
        let parts = marker.as_bytes().windows(PART);
        forms.extend(parts.map(|part| (String::from_utf8_lossy(part).into_owned(), "in part")));
    }
    forms
}

fn joined(marker: &str, separator: &str, form: fn(u8) -> String) -> String {
    marker.bytes().map(form).collect::<Vec<String>>().join(separator)
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let group = chunk.iter().fold(0_u32, |group, byte| group << 8 | u32::from(*byte));
        let group = group << (8 * (3 - chunk.len()));
        for digit in 0..=chunk.len() {
            let index = (group >> (18 - 6 * digit)) & 63;
            text.push(DIGITS.get(index as usize).copied().unwrap_or(b'=').into());
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANDOM: &str = "hkwqzvtnrgxjpmsy";

    #[test]
    fn a_marker_is_found_in_every_encoding_and_position() {
        for marker in [MARKER, RANDOM] {
            let canary = Canary::of(&[marker]);
            for before in ["", "x", "xy", "xyz", "#!/bin/sh\necho "] {
                let text = format!("{before}{marker}-password");
                assert_eq!(canary.found(&text), Some("as it is"));
                assert_eq!(canary.found(&base64(text.as_bytes())), Some("in base64"), "{before}");
                let hex = joined(&text, "", |byte| format!("{byte:02x}"));
                assert_eq!(canary.found(&hex), Some("in hexadecimal"));
                assert_eq!(canary.found(&hex.to_uppercase()), Some("in hexadecimal"));
                let escaped = joined(&text, "", |byte| format!("%{byte:02X}"));
                assert_eq!(canary.found(&escaped), Some("percent-encoded"));
                assert_eq!(canary.found(&escaped.to_lowercase()), Some("percent-encoded"));
                let unicode = joined(&text, "", |byte| format!("\\u{byte:04x}"));
                assert_eq!(canary.found(&unicode), Some("escaped as JSON"));
                assert_eq!(
                    canary.found(&format!("{:?}", text.as_bytes())),
                    Some("as a list of bytes"),
                    "{before}"
                );
                let json = joined(&text, ",", |byte| byte.to_string());
                assert_eq!(canary.found(&json), Some("as a list of bytes"), "{before}");
            }
        }
        assert_eq!(Canary::new().found("%63%61%6E%61%72%79"), Some("percent-encoded"));
    }

    #[test]
    fn base64_of_urls_is_found() {
        // Characters that are digits 62 and 63 in base64.
        let marker = "??>>~~";
        let text = base64(marker.as_bytes());
        assert!(text.contains(['+', '/']), "{text}");
        let url = text.replace('+', "-").replace('/', "_");
        assert_eq!(Canary::of(&[marker]).found(&url), Some("in base64 of URLs"));
        assert_eq!(Canary::of(&[marker]).found(&text), Some("in base64"));
    }

    #[test]
    fn each_part_of_eight_characters_is_found_and_no_shorter_one() {
        let canary = Canary::of(&[RANDOM]);
        for part in RANDOM.as_bytes().windows(PART) {
            let part = std::str::from_utf8(part).unwrap();
            assert_eq!(canary.found(&format!("key \"{part}...\"")), Some("in part"), "{part}");
            assert_eq!(canary.found(&part[1..]), None, "{part}");
        }
    }

    #[test]
    fn other_texts_are_not_found() {
        for innocent in ["", "c", "can", "i-0abc63616e", "Y2Fu", "t3.micro"] {
            assert_eq!(Canary::new().found(innocent), None, "{innocent}");
        }
        assert_eq!(Canary::of(&[RANDOM]).found(MARKER), None);
    }

    #[test]
    fn one_of_several_markers_is_found_with_its_position_between_other_bytes() {
        let canary = Canary::of(&["first-one", RANDOM]);
        let bytes = [&[0, 255, 128][..], RANDOM.as_bytes(), &[200]].concat();
        assert_eq!(canary.find(&bytes), Some((3, "as it is")));
    }

    #[test]
    fn random_markers_differ_and_have_no_digits() {
        let (one, other) = (random_marker().unwrap(), random_marker().unwrap());
        assert_ne!(one, other);
        assert!(one.len() == 16 && one.bytes().all(|byte| LETTERS.contains(&byte)), "{one}");
        assert_eq!(Canary::of(&[one.as_str()]).found(&other), None);
    }
}
