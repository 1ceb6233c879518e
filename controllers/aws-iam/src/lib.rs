//! `kraken-aws-iam`: the spoke that manages roles, policies, instance profiles and OIDC providers.

#![cfg_attr(test, allow(clippy::needless_pass_by_value))] // literals of JSON are passed by value

mod bounds;
mod document;
mod iam;
mod instance_profile;
mod named;
mod oidc_provider;
mod policy;
mod role;

use std::process::ExitCode;

use kraken_aws::{Aws, AwsArgs, Managed};
use kraken_kind::{Manager, Registry, Spoke};

/// The spoke of roles, policies, instance profiles and OIDC providers.
#[derive(Clone, Copy, Debug)]
pub struct Iam;

impl Spoke for Iam {
    const NAME: &'static str = "kraken-aws-iam";
    const ABOUT: &'static str =
        "Manages IAM roles, policies, instance profiles and OIDC providers for Kraken";
    type Args = AwsArgs;
    type Context = Aws;

    async fn connect(args: AwsArgs, manager: &Manager) -> anyhow::Result<Aws> {
        Ok(Aws::for_spoke(&args, manager).await)
    }

    fn kinds(registry: &mut impl Registry<Aws>) {
        registry.kind::<Managed<role::Roles>>();
        registry.kind::<Managed<policy::Policies>>();
        registry.kind::<Managed<instance_profile::InstanceProfiles>>();
        registry.kind::<Managed<oidc_provider::OidcProviders>>();
    }
}

/// The `main` of the binary. It is in the library so that the controller is compiled once, for all programs that run
/// it.
pub fn main() -> ExitCode {
    kraken_spoke::main::<Iam>()
}

#[cfg(test)]
mod tests {
    use kraken_aws::testing::{descriptions, unlisted_secrets};

    #[test]
    fn every_field_that_can_be_secret_is_listed_in_secret_echoes() {
        assert_eq!(unlisted_secrets::<super::Iam>(), [] as [&str; 0]);
    }

    #[test]
    fn every_field_has_a_description_with_an_example() {
        for (path, text) in descriptions::<super::Iam>() {
            assert!(text.contains("Example: `"), "{path}: {text}");
        }
    }
}
