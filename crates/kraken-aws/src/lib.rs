//! Access to AWS for spokes: the client, identity tags, error classes and batched reads.
//!
//! This is the one crate that depends on the AWS SDK, so that its version and features are managed in one place. A spoke
//! uses the SDK through [`ec2`], and only in files that call AWS, or for types that are made from those of the SDK.

// The macros write paths of this crate, also in it.
extern crate self as kraken_aws;

pub mod account;
pub mod args;
pub mod bounds;
pub mod cidr;
pub mod claim;
pub mod client;
mod clients;
pub mod codes;
pub mod diff;
pub mod errors;
pub mod fields;
pub mod group;
pub mod import;
pub mod injected;
pub mod items;
mod location;
pub mod lookup;
pub mod lookup_kind;
pub mod marker;
pub mod missing;
pub mod observed;
mod owner;
pub mod policy;
pub mod prelude;
pub mod release;
pub mod resolved;
pub mod resource;
pub mod rules;
pub mod service;
pub mod tag_memory;
pub mod tags;
#[doc(hidden)]
pub mod testing;
mod unsigned;
pub mod validator;
mod words;

pub use args::AwsArgs;
pub use aws_sdk_ec2 as ec2;
pub use aws_smithy_types::base64;
pub use client::Aws;
pub use group::AwsGroup;
pub use kraken_derive::{aws_group, aws_kind, aws_lookup, aws_observed};
pub use lookup_kind::{AwsLookup, LookupKind, Lookups};
pub use resource::{AwsResource, AwsSpec, Managed, ManagedKind};
pub use tags::{TagOptions, Tags};

/// The partition in the ARNs of a region, and the domain of its endpoints.
pub fn partition(region: &str) -> (&'static str, &'static str) {
    match region {
        region if region.starts_with("cn-") => ("aws-cn", "amazonaws.com.cn"),
        region if region.starts_with("us-gov-") => ("aws-us-gov", "amazonaws.com"),
        _ => ("aws", "amazonaws.com"),
    }
}
