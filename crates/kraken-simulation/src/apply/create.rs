//! Remote objects that people and other tools create.

use kraken_testing::Simulator;
use kraken_testing::simulator::Kind;

use super::kube::{Kube, Result};
use super::{Installation, cloud_of, remote};
use crate::check::remote_kind;
use crate::schedule::ObjectName;

/// Creates a remote object of a kind, in what is there of its VPCs and subnets, and tags it.
pub(super) fn create(
    world: &dyn Installation,
    kind: &str,
    name: &str,
    tags_of: Option<&ObjectName>,
) -> Result {
    let unknown = || format!("there is no kind {kind}");
    let (of, cloud) = (remote_kind(kind).ok_or_else(unknown)?, cloud_of(world, kind).ok_or_else(unknown)?);
    let mut tags = match tags_of {
        Some(object) => {
            let mut tags = remote::owner_tags(&Kube::new(world.api()), object)?;
            tags.extend(cluster_tag(&cloud));
            tags
        }
        None => vec![],
    };
    tags.push(("Name".to_owned(), name.to_owned()));
    let id = made(&cloud, of, name)?;
    for (key, value) in tags {
        cloud.tag_outside(&id, &key, Some(&value)).map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn made(cloud: &Simulator, kind: Kind, name: &str) -> std::result::Result<String, String> {
    let first = |kind: Kind| {
        let thing = cloud.things(kind).into_iter().find(|thing| thing.alive).map(|thing| thing.id);
        thing.ok_or_else(|| format!("there is no {kind:?} for it"))
    };
    let ids = match kind {
        Kind::Instance => {
            return cloud.launch_outside("ami-12c6146b", "t3.micro", &[]).map_err(|error| error.to_string());
        }
        Kind::Vpc => cloud.outside("CreateVpc", &[("CidrBlock", "10.50.0.0/16")]),
        Kind::Subnet => {
            let vpc = first(Kind::Vpc)?;
            let blocks = ["10.0.200.0/24", "10.1.200.0/24", "10.2.200.0/24", "10.50.1.0/24"];
            let attempts =
                blocks.map(|block| cloud.outside("CreateSubnet", &[("VpcId", &vpc), ("CidrBlock", block)]));
            attempts.into_iter().find(anyhow::Result::is_ok).unwrap_or_else(|| Ok(vec![]))
        }
        Kind::InternetGateway => cloud.outside("CreateInternetGateway", &[]),
        Kind::RouteTable => cloud.outside("CreateRouteTable", &[("VpcId", &first(Kind::Vpc)?)]),
        Kind::SecurityGroup => cloud.outside(
            "CreateSecurityGroup",
            &[("VpcId", &first(Kind::Vpc)?), ("GroupName", name), ("GroupDescription", "by hand")],
        ),
        Kind::Address => cloud.outside("AllocateAddress", &[("Domain", "vpc")]),
        Kind::NatGateway => cloud.outside(
            "CreateNatGateway",
            &[("SubnetId", &first(Kind::Subnet)?), ("ConnectivityType", "private")],
        ),
        Kind::KeyPair => cloud.outside("CreateKeyPair", &[("KeyName", name)]),
        Kind::Volume => cloud.outside("CreateVolume", &[("AvailabilityZone", "us-east-1a"), ("Size", "8")]),
        Kind::TargetGroup => cloud.outside_elb(
            "CreateTargetGroup",
            &[("Name", name), ("Protocol", "HTTP"), ("Port", "8080"), ("VpcId", &first(Kind::Vpc)?)],
        ),
        Kind::Listener => cloud.outside_elb(
            "CreateListener",
            &[
                ("LoadBalancerArn", &first(Kind::LoadBalancer)?),
                ("Protocol", "HTTP"),
                ("Port", "80"),
                ("DefaultActions.member.1.Type", "fixed-response"),
                ("DefaultActions.member.1.FixedResponseConfig.StatusCode", "200"),
            ],
        ),
        Kind::ListenerRule => cloud.outside_elb(
            "CreateRule",
            &[
                ("ListenerArn", &first(Kind::Listener)?),
                ("Priority", "10"),
                ("Conditions.member.1.Field", "path-pattern"),
                ("Conditions.member.1.PathPatternConfig.Values.member.1", "/x"),
                ("Actions.member.1.Type", "fixed-response"),
                ("Actions.member.1.FixedResponseConfig.StatusCode", "200"),
            ],
        ),
        // Two subnets in two zones are seldom there: nobody makes one by hand.
        Kind::LoadBalancer => return Err("nobody creates one by hand".to_owned()),
    };
    let ids = ids.map_err(|error| error.to_string())?;
    ids.into_iter().next().ok_or_else(|| "it was not created".to_owned())
}

/// The tag of the cluster, as some remote object has it.
fn cluster_tag(cloud: &Simulator) -> Option<(String, String)> {
    const CLUSTER: &str = "kraken-iac.eoinfennessy.com/cluster";
    let mut things = Kind::ALL.into_iter().flat_map(|kind| cloud.things(kind));
    things.find_map(|thing| thing.tags.get(CLUSTER).map(|value| (CLUSTER.to_owned(), value.clone())))
}
