//! An account without a server, with a clock that the test advances.

use std::time::Duration;

use tokio::time::Instant;

use crate::SimulatorOptions;
use crate::answer::Answer;
use crate::cloud::Cloud;
use crate::dispatch::carry_out;
use crate::form::Form;
use crate::refusal::Refusal;
use crate::service::Service;
use crate::xml::{self, Element};

pub(super) struct Account {
    pub(super) cloud: Cloud,
    now: Instant,
    service: Service,
}

impl Account {
    pub(super) fn new() -> Self {
        Self::with(|_| {})
    }

    pub(super) fn with(change: impl FnOnce(&mut SimulatorOptions)) -> Self {
        let mut options = SimulatorOptions::default();
        change(&mut options);
        Self { cloud: Cloud::new(options), now: Instant::now(), service: Service::Ec2 }
    }

    /// Advances the time.
    pub(super) fn wait(&mut self, time: Duration) {
        self.now += time;
    }

    /// Advances the time until all transitions are complete, but not until deleted objects disappear.
    pub(super) fn settle(&mut self) {
        self.wait(Duration::from_secs(1));
    }

    fn call(&mut self, action: &str, fields: &str) -> Result<Answer, Refusal> {
        let pairs = fields.split_whitespace().map(|field| field.split_once('=').unwrap());
        let own = [("Action", action), ("Version", self.service.version())];
        let form = Form::of(&own.into_iter().chain(pairs).collect::<Vec<_>>());
        self.cloud.tick(self.now);
        self.cloud.call += 1;
        carry_out(&mut self.cloud, action, &form)
    }

    /// A call that must succeed; returns the content of its response.
    pub(super) fn ok(&mut self, action: &str, fields: &str) -> Element {
        let service = self.service;
        match self.call(action, fields) {
            Ok(answer) => {
                let root = xml::parse(&answer.body.response(service, action, "r")).unwrap();
                root.child(&format!("{action}Result")).cloned().unwrap_or(root)
            }
            Err(refusal) => panic!("{action} {fields}: {refusal:?}"),
        }
    }

    /// The text at a path in the response of a call that must succeed.
    pub(super) fn text(&mut self, action: &str, fields: &str, path: &[&str]) -> String {
        let text = self.ok(action, fields).text_at(path);
        assert!(!text.is_empty(), "{action} {fields} has no {path:?}");
        text
    }

    /// The texts of an element in each item of a list in the response.
    pub(super) fn texts(&mut self, action: &str, fields: &str, list: &str, path: &[&str]) -> Vec<String> {
        self.ok(action, fields).items(list).map(|item| item.text_at(path)).collect()
    }

    /// The only item of a list in the response.
    pub(super) fn only(&mut self, action: &str, fields: &str, list: &str) -> Element {
        let answer = self.ok(action, fields);
        let items: Vec<Element> = answer.items(list).cloned().collect();
        assert_eq!(items.len(), 1, "{action} {fields}: {items:#?}");
        items[0].clone()
    }

    /// The code and message of a call that must be rejected.
    pub(super) fn no(&mut self, action: &str, fields: &str) -> (String, String) {
        match self.call(action, fields) {
            Ok(answer) => panic!("{action} {fields} works: {answer:?}"),
            Err(refusal) => (refusal.code, refusal.message),
        }
    }

    /// The code only.
    pub(super) fn code(&mut self, action: &str, fields: &str) -> String {
        self.no(action, fields).0
    }

    pub(super) fn vpc(&mut self) -> String {
        self.text("CreateVpc", "CidrBlock=10.0.0.0/16", &["vpc", "vpcId"])
    }

    /// A subnet `10.0.<n>.0/24` in the zone with this letter.
    pub(super) fn subnet(&mut self, vpc: &str, n: u8, zone: char) -> String {
        let fields = format!("VpcId={vpc} CidrBlock=10.0.{n}.0/24 AvailabilityZone=us-east-1{zone}");
        self.text("CreateSubnet", &fields, &["subnet", "subnetId"])
    }

    pub(super) fn group(&mut self, vpc: &str, name: &str) -> String {
        let fields = format!("VpcId={vpc} GroupName={name} GroupDescription={name}");
        self.text("CreateSecurityGroup", &fields, &["groupId"])
    }

    pub(super) fn table(&mut self, vpc: &str) -> String {
        self.text("CreateRouteTable", &format!("VpcId={vpc}"), &["routeTable", "routeTableId"])
    }

