//! CIDR blocks: syntax, bounds and equality. Pure.

use std::fmt::Display;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use crate::rules::{ValidationError, ValidationResult, between};

/// An IPv4 CIDR block such as `10.0.0.0/16`.
///
/// # Errors
/// If it is invalid, or has host bits set.
pub fn v4(text: &str) -> ValidationResult<ValidationError> {
    // The parser accepts 010.0.0.0/08 too, which some parse as octal.
    let block = text.parse::<Ipv4Net>().ok().filter(|block| block.to_string() == text);
    let block = block.ok_or_else(|| "must be an IPv4 CIDR block such as 10.0.0.0/16".to_owned())?;
    is_first(block.addr() == block.network(), block.trunc(), block.prefix_len())
}

/// An IPv4 CIDR block with a prefix length within these bounds.
///
/// # Errors
/// As [`v4`], and if the prefix length is out of bounds.
pub fn v4_of(text: &str, largest: i32, smallest: i32) -> ValidationResult<ValidationError> {
    v4(text)?;
    let prefix = text.parse::<Ipv4Net>().map_or(0, |block| block.prefix_len());
    between(prefix.into(), largest, smallest).map_err(|_| {
        ValidationError::from(format!("must be a block of /{largest} to /{smallest}, not /{prefix}"))
    })
}

/// An IPv6 CIDR block such as `2001:db8::/56`.
///
/// # Errors
/// If it is invalid, or has host bits set.
pub fn v6(text: &str) -> ValidationResult<ValidationError> {
    // `/00` is parsed as 0, and has another text than the block that AWS returns.
    let is_padded =
        text.rsplit_once('/').is_some_and(|(_, prefix)| prefix.len() > 1 && prefix.starts_with('0'));
    let block = text.parse::<Ipv6Net>().ok().filter(|_| !is_padded);
    let block = block.ok_or_else(|| "must be an IPv6 CIDR block such as 2001:db8::/56".to_owned())?;
    is_first(block.addr() == block.network(), block.trunc(), block.prefix_len())
}

/// The canonical form of a block; other text is unchanged.
pub fn canonical(text: &str) -> String {
    text.parse::<IpNet>().map_or_else(|_| text.to_owned(), |block| block.trunc().to_string())
}

/// Whether two IPv4 blocks overlap; false for other text.
pub fn overlap(one: &str, other: &str) -> bool {
    let (one, other) = (one.parse::<Ipv4Net>().ok(), other.parse::<Ipv4Net>().ok());
    one.zip(other).is_some_and(|(one, other)| one.contains(&other) || other.contains(&one))
}

fn is_first(holds: bool, block: impl Display, prefix: u8) -> ValidationResult<ValidationError> {
    if holds {
        return Ok(());
    }
    let text = format!("has host bits set for the prefix length /{prefix}");
    Err(ValidationError { text, hint: Some(format!("write {block}")), item: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why(result: ValidationResult<ValidationError>) -> String {
        result.unwrap_err().shown()
    }

    #[test]
    fn a_block_is_an_address_and_a_prefix() {
        assert_eq!((v4("10.0.0.0/16"), v4("0.0.0.0/0"), v4("10.0.0.1/32")), (Ok(()), Ok(()), Ok(())));
        assert_eq!((v6("::/0"), v6("2001:DB8::/32")), (Ok(()), Ok(())));
        for wrong in ["", "10.0.0.0", "10.0.0/16", "10.0.0.0/33", "10.0.0.0/-1", "::/0", "010.0.0.0/8"] {
            assert!(why(v4(wrong)).contains("must be an IPv4 CIDR block"), "{wrong}");
        }
        for wrong in ["", "10.0.0.0/8", "2001:db8::", "::/129"] {
            assert!(why(v6(wrong)).contains("must be an IPv6 CIDR block"), "{wrong}");
        }
    }

    #[test]
    fn a_block_with_host_bits_is_rejected_with_the_correct_one() {
        assert_eq!(why(v4("10.0.0.1/16")), "has host bits set for the prefix length /16: write 10.0.0.0/16");
        assert_eq!(
            why(v6("2001:db8::1/64")),
            "has host bits set for the prefix length /64: write 2001:db8::/64"
        );
    }

    #[test]
    fn blocks_have_bounds() {
        assert_eq!((v4_of("10.0.0.0/16", 16, 28), v4_of("10.0.0.0/28", 16, 28)), (Ok(()), Ok(())));
        for wrong in ["10.0.0.0/8", "10.0.0.0/29"] {
            assert!(why(v4_of(wrong, 16, 28)).starts_with("must be a block of /16 to /28, not /"), "{wrong}");
        }
    }

    #[test]
    fn blocks_overlap_if_one_is_inside_of_the_other() {
        assert!(overlap("10.0.0.0/16", "10.0.1.0/24") && overlap("10.0.1.0/24", "10.0.0.0/16"));
        assert!(!overlap("10.0.0.0/24", "10.0.1.0/24") && !overlap("x", "10.0.0.0/8"));
    }

    #[test]
    fn a_block_has_one_canonical_form() {
        assert_eq!(canonical("2001:0DB8:0::/32"), "2001:db8::/32");
        assert_eq!((canonical("10.0.0.0/8"), canonical("x")), ("10.0.0.0/8".to_owned(), "x".to_owned()));
    }
}
