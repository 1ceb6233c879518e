//! The cloud of one run: a simulator with slightly delayed reads, like AWS.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use kraken_simulator::{Kind, ObjectRecord, Service, Simulator, SimulatorOptions, http, xml};

use super::desired::Query;

/// Long enough that an immediate observation after a change does not return it.
pub(super) const LAG: Duration = Duration::from_millis(200);
const PENDING: Duration = Duration::from_millis(300);
/// An image that exists in moto.
pub(super) const IMAGE: &str = "ami-12c6146b";
/// The CIDR blocks of the adoptable VPC and of a foreign VPC.
pub(super) const BLOCK: &str = "10.30.0.0/16";
/// The tag of adoptable objects.
pub(super) const ADOPTABLE: &str = "Adoptable";
const TEAM: (&str, &str) = ("Team", "web");

/// The cloud of one run. It contains foreign objects, which must be unchanged at the end.
#[derive(Debug)]
pub(super) struct Cloud {
    pub(super) simulator: Simulator,
    /// The objects that existed before the controller, with their tags.
    foreign: BTreeMap<String, (Kind, BTreeMap<String, String>)>,
    /// The foreign objects that no write may have as a parameter.
    decoys: BTreeSet<String>,
    /// Ids that manifests refer to.
    pub(super) site: BTreeMap<String, String>,
}

impl Cloud {
    /// With a foreign object of each of these kinds.
    pub(super) fn start(kinds: &[Kind], lag: Duration, per_launch: Option<usize>) -> Result<Self> {
        let simulator = Simulator::start(SimulatorOptions {
            pending: PENDING,
            shutting_down: PENDING,
            describe_lag: lag,
            tag_lag: LAG,
            per_launch,
            ..SimulatorOptions::default()
        })?;
        let mut cloud =
            Self { simulator, foreign: BTreeMap::new(), decoys: BTreeSet::new(), site: BTreeMap::new() };
        if kinds.contains(&Kind::Instance) {
            let id = cloud.simulator.launch_out_of_band(IMAGE, "t2.nano", &[TEAM])?;
            cloud.decoys.insert(id);
        }
        if kinds.contains(&Kind::Vpc) {
            let id = cloud.vpc(&[TEAM])?;
            cloud.decoys.insert(id);
        }
        if kinds.contains(&Kind::LoadBalancer) {
            cloud.balancing()?;
        }
        for kind in Kind::ALL {
            let alive = cloud.simulator.objects(kind).into_iter().filter(|object| object.alive);
            cloud.foreign.extend(alive.map(|object| (object.id, (kind, object.tags))));
        }
        Ok(cloud)
    }

    /// Creates a VPC out of band.
    fn vpc(&self, tags: &[(&str, &str)]) -> Result<String> {
        let id = self.made("CreateVpc", &[("CidrBlock", BLOCK)])?;
        for (key, value) in tags {
            self.simulator.tag_out_of_band(&id, key, Some(value))?;
        }
        Ok(id)
    }

    fn made(&self, action: &str, fields: &[(&str, &str)]) -> Result<String> {
        self.simulator.out_of_band(action, fields)?.into_iter().next().context("nothing was created")
    }

