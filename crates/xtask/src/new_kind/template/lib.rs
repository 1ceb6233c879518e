//! `kraken-@spoke@`: the spoke of @Kind@.

#![allow(clippy::struct_field_names)] // AWS's names

mod @module@;

use std::process::ExitCode;

use kraken_aws::{Aws, AwsArgs, Managed};
use kraken_kind::{Manager, Registry, Spoke};

/// The spoke.
#[derive(Clone, Copy, Debug)]
pub struct @Spoke@;

impl Spoke for @Spoke@ {
    const NAME: &'static str = "kraken-@spoke@";
    const ABOUT: &'static str = "Manages @Kind@ for Kraken";
    type Args = AwsArgs;
    type Context = Aws;

    async fn connect(args: AwsArgs, manager: &Manager) -> anyhow::Result<Aws> {
        Ok(Aws::for_spoke(&args, manager).await)
    }

    fn kinds(registry: &mut impl Registry<Aws>) {
        registry.kind::<Managed<@module@::@Kinds@>>();
    }
}

/// The `main` of the binary. It is in the library so that the controller is compiled once, for all programs that run
/// it.
pub fn main() -> ExitCode {
    kraken_spoke::main::<@Spoke@>()
}

#[cfg(test)]
mod tests {
    use kraken_aws::testing::{descriptions, unlisted_secrets};

    #[test]
    fn every_field_that_can_be_secret_is_listed_in_secret_echoes() {
        assert_eq!(unlisted_secrets::<super::@Spoke@>(), [] as [&str; 0]);
    }

    #[test]
    fn every_field_has_a_description_with_an_example() {
        for (path, text) in descriptions::<super::@Spoke@>() {
            assert!(text.contains("Example: `"), "{path}: {text}");
        }
    }
}
