//! The fields of a VPC peering connection: validated, compared and imported. Pure.

use kraken_aws::{import::literal, prelude::*};
use serde_json::Value;

use super::{
    api::{Change, Desired, PartialDesired, VPCPeeringConnectionSpec},
    observed::VpcPeeringConnection,
};

impl VPCPeeringConnectionSpec {
    pub(super) fn between_fields(&self, _: &PartialDesired, validator: &mut SpecValidator<'_, '_>) {
        let is_elsewhere = self.peer_owner_id.is_some() || self.peer_region.is_some();
        if self.accepter_allow_dns_resolution.is_some() && is_elsewhere {
            let why =
                "is only supported without peerOwnerID and peerRegion: the owner of the peer VPC sets it";
            validator.problem("accepterAllowDNSResolutionFromRemoteVPC", why);
        }
    }

    /// Also that it is not accepted yet, which is no field.
    pub(super) fn compare_peer(
        desired: &Desired,
        connection: &VpcPeeringConnection,
    ) -> Vec<Difference<Change>> {
        let peer = fixed("peerVPCID", Some(&desired.peer_vpc_id), connection.accepter_vpc_id());
        let accept = || difference("state", "active", connection.status.code.as_str(), Change::Accept);
        peer.into_iter().chain(connection.is_to_accept().then(accept)).collect()
    }

    /// AWS accepts options of an active connection only.
    pub(super) fn order(_: &Desired, differences: &mut Vec<Difference<Change>>) {
        let is_accept =
            |difference: &Difference<Change>| matches!(difference.remedy, Remedy::Change(Change::Accept));
        if differences.iter().any(is_accept) {
            differences.retain(|difference| !matches!(difference.remedy, Remedy::Change(Change::Options)));
        }
    }

    pub(super) fn import_peer(connection: &VpcPeeringConnection) -> Option<Value> {
        connection.accepter_vpc_id().map(literal)
    }

    pub(super) fn import_owner(connection: &VpcPeeringConnection) -> Option<Value> {
        let own = connection.requester_vpc_info.owner_id.as_ref();
        connection.accepter_owner_id().filter(|owner| Some(*owner) != own).map(literal)
    }

    pub(super) fn import_region(connection: &VpcPeeringConnection) -> Option<Value> {
        let own = connection.requester_vpc_info.region.as_ref();
        connection.accepter_region().filter(|region| Some(*region) != own).map(literal)
    }

    pub(super) fn import_accepter_dns(connection: &VpcPeeringConnection) -> Option<Value> {
        connection.accepter_dns().filter(|on| **on && connection.is_local()).map(literal)
    }
}
