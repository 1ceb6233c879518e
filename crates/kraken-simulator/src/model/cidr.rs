//! Address ranges.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

use crate::refusal::Refusal;

/// A range of IPv4 addresses, its host bits cleared as AWS clears them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cidr {
    first: u32,
    length: u32,
}

impl Cidr {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (address, length) = text.split_once('/')?;
        let address: Ipv4Addr = address.parse().ok()?;
        let length: u32 = length.parse().ok().filter(|length| *length <= 32)?;
        Some(Self { first: address.to_bits() & mask(length), length })
    }

    /// As [`Cidr::parse`], with AWS's error for a parameter.
    pub(crate) fn of(text: &str, parameter: &str) -> Result<Self, Refusal> {
        Self::parse(text).ok_or_else(|| malformed(text, parameter))
    }

    /// Whether it has a size that a VPC or subnet can have.
    pub(crate) fn fits_a_network(self) -> bool {
        (16..=28).contains(&self.length)
    }

    pub(crate) fn contains(self, other: Self) -> bool {
        self.length <= other.length && self.has(Ipv4Addr::from_bits(other.first))
    }

    pub(crate) fn overlaps(self, other: Self) -> bool {
        self.contains(other) || other.contains(self)
    }

    pub(crate) fn has(self, address: Ipv4Addr) -> bool {
        address.to_bits() & mask(self.length) == self.first
    }

    /// The addresses that AWS does not reserve: all except the first four and the last.
    pub(crate) fn hosts(self) -> impl Iterator<Item = Ipv4Addr> {
        let last = self.first | !mask(self.length);
        (self.first.saturating_add(4)..last).map(Ipv4Addr::from_bits)
    }

    /// The number of [`Cidr::hosts`].
    pub(crate) fn host_count(self) -> usize {
        let size = 1_usize << (32 - self.length);
        size.saturating_sub(5)
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", Ipv4Addr::from_bits(self.first), self.length)
    }
}

fn mask(length: u32) -> u32 {
    u32::MAX.checked_shl(32 - length).unwrap_or(0)
}

/// A range of IPv6 addresses in canonical form.
pub(crate) fn of_v6(text: &str, parameter: &str) -> Result<String, Refusal> {
    let parts = text.split_once('/').and_then(|(address, length)| {
        let address: Ipv6Addr = address.parse().ok()?;
        let length: u32 = length.parse().ok().filter(|length| *length <= 128)?;
        Some((address, length))
    });
    let (address, length) = parts.ok_or_else(|| malformed(text, parameter))?;
    let mask = u128::MAX.checked_shl(128 - length).unwrap_or(0);
    Ok(format!("{}/{length}", Ipv6Addr::from_bits(address.to_bits() & mask)))
}

fn malformed(text: &str, parameter: &str) -> Refusal {
    let message =
        format!("Value ({text}) for parameter {parameter} is invalid. This is not a valid CIDR block.");
    Refusal::new("InvalidParameterValue", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cidr(text: &str) -> Cidr {
        Cidr::parse(text).unwrap()
    }

    #[test]
    fn host_bits_are_cleared() {
        assert_eq!(cidr("10.0.3.7/16").to_string(), "10.0.0.0/16");
        assert_eq!(cidr("10.0.3.7/0").to_string(), "0.0.0.0/0");
        assert_eq!(of_v6("2001:db8:0:0::1/64", "x").unwrap(), "2001:db8::/64");
        assert_eq!(of_v6("::1/0", "x").unwrap(), "::/0");
    }

    #[test]
    fn a_text_that_is_not_a_range_is_rejected() {
        for text in ["", "10.0.0.0", "10.0.0.0/33", "10.0.0/8", "moon/8"] {
            assert_eq!(Cidr::of(text, "cidrBlock").unwrap_err().code, "InvalidParameterValue", "{text}");
            assert!(of_v6(text, "cidrBlock").is_err());
        }
    }

    #[test]
    fn ranges_contain_and_overlap() {
        assert!(cidr("10.0.0.0/16").contains(cidr("10.0.255.0/24")));
        assert!(!cidr("10.0.0.0/24").contains(cidr("10.0.0.0/16")));
        assert!(cidr("10.0.0.0/24").overlaps(cidr("10.0.0.0/16")));
        assert!(!cidr("10.0.0.0/24").overlaps(cidr("10.0.1.0/24")));
    }

    #[test]
    fn five_addresses_of_a_range_are_reserved_for_aws() {
        let hosts: Vec<String> = cidr("10.0.0.0/28").hosts().map(|address| address.to_string()).collect();
        assert_eq!((hosts.len(), cidr("10.0.0.0/28").host_count()), (11, 11));
        assert_eq!((&*hosts[0], &*hosts[10]), ("10.0.0.4", "10.0.0.14"));
    }
}
