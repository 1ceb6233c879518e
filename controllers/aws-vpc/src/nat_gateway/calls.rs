//! The calls of NAT gateways.

use kraken_aws::prelude::*;

use super::{
    api::{self, Change, Desired},
    observed::NatGateway,
    read, readiness,
};

/// The kind NATGateway.
pub(crate) struct NatGateways;

impl AwsResource for NatGateways {
    type Kind = api::NATGateway;
    const FEATURES: Features = Features { is_idempotent: true, shows_deleted: true, ..Features::NONE };

    async fn read(aws: &Aws, query: DescribeQuery) -> Result<Vec<NatGateway>, Failure> {
        read::read(aws, query).await
    }

    async fn create(aws: &Aws, desired: &Desired, creation: &Creation<'_>) -> Result<NatGateway, Failure> {
        readiness::check(aws, desired, creation).await?;
        let Desired { subnet_id, allocation_id, connectivity_type } = desired;
        let kind = connectivity_type.as_ref().map(|kind| kind.expose().as_str().into());
        let call = aws
            .ec2_once()
            .create_nat_gateway()
            .subnet_id(subnet_id.expose())
            .set_allocation_id(exposed(allocation_id.as_ref()))
            .set_connectivity_type(kind)
            .client_token(&creation.launch.token)
            .set_tag_specifications(Some(creation.specifications(ResourceType::Natgateway)));
        let made = aws.call("CreateNatGateway", "failed to create the NAT gateway", call.send()).await?;
        Ok(made.nat_gateway.map(NatGateway::from).unwrap_or_default())
    }

    async fn update(_: &Aws, change: &Change, _: &Desired, _: &NatGateway) -> Result<(), Failure> {
        match *change {}
    }

    async fn delete(aws: &Aws, gateway: &NatGateway) -> Result<(), Failure> {
        let call = aws.ec2().delete_nat_gateway().nat_gateway_id(&gateway.nat_gateway_id);
        aws.call("DeleteNatGateway", "failed to delete the NAT gateway", call.send()).await.map(drop)
    }
}
