//! `kraken-aws-dynamodb`: the spoke that manages tables of DynamoDB.

#![cfg_attr(test, allow(clippy::needless_pass_by_value))] // literals of JSON are passed by value

mod dynamodb;
mod table;

use std::process::ExitCode;

use kraken_aws::{Aws, AwsArgs, Managed};
use kraken_kind::{Manager, Registry, Spoke};

/// The spoke of tables.
#[derive(Clone, Copy, Debug)]
pub struct DynamoDb;

impl Spoke for DynamoDb {
    const NAME: &'static str = "kraken-aws-dynamodb";
    const ABOUT: &'static str = "Manages tables of DynamoDB for Kraken";
    type Args = AwsArgs;
    type Context = Aws;

    async fn connect(args: AwsArgs, manager: &Manager) -> anyhow::Result<Aws> {
        Ok(Aws::for_spoke(&args, manager).await)
    }

    fn kinds(registry: &mut impl Registry<Aws>) {
        registry.kind::<Managed<table::Tables>>();
    }
}

/// The `main` of the binary. It is in the library so that the controller is compiled once, for all programs that run
/// it.
pub fn main() -> ExitCode {
    kraken_spoke::main::<DynamoDb>()
}

#[cfg(test)]
mod tests {
    use kraken_aws::testing::{descriptions, unlisted_secrets};

    #[test]
    fn every_field_that_can_be_secret_is_listed_in_secret_echoes() {
        assert_eq!(unlisted_secrets::<super::DynamoDb>(), [] as [&str; 0]);
    }

    #[test]
    fn every_field_has_a_description_with_an_example() {
        for (path, text) in descriptions::<super::DynamoDb>() {
            assert!(text.contains("Example: `"), "{path}: {text}");
        }
    }
}
