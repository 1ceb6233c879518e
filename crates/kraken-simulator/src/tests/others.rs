//! Tests of out-of-band changes of all kinds, and their journal entries.

use std::collections::BTreeSet;

use crate::model::Vpc;
use crate::{ChangeType, Kind, Simulator, SimulatorOptions, out_of_band_changes};

fn simulator() -> Simulator {
    Simulator::in_process(SimulatorOptions { strict_network: true, ..SimulatorOptions::default() })
}

#[tokio::test(start_paused = true)]
async fn every_kind_can_be_created_tagged_stripped_and_deleted() {
    for kind in Kind::ALL {
        let simulator = simulator();
        let id = simulator.create_out_of_band(kind, "mine", &[("Name", "mine"), ("a/b", "c")]).unwrap();
        assert_eq!(simulator.live_objects_with_tag("Name", "mine"), [(kind, id.clone())], "{kind:?}");
        simulator.remove_tags_out_of_band(&id, |key| key.starts_with("a/")).unwrap();
        assert!(simulator.live_objects_with_tag("a/b", "c").is_empty(), "{kind:?}");
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        if kind == Kind::InternetGateway {
            simulator.detach_gateway_out_of_band(&id).unwrap();
        }
        if let Err(error) = simulator.delete_out_of_band(&id) {
            panic!("{kind:?}: {error}");
        }
        assert!(simulator.live_objects_with_tag("Name", "mine").is_empty(), "{kind:?}");
        let last = simulator.journal().pop().unwrap();
        assert!(
            last.changes.iter().any(|change| change.id == id && change.what == ChangeType::Deleted),
            "{kind:?}"
        );
    }
}

/// A change without an effect on any object has a wrong definition.
#[tokio::test(start_paused = true)]
async fn every_change_of_every_kind_changes_it() {
    let mut idle = vec![];
    for kind in Kind::ALL {
        for (number, change) in out_of_band_changes(kind).iter().enumerate() {
            let simulator = simulator();
            simulator.configure(|options| {
                (options.pending, options.stopping) = Default::default();
                (options.volume_creating, options.volume_attaching) = Default::default();
            });
            let id = simulator.create_out_of_band(kind, "mine", &[]).unwrap();
            prepare(&simulator, kind, &id, change.name);
            tokio::time::sleep(std::time::Duration::from_secs(1)).await;
            // It requires subnets with IPv6 ranges, which this test does not create.
            if change.name == "change the address type" {
                continue;
            }
            match simulator.change_out_of_band(&id, number) {
                Ok(_) => {
                    let journal = simulator.journal();
                    let changed = journal.iter().rev().take(3).flat_map(|call| &call.changes);
                    let kinds: BTreeSet<&str> = changed.map(|change| change.id.as_str()).collect();
                    if kinds.is_empty() {
                        idle.push(format!("{kind:?}: {} changes nothing", change.name));
                    }
                }
                Err(error) => idle.push(format!("{kind:?}: {error}")),
            }
        }
    }
    assert_eq!(idle, [""; 0]);
}

fn subnet_in(simulator: &Simulator, vpc: &str) -> String {
    let block =
        simulator.shared.lock().cloud.existing::<Vpc>(vpc).unwrap().ranges().next().unwrap().to_string();
    let block = block.replace("/16", "/24");
    let place = [("VpcId", vpc), ("CidrBlock", &block), ("AvailabilityZone", "us-east-1a")];
    simulator.out_of_band("CreateSubnet", &place).unwrap().remove(0)
}

