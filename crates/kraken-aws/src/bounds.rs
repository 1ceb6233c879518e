//! Bounds of values, each declared once: [`literal`] puts it into the schema of the CRD, so that the API server rejects a
//! literal, and `check` validates the same bound in the webhook and in the reconcile, where references have values.
//!
//! ```ignore
//! #[schemars(transform = literal(&VPC_ID))] // api.rs
//! vpc_id: Opt<String>,
//!
//! validator.one("vpcID", &spec.vpc_id, rule(&VPC_ID)) // in the validation
//! ```

use std::sync::OnceLock;

use kraken_spoke::options::Literal;
use regex::Regex;
use serde_json::{Value, json};

use crate::{
    cidr,
    rules::{Verdict, a_text, an_id, between, ensure, one_of},
    validator::ValidationError,
};

/// A bound of the values of a field.
pub trait Bound {
    /// The type of the values.
    type Of: ?Sized;

    /// The keywords of the schema of a literal. They reject no value that `validate` accepts.
    fn schema(&self) -> Value;

    /// Validates a value.
    ///
    /// # Errors
    /// If it is out of bounds.
    fn validate(&self, value: &Self::Of) -> Verdict<ValidationError>;
}

/// The rule of a bound, for [`crate::validator::SpecValidator`].
pub fn rule<B: Bound>(bound: &B) -> impl Fn(&B::Of) -> Verdict<ValidationError> {
    move |value| bound.validate(value)
}

/// The bounds of the literals of a field, for `#[schemars(transform = literal(&BOUND))]`.
pub fn literal(bound: &impl Bound) -> Literal {
    Literal::of(bound.schema())
}

/// The bounds of the literals of tags.
pub fn tags() -> Literal {
    Literal::of(json!({"maxLength": crate::tags::MAX_VALUE})).entries(crate::tags::MAX_USER_TAGS)
}

/// Numbers from the first to the second, both included.
#[derive(Clone, Copy, Debug)]
pub struct Range(pub i32, pub i32);

impl Range {
    /// Validates a number.
    ///
    /// # Errors
    /// If it is out of bounds.
    pub fn check(self, value: i32) -> Verdict {
        between(value, self.0, self.1)
    }
}

impl Bound for Range {
    type Of = i32;

    fn schema(&self) -> Value {
        json!({"minimum": self.0, "maximum": self.1})
    }

    fn validate(&self, value: &i32) -> Verdict<ValidationError> {
        Ok(self.check(*value)?)
    }
}

/// Texts with at most this number of characters, and not only white space.
#[derive(Clone, Copy, Debug)]
pub struct Length(pub usize);

impl Length {
    /// Validates a text.
    ///
    /// # Errors
    /// If it is too long or blank.
    pub fn check(self, text: &str) -> Verdict {
        a_text(text, self.0)
    }
}

impl Bound for Length {
    type Of = str;

    fn schema(&self) -> Value {
        let mut schema =
            matching(r"\S", self.0, &format!("must have 1 to {} characters, not only spaces", self.0));
        schema["minLength"] = 1.into();
        schema
    }

    fn validate(&self, value: &str) -> Verdict<ValidationError> {
        Ok(self.check(value)?)
    }
}

/// Texts with at most this number of bytes.
#[derive(Clone, Copy, Debug)]
pub struct Bytes(pub usize);

impl Bytes {
    /// Validates a text.
    ///
    /// # Errors
    /// If it is too long.
    pub fn check(self, text: &str) -> Verdict {
        ensure(text.len() <= self.0, || format!("has {} bytes; at most {} are allowed", text.len(), self.0))
    }
}

impl Bound for Bytes {
    type Of = str;

    // In characters, each of which has at least one byte.
    fn schema(&self) -> Value {
        json!({"maxLength": self.0})
    }

    fn validate(&self, value: &str) -> Verdict<ValidationError> {
        Ok(self.check(value)?)
    }
}

/// One of these words.
#[derive(Clone, Copy, Debug)]
pub struct Words(pub &'static [&'static str]);

