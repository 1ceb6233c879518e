//! The forms in which other programs return a text: encoded and escaped.

use std::collections::BTreeSet;

/// Alphabet of base64 (RFC 4648); the second one is the URL-safe one.
const BASE64: [&[u8; 64]; 2] = [
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
];

/// Every form in which `text` may occur in a message: unchanged, escaped for JSON, Rust, XML and URLs, and in base64, alone
/// and as a part of a longer text.
pub(crate) fn forms(text: &str) -> BTreeSet<String> {
    let json = serde_json::to_string(text).unwrap_or_default();
    let json = json.strip_prefix('"').and_then(|json| json.strip_suffix('"')).unwrap_or_default();
    let upper = percent(text, "0123456789ABCDEF");
    let lower = percent(text, "0123456789abcdef");
    let mut forms = BTreeSet::from([
        json.replace('/', "\\/"),
        json.to_owned(),
        text.escape_debug().to_string(),
        xml(text),
        xml(text).replace("&#39;", "&apos;"),
        upper.replace("%20", "+"),
        lower.replace("%20", "+"),
        upper,
        lower,
    ]);
    for alphabet in BASE64 {
        forms.extend((0..3).map(|offset| base64(text.as_bytes(), offset, alphabet)));
    }
    forms.insert(text.to_owned());
    forms
}

fn xml(text: &str) -> String {
    let escaped = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    escaped.replace('"', "&quot;").replace('\'', "&#39;")
}

fn percent(text: &str, digits: &str) -> String {
    let digit = |nibble: u8| digits.chars().nth(usize::from(nibble)).unwrap_or_default();
    let mut encoded = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            encoded.push(char::from(byte));
        } else {
            encoded.extend(['%', digit(byte >> 4), digit(byte & 15)]);
        }
    }
    encoded
}

/// The base64 characters that `bytes` alone determine, with `offset` (modulo 3) bytes before them and any bytes after them.
fn base64(bytes: &[u8], offset: usize, alphabet: &[u8; 64]) -> String {
    let mut encoded = String::new();
    let (mut bits, mut held) = (0_u32, 0_u32);
    // The first character shares bits with the preceding byte: it is dropped with the bits of unknown bytes.
    let mut shared = offset > 0;
    if offset == 1 {
        (bits, held) = (0, 2);
    } else if offset == 2 {
        (bits, held) = (0, 4);
    }
    for byte in bytes {
        bits = (bits << 8) | u32::from(*byte);
        held += 8;
        while held >= 6 {
            held -= 6;
            let index = (bits >> held) & 63;
            bits &= (1 << held) - 1;
            if std::mem::take(&mut shared) {
                continue;
            }
            let letter = usize::try_from(index).ok().and_then(|index| alphabet.get(index));
            encoded.extend(letter.map(|letter| char::from(*letter)));
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(text: &str, form: &str) {
        assert!(forms(text).iter().any(|known| form.contains(known.as_str()) && known != text), "{form}");
    }

    #[test]
    fn base64_of_a_part_is_a_part_of_the_base64_of_the_whole() {
        // base64 of "hunter2!", "xhunter2!", "xxhunter2!" and "xxxhunter2!yyy"
        for whole in ["aHVudGVyMiE=", "eGh1bnRlcjIh", "eHhodW50ZXIyIQ==", "eHh4aHVudGVyMiF5eXk="] {
            has("hunter2!", whole);
        }
        assert_eq!(base64(b"hunter2!", 0, BASE64[0]), "aHVudGVyMi");
        assert_eq!(base64(b"hunter2!", 1, BASE64[0]), "h1bnRlcjIh");
    }

    #[test]
    fn escaped_forms_are_included() {
        has("p&w'd\"/ä", r#"p&w'd\"/ä"#);
        has("p&w<d", "p&amp;w&lt;d");
        has("pass word/", "pass%20word%2F");
        has("pass word/", "pass+word%2f");
        has("line\nline", "line\\nline");
    }

    #[test]
    fn every_text_has_its_own_form() {
        for text in ["", "a", "ä\0\n\u{202e}"] {
            assert!(forms(text).contains(text));
        }
    }
}
