//! The bounds of the fields of a table, and the billing modes.

use kraken_aws::bounds::{Bytes, Length, Pattern, Range, Words};

/// The names of tables and indexes.
pub(super) static NAME: Pattern =
    Pattern::new("^[a-zA-Z0-9_.-]{3,255}$", 255, "must have 3 to 255 letters, digits and the characters _.-");
/// The names of key attributes.
pub(super) const ATTRIBUTE: Length = Length(255);
pub(super) const KEY_TYPE: Words = Words(&["S", "N", "B"]);
/// The billing mode in which requests are paid each.
pub(super) const ON_DEMAND: &str = "PAY_PER_REQUEST";
/// The billing mode in which capacities are paid.
pub(super) const PROVISIONED: &str = "PROVISIONED";
pub(super) const BILLING: Words = Words(&[ON_DEMAND, PROVISIONED]);
pub(super) const CAPACITY: Range = Range(1, i32::MAX);
pub(super) const PROJECTION: Words = Words(&["ALL", "KEYS_ONLY", "INCLUDE"]);
pub(super) const CLASS: Words = Words(&["STANDARD", "STANDARD_INFREQUENT_ACCESS"]);
pub(super) const STREAM: Words = Words(&["", "KEYS_ONLY", "NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES"]);
/// The attribute of the time to live; empty for none.
pub(super) const EXPIRY: Bytes = Bytes(255);
pub(super) const RECOVERY: Range = Range(1, 35);
/// Not an alias: AWS returns the ARN of the key, and only KMS can resolve an alias, which may be reassigned.
pub(super) static KEY: Pattern = Pattern::new(
    "^$|^[a-zA-Z0-9-]{1,64}$|^arn:[a-z-]+:kms:[a-z0-9-]+:[0-9]{12}:key/[a-zA-Z0-9-]{1,64}$",
    256,
    "must be the id or the ARN of a key and no alias, or empty for the key of DynamoDB",
);
