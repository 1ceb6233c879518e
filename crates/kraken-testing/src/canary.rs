//! Finds a marker that every secret text contains, in each encoding in which it could leak.

/// The marker that every secret text contains.
pub const MARKER: &str = "canary";

/// The encodings of the marker.
#[derive(Debug)]
pub struct Canary {
    forms: Vec<(String, &'static str)>,
}

impl Default for Canary {
    fn default() -> Self {
        Self::new()
    }
}

impl Canary {
    /// All encodings.
    pub fn new() -> Self {
        let hex: String = MARKER.bytes().map(|byte| format!("{byte:02x}")).collect();
        let percent: String = MARKER.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let unicode: String = MARKER.bytes().map(|byte| format!("\\u{byte:04x}")).collect();
        let mut forms = vec![
            (MARKER.to_owned(), "as it is"),
            (hex.to_uppercase(), "in hexadecimal"),
            (hex, "in hexadecimal"),
            (percent, "percent-encoded"),
            (unicode, "escaped as JSON"),
        ];
        // In base64 a text has three different forms depending on its offset; characters that depend on adjacent bytes
        // are omitted.
        for before in 0..3_usize {
            let padded = [vec![0; before], MARKER.as_bytes().to_vec()].concat();
            let first = (before * 8).div_ceil(6);
            let last = padded.len() * 8 / 6;
            let text: String = base64(&padded).chars().take(last).skip(first).collect();
            forms.push((text, "in base64"));
        }
        Self { forms }
    }

    /// The encoding in which this text contains the marker.
    pub fn found(&self, text: &str) -> Option<&'static str> {
        self.forms.iter().find(|(form, _)| text.contains(form.as_str())).map(|(_, name)| *name)
    }
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

    #[test]
    fn the_marker_is_found_in_every_encoding_and_position() {
        let canary = Canary::new();
        for before in ["", "x", "xy", "xyz", "#!/bin/sh\necho "] {
            let text = format!("{before}canary-password");
            assert!(canary.found(&text).is_some());
            assert_eq!(canary.found(&base64(text.as_bytes())), Some("in base64"), "{before}");
            let hex: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
            assert!(canary.found(&hex).is_some() && canary.found(&hex.to_uppercase()).is_some());
        }
        assert!(canary.found("%63%61%6E%61%72%79").is_some());
        for innocent in ["", "can", "i-0abc63616e", "Y2Fu", "t3.micro"] {
            assert_eq!(canary.found(innocent), None, "{innocent}");
        }
    }
}