    pub(super) fn gateway(&mut self) -> String {
        self.text("CreateInternetGateway", "", &["internetGateway", "internetGatewayId"])
    }

    /// A gateway that is attached to this VPC.
    pub(super) fn gateway_of(&mut self, vpc: &str) -> String {
        let id = self.gateway();
        self.ok("AttachInternetGateway", &format!("InternetGatewayId={id} VpcId={vpc}"));
        id
    }

    /// An instance that is launched with these additional parameters.
    pub(super) fn instance(&mut self, more: &str) -> String {
        let fields = format!("ImageId=ami-12c6146b InstanceType=t3.micro MinCount=1 MaxCount=1 {more}");
        self.only("RunInstances", &fields, "instancesSet").text_at(&["instanceId"])
    }

    pub(super) fn described_instance(&mut self, id: &str) -> Element {
        let page = self.ok("DescribeInstances", &format!("InstanceId.1={id}"));
        let reservation = page.items("reservationSet").next().unwrap();
        reservation.items("instancesSet").next().unwrap().clone()
    }

    pub(super) fn terminate(&mut self, id: &str) {
        self.ok("TerminateInstances", &format!("InstanceId.1={id}"));
        self.settle();
    }
}

/// The requirements of most tests of load balancers.
pub(super) struct Site {
    pub(super) vpc: String,
    /// In two zones.
    pub(super) subnets: [String; 2],
    pub(super) group: String,
}

impl Account {
    /// Directs further calls to the load balancing API.
    pub(super) fn elb(&mut self) -> &mut Self {
        self.service = Service::Elb;
        self
    }

    /// Directs further calls to EC2.
    pub(super) fn ec2(&mut self) -> &mut Self {
        self.service = Service::Ec2;
        self
    }

    /// A VPC with an internet gateway, two subnets and a group; directs further calls to the load balancing API.
    pub(super) fn site(&mut self) -> Site {
        self.ec2();
        let vpc = self.vpc();
        self.gateway_of(&vpc);
        let subnets = [self.subnet(&vpc, 1, 'a'), self.subnet(&vpc, 2, 'b')];
        let group = self.group(&vpc, "web");
        self.elb();
        Site { vpc, subnets, group }
    }

    pub(super) fn balancer(&mut self, site: &Site, name: &str) -> String {
        self.member("CreateLoadBalancer", &site.balancer(name), "LoadBalancers").text_at(&["LoadBalancerArn"])
    }

    pub(super) fn target_group(&mut self, site: &Site, name: &str) -> String {
        let fields = format!("Name={name} Protocol=HTTP Port=80 VpcId={}", site.vpc);
        self.member("CreateTargetGroup", &fields, "TargetGroups").text_at(&["TargetGroupArn"])
    }

    /// A listener that forwards.
    pub(super) fn listener(&mut self, balancer: &str, port: u16, group: &str) -> String {
        let fields = format!("{} {}", port_of(balancer, port), forward(group));
        self.member("CreateListener", &fields, "Listeners").text_at(&["ListenerArn"])
    }

    /// The members of a list in the response.
    pub(super) fn members(&mut self, action: &str, fields: &str, list: &str) -> Vec<Element> {
        members(&self.ok(action, fields), list)
    }

    /// The only member of a list in the response.
    pub(super) fn member(&mut self, action: &str, fields: &str, list: &str) -> Element {
        let found = self.members(action, fields, list);
        assert_eq!(found.len(), 1, "{action} {fields}: {found:#?}");
        found[0].clone()
    }
}

impl Site {
    pub(super) fn balancer(&self, name: &str) -> String {
        let [one, other] = &self.subnets;
        let group = &self.group;
        format!("Name={name} Subnets.member.1={one} Subnets.member.2={other} SecurityGroups.member.1={group}")
    }
}

pub(super) fn members(element: &Element, list: &str) -> Vec<Element> {
    element.child(list).map(|list| list.children.clone()).unwrap_or_default()
}

pub(super) fn port_of(balancer: &str, port: u16) -> String {
    format!("LoadBalancerArn={balancer} Protocol=HTTP Port={port}")
}

pub(super) fn forward(group: &str) -> String {
    format!("DefaultActions.member.1.Type=forward DefaultActions.member.1.TargetGroupArn={group}")
}
