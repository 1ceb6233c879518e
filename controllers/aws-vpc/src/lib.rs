//! `kraken-aws-vpc`: the spoke for VPC networking, key pairs and volumes.

#![allow(clippy::struct_field_names)] // AWS's names
#![cfg_attr(test, allow(clippy::needless_pass_by_value))] // literals of JSON are passed by value

mod conflicts;
mod dependents;
mod elastic_ip;
#[cfg(test)]
mod imports;
mod in_vpc;
mod internet_gateway;
mod key_pair;
mod nat_gateway;
mod network_acl;
mod route_table;
mod security_group;
mod security_group_lookup;
mod subnet;
mod subnet_lookup;
mod volume;
mod vpc;
mod vpc_endpoint;
mod vpc_lookup;
mod vpc_peering_connection;

use std::process::ExitCode;

use kraken_aws::{Aws, AwsArgs, Lookups, Managed};
use kraken_kind::{Manager, Registry, Spoke};

/// The spoke for VPC networking, key pairs and volumes.
#[derive(Clone, Copy, Debug)]
pub struct Network;

impl Spoke for Network {
    const NAME: &'static str = "kraken-aws-vpc";
    const ABOUT: &'static str = "Manages VPC networking, key pairs and volumes for Kraken";
    type Args = AwsArgs;
    type Context = Aws;

    async fn connect(args: AwsArgs, manager: &Manager) -> anyhow::Result<Aws> {
        Ok(Aws::for_spoke(&args, manager).await)
    }

    fn kinds(registry: &mut impl Registry<Aws>) {
        registry.kind::<Managed<vpc::Vpcs>>();
        registry.kind::<Managed<subnet::Subnets>>();
        registry.kind::<Managed<internet_gateway::InternetGateways>>();
        registry.kind::<Managed<security_group::SecurityGroups>>();
        registry.kind::<Managed<route_table::RouteTables>>();
        registry.kind::<Managed<elastic_ip::ElasticIps>>();
        registry.kind::<Managed<nat_gateway::NatGateways>>();
        registry.kind::<Managed<key_pair::KeyPairs>>();
        registry.kind::<Managed<volume::Volumes>>();
        registry.kind::<Managed<vpc_endpoint::VpcEndpoints>>();
        registry.kind::<Managed<network_acl::NetworkAcls>>();
        registry.kind::<Managed<vpc_peering_connection::VpcPeeringConnections>>();
        registry.kind::<Lookups<vpc_lookup::VpcLookups>>();
        registry.kind::<Lookups<subnet_lookup::SubnetLookups>>();
        registry.kind::<Lookups<security_group_lookup::SecurityGroupLookups>>();
    }
}

/// The `main` of the binary. It is in the library so that the controller is compiled once, for all programs that run
/// it.
pub fn main() -> ExitCode {
    kraken_spoke::main::<Network>()
}

#[cfg(test)]
mod tests {
    use kraken_aws::testing::{descriptions, unlisted_secrets};

    #[test]
    fn every_field_that_can_be_secret_is_listed_in_secret_echoes() {
        assert_eq!(unlisted_secrets::<super::Network>(), [] as [&str; 0]);
    }

    #[test]
    fn every_field_has_a_description_with_an_example() {
        for (path, text) in descriptions::<super::Network>() {
            assert!(text.contains("Example: `"), "{path}: {text}");
        }
    }
}
