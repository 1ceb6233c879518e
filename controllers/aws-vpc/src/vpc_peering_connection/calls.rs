//! The calls of VPC peering connections.

use kraken_aws::{
    ec2::types::PeeringConnectionOptionsRequest,
    errors::terminal,
    prelude::*,
    release::filter,
    resource::{Phase, RemoteObject as _},
};

use super::{
    api::{self, Change, Desired},
    observed::VpcPeeringConnection,
};

const CREATE: &str = "failed to create the VPC peering connection";
/// The connection has another state meanwhile, which the next reconcile observes.
const OTHER_STATE: &str = "InvalidStateTransition";

/// The kind VPCPeeringConnection.
pub(crate) struct VpcPeeringConnections;

impl AwsResource for VpcPeeringConnections {
    type Kind = api::VPCPeeringConnection;
    const FEATURES: Features = Features { shows_deleted: true, ..Features::NONE };
    const IN_VPC: &'static str = "requester-vpc-info.vpc-id";

    async fn read(aws: &Aws, query: DescribeQuery) -> Result<Vec<VpcPeeringConnection>, Failure> {
        let DescribeQuery { ids, filters } = query;
        let call = aws
            .ec2()
            .describe_vpc_peering_connections()
            .set_vpc_peering_connection_ids(ids)
            .set_filters(filters);
        let pages = call.into_paginator().send();
        let action = "failed to describe VPC peering connections";
        aws.items("DescribeVpcPeeringConnections", action, pages, |page| page.vpc_peering_connections).await
    }

    /// The connections of both VPCs are read before: the call returns one that exists, whoever created it.
    async fn create(
        aws: &Aws,
        desired: &Desired,
        creation: &Creation<'_>,
    ) -> Result<VpcPeeringConnection, Failure> {
        // Options are set by a change.
        let Desired {
            vpc_id,
            peer_vpc_id,
            peer_owner_id,
            peer_region,
            requester_allow_dns_resolution: _,
            accepter_allow_dns_resolution: _,
        } = desired;
        let former = of_both(aws, desired).await?;
        if let Some(refused) = former.iter().find(|one| one.is_refused() && creation.is_own(&one.tags)) {
            return Err(terminal(CREATE, why_refused(refused)));
        }
        let is_live = |one: &VpcPeeringConnection| !matches!(one.phase(), Phase::Deleting | Phase::Deleted);
        if let Some(live) = former.into_iter().find(is_live) {
            return owned(live, desired, creation);
        }
        let call = aws
            .ec2_once()
            .create_vpc_peering_connection()
            .vpc_id(vpc_id.expose())
            .peer_vpc_id(peer_vpc_id.expose())
            .set_peer_owner_id(exposed(peer_owner_id.as_ref()))
            .set_peer_region(exposed(peer_region.as_ref()))
            .set_tag_specifications(Some(creation.specifications(ResourceType::VpcPeeringConnection)));
        let made = aws.call("CreateVpcPeeringConnection", CREATE, call.send()).await?;
        let made = made.vpc_peering_connection.map(VpcPeeringConnection::from).unwrap_or_default();
        if made.tags.is_empty() { Ok(made) } else { owned(made, desired, creation) }
    }

    async fn update(
        aws: &Aws,
        change: &Change,
        desired: &Desired,
        connection: &VpcPeeringConnection,
    ) -> Result<(), Failure> {
        let id = &connection.vpc_peering_connection_id;
        match change {
            Change::Accept => {
                let call = aws.ec2().accept_vpc_peering_connection().vpc_peering_connection_id(id);
                let action = "failed to accept the VPC peering connection";
                let result = aws.call("AcceptVpcPeeringConnection", action, call.send()).await;
                ignore_codes(result, &[OTHER_STATE])
            }
            Change::Options => {
                let options = |on: Option<&Resolved<bool>>| {
                    let options = PeeringConnectionOptionsRequest::builder();
                    Some(options.allow_dns_resolution_from_remote_vpc(*on?.expose()).build())
                };
                let (requester, accepter) =
                    (&desired.requester_allow_dns_resolution, &desired.accepter_allow_dns_resolution);
                let call = aws
                    .ec2()
                    .modify_vpc_peering_connection_options()
                    .vpc_peering_connection_id(id)
                    .set_requester_peering_connection_options(options(requester.as_ref()))
                    .set_accepter_peering_connection_options(options(accepter.as_ref()));
                let action = "failed to change the options of the VPC peering connection";
                aws.call("ModifyVpcPeeringConnectionOptions", action, call.send()).await.map(drop)
            }
        }
    }

    async fn delete(aws: &Aws, connection: &VpcPeeringConnection) -> Result<(), Failure> {
        let id = &connection.vpc_peering_connection_id;
        let call = aws.ec2().delete_vpc_peering_connection().vpc_peering_connection_id(id);
        let action = "failed to delete the VPC peering connection";
        let result = aws.call("DeleteVpcPeeringConnection", action, call.send()).await;
        ignore_codes(result, &[OTHER_STATE])
    }
}

/// All connections of both VPCs with each other, also those that ended.
async fn of_both(aws: &Aws, desired: &Desired) -> Result<Vec<VpcPeeringConnection>, Failure> {
    let (vpc, peer) = (desired.vpc_id.expose(), desired.peer_vpc_id.expose());
    let filters = [VpcPeeringConnections::IN_VPC, "accepter-vpc-info.vpc-id"];
    let filters = filters.map(|name| filter(name, vec![vpc.clone(), peer.clone()])).into();
    let query = DescribeQuery { ids: None, filters: Some(filters) };
    let mut found = VpcPeeringConnections::read(aws, query).await?;
    found.retain(|connection| connection.connects(vpc, peer));
    Ok(found)
}

/// The connection, if this launch created it. Two VPCs have only one.
fn owned(
    connection: VpcPeeringConnection,
    desired: &Desired,
    creation: &Creation<'_>,
) -> Result<VpcPeeringConnection, Failure> {
    if creation.has_created(&connection.tags) {
        return Ok(connection);
    }
    let what = format!(
        "the connection of vpcID {} and peerVPCID {}",
        shown(&desired.vpc_id),
        shown(&desired.peer_vpc_id)
    );
    Err(creation.is_taken(terminal(CREATE, ""), &what, &[connection]))
}

/// A further request would be refused in the same way, and AWS shows each one for days.
fn why_refused(refused: &VpcPeeringConnection) -> String {
    let (id, status) = (&refused.vpc_peering_connection_id, &refused.status);
    let message = status.message.as_deref().map(|message| format!(" ({message})")).unwrap_or_default();
    format!(
        "{id} is {}{message}; another one is requested when AWS does not return it any more, which takes up to two days; \
         to request it now, delete the resource and apply it again",
        status.code
    )
}
