//! Base64, as the data of Secrets and ConfigMaps has it.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

pub(super) fn encoded(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |index: usize| u32::from(chunk.get(index).copied().unwrap_or_default());
        let bits = (byte(0) << 16) | (byte(1) << 8) | byte(2);
        for position in 0..4 {
            let index = (bits >> (18 - 6 * position)) & 63;
            let letter = ALPHABET.get(index as usize).copied().unwrap_or(b'=');
            text.push(if position <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

/// The bytes of base64, as far as it is valid.
pub(super) fn decoded(text: &str) -> Vec<u8> {
    let (mut bytes, mut bits, mut count) = (Vec::with_capacity(text.len() / 4 * 3), 0_u32, 0);
    for letter in text.bytes() {
        let Some(index) = ALPHABET.iter().position(|known| *known == letter) else { break };
        bits = (bits << 6) | u32::try_from(index).unwrap_or_default();
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from((bits >> count) & 0xff).unwrap_or_default());
        }
    }
    bytes
}

pub(super) fn is_base64(text: Option<&str>) -> bool {
    let text = text.unwrap_or_default();
    let body = text.trim_end_matches('=');
    text.len().is_multiple_of(4)
        && text.len() - body.len() <= 2
        && body.bytes().all(|byte| ALPHABET.contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_as_everywhere() {
        for (text, encoded_text) in [("", ""), ("a", "YQ=="), ("ab", "YWI="), ("abc", "YWJj")] {
            assert_eq!(encoded(text.as_bytes()), encoded_text);
            assert!(is_base64(Some(encoded_text)));
            assert_eq!(decoded(encoded_text), text.as_bytes());
        }
        assert!(!is_base64(Some("YQ=")) && !is_base64(Some("Y!==")));
    }
}
