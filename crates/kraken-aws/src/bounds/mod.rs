//! Bounds of values, each declared once: [`literal`] puts it into the schema of the CRD, so that the API server rejects a
//! literal, and `check` validates the same bound in the webhook and in the reconcile, where references have values.
//!
//! ```ignore
//! #[schemars(transform = literal(&VPC_ID))] // api.rs
//! vpc_id: Opt<String>,
//!
//! validator.one("vpcID", &spec.vpc_id, rule(&VPC_ID)) // in the validation
//! ```

/// The pattern of an IPv4 address, in the only form that all programs read in the same way.
macro_rules! ipv4 {
    () => {
        r"((25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])\.){3}(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
    };
}

mod blocks;
#[cfg(test)]
mod tests;
mod texts;

use kraken_kind::options::Literal;
use serde_json::{Value, json};

use crate::rules::{ValidationError, ValidationResult, between};

pub use blocks::{ANY_V4, CidrV4, CidrV6};
pub use texts::{
    Bytes, IMAGE_ID, INSTANCE_ID, INSTANCE_PROFILE, INSTANCE_TYPE, IPV4, Id, KEY_NAME, KMS_KEY, Length,
    NETWORK_INTERFACE_ID, Pattern, SECURITY_GROUP_ID, SUBNET_ID, USER_DATA, VPC_ID, Words, ZONE,
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
    fn validate(&self, value: &Self::Of) -> ValidationResult<ValidationError>;
}

/// The rule of a bound, for [`crate::validator::SpecValidator`].
pub fn rule<B: Bound>(bound: &B) -> impl Fn(&B::Of) -> ValidationResult<ValidationError> {
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

/// The size of a volume of EC2 in GiB.
pub const SIZE_GIB: Range = Range(1, 65_536);
/// The I/O operations of a volume per second.
pub const IOPS: Range = Range(100, 256_000);
/// The throughput of a volume in MiB/s.
pub const THROUGHPUT: Range = Range(125, 2_000);
/// The network hops of a token of the metadata service.
pub const HOP_LIMIT: Range = Range(1, 64);

impl Range {
    /// Validates a number.
    ///
    /// # Errors
    /// If it is out of bounds.
    pub fn check(self, value: i32) -> ValidationResult {
        between(value, self.0, self.1)
    }
}

impl Bound for Range {
    type Of = i32;

    fn schema(&self) -> Value {
        json!({"minimum": self.0, "maximum": self.1})
    }

    fn validate(&self, value: &i32) -> ValidationResult<ValidationError> {
        Ok(self.check(*value)?)
    }
}
