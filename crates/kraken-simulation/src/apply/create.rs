//! Out-of-band creation of remote objects.

use kraken_simulator::{Kind, Simulator};

use super::kube::{Kube, Result};
use super::{Installation, cloud_of, remote};
use crate::check::remote_kind;
use crate::schedule::ObjectName;

/// Creates a remote object of a kind, in existing VPCs and subnets, and tags it.
pub(super) fn create(
    engine: &dyn Installation,
    kind: &str,
    name: &str,
    tags_of: Option<&ObjectName>,
) -> Result {
    let unknown = || format!("there is no kind {kind}");
    let (of, cloud) = (remote_kind(kind).ok_or_else(unknown)?, cloud_of(engine, kind).ok_or_else(unknown)?);
    let mut tags = match tags_of {
        Some(object) => {
            let mut tags = remote::owner_tags(&Kube::new(engine.api()), object)?;
            tags.extend(cluster_tag(&cloud));
            tags
        }
        None => vec![],
    };
    tags.push(("Name".to_owned(), name.to_owned()));
    made(&cloud, of, name, &tags)
}

/// The tags as parameters of the call that creates: a call of its own may come too early for what was just created.
fn tag_parameters(kind: Kind, tags: &[(String, String)]) -> Vec<(String, String)> {
    let resource_type = match kind {
        Kind::Vpc => "vpc",
        Kind::Subnet => "subnet",
        Kind::InternetGateway => "internet-gateway",
        Kind::RouteTable => "route-table",
        Kind::SecurityGroup => "security-group",
        Kind::Address => "elastic-ip",
        Kind::NatGateway => "natgateway",
        Kind::KeyPair => "key-pair",
        Kind::Volume => "volume",
        Kind::Instance => "instance",
        Kind::LoadBalancer | Kind::TargetGroup | Kind::Listener | Kind::ListenerRule => "",
    };
    let prefix = if resource_type.is_empty() { "Tags.member" } else { "TagSpecification.1.Tag" };
    let mut parameters = vec![];
    if !resource_type.is_empty() {
        parameters.push(("TagSpecification.1.ResourceType".to_owned(), resource_type.to_owned()));
    }
    for (number, (key, value)) in (1..).zip(tags) {
        parameters.push((format!("{prefix}.{number}.Key"), key.clone()));
        parameters.push((format!("{prefix}.{number}.Value"), value.clone()));
    }
    parameters
}

fn made(cloud: &Simulator, kind: Kind, name: &str, tags: &[(String, String)]) -> Result {
    let tagged = tag_parameters(kind, tags);
    let with_tags = |parameters: &[(&str, &str)]| -> Vec<(String, String)> {
        let own = parameters.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        own.chain(tagged.iter().cloned()).collect()
    };
    let out_of_band = |action: &str, parameters: &[(&str, &str)]| {
        let all = with_tags(parameters);
        let all: Vec<(&str, &str)> = all.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        cloud.out_of_band(action, &all)
    };
    let out_of_band_elb = |action: &str, parameters: &[(&str, &str)]| {
        let all = with_tags(parameters);
        let all: Vec<(&str, &str)> = all.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        cloud.out_of_band_elb(action, &all)
    };
    let first = |kind: Kind| {
        let object = cloud.objects(kind).into_iter().find(|object| object.alive).map(|object| object.id);
        object.ok_or_else(|| format!("there is no {kind:?} for it"))
    };
    let ids = match kind {
        Kind::Instance => out_of_band(
            "RunInstances",
            &[
                ("ImageId", "ami-12c6146b"),
                ("InstanceType", "t3.micro"),
                ("MinCount", "1"),
                ("MaxCount", "1"),
            ],
        ),
        Kind::Vpc => out_of_band("CreateVpc", &[("CidrBlock", "10.50.0.0/16")]),
        Kind::Subnet => {
            let vpc = first(Kind::Vpc)?;
            let blocks = ["10.0.200.0/24", "10.1.200.0/24", "10.2.200.0/24", "10.50.1.0/24"];
            let attempts =
                blocks.map(|block| out_of_band("CreateSubnet", &[("VpcId", &vpc), ("CidrBlock", block)]));
            attempts.into_iter().find(anyhow::Result::is_ok).unwrap_or_else(|| Ok(vec![]))
        }
        Kind::InternetGateway => out_of_band("CreateInternetGateway", &[]),
        Kind::RouteTable => out_of_band("CreateRouteTable", &[("VpcId", &first(Kind::Vpc)?)]),
        Kind::SecurityGroup => out_of_band(
            "CreateSecurityGroup",
            &[("VpcId", &first(Kind::Vpc)?), ("GroupName", name), ("GroupDescription", "by hand")],
        ),
        Kind::Address => out_of_band("AllocateAddress", &[("Domain", "vpc")]),
        Kind::NatGateway => out_of_band(
            "CreateNatGateway",
            &[("SubnetId", &first(Kind::Subnet)?), ("ConnectivityType", "private")],
        ),
        Kind::KeyPair => out_of_band("CreateKeyPair", &[("KeyName", name)]),
        Kind::Volume => out_of_band("CreateVolume", &[("AvailabilityZone", "us-east-1a"), ("Size", "8")]),
        Kind::TargetGroup => out_of_band_elb(
            "CreateTargetGroup",
            &[("Name", name), ("Protocol", "HTTP"), ("Port", "8080"), ("VpcId", &first(Kind::Vpc)?)],
        ),
        Kind::Listener => out_of_band_elb(
            "CreateListener",
            &[
                ("LoadBalancerArn", &first(Kind::LoadBalancer)?),
                ("Protocol", "HTTP"),
                ("Port", "80"),
                ("DefaultActions.member.1.Type", "fixed-response"),
                ("DefaultActions.member.1.FixedResponseConfig.StatusCode", "200"),
            ],
        ),
        Kind::ListenerRule => out_of_band_elb(
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
        // A load balancer needs two subnets in two zones, which rarely exist at this point.
        Kind::LoadBalancer => return Err("it is not created out of band".to_owned()),
    };
    let ids = ids.map_err(|error| error.to_string())?;
    ids.into_iter().next().map(drop).ok_or_else(|| "it was not created".to_owned())
}

/// The tag of the cluster, as some remote object has it.
fn cluster_tag(cloud: &Simulator) -> Option<(String, String)> {
    const CLUSTER: &str = "kraken-iac.eoinfennessy.com/cluster";
    let mut objects = Kind::ALL.into_iter().flat_map(|kind| cloud.objects(kind));
    objects.find_map(|object| object.tags.get(CLUSTER).map(|value| (CLUSTER.to_owned(), value.clone())))
}
