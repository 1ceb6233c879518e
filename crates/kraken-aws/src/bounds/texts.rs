//! Bounds of texts: length, words, ids and patterns.

use std::sync::OnceLock;

use regex::Regex;
use serde_json::{Value, json};

use super::Bound;
use crate::rules::{ValidationError, ValidationResult, a_text, an_id, ensure, one_of};

/// Texts with at most this number of characters, and not only white space.
#[derive(Clone, Copy, Debug)]
pub struct Length(pub usize);

impl Length {
    /// Validates a text.
    ///
    /// # Errors
    /// If it is too long or blank.
    pub fn check(self, text: &str) -> ValidationResult {
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

    fn validate(&self, value: &str) -> ValidationResult<ValidationError> {
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
    pub fn check(self, text: &str) -> ValidationResult {
        ensure(text.len() <= self.0, || format!("has {} bytes; at most {} are allowed", text.len(), self.0))
    }
}

impl Bound for Bytes {
    type Of = str;

    // In characters, each of which has at least one byte.
    fn schema(&self) -> Value {
        json!({"maxLength": self.0})
    }

    fn validate(&self, value: &str) -> ValidationResult<ValidationError> {
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
    pub fn check(self, word: &str) -> ValidationResult {
        one_of(word, self.0)
    }
}

impl Bound for Words {
    type Of = str;

    fn schema(&self) -> Value {
        json!({"enum": self.0})
    }

    fn validate(&self, value: &str) -> ValidationResult<ValidationError> {
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
    pub fn check(self, id: &str) -> ValidationResult {
        an_id(id, self.0)
    }
}

impl Bound for Id {
    type Of = str;

    fn schema(&self) -> Value {
        let says = format!("must look like {}0abc1234def567890", self.0);
        matching(&format!("^{}[a-z0-9]+$", self.0), 64, &says)
    }

    fn validate(&self, value: &str) -> ValidationResult<ValidationError> {
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
/// The id of an image.
pub const IMAGE_ID: Id = Id("ami-");
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
    pub fn check(&self, text: &str) -> ValidationResult {
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

    fn validate(&self, value: &str) -> ValidationResult<ValidationError> {
        Ok(self.check(value)?)
    }
}

/// An IPv4 address.
pub static IPV4: Pattern =
    Pattern::new(concat!("^", ipv4!(), "$"), 15, "must be an IPv4 address such as 10.0.0.10");

/// The name of an availability zone. AWS validates that it exists.
pub static ZONE: Pattern = Pattern::new("^[a-z0-9-]+$", 64, "must be the name of a zone such as us-east-1a");

/// A KMS key, by id, alias or ARN.
pub static KMS_KEY: Pattern =
    Pattern::new("^[a-zA-Z0-9:/_.-]+$", 2_048, "must be the id, alias or ARN of a KMS key");

/// An instance type: a family and a size.
pub static INSTANCE_TYPE: Pattern =
    Pattern::new(r"^[a-z0-9-]+\.[a-z0-9-]+$", 64, "must be a family and a size, such as t3.micro");

/// An instance profile, by name or ARN, or empty for none.
pub static INSTANCE_PROFILE: Pattern = Pattern::new(
    r"(?s)^($|[a-zA-Z0-9+=,.@_-]{1,128}$|arn:.*:instance-profile/)",
    2_048,
    "must be a name or ARN of an instance profile, or empty for none",
);

/// User data, before encoding.
pub const USER_DATA: Bytes = Bytes(16 * 1024);

/// The name of a key pair.
pub static KEY_NAME: Pattern = Pattern::new(
    "^[!-~]([ -~]*[!-~])?$",
    255,
    "must have 1 to 255 printable ASCII characters, with no space at its start or end",
);

/// The schema of texts that match a pattern: as a keyword for texts in lists, and as a rule with a message for others.
pub(super) fn matching(pattern: &str, max: usize, says: &str) -> Value {
    let rule = json!({"rule": format!("self.matches(r\"{pattern}\")"), "message": says});
    json!({"maxLength": max, "pattern": pattern, "x-kubernetes-validations": [rule]})
}
