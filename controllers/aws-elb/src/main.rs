//! `kraken-aws-elb`: the spoke that manages load balancers, target groups and listeners.

mod differences;
mod listener;
mod load_balancer;
mod once;
mod rules;
mod tagged;
mod take;
mod target_group;
#[cfg(test)]
mod testing;
mod words;

use std::process::ExitCode;

use kraken_aws::{Aws, AwsArgs, Managed};
use kraken_spoke::{Registry, Shell, Spoke};

struct Elb;

impl Spoke for Elb {
    const NAME: &'static str = "kraken-aws-elb";
    const ABOUT: &'static str = "Manages load balancers, target groups and listeners for Kraken";
    type Args = AwsArgs;
    type Context = Aws;

    async fn connect(args: AwsArgs, shell: &Shell) -> anyhow::Result<Aws> {
        Ok(Aws::connect(&args, shell.metrics.clone()).await)
    }

    fn kinds(registry: &mut impl Registry<Aws>) {
        registry.kind::<Managed<target_group::Groups>>();
        registry.kind::<Managed<load_balancer::Balancers>>();
        registry.kind::<Managed<listener::Listeners>>();
    }
}

fn main() -> ExitCode {
    kraken_spoke::main::<Elb>()
}
