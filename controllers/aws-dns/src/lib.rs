//! `kraken-aws-dns`: the spoke that manages hosted zones and records of Route 53.

#![cfg_attr(test, allow(clippy::needless_pass_by_value))] // literals of JSON are passed by value

mod dns;
mod hosted_zone;
mod hosted_zone_lookup;
mod names;
mod record_set;

use std::process::ExitCode;

use kraken_aws::{Aws, AwsArgs, Lookups, Managed};
use kraken_kind::{Manager, Registry, Spoke};

/// The spoke of hosted zones and records of Route 53.
#[derive(Clone, Copy, Debug)]
pub struct Dns;

impl Spoke for Dns {
    const NAME: &'static str = "kraken-aws-dns";
    const ABOUT: &'static str = "Manages hosted zones and records of Route 53 for Kraken";
    type Args = AwsArgs;
    type Context = Aws;

    async fn connect(args: AwsArgs, manager: &Manager) -> anyhow::Result<Aws> {
        Ok(Aws::for_spoke(&args, manager).await)
    }

    fn kinds(registry: &mut impl Registry<Aws>) {
        registry.kind::<Managed<hosted_zone::HostedZones>>();
        registry.kind::<Managed<record_set::RecordSets>>();
        registry.kind::<Lookups<hosted_zone_lookup::HostedZoneLookups>>();
    }
}

/// The `main` of the binary. It is in the library so that the controller is compiled once, for all programs that run
/// it.
pub fn main() -> ExitCode {
    kraken_spoke::main::<Dns>()
}

#[cfg(test)]
mod tests {
    use kraken_aws::testing::{descriptions, unlisted_secrets};

    #[test]
    fn every_field_that_can_be_secret_is_listed_in_secret_echoes() {
        assert_eq!(unlisted_secrets::<super::Dns>(), [] as [&str; 0]);
    }

    #[test]
    fn every_field_has_a_description_with_an_example() {
        for (path, text) in descriptions::<super::Dns>() {
            assert!(text.contains("Example: `"), "{path}: {text}");
        }
    }
}
