//! The observed VPC peering connection, which is the published state.

use kraken_aws::{aws_observed, ec2::types, resource::Phase};

/// AWS returns one that ended for two hours to two days.
#[aws_observed(from = types::VpcPeeringConnection, id = vpc_peering_connection_id, phase = Self::phase)]
pub(crate) struct VpcPeeringConnection {
    pub(super) vpc_peering_connection_id: String,
    pub(super) requester_vpc_info: VpcInfo,
    pub(super) accepter_vpc_info: VpcInfo,
    pub(super) status: Status,
}

#[aws_observed(from = types::VpcPeeringConnectionVpcInfo)]
pub(crate) struct VpcInfo {
    pub(super) vpc_id: Option<String>,
    pub(super) owner_id: Option<String>,
    pub(super) region: Option<String>,
    pub(super) cidr_block: Option<String>,
    pub(super) cidr_block_set: Vec<CidrBlock>,
    pub(super) peering_options: Option<PeeringOptions>,
}

#[aws_observed(from = types::CidrBlock)]
pub(crate) struct CidrBlock {
    pub(super) cidr_block: Option<String>,
}

#[aws_observed(from = types::VpcPeeringConnectionOptionsDescription)]
pub(crate) struct PeeringOptions {
    pub(super) allow_dns_resolution_from_remote_vpc: Option<bool>,
}

#[aws_observed(from = types::VpcPeeringConnectionStateReason)]
pub(crate) struct Status {
    pub(super) code: String,
    pub(super) message: Option<String>,
}

impl VpcInfo {
    fn dns(&self) -> Option<&bool> {
        self.peering_options.as_ref()?.allow_dns_resolution_from_remote_vpc.as_ref()
    }
}

impl VpcPeeringConnection {
    pub(super) fn requester_vpc_id(&self) -> Option<&String> {
        self.requester_vpc_info.vpc_id.as_ref()
    }

    pub(super) fn accepter_vpc_id(&self) -> Option<&String> {
        self.accepter_vpc_info.vpc_id.as_ref()
    }

    pub(super) fn accepter_owner_id(&self) -> Option<&String> {
        self.accepter_vpc_info.owner_id.as_ref()
    }

    pub(super) fn accepter_region(&self) -> Option<&String> {
        self.accepter_vpc_info.region.as_ref()
    }

    pub(super) fn requester_dns(&self) -> Option<&bool> {
        self.requester_vpc_info.dns()
    }

    pub(super) fn accepter_dns(&self) -> Option<&bool> {
        self.accepter_vpc_info.dns()
    }

    /// Whether the VPCs are in this order or in the other one those of a connection. Two VPCs have only one connection.
    pub(super) fn connects(&self, vpc: &String, peer: &String) -> bool {
        let both = (self.requester_vpc_id(), self.accepter_vpc_id());
        both == (Some(vpc), Some(peer)) || both == (Some(peer), Some(vpc))
    }

    /// Whether both VPCs are of the same account and region, so that the same credentials can accept it.
    pub(super) fn is_local(&self) -> bool {
        let place = |info: &VpcInfo| info.owner_id.clone().zip(info.region.clone());
        place(&self.requester_vpc_info).is_some_and(|here| place(&self.accepter_vpc_info) == Some(here))
    }

    pub(super) fn is_to_accept(&self) -> bool {
        self.status.code == "pending-acceptance" && self.is_local()
    }

    /// Whether it was never in use, and another request would end in the same way.
    pub(super) fn is_refused(&self) -> bool {
        matches!(&*self.status.code, "failed" | "rejected")
    }

    /// One that ended can neither be used nor deleted.
    fn phase(&self) -> Phase {
        match &*self.status.code {
            "pending-acceptance" if !self.is_local() => {
                Phase::Pending("waiting until the owner of the peer VPC accepts it".to_owned())
            }
            "initiating-request" | "provisioning" => Phase::Pending(self.status.code.clone()),
            "deleting" => Phase::Deleting,
            "deleted" | "expired" | "failed" | "rejected" => Phase::Deleted,
            _ => Phase::Available,
        }
    }
}
