//! Out-of-band changes of networks and load balancers: drift.

use anyhow::{Result, anyhow, bail};

use crate::kind::Kind;
use crate::model::InternetGateway;
use crate::service::Service;
use crate::simulator::Simulator;

impl Simulator {
    /// Executes a call of the load balancing API, as [`Simulator::out_of_band`] does one of EC2's.
    ///
    /// # Errors
    /// The cloud's error.
    pub fn out_of_band_elb(&self, action: &str, parameters: &[(&str, &str)]) -> Result<Vec<String>> {
        let version = ("Version", Service::Elb.version());
        self.out_of_band(action, &[&[version], parameters].concat())
    }

    /// Removes a route out of band.
    ///
    /// # Errors
    /// As [`Simulator::out_of_band`].
    pub fn remove_route_out_of_band(&self, table: &str, destination: &str) -> Result<()> {
        let name =
            if destination.contains(':') { "DestinationIpv6CidrBlock" } else { "DestinationCidrBlock" };
        self.out_of_band("DeleteRoute", &[("RouteTableId", table), (name, destination)]).map(drop)
    }

    /// Allows inbound TCP from a range on one port out of band.
    ///
    /// # Errors
    /// As [`Simulator::out_of_band`].
    pub fn add_rule_out_of_band(&self, group: &str, port: u16, range: &str) -> Result<()> {
        self.change_rule_out_of_band("AuthorizeSecurityGroupIngress", group, port, range)
    }

    /// Removes such a rule out of band.
    ///
    /// # Errors
    /// As [`Simulator::out_of_band`].
    pub fn remove_rule_out_of_band(&self, group: &str, port: u16, range: &str) -> Result<()> {
        self.change_rule_out_of_band("RevokeSecurityGroupIngress", group, port, range)
    }

    fn change_rule_out_of_band(&self, action: &str, group: &str, port: u16, range: &str) -> Result<()> {
        let port = port.to_string();
        let parameters = [
            ("GroupId", group),
            ("IpPermissions.1.IpProtocol", "tcp"),
            ("IpPermissions.1.FromPort", &port),
            ("IpPermissions.1.ToPort", &port),
            ("IpPermissions.1.IpRanges.1.CidrIp", range),
        ];
        self.out_of_band(action, &parameters).map(drop)
    }

    /// Detaches an internet gateway from its VPC out of band.
    ///
    /// # Errors
    /// As [`Simulator::out_of_band`], and when it is attached to none.
    pub fn detach_gateway_out_of_band(&self, id: &str) -> Result<()> {
        let vpc = {
            let state = self.shared.lock();
            state.cloud.existing::<InternetGateway>(id).and_then(|gateway| gateway.vpc.clone())
        };
        let vpc = vpc.ok_or_else(|| anyhow!("{id} is not attached"))?;
        self.out_of_band("DetachInternetGateway", &[("InternetGatewayId", id), ("VpcId", &vpc)]).map(drop)
    }

    /// Changes the port of a listener out of band.
    ///
    /// # Errors
    /// As [`Simulator::out_of_band`].
    pub fn change_port_out_of_band(&self, arn: &str, port: u16) -> Result<()> {
        let port = port.to_string();
        self.out_of_band_elb("ModifyListener", &[("ListenerArn", arn), ("Port", &port)]).map(drop)
    }

    /// Deletes an object of any kind out of band; returns when the cloud has accepted the call.
    ///
    /// # Errors
    /// As [`Simulator::out_of_band`], and if the object does not exist.
    pub fn delete_out_of_band(&self, id: &str) -> Result<()> {
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
        self.out_of_band(action, &[("Version", version), (parameter, id)]).map(drop)
    }
}
