//! Bounds of CIDR blocks.

use serde_json::{Value, json};

use super::{Bound, texts::matching};
use crate::{
    cidr,
    rules::{ValidationError, ValidationResult},
};

/// An IPv4 CIDR block with a prefix length from the first to the second, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CidrV4(pub i32, pub i32);

impl CidrV4 {
    /// Validates a block.
    ///
    /// # Errors
    /// If it is invalid, has host bits set, or its prefix length is out of bounds.
    pub fn check(self, block: &str) -> ValidationResult<ValidationError> {
        cidr::v4_of(block, self.0, self.1)
    }
}

impl Bound for CidrV4 {
    type Of = str;

    fn schema(&self) -> Value {
        let lengths: Vec<_> = (self.0..=self.1).map(|length| length.to_string()).collect();
        let pattern = format!("^{}/({})$", ipv4!(), lengths.join("|"));
        let lengths = if *self == ANY_V4 { String::new() } else { format!(" of /{} to /{}", self.0, self.1) };
        let says = format!("must be an IPv4 CIDR block{lengths}, such as 10.0.0.0/16");
        without_host_bits(matching(&pattern, 18, &says))
    }

    fn validate(&self, value: &str) -> ValidationResult<ValidationError> {
        self.check(value)
    }
}

/// Any IPv4 CIDR block.
pub const ANY_V4: CidrV4 = CidrV4(0, 32);

/// An IPv6 CIDR block.
#[derive(Clone, Copy, Debug)]
pub struct CidrV6;

impl Bound for CidrV6 {
    type Of = str;

    fn schema(&self) -> Value {
        let pattern = "^[0-9A-Fa-f:]*:[0-9A-Fa-f:.]*/([0-9]|[1-9][0-9]|1[01][0-9]|12[0-8])$";
        without_host_bits(matching(pattern, 49, "must be an IPv6 CIDR block such as 2001:db8::/56"))
    }

    fn validate(&self, value: &str) -> ValidationResult<ValidationError> {
        cidr::v6(value)
    }
}

fn without_host_bits(mut schema: Value) -> Value {
    let rule = json!({
        "rule": "!isCIDR(self) || cidr(self).masked() == cidr(self)",
        "message": "has host bits set: write the first address of the block, such as 10.0.0.0/16 instead of 10.0.0.1/16",
    });
    if let Some(rules) = schema["x-kubernetes-validations"].as_array_mut() {
        rules.push(rule);
    }
    schema
}