/// Prepares the state for a change.
fn prepare(simulator: &Simulator, kind: Kind, id: &str, change: &str) {
    let first =
        |kind| simulator.live_objects(None).unwrap().into_iter().find(|one| one.kind == kind).unwrap().id;
    let by = |name: &str| {
        let changes = out_of_band_changes(kind);
        let number = changes.iter().position(|change| change.name == name).unwrap();
        simulator.change_out_of_band(id, number).unwrap();
    };
    let out_of_band =
        |action: &str, parameters: &[(&str, &str)]| simulator.out_of_band(action, parameters).unwrap();
    let instance = || simulator.create_out_of_band(Kind::Instance, "other", &[]).unwrap();
    if change.contains("stopped") || change == "start" {
        by("stop");
    }
    match (kind, change) {
        (Kind::Instance, "remove termination protection") => by("set termination protection"),
        (Kind::Instance, "disable monitoring") => by("enable monitoring"),
        (Kind::Instance, "make metadata tokens optional") => by("require metadata tokens"),
        (Kind::Instance, "set the default security group") => {
            let vpc = first(Kind::Vpc);
            let named = [("VpcId", &*vpc), ("GroupName", "g"), ("GroupDescription", "g")];
            let group = out_of_band("CreateSecurityGroup", &named).remove(0);
            out_of_band("ModifyInstanceAttribute", &[("InstanceId", id), ("GroupId.1", &group)]);
        }
        (Kind::Instance, "replace the profile" | "remove the profile") => {
            let profile = ("IamInstanceProfile.Name", "mine");
            out_of_band("AssociateIamInstanceProfile", &[("InstanceId", id), profile]);
        }
        (Kind::Volume, "detach" | "attach elsewhere") => {
            instance();
            if change == "detach" {
                by("attach elsewhere");
            }
        }
        (Kind::Vpc, "enable DNS support") => by("disable DNS support"),
        (Kind::Vpc, "disable DNS host names") => by("enable DNS host names"),
        (Kind::Vpc, "disassociate a CIDR block") => by("associate a CIDR block"),
        (Kind::Subnet, "do not map public addresses") => by("map public addresses"),
        (Kind::Subnet, _) => {
            let table = out_of_band("CreateRouteTable", &[("VpcId", &first(Kind::Vpc))]).remove(0);
            out_of_band("AssociateRouteTable", &[("RouteTableId", &table), ("SubnetId", id)]);
        }
        (Kind::InternetGateway, "attach elsewhere") => {
            by("detach");
        }
        (Kind::RouteTable, _) => {
            let vpc = first(Kind::Vpc);
            let gateway = out_of_band("CreateInternetGateway", &[]).remove(0);
            out_of_band("AttachInternetGateway", &[("InternetGatewayId", &gateway), ("VpcId", &vpc)]);
            subnet_in(simulator, &vpc);
            match change {
                "delete a route" => by("create a route"),
                "replace a route" => {
                    let route = [("RouteTableId", id), ("DestinationCidrBlock", "0.0.0.0/0")];
                    let other = ("NetworkInterfaceId", "eni-0123456789abcdef0");
                    out_of_band("CreateRoute", &[&route[..], &[other]].concat());
                }
                "disassociate a subnet" => by("associate a subnet"),
                _ => {}
            }
        }
        (Kind::SecurityGroup, "remove an ingress rule" | "change the description of a rule") => {
            by("add an ingress rule");
        }
        (Kind::Address, _) => {
            let instance = instance();
            let vpc = first(Kind::Vpc);
            let gateway = out_of_band("CreateInternetGateway", &[]).remove(0);
            out_of_band("AttachInternetGateway", &[("InternetGatewayId", &gateway), ("VpcId", &vpc)]);
            if change == "disassociate" {
                out_of_band("AssociateAddress", &[("AllocationId", id), ("InstanceId", &instance)]);
            }
        }
        (Kind::LoadBalancer, "remove deletion protection") => by("set deletion protection"),
        (Kind::LoadBalancer, "set the default security group") => {
            let vpc = first(Kind::Vpc);
            let named = [("VpcId", &*vpc), ("GroupName", "g"), ("GroupDescription", "g")];
            let group = out_of_band("CreateSecurityGroup", &named).remove(0);
            let parameters = [("LoadBalancerArn", id), ("SecurityGroups.member.1", &*group)];
            simulator.out_of_band_elb("SetSecurityGroups", &parameters).unwrap();
        }
        (Kind::LoadBalancer, "change cross-zone load balancing") => {
            let attribute = [
                ("LoadBalancerArn", id),
                ("Attributes.member.1.Key", "load_balancing.cross_zone.enabled"),
                ("Attributes.member.1.Value", "false"),
            ];
            simulator.out_of_band_elb("ModifyLoadBalancerAttributes", &attribute).unwrap();
        }
        (Kind::TargetGroup, "register an instance" | "deregister a target") => {
            let vpc = first(Kind::Vpc);
            let subnet = subnet_in(simulator, &vpc);
            let launch =
                [("ImageId", "ami-12c6146b"), ("MinCount", "1"), ("MaxCount", "1"), ("SubnetId", &*subnet)];
            out_of_band("RunInstances", &launch);
            if change == "deregister a target" {
                by("register an instance");
            }
        }
        _ => {}
    }
}

#[tokio::test(start_paused = true)]
async fn the_journal_records_the_changes_of_each_call() {
    let simulator = simulator();
    let instance = simulator.create_out_of_band(Kind::Instance, "mine", &[("Name", "a")]).unwrap();
    let before = simulator.revision();
    assert_eq!(simulator.live_objects(Some(before)), None);
    simulator.out_of_band("DescribeInstances", &[]).unwrap();
    simulator.out_of_band("StartInstances", &[("InstanceId.1", &instance)]).unwrap();
    assert_eq!(simulator.revision(), before, "neither changed anything");
    simulator.terminate_out_of_band(&instance).unwrap();
    let journal = simulator.journal();
    let what = |action: &str| {
        let call = journal.iter().rev().find(|call| call.action == action).unwrap();
        call.changes.iter().map(|change| (change.kind, change.what)).collect::<Vec<_>>()
    };
    let launched = what("RunInstances");
    assert_eq!(launched[0], (Kind::Instance, ChangeType::Created));
    assert!(
        launched.contains(&(Kind::Volume, ChangeType::Created))
            && launched.contains(&(Kind::Subnet, ChangeType::Used))
    );
    assert_eq!(what("TerminateInstances"), [(Kind::Instance, ChangeType::Deleted)]);
    assert_eq!(what("StartInstances"), []);
    let ended = journal.last().unwrap();
    assert_eq!(ended.changes[0].tags_before["Name"], "a");
    assert!(simulator.revision() > before);
}
