//! The names that the calls, rules and comparisons of most kinds use: `use kraken_aws::prelude::*;`.

pub use crate::{
    Aws, AwsResource,
    diff::{changed, difference, fixed},
    ec2::types::ResourceType,
    fields::shown,
    missing::ignore_codes,
    resolved::{exposed, given},
    resource::{Creation, DescribeQuery},
    validator::SpecValidator,
};
pub use kraken_kind::{Difference, Failure, Features, Remedy, Resolved};
