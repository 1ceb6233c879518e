//! Out-of-band creation of objects of every kind, with their dependencies.

use anyhow::{Result, anyhow};

use crate::kind::Kind;
use crate::simulator::Simulator;

impl Simulator {
    /// Creates an object of a kind with these tags out of band, and its missing dependencies, such as a VPC for a subnet,
    /// without tags. Returns its id. Names and ranges are derived from `name`: using the same name twice may be rejected.
    ///
    /// # Errors
    /// As [`Simulator::out_of_band`].
    pub fn create_out_of_band(&self, kind: Kind, name: &str, tags: &[(&str, &str)]) -> Result<String> {
        let id = self.created(kind, name)?;
        for (key, value) in tags {
            self.tag_out_of_band(&id, key, Some(value))?;
        }
        Ok(id)
    }

    fn created(&self, kind: Kind, name: &str) -> Result<String> {
        let number = name.bytes().fold(7_u32, |hash, byte| hash.wrapping_mul(31) ^ u32::from(byte));
        let block = format!("10.{}.0.0/16", number % 200 + 20);
        let zone = |letter: char| {
            let region = self.shared.lock().cloud.options.region.clone();
            format!("{region}{letter}")
        };
        let one = |action: &str, parameters: &[(&str, &str)]| -> Result<String> {
            let ids = self.out_of_band(action, parameters)?;
            ids.into_iter().next().ok_or_else(|| anyhow!("{action} created nothing"))
        };
        let elb = |action: &str, parameters: &[(&str, &str)]| -> Result<String> {
            let ids = self.out_of_band_elb(action, parameters)?;
            ids.into_iter().next().ok_or_else(|| anyhow!("{action} created nothing"))
        };
        let vpc = || one("CreateVpc", &[("CidrBlock", &block)]);
        let subnet = |vpc: &str, third: u8, letter: char| {
            let range = block.replacen(".0.0/16", &format!(".{third}.0/24"), 1);
            let parameters = [("VpcId", vpc), ("CidrBlock", &range), ("AvailabilityZone", &zone(letter))];
            one("CreateSubnet", &parameters)
        };
        match kind {
            Kind::Instance => {
                let subnet = subnet(&vpc()?, 1, 'a')?;
                let parameters = [
                    ("ImageId", "ami-12c6146b"),
                    ("InstanceType", "t3.micro"),
                    ("MinCount", "1"),
                    ("MaxCount", "1"),
                    ("SubnetId", &*subnet),
                ];
                one("RunInstances", &parameters)
            }
            Kind::Volume => one("CreateVolume", &[("AvailabilityZone", &zone('a')), ("Size", "8")]),
            Kind::Vpc => vpc(),
            Kind::Subnet => subnet(&vpc()?, 1, 'a'),
            Kind::InternetGateway => {
                let (vpc, gateway) = (vpc()?, one("CreateInternetGateway", &[])?);
                self.out_of_band(
                    "AttachInternetGateway",
                    &[("InternetGatewayId", &gateway), ("VpcId", &vpc)],
                )?;
                Ok(gateway)
            }
            Kind::RouteTable => one("CreateRouteTable", &[("VpcId", &vpc()?)]),
            Kind::SecurityGroup => {
                let parameters = [("VpcId", &*vpc()?), ("GroupName", name), ("GroupDescription", name)];
                one("CreateSecurityGroup", &parameters)
            }
            Kind::Address => one("AllocateAddress", &[("Domain", "vpc")]),
            Kind::NatGateway => {
                let subnet = subnet(&vpc()?, 1, 'a')?;
                one("CreateNatGateway", &[("SubnetId", &subnet), ("ConnectivityType", "private")])
            }
            Kind::KeyPair => one("CreateKeyPair", &[("KeyName", name), ("KeyType", "ed25519")]),
            Kind::LoadBalancer => {
                let vpc = vpc()?;
                let (first, second) = (subnet(&vpc, 1, 'a')?, subnet(&vpc, 2, 'b')?);
                let parameters = [
                    ("Name", name),
                    ("Scheme", "internal"),
                    ("Subnets.member.1", &first),
                    ("Subnets.member.2", &second),
                ];
                elb("CreateLoadBalancer", &parameters)
            }
            Kind::TargetGroup => {
                let vpc = vpc()?;
                let parameters = [("Name", name), ("Protocol", "HTTP"), ("Port", "80"), ("VpcId", &*vpc)];
                elb("CreateTargetGroup", &parameters)
            }
            Kind::Listener => {
                let balancer = self.created(Kind::LoadBalancer, name)?;
                let action = "DefaultActions.member.1";
                let parameters = [
                    ("LoadBalancerArn", balancer.as_str()),
                    ("Port", "80"),
                    ("Protocol", "HTTP"),
                    (&*format!("{action}.Type"), "fixed-response"),
                    (&*format!("{action}.FixedResponseConfig.StatusCode"), "503"),
                ];
                elb("CreateListener", &parameters)
            }
            Kind::ListenerRule => {
                let listener = self.created(Kind::Listener, name)?;
                let parameters = [
                    ("ListenerArn", listener.as_str()),
                    ("Priority", "7"),
                    ("Conditions.member.1.Field", "path-pattern"),
                    ("Conditions.member.1.PathPatternConfig.Values.member.1", "/elsewhere"),
                    ("Actions.member.1.Type", "fixed-response"),
                    ("Actions.member.1.FixedResponseConfig.StatusCode", "503"),
                ];
                elb("CreateRule", &parameters)
            }
        }
    }
}
