//! `kraken-aws-rds`: the spoke that manages databases.

#![cfg_attr(test, allow(clippy::needless_pass_by_value))] // literals of JSON are passed by value

mod db_instance;
mod db_parameter_group;
mod db_subnet_group;
mod named;
mod rds;
#[cfg(test)]
mod tests;

use std::process::ExitCode;

use kraken_aws::{Aws, AwsArgs, Managed};
use kraken_kind::{Manager, Registry, Spoke};

/// The spoke of databases.
#[derive(Clone, Copy, Debug)]
pub struct Rds;

impl Spoke for Rds {
    const NAME: &'static str = "kraken-aws-rds";
    const ABOUT: &'static str = "Manages databases for Kraken";
    type Args = AwsArgs;
    type Context = Aws;

    async fn connect(args: AwsArgs, manager: &Manager) -> anyhow::Result<Aws> {
        Ok(Aws::for_spoke(&args, manager).await)
    }

    fn kinds(registry: &mut impl Registry<Aws>) {
        registry.kind::<Managed<db_subnet_group::SubnetGroups>>();
        registry.kind::<Managed<db_parameter_group::ParameterGroups>>();
        registry.kind::<Managed<db_instance::Instances>>();
    }
}

/// The `main` of the binary. It is in the library so that the controller is compiled once, for all programs that run
/// it.
pub fn main() -> ExitCode {
    kraken_spoke::main::<Rds>()
}
