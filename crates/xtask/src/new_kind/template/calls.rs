//! The calls of @Kind@. Write each of them; until then, the failure says which one is missing.

use kraken_aws::prelude::*;
use kraken_kind::FailureClass;

use super::{
    api::{self, Change, Desired},
    observed::@Type@,
};

/// The kind @Kind@.
pub(crate) struct @Kinds@;

impl AwsResource for @Kinds@ {
    type Kind = api::@Kind@;

    async fn read(_: &Aws, _: DescribeQuery) -> Result<Vec<@Type@>, Failure> {
        Err(missing("read"))
    }

    async fn create(_: &Aws, desired: &Desired, _: &Creation<'_>) -> Result<@Type@, Failure> {
        // Names every field, so that a new one cannot be forgotten here.
        let Desired { availability_zone: _, size_gib: _ } = desired;
        Err(missing("create"))
    }

    async fn update(_: &Aws, change: &Change, _: &Desired, _: &@Type@) -> Result<(), Failure> {
        match change {
            Change::Resize => Err(missing("update")),
        }
    }

    async fn delete(_: &Aws, _: &@Type@) -> Result<(), Failure> {
        Err(missing("delete"))
    }
}

fn missing(call: &str) -> Failure {
    Failure {
        class: FailureClass::Terminal,
        action: format!("failed to {call} the @noun@"),
        code: String::new(),
        message: "the call is not written yet".to_owned(),
    }
}
