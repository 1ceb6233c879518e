//! `kraken-aws-kms`: the spoke that manages keys of KMS and their aliases.

#![cfg_attr(test, allow(clippy::needless_pass_by_value))] // literals of JSON are passed by value

mod alias;
mod key;
mod kms;

use std::process::ExitCode;

use kraken_aws::{Aws, AwsArgs, Managed};
use kraken_kind::{Manager, Registry, Spoke};

/// The spoke of keys and aliases.
#[derive(Clone, Copy, Debug)]
pub struct Kms;

impl Spoke for Kms {
    const NAME: &'static str = "kraken-aws-kms";
    const ABOUT: &'static str = "Manages keys of KMS and their aliases for Kraken";
    type Args = AwsArgs;
    type Context = Aws;

    async fn connect(args: AwsArgs, manager: &Manager) -> anyhow::Result<Aws> {
        Ok(Aws::for_spoke(&args, manager).await)
    }

    fn kinds(registry: &mut impl Registry<Aws>) {
        registry.kind::<Managed<key::Keys>>();
        registry.kind::<Managed<alias::Aliases>>();
    }
}

/// The `main` of the binary. It is in the library so that the controller is compiled once, for all programs that run
/// it.
pub fn main() -> ExitCode {
    kraken_spoke::main::<Kms>()
}

#[cfg(test)]
mod tests {
    use kraken_aws::testing::{descriptions, unlisted_secrets};

    #[test]
    fn every_field_that_can_be_secret_is_listed_in_secret_echoes() {
        assert_eq!(unlisted_secrets::<super::Kms>(), [] as [&str; 0]);
    }

    #[test]
    fn every_field_has_a_description_with_an_example() {
        for (path, text) in descriptions::<super::Kms>() {
            assert!(text.contains("Example: `"), "{path}: {text}");
        }
    }
}
