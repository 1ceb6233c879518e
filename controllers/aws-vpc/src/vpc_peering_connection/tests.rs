use kraken_aws::{
    AwsSpec as _,
    resource::{Phase, RemoteObject as _},
    testing::{self, with},
};
use serde_json::{Value, json};

use super::{
    VpcPeeringConnections,
    api::VPCPeeringConnectionSpec,
    observed::{PeeringOptions, Status, VpcInfo, VpcPeeringConnection},
};

fn written(changes: Value) -> Value {
    with(json!({"vpcID": {"value": "vpc-1"}, "peerVPCID": {"value": "vpc-2"}}), changes)
}

fn info(id: &str) -> VpcInfo {
    VpcInfo {
        vpc_id: Some(id.into()),
        owner_id: Some("123456789012".into()),
        region: Some("us-east-1".into()),
        peering_options: Some(PeeringOptions { allow_dns_resolution_from_remote_vpc: Some(false) }),
        ..VpcInfo::default()
    }
}

fn connection(state: &str) -> VpcPeeringConnection {
    VpcPeeringConnection {
        requester_vpc_info: info("vpc-1"),
        accepter_vpc_info: info("vpc-2"),
        status: Status { code: state.into(), message: None },
        ..VpcPeeringConnection::default()
    }
}

fn elsewhere(state: &str) -> VpcPeeringConnection {
    let mut connection = connection(state);
    connection.accepter_vpc_info.region = Some("eu-west-1".into());
    connection
}

fn compared(changes: Value, connection: &VpcPeeringConnection) -> Vec<String> {
    testing::compared::<VpcPeeringConnections>(written(changes), connection)
}

#[test]
fn unset_fields_are_not_managed() {
    assert_eq!(compared(json!({}), &connection("active")), [""; 0]);
}

#[test]
fn what_the_connection_connects_is_immutable() {
    let other = json!({
        "vpcID": {"value": "vpc-3"}, "peerVPCID": {"value": "vpc-4"}, "peerOwnerID": {"value": "210987654321"},
        "peerRegion": {"value": "eu-west-1"},
    });
    assert_eq!(
        compared(other, &connection("active")),
        [
            "vpcID: vpc-1 becomes vpc-3: fixed",
            "peerVPCID: vpc-2 becomes vpc-4: fixed",
            "peerOwnerID: 123456789012 becomes 210987654321: fixed",
            "peerRegion: us-east-1 becomes eu-west-1: fixed",
        ]
    );
}

#[test]
fn a_connection_of_one_account_and_region_is_accepted_before_its_options_are_set() {
    let options = || {
        json!({
            "requesterAllowDNSResolutionFromRemoteVPC": {"value": true},
            "accepterAllowDNSResolutionFromRemoteVPC": {"value": true},
        })
    };
    let new = connection("pending-acceptance");
    assert_eq!(new.phase(), Phase::Available);
    assert_eq!(compared(options(), &new), ["state: pending-acceptance becomes active: Accept"]);
    assert_eq!(
        compared(options(), &connection("active")),
        [
            "requesterAllowDNSResolutionFromRemoteVPC: false becomes true: Options",
            "accepterAllowDNSResolutionFromRemoteVPC: false becomes true: Options",
        ]
    );
}

#[test]
fn a_connection_of_another_account_or_region_waits_for_its_owner() {
    let new = elsewhere("pending-acceptance");
    assert!(matches!(new.phase(), Phase::Pending(what) if what.contains("the owner of the peer VPC")));
    assert_eq!(compared(json!({}), &new), [""; 0]);
    let mut unknown = connection("pending-acceptance");
    unknown.accepter_vpc_info.owner_id = None;
    assert!(!unknown.is_to_accept());
}

#[test]
fn a_connection_that_ended_is_gone() {
    for state in ["deleted", "expired", "failed", "rejected"] {
        assert_eq!(connection(state).phase(), Phase::Deleted, "{state}");
    }
    assert!(connection("rejected").is_refused() && connection("failed").is_refused());
    assert!(!connection("expired").is_refused() && !connection("deleted").is_refused());
    assert_eq!(connection("provisioning").phase(), Phase::Pending("provisioning".into()));
    assert_eq!(
        (connection("deleting").phase(), connection("active").phase()),
        (Phase::Deleting, Phase::Available)
    );
}

#[test]
fn two_vpcs_have_one_connection_in_either_direction() {
    let id = |text: &str| text.to_owned();
    let connects = |a, b| connection("active").connects(&id(a), &id(b));
    assert!(connects("vpc-1", "vpc-2") && connects("vpc-2", "vpc-1"));
    assert!(!connects("vpc-1", "vpc-3") && !connects("vpc-1", "vpc-1"));
}

#[test]
fn all_problems_are_reported_at_once() {
    assert_eq!(
        testing::problems::<VpcPeeringConnections>(json!({
            "vpcID": {"value": "main"},
            "peerVPCID": {"value": "data"},
            "peerOwnerID": {"value": "12345678901"},
            "peerRegion": {"value": "EU"},
            "accepterAllowDNSResolutionFromRemoteVPC": {"value": true},
        })),
        [
            "spec.vpcID: must look like vpc-0abc1234def567890",
            "spec.peerVPCID: must look like vpc-0abc1234def567890",
            "spec.peerOwnerID: must be the id of an AWS account, with 12 digits",
            "spec.peerRegion: must be the name of a region such as us-east-1",
            "spec.accepterAllowDNSResolutionFromRemoteVPC: is only supported without peerOwnerID and peerRegion: the owner of \
             the peer VPC sets it",
        ]
    );
}

#[test]
fn a_connection_is_imported_with_what_differs_from_its_requester() {
    let mut local = connection("active");
    local.accepter_vpc_info.peering_options =
        Some(PeeringOptions { allow_dns_resolution_from_remote_vpc: Some(true) });
    let imported = |connection: &VpcPeeringConnection| VPCPeeringConnectionSpec::imported(connection).group();
    let on = json!({"accepterAllowDNSResolutionFromRemoteVPC": {"value": true}});
    assert_eq!(imported(&local), Some(written(on)));
    assert_eq!(imported(&elsewhere("active")), Some(written(json!({"peerRegion": {"value": "eu-west-1"}}))));
}
