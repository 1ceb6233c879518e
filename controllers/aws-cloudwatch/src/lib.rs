//! `kraken-aws-cloudwatch`: the spoke that manages alarms and log groups.

#![cfg_attr(test, allow(clippy::needless_pass_by_value))] // literals of JSON are passed by value

mod alarm;
mod cloudwatch;
mod log_group;
mod logs;

use std::process::ExitCode;

use kraken_aws::{Aws, AwsArgs, Managed};
use kraken_kind::{Manager, Registry, Spoke};

/// The spoke of alarms and log groups.
#[derive(Clone, Copy, Debug)]
pub struct CloudWatch;

impl Spoke for CloudWatch {
    const NAME: &'static str = "kraken-aws-cloudwatch";
    const ABOUT: &'static str = "Manages alarms and log groups for Kraken";
    type Args = AwsArgs;
    type Context = Aws;

    async fn connect(args: AwsArgs, manager: &Manager) -> anyhow::Result<Aws> {
        Ok(Aws::for_spoke(&args, manager).await)
    }

    fn kinds(registry: &mut impl Registry<Aws>) {
        registry.kind::<Managed<log_group::LogGroups>>();
        registry.kind::<Managed<alarm::Alarms>>();
    }
}

/// The `main` of the binary. It is in the library so that the controller is compiled once, for all programs that run
/// it.
pub fn main() -> ExitCode {
    kraken_spoke::main::<CloudWatch>()
}

#[cfg(test)]
mod tests {
    use kraken_aws::testing::{descriptions, unlisted_secrets};

    #[test]
    fn every_field_that_can_be_secret_is_listed_in_secret_echoes() {
        assert_eq!(unlisted_secrets::<super::CloudWatch>(), [] as [&str; 0]);
    }

    #[test]
    fn every_field_has_a_description_with_an_example() {
        for (path, text) in descriptions::<super::CloudWatch>() {
            assert!(text.contains("Example: `"), "{path}: {text}");
        }
    }
}
