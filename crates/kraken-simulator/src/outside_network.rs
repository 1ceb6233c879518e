//! Out-of-band changes of networks and load balancers: drift.

use anyhow::{Result, anyhow, bail};

use super::Simulator;
use super::kind::Kind;
use super::network::InternetGateway;
use super::service::Service;

impl Simulator {
    /// Executes a call of the load balancing API, as [`Simulator::outside`] does one of EC2's.
    ///
    /// # Errors
    /// The cloud's error.
    pub fn outside_elb(&self, action: &str, parameters: &[(&str, &str)]) -> Result<Vec<String>> {
        let version = ("Version", Service::Elb.version());
        self.outside(action, &[&[version], parameters].concat())
    }

    /// Removes a route out of band.
    ///
    /// # Errors
    /// As [`Simulator::outside`].
    pub fn remove_route_outside(&self, table: &str, destination: &str) -> Result<()> {
        let name =
            if destination.contains(':') { "DestinationIpv6CidrBlock" } else { "DestinationCidrBlock" };
        self.outside("DeleteRoute", &[("RouteTableId", table), (name, destination)]).map(drop)
    }

    /// Allows inbound TCP from a range on one port out of band.
    ///
    /// # Errors
    /// As [`Simulator::outside`].
    pub fn add_rule_outside(&self, group: &str, port: u16, range: &str) -> Result<()> {
        self.rule_outside("AuthorizeSecurityGroupIngress", group, port, range)
    }

    /// Removes such a rule out of band.
    ///
    /// # Errors
    /// As [`Simulator::outside`].
    pub fn remove_rule_outside(&self, group: &str, port: u16, range: &str) -> Result<()> {
        self.rule_outside("RevokeSecurityGroupIngress", group, port, range)
    }

    fn rule_outside(&self, action: &str, group: &str, port: u16, range: &str) -> Result<()> {
        let port = port.to_string();
        let parameters = [
            ("GroupId", group),
            ("IpPermissions.1.IpProtocol", "tcp"),
            ("IpPermissions.1.FromPort", &port),
            ("IpPermissions.1.ToPort", &port),
            ("IpPermissions.1.IpRanges.1.CidrIp", range),
        ];
        self.outside(action, &parameters).map(drop)
    }

    /// Detaches an internet gateway from its VPC out of band.
    ///
    /// # Errors
    /// As [`Simulator::outside`], and when it is attached to none.
    pub fn detach_gateway_outside(&self, id: &str) -> Result<()> {
        let vpc = {
            let state = self.shared.lock();
            state.cloud.existing::<InternetGateway>(id).and_then(|gateway| gateway.vpc.clone())
        };
        let vpc = vpc.ok_or_else(|| anyhow!("{id} is not attached"))?;
        self.outside("DetachInternetGateway", &[("InternetGatewayId", id), ("VpcId", &vpc)]).map(drop)
    }

    /// Changes the port of a listener out of band.
    ///
    /// # Errors
    /// As [`Simulator::outside`].
    pub fn move_listener_outside(&self, arn: &str, port: u16) -> Result<()> {
        let port = port.to_string();
        self.outside_elb("ModifyListener", &[("ListenerArn", arn), ("Port", &port)]).map(drop)
    }

    /// Deletes an object of any kind out of band; returns when the cloud has accepted the call.
    ///
    /// # Errors
    /// As [`Simulator::outside`], and if the object does not exist.
    pub fn delete_outside(&self, id: &str) -> Result<()> {
        let kind = self.shared.lock().cloud.registry.object(id).map(|object| object.kind);
        let Some(kind) = kind else { bail!("there is no {id}") };
        let (action, parameter) = match kind {
            Kind::Instance => ("TerminateInstances", "InstanceId.1"),
            Kind::Volume => ("DeleteVolume", "VolumeId"),
            Kind::Vpc => ("DeleteVpc", "VpcId"),
            Kind::Subnet => ("DeleteSubnet", "SubnetId"),
            Kind::InternetGateway => ("DeleteInternetGateway", "InternetGatewayId"),
            Kind::RouteTable => ("DeleteRouteTable", "RouteTableId"),
            Kind::SecurityGroup => ("DeleteSecurityGroup", "GroupId"),
            Kind::Address => ("ReleaseAddress", "AllocationId"),
            Kind::NatGateway => ("DeleteNatGateway", "NatGatewayId"),
            Kind::KeyPair => ("DeleteKeyPair", "KeyPairId"),
            Kind::LoadBalancer => ("DeleteLoadBalancer", "LoadBalancerArn"),
            Kind::TargetGroup => ("DeleteTargetGroup", "TargetGroupArn"),
            Kind::Listener => ("DeleteListener", "ListenerArn"),
            Kind::ListenerRule => ("DeleteRule", "RuleArn"),
        };
        let version = if kind.is_of_ec2() { Service::Ec2 } else { Service::Elb }.version();
        self.outside(action, &[("Version", version), (parameter, id)]).map(drop)
    }
}
