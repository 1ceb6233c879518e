//! `kraken-aws-elb`: the spoke that manages load balancers, target groups, listeners and their rules.

#![cfg_attr(test, allow(clippy::needless_pass_by_value))] // literals of JSON are passed by value

mod action;
mod elb;
mod in_vpc;
mod listener;
mod listener_rule;
mod load_balancer;
mod once;
mod rules;
#[cfg(test)]
mod simulated;
mod tagged;
mod target_group;
mod words;

use std::process::ExitCode;

use kraken_aws::{Aws, AwsArgs, Managed};
use kraken_kind::{Manager, Registry, Spoke};

/// The spoke of load balancers, target groups, listeners and their rules.
#[derive(Clone, Copy, Debug)]
pub struct Elb;

impl Spoke for Elb {
    const NAME: &'static str = "kraken-aws-elb";
    const ABOUT: &'static str = "Manages load balancers, target groups, listeners and their rules for Kraken";
    type Args = AwsArgs;
    type Context = Aws;

    async fn connect(args: AwsArgs, manager: &Manager) -> anyhow::Result<Aws> {
        Ok(Aws::for_spoke(&args, manager).await)
    }

    fn kinds(registry: &mut impl Registry<Aws>) {
        registry.kind::<Managed<target_group::Groups>>();
        registry.kind::<Managed<load_balancer::Balancers>>();
        registry.kind::<Managed<listener::Listeners>>();
        registry.kind::<Managed<listener_rule::ListenerRules>>();
    }
}

/// The `main` of the binary. It is in the library so that the controller is compiled once, for all programs that run
/// it.
pub fn main() -> ExitCode {
    kraken_spoke::main::<Elb>()
}

#[cfg(test)]
mod tests {
    use kraken_aws::testing::{descriptions, unlisted_secrets};

    #[test]
    fn every_field_that_can_be_secret_is_listed_in_secret_echoes() {
        assert_eq!(unlisted_secrets::<super::Elb>(), [] as [&str; 0]);
    }

    #[test]
    fn every_field_has_a_description_with_an_example() {
        for (path, text) in descriptions::<super::Elb>() {
            assert!(text.contains("Example: `"), "{path}: {text}");
        }
    }
}
