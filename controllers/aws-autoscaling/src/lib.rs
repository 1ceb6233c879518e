//! `kraken-aws-autoscaling`: the spoke that manages launch templates, Auto Scaling groups and scaling policies.

#![cfg_attr(test, allow(clippy::needless_pass_by_value))] // literals of JSON are passed by value

mod auto_scaling_group;
mod autoscaling;
mod launch_template;
mod scaling_policy;

use std::process::ExitCode;

use kraken_aws::{Aws, AwsArgs, Managed};
use kraken_kind::{Manager, Registry, Spoke};

/// The spoke of launch templates, Auto Scaling groups and scaling policies.
#[derive(Clone, Copy, Debug)]
pub struct Autoscaling;

impl Spoke for Autoscaling {
    const NAME: &'static str = "kraken-aws-autoscaling";
    const ABOUT: &'static str =
        "Manages launch templates, Auto Scaling groups and scaling policies for Kraken";
    type Args = AwsArgs;
    type Context = Aws;

    async fn connect(args: AwsArgs, manager: &Manager) -> anyhow::Result<Aws> {
        Ok(Aws::for_spoke(&args, manager).await)
    }

    fn kinds(registry: &mut impl Registry<Aws>) {
        registry.kind::<Managed<launch_template::LaunchTemplates>>();
        registry.kind::<Managed<auto_scaling_group::AutoScalingGroups>>();
        registry.kind::<Managed<scaling_policy::ScalingPolicies>>();
    }
}

/// The `main` of the binary. It is in the library so that the controller is compiled once, for all programs that run
/// it.
pub fn main() -> ExitCode {
    kraken_spoke::main::<Autoscaling>()
}

#[cfg(test)]
mod tests {
    use kraken_aws::testing::{descriptions, unlisted_secrets};

    #[test]
    fn every_field_that_can_be_secret_is_listed_in_secret_echoes() {
        assert_eq!(unlisted_secrets::<super::Autoscaling>(), [] as [&str; 0]);
    }

    #[test]
    fn every_field_has_a_description_with_an_example() {
        for (path, text) in descriptions::<super::Autoscaling>() {
            assert!(text.contains("Example: `"), "{path}: {text}");
        }
    }
}
