//! `kraken-aws-ec2-instance`: the spoke that manages EC2 instances, and looks up their images.

mod api;
mod calls;
mod desired;
mod image_lookup;
mod import;
mod instance;
mod mark;
mod metadata_options;
mod refusal;
mod root_volume;
mod rules;
mod stops;
#[cfg(test)]
mod tests;

use std::process::ExitCode;

use kraken_aws::{Aws, AwsArgs, Lookups, Managed};
use kraken_kind::{Manager, Registry, Spoke};

/// The spoke of EC2 instances.
#[derive(Clone, Copy, Debug)]
pub struct Ec2;

impl Spoke for Ec2 {
    const NAME: &'static str = "kraken-aws-ec2-instance";
    const ABOUT: &'static str = "Manages EC2 instances for Kraken";
    type Args = AwsArgs;
    type Context = Aws;

    async fn connect(args: AwsArgs, manager: &Manager) -> anyhow::Result<Aws> {
        Ok(Aws::for_spoke(&args, manager).await)
    }

    fn kinds(registry: &mut impl Registry<Aws>) {
        registry.kind::<Managed<calls::Instances>>();
        registry.kind::<Lookups<image_lookup::ImageLookups>>();
    }
}

/// The `main` of the binary. It is in the library so that the controller is compiled once, for all programs that run
/// it.
pub fn main() -> ExitCode {
    kraken_spoke::main::<Ec2>()
}
