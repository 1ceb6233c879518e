//! The calls of Elastic IP addresses.

use kraken_aws::{ec2::types::DomainType, errors::terminal, prelude::*};

use super::{
    api::{self, Change, Desired},
    observed::Address,
};
use crate::{conflicts::held, in_vpc::used, nat_gateway};

/// The kind ElasticIP.
pub(crate) struct ElasticIps;

impl AwsResource for ElasticIps {
    type Kind = api::ElasticIP;

    /// The addresses of instances and NAT gateways in the VPC.
    async fn within(aws: &Aws, place: &str) -> Result<Vec<Address>, Failure> {
        let of_vpc = DescribeQuery::with("vpc-id", place);
        let (used, gateways) = (used(aws, place).await?, nat_gateway::read(aws, of_vpc).await?);
        let mut all = Self::read(aws, DescribeQuery { ids: None, filters: None }).await?;
        all.retain(|address| {
            address.instance_id.as_ref().is_some_and(|id| used.instances.contains(id))
                || gateways.iter().any(|gateway| gateway.holds(&address.allocation_id, None))
        });
        Ok(all)
    }

    /// This API has no pagination: it returns all objects.
    async fn read(aws: &Aws, query: DescribeQuery) -> Result<Vec<Address>, Failure> {
        let call = aws.ec2().describe_addresses().set_allocation_ids(query.ids).set_filters(query.filters);
        let found = aws.call("DescribeAddresses", "failed to describe addresses", call.send()).await?;
        Ok(found.addresses.unwrap_or_default().into_iter().map(Address::from).collect())
    }

    async fn create(aws: &Aws, _: &Desired, creation: &Creation<'_>) -> Result<Address, Failure> {
        let tags = creation.specifications(ResourceType::ElasticIp);
        let call =
            aws.ec2_once().allocate_address().domain(DomainType::Vpc).set_tag_specifications(Some(tags));
        let made = aws.call("AllocateAddress", "failed to allocate the address", call.send()).await?;
        Ok(Address { allocation_id: made.allocation_id.unwrap_or_default(), ..Address::default() })
    }

    async fn update(aws: &Aws, change: &Change, desired: &Desired, address: &Address) -> Result<(), Failure> {
        let Change::Associate = change;
        ensure_no_other_address(aws, desired, address).await?;
        let call = aws
            .ec2()
            .associate_address()
            .allocation_id(&address.allocation_id)
            .set_instance_id(exposed(desired.instance_id.as_ref()))
            .set_network_interface_id(exposed(desired.network_interface_id.as_ref()))
            .allow_reassociation(true);
        aws.call("AssociateAddress", "failed to associate the address", call.send()).await.map(drop)
    }

    async fn delete(aws: &Aws, address: &Address) -> Result<(), Failure> {
        if let Some(association) = &address.association_id {
            let call = aws.ec2().disassociate_address().association_id(association);
            let result =
                aws.call("DisassociateAddress", "failed to disassociate the address", call.send()).await;
            ignore_codes(result, &["InvalidAssociationID.NotFound"])?;
        }
        let call = aws.ec2().release_address().allocation_id(&address.allocation_id);
        aws.call("ReleaseAddress", "failed to release the address", call.send()).await.map(drop)
    }
}

/// AWS disassociates an instance's address to associate the new one: two resources for the same instance would do so
/// alternately forever.
async fn ensure_no_other_address(aws: &Aws, desired: &Desired, own: &Address) -> Result<(), Failure> {
    let (name, id) = match (&desired.instance_id, &desired.network_interface_id) {
        (Some(id), _) => ("instance-id", id.expose()),
        (None, Some(id)) => ("network-interface-id", id.expose()),
        (None, None) => return Ok(()),
    };
    let found = ElasticIps::read(aws, DescribeQuery::with(name, id)).await?;
    let Some(other) = found.into_iter().find(|other| other.allocation_id != own.allocation_id) else {
        return Ok(());
    };
    let failure = terminal("failed to associate the address", "");
    Err(held(failure, &other, own, |holder| {
        format!("{id} already has the address {holder}; disassociate it first")
    }))
}