impl Words {
    /// Validates a word.
    ///
    /// # Errors
    /// If it is none of them; the message lists them.
    pub fn check(self, word: &str) -> Verdict {
        one_of(word, self.0)
    }
}

impl Bound for Words {
    type Of = str;

    fn schema(&self) -> Value {
        json!({"enum": self.0})
    }

    fn validate(&self, value: &str) -> Verdict<ValidationError> {
        Ok(self.check(value)?)
    }
}

/// An id of AWS with this prefix, such as `vpc-0abc1234def567890`.
#[derive(Clone, Copy, Debug)]
pub struct Id(pub &'static str);

impl Id {
    /// Validates an id.
    ///
    /// # Errors
    /// If it has another format.
    pub fn check(self, id: &str) -> Verdict {
        an_id(id, self.0)
    }
}

impl Bound for Id {
    type Of = str;

    fn schema(&self) -> Value {
        let says = format!("must look like {}0abc1234def567890", self.0);
        matching(&format!("^{}[a-z0-9]+$", self.0), 64, &says)
    }

    fn validate(&self, value: &str) -> Verdict<ValidationError> {
        Ok(self.check(value)?)
    }
}

/// The id of a VPC.
pub const VPC_ID: Id = Id("vpc-");
/// The id of a subnet.
pub const SUBNET_ID: Id = Id("subnet-");
/// The id of a security group.
pub const SECURITY_GROUP_ID: Id = Id("sg-");
/// The id of an instance.
pub const INSTANCE_ID: Id = Id("i-");
/// The id of a network interface.
pub const NETWORK_INTERFACE_ID: Id = Id("eni-");

/// Texts that match a regular expression and have at most this number of bytes.
#[derive(Debug)]
#[allow(clippy::struct_field_names)] // as in a schema
pub struct Pattern {
    pattern: &'static str,
    max: usize,
    says: &'static str,
    is_number: bool,
    compiled: OnceLock<Option<Regex>>,
}

impl Pattern {
    /// With a regular expression that RE2 and the crate `regex` read in the same way, and the message for other texts.
    pub const fn new(pattern: &'static str, max: usize, says: &'static str) -> Self {
        Self { pattern, max, says, is_number: false, compiled: OnceLock::new() }
    }

    /// The same for texts that a spec may also contain as an integer, such as a port.
    pub const fn or_number(pattern: &'static str, max: usize, says: &'static str) -> Self {
        Self { pattern, max, says, is_number: true, compiled: OnceLock::new() }
    }

    /// Validates a text.
    ///
    /// # Errors
    /// If it does not match or is too long.
    pub fn check(&self, text: &str) -> Verdict {
        let compiled = self.compiled.get_or_init(|| Regex::new(self.pattern).ok());
        let fits = text.len() <= self.max && compiled.as_ref().is_some_and(|regex| regex.is_match(text));
        ensure(fits, || self.says.to_owned())
    }
}

impl Bound for Pattern {
    type Of = str;

    fn schema(&self) -> Value {
        let mut schema = matching(self.pattern, self.max, self.says);
        if self.is_number {
            schema["x-kubernetes-int-or-string"] = true.into();
        }
        schema
    }

    fn validate(&self, value: &str) -> Verdict<ValidationError> {
        Ok(self.check(value)?)
    }
}

/// The pattern of an IPv4 address, in the only form that all programs read in the same way.
macro_rules! ipv4 {
    () => {
        r"((25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])\.){3}(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
    };
}

/// An IPv4 address.
pub static IPV4: Pattern =
    Pattern::new(concat!("^", ipv4!(), "$"), 15, "must be an IPv4 address such as 10.0.0.10");

/// The name of an availability zone. AWS validates that it exists.
pub static ZONE: Pattern = Pattern::new("^[a-z0-9-]+$", 64, "must be the name of a zone such as us-east-1a");

/// A KMS key, by id, alias or ARN.
pub static KMS_KEY: Pattern =
    Pattern::new("^[a-zA-Z0-9:/_.-]+$", 2_048, "must be the id, alias or ARN of a KMS key");

/// The name of a key pair.
pub static KEY_NAME: Pattern = Pattern::new(
    "^[!-~]([ -~]*[!-~])?$",
    255,
    "must have 1 to 255 printable ASCII characters, with no space at its start or end",
);

/// An IPv4 CIDR block with a prefix length from the first to the second, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CidrV4(pub i32, pub i32);

impl CidrV4 {
    /// Validates a block.
    ///
    /// # Errors
    /// If it is invalid, has host bits set, or its prefix length is out of bounds.
    pub fn check(self, block: &str) -> Verdict<ValidationError> {
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

    fn validate(&self, value: &str) -> Verdict<ValidationError> {
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

    fn validate(&self, value: &str) -> Verdict<ValidationError> {
        cidr::v6(value)
    }
}

/// The schema of texts that match a pattern: as a keyword for texts in lists, and as a rule with a message for others.
fn matching(pattern: &str, max: usize, says: &str) -> Value {
    let rule = json!({"rule": format!("self.matches(r\"{pattern}\")"), "message": says});
    json!({"maxLength": max, "pattern": pattern, "x-kubernetes-validations": [rule]})
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Whether the schema accepts a text, without the rules of CEL.
    fn admits(bound: &impl Bound, text: &str) -> bool {
        let schema = bound.schema();
        let length = text.chars().count() as u64;
        let allowed = schema["enum"].as_array().is_none_or(|words| words.iter().any(|word| word == text));
        allowed
            && schema["minLength"].as_u64().is_none_or(|min| length >= min)
            && schema["maxLength"].as_u64().is_none_or(|max| length <= max)
            && schema["pattern"].as_str().is_none_or(|pattern| Regex::new(pattern).unwrap().is_match(text))
    }

    proptest! {
        #[test]
        fn the_schema_rejects_nothing_that_the_controller_accepts(
            text in prop_oneof![
                r"\PC{0,12}", "(vpc|i)-[a-z0-9]{0,63}", "[0-9]{1,3}(\\.[0-9]{1,3}){3}(/[0-9]{1,3})?",
                "(1?0\\.){3}0/[0-9]{1,2}", "[0-9a-fA-F]{0,4}(:[0-9a-f]{0,4}){0,7}(:1\\.2\\.3\\.4)?/[0-9]{1,3}", "gp[23]",
            ],
        ) {
            let words = Words(&["gp2", "gp3"]);
            prop_assert!(words.check(&text).is_err() || admits(&words, &text), "{}", text);
            prop_assert!(VPC_ID.check(&text).is_err() || admits(&VPC_ID, &text), "{}", text);
            prop_assert!(Length(8).check(&text).is_err() || admits(&Length(8), &text), "{}", text);
            prop_assert!(IPV4.check(&text).is_err() || admits(&IPV4, &text), "{}", text);
            prop_assert_eq!(IPV4.check(&text).is_ok(), text.parse::<std::net::Ipv4Addr>().is_ok());
            prop_assert!(ANY_V4.check(&text).is_err() || admits(&ANY_V4, &text), "{}", text);
            prop_assert!(cidr::v6(&text).is_err() || admits(&CidrV6, &text), "{}", text);
        }
    }

    #[test]
    fn the_schema_rejects_what_is_out_of_bounds() {
        for wrong in ["", "vpc-", "subnet-1", "vpc-A", "vpc-1 ", &format!("vpc-{}", "0".repeat(61))] {
            assert!(!admits(&VPC_ID, wrong) && VPC_ID.check(wrong).is_err(), "{wrong}");
        }
        for wrong in ["", "10.0.0.0", "10.0.0.0/8", "10.0.0.0/29", "010.0.0.0/16", "10.0.0.256/16", "::/16"] {
            let block = CidrV4(16, 28);
            assert!(!admits(&block, wrong) && block.check(wrong).is_err(), "{wrong}");
        }
        for wrong in ["", "10.0.0.0/8", "2001:db8::", "::/129"] {
            assert!(!admits(&CidrV6, wrong), "{wrong}");
        }
        assert!(!admits(&Length(3), "    ") && !admits(&Length(3), "abcd") && admits(&Length(3), "\u{fc}bc"));
        assert_eq!(Range(1, 9).schema(), json!({"minimum": 1, "maximum": 9}));
    }
}