    /// A VPC with two subnets, and a foreign load balancer in them.
    fn balancing(&mut self) -> Result<()> {
        let vpc = self.vpc(&[])?;
        let subnet = |block: &str, zone: &str| {
            let fields = [("VpcId", vpc.as_str()), ("CidrBlock", block), ("AvailabilityZone", zone)];
            self.made("CreateSubnet", &fields)
        };
        let [a, b] = [subnet("10.30.1.0/24", "us-east-1a")?, subnet("10.30.2.0/24", "us-east-1b")?];
        let elb = |action: &str, fields: &[(&str, &str)]| {
            self.simulator.out_of_band_elb(action, fields)?.into_iter().next().context("nothing was created")
        };
        let internal = [("Name", "theirs"), ("Scheme", "internal")];
        let subnets = [&internal[..], &[("Subnets.member.1", &a), ("Subnets.member.2", &b)]].concat();
        let balancer = elb("CreateLoadBalancer", &subnets)?;
        let fields = [("Name", "theirs"), ("Protocol", "HTTP"), ("Port", "80"), ("VpcId", &vpc)];
        let group = elb("CreateTargetGroup", &fields)?;
        let action = [
            ("Protocol", "HTTP"),
            ("Port", "80"),
            ("LoadBalancerArn", &balancer),
            ("DefaultActions.member.1.Type", "forward"),
            ("DefaultActions.member.1.TargetGroupArn", &group),
        ];
        let listener = elb("CreateListener", &action)?;
        self.decoys.extend([balancer, group, listener]);
        self.site.extend([("vpc", vpc), ("subnet-a", a), ("subnet-b", b)].map(|(k, v)| (k.to_owned(), v)));
        Ok(())
    }

    /// Creates a foreign object that matches a scenario's desired state.
    pub(super) fn put_adoptable(&self, kinds: &[Kind]) -> Result<()> {
        let tags = [(ADOPTABLE, "yes"), TEAM];
        if kinds.contains(&Kind::Vpc) {
            return self.vpc(&tags).map(drop);
        }
        let id = self.simulator.launch_out_of_band(IMAGE, "t2.nano", &tags)?;
        let imds = [("InstanceId", id.as_str()), ("HttpTokens", "required")];
        self.simulator.out_of_band("ModifyInstanceMetadataOptions", &imds).map(drop)
    }

    pub(super) fn endpoint(&self) -> &str {
        self.simulator.endpoint()
    }

    /// All current and former objects of a kind, except foreign ones, with their actual state.
    pub(super) fn objects(&self, kind: Kind) -> Vec<ObjectRecord> {
        let all = self.simulator.objects(kind).into_iter();
        all.filter(|object| !self.foreign.contains_key(&object.id)).collect()
    }

    /// The decoy in the parameters of a call, if there is one.
    pub(super) fn decoy_of(&self, values: &[String]) -> Option<String> {
        values.iter().find(|value| self.decoys.contains(*value)).cloned()
    }

    /// The changed foreign objects.
    pub(super) fn changed_foreign_object(&self) -> Option<String> {
        self.foreign.iter().find_map(|(id, (kind, tags))| {
            let now = self.simulator.objects(*kind).into_iter().find(|object| object.id == *id);
            match now.filter(|object| object.alive) {
                None => Some(format!("the foreign object {id} was deleted")),
                Some(now) if now.tags != *tags => {
                    Some(format!("the foreign object {id} has tags {:?}", now.tags))
                }
                Some(_) => None,
            }
        })
    }

    /// The differences between a query of this object and its expectation.
    pub(super) async fn misdescribed(&self, query: &Query, id: &str) -> Result<Option<String>> {
        let version = if query.service == Service::Ec2 { "2016-11-15" } else { "2015-12-01" };
        let mut form = vec![("Action", query.action), ("Version", version), (query.id, id)];
        form.extend(query.more);
        let answer = http::post_form(self.endpoint(), &[], &form).await?;
        if answer.status != 200 {
            bail!("{} failed with {}: {}", query.action, answer.status, answer.body);
        }
        let root = xml::parse(&answer.body)?;
        Ok(query.texts.iter().find_map(|(name, expected)| {
            let mut found = BTreeSet::new();
            texts(&root, name, &mut found);
            let same = found.iter().map(String::as_str).eq(expected.iter().copied());
            (!same).then(|| format!("{} returned {name} {found:?}, expected {expected:?}", query.action))
        }))
    }
}

/// The texts of all elements with that name, at any depth.
fn texts(element: &xml::Element, name: &str, found: &mut BTreeSet<String>) {
    for child in &element.children {
        if child.name == name && child.children.is_empty() {
            found.insert(child.text.trim().to_owned());
        }
        texts(child, name, found);
    }
}
