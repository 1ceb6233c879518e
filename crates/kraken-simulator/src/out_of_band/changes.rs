//! Out-of-band changes of objects, by kind: every property that a controller can observe. Each change is an API call, with
//! values that no manifest has.

use anyhow::{Result, anyhow, bail};

use crate::kind::Kind;
use crate::service::Service;
use crate::simulator::Simulator;

use super::values;

/// One change of an object of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutOfBandChange {
    /// Its name: `stop`.
    pub name: &'static str,
    /// The calls with their parameters. A value that starts with `$` is looked up: `$id` is the object's id.
    calls: &'static [(&'static str, &'static str)],
}

macro_rules! changes {
    ($($name:literal: $($action:ident $parameters:literal),+;)*) => {
        &[$(OutOfBandChange { name: $name, calls: &[$((stringify!($action), $parameters)),+] }),*]
    };
}

const INSTANCE: &[OutOfBandChange] = changes! {
    "stop": StopInstances "InstanceId.1=$id";
    "start": StartInstances "InstanceId.1=$id";
    "set termination protection": ModifyInstanceAttribute "InstanceId=$id DisableApiTermination.Value=true";
    "remove termination protection": ModifyInstanceAttribute "InstanceId=$id DisableApiTermination.Value=false";
    "enable monitoring": MonitorInstances "InstanceId.1=$id";
    "disable monitoring": UnmonitorInstances "InstanceId.1=$id";
    "require metadata tokens": ModifyInstanceMetadataOptions "InstanceId=$id HttpTokens=required";
    "make metadata tokens optional": ModifyInstanceMetadataOptions "InstanceId=$id HttpTokens=optional";
    "change the hop limit": ModifyInstanceMetadataOptions "InstanceId=$id HttpPutResponseHopLimit=7";
    "disable the metadata endpoint": ModifyInstanceMetadataOptions "InstanceId=$id HttpEndpoint=disabled";
    "set the default security group": ModifyInstanceAttribute "InstanceId=$id GroupId.1=$default-group";
    "associate a profile": AssociateIamInstanceProfile "InstanceId=$id IamInstanceProfile.Name=elsewhere";
    "replace the profile":
        ReplaceIamInstanceProfileAssociation "AssociationId=$profile IamInstanceProfile.Name=elsewhere";
    "remove the profile": DisassociateIamInstanceProfile "AssociationId=$profile";
    "change the type of a stopped instance": ModifyInstanceAttribute "InstanceId=$id InstanceType.Value=m5.2xlarge";
    "change the user data of a stopped instance": ModifyInstanceAttribute "InstanceId=$id UserData.Value=ZWxzZXdoZXJl";
    "optimize a stopped instance for EBS": ModifyInstanceAttribute "InstanceId=$id EbsOptimized.Value=true";
};

const VOLUME: &[OutOfBandChange] = changes! {
    "grow": ModifyVolume "VolumeId=$id Size=$larger";
    "change the type": ModifyVolume "VolumeId=$id VolumeType=gp2";
    "change the IOPS": ModifyVolume "VolumeId=$id VolumeType=gp3 Iops=3500";
    "change the throughput": ModifyVolume "VolumeId=$id VolumeType=gp3 Throughput=130";
    "detach": DetachVolume "VolumeId=$id";
    "attach elsewhere": AttachVolume "VolumeId=$id InstanceId=$instance Device=/dev/sdz";
};

const VPC: &[OutOfBandChange] = changes! {
    "disable DNS support":
        ModifyVpcAttribute "VpcId=$id EnableDnsHostnames.Value=false",
        ModifyVpcAttribute "VpcId=$id EnableDnsSupport.Value=false";
    "enable DNS support": ModifyVpcAttribute "VpcId=$id EnableDnsSupport.Value=true";
    "disable DNS host names": ModifyVpcAttribute "VpcId=$id EnableDnsHostnames.Value=false";
    "enable DNS host names":
        ModifyVpcAttribute "VpcId=$id EnableDnsSupport.Value=true",
        ModifyVpcAttribute "VpcId=$id EnableDnsHostnames.Value=true";
    "associate a CIDR block": AssociateVpcCidrBlock "VpcId=$id CidrBlock=100.64.0.0/16";
    "associate an IPv6 CIDR block": AssociateVpcCidrBlock "VpcId=$id AmazonProvidedIpv6CidrBlock=true";
    "disassociate a CIDR block": DisassociateVpcCidrBlock "AssociationId=$block";
};

const SUBNET: &[OutOfBandChange] = changes! {
    "map public addresses": ModifySubnetAttribute "SubnetId=$id MapPublicIpOnLaunch.Value=true";
    "do not map public addresses": ModifySubnetAttribute "SubnetId=$id MapPublicIpOnLaunch.Value=false";
    "disassociate the route table": DisassociateRouteTable "AssociationId=$table-association";
};

const GATEWAY: &[OutOfBandChange] = changes! {
    "detach": DetachInternetGateway "InternetGatewayId=$id VpcId=$vpc";
    "attach elsewhere": AttachInternetGateway "InternetGatewayId=$id VpcId=$free-vpc";
};

const ROUTE_TABLE: &[OutOfBandChange] = changes! {
    "create a route": CreateRoute "RouteTableId=$id DestinationCidrBlock=203.0.113.0/24 GatewayId=$gateway";
    "delete a route": DeleteRoute "RouteTableId=$id $destination";
    "replace a route": ReplaceRoute "RouteTableId=$id $destination GatewayId=$gateway";
    "disassociate a subnet": DisassociateRouteTable "AssociationId=$association";
    "associate a subnet": AssociateRouteTable "RouteTableId=$id SubnetId=$subnet";
    "make it the main route table": ReplaceRouteTableAssociation "AssociationId=$main RouteTableId=$id";
};

const GROUP: &[OutOfBandChange] = changes! {
    "add an ingress rule": AuthorizeSecurityGroupIngress "GroupId=$id IpPermissions.1.IpProtocol=tcp \
        IpPermissions.1.FromPort=4444 IpPermissions.1.ToPort=4444 IpPermissions.1.IpRanges.1.CidrIp=198.51.100.0/24";
    "add an egress rule": AuthorizeSecurityGroupEgress "GroupId=$id IpPermissions.1.IpProtocol=tcp \
        IpPermissions.1.FromPort=4444 IpPermissions.1.ToPort=4444 IpPermissions.1.IpRanges.1.CidrIp=198.51.100.0/24";
    "remove an ingress rule": RevokeSecurityGroupIngress "GroupId=$id SecurityGroupRuleId.1=$ingress";
    "remove an egress rule": RevokeSecurityGroupEgress "GroupId=$id SecurityGroupRuleId.1=$egress";
    "change the description of a rule": UpdateSecurityGroupRuleDescriptionsIngress "GroupId=$id $described-ingress";
};

const ADDRESS: &[OutOfBandChange] = changes! {
    "disassociate": DisassociateAddress "AssociationId=$address-association";
    "associate": AssociateAddress "AllocationId=$id InstanceId=$instance AllowReassociation=true";
};

const LOAD_BALANCER: &[OutOfBandChange] = changes! {
    "set deletion protection": ModifyLoadBalancerAttributes "LoadBalancerArn=$id \
        Attributes.member.1.Key=deletion_protection.enabled Attributes.member.1.Value=true";
    "remove deletion protection": ModifyLoadBalancerAttributes "LoadBalancerArn=$id \
        Attributes.member.1.Key=deletion_protection.enabled Attributes.member.1.Value=false";
    "change the idle timeout": ModifyLoadBalancerAttributes "LoadBalancerArn=$id \
        Attributes.member.1.Key=idle_timeout.timeout_seconds Attributes.member.1.Value=77";
    "change cross-zone load balancing": ModifyLoadBalancerAttributes "LoadBalancerArn=$id \
        Attributes.member.1.Key=load_balancing.cross_zone.enabled Attributes.member.1.Value=true";
    "set the default security group":
        SetSecurityGroups "LoadBalancerArn=$id SecurityGroups.member.1=$default-group";
    "change the address type": SetIpAddressType "LoadBalancerArn=$id IpAddressType=dualstack";
    "create a listener": CreateListener "LoadBalancerArn=$id Port=4445 Protocol=HTTP \
        DefaultActions.member.1.Type=fixed-response DefaultActions.member.1.FixedResponseConfig.StatusCode=503";
};

const TARGET_GROUP: &[OutOfBandChange] = changes! {
    "change the health check's interval": ModifyTargetGroup "TargetGroupArn=$id HealthCheckIntervalSeconds=77";
    "change the health check's path": ModifyTargetGroup "TargetGroupArn=$id HealthCheckPath=/elsewhere";
    "change the unhealthy threshold": ModifyTargetGroup "TargetGroupArn=$id UnhealthyThresholdCount=7";
    "change the deregistration delay": ModifyTargetGroupAttributes "TargetGroupArn=$id \
        Attributes.member.1.Key=deregistration_delay.timeout_seconds Attributes.member.1.Value=77";
    "register an instance": RegisterTargets "TargetGroupArn=$id Targets.member.1.Id=$instance";
    "deregister a target": DeregisterTargets "TargetGroupArn=$id $target";
};

const LISTENER: &[OutOfBandChange] = changes! {
    "change the port": ModifyListener "ListenerArn=$id Port=4443";
    "change the default action": ModifyListener "ListenerArn=$id DefaultActions.member.1.Type=fixed-response \
        DefaultActions.member.1.FixedResponseConfig.StatusCode=503";
    "create a rule": CreateRule "ListenerArn=$id Priority=4446 Conditions.member.1.Field=path-pattern \
        Conditions.member.1.PathPatternConfig.Values.member.1=/elsewhere Actions.member.1.Type=fixed-response \
        Actions.member.1.FixedResponseConfig.StatusCode=503";
};

const RULE: &[OutOfBandChange] = changes! {
    "change the priority": SetRulePriorities "RulePriorities.member.1.RuleArn=$id RulePriorities.member.1.Priority=4444";
    "change the conditions": ModifyRule "RuleArn=$id Conditions.member.1.Field=path-pattern \
        Conditions.member.1.PathPatternConfig.Values.member.1=/elsewhere";
    "change the actions": ModifyRule "RuleArn=$id Actions.member.1.Type=fixed-response \
        Actions.member.1.FixedResponseConfig.StatusCode=503";
};

const KEY_PAIR: &[OutOfBandChange] = changes! {
    "replace it with another of the same name":
        DeleteKeyPair "KeyPairId=$id",
        CreateKeyPair "KeyName=$name KeyType=ed25519";
};

/// The possible changes of objects of a kind; none for NAT gateways, which AWS cannot change either.
pub fn out_of_band_changes(kind: Kind) -> &'static [OutOfBandChange] {
    match kind {
        Kind::Instance => INSTANCE,
        Kind::Volume => VOLUME,
        Kind::Vpc => VPC,
        Kind::Subnet => SUBNET,
        Kind::InternetGateway => GATEWAY,
        Kind::RouteTable => ROUTE_TABLE,
        Kind::SecurityGroup => GROUP,
        Kind::Address => ADDRESS,
        Kind::NatGateway => &[],
        Kind::KeyPair => KEY_PAIR,
        Kind::LoadBalancer => LOAD_BALANCER,
        Kind::TargetGroup => TARGET_GROUP,
        Kind::Listener => LISTENER,
        Kind::ListenerRule => RULE,
    }
}

impl Simulator {
    /// Changes an object out of band; `number` selects one of the changes of its kind, modulo their number. Returns the
    /// name of the change.
    ///
    /// # Errors
    /// As [`Simulator::out_of_band`], and if the object does not exist, cannot be changed, or lacks the part that the change
    /// requires, such as a route to delete. The error names the change.
    pub fn change_out_of_band(&self, id: &str, number: usize) -> Result<&'static str> {
        let kind = self.kind_of(id).ok_or_else(|| anyhow!("there is no {id}"))?;
        let changes = out_of_band_changes(kind);
        if changes.is_empty() {
            bail!("{id} cannot be changed");
        }
        let change = &changes[number % changes.len()];
        self.apply_out_of_band(id, change).map_err(|error| anyhow!("{}: {error}", change.name))?;
        Ok(change.name)
    }

    /// Performs one of [`out_of_band_changes`] on an object.
    ///
    /// # Errors
    /// As [`Simulator::change_out_of_band`].
    pub fn apply_out_of_band(&self, id: &str, change: &OutOfBandChange) -> Result<()> {
        let mut calls = vec![];
        for (action, template) in change.calls {
            // All of them before the first call, which may delete an object in the parameters of the next one.
            calls.push((*action, values::filled(&self.shared.lock().cloud, id, template)?));
        }
        let is_elb = id.starts_with("arn:");
        for (action, parameters) in calls {
            let mut parameters: Vec<(&str, &str)> =
                parameters.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            if is_elb {
                parameters.push(("Version", Service::Elb.version()));
            }
            self.out_of_band(action, &parameters)?;
        }
        Ok(())
    }

    /// The kind of an existing object.
    pub fn kind_of(&self, id: &str) -> Option<Kind> {
        self.shared.lock().cloud.registry.object(id).map(|object| object.kind)
    }

    /// Removes every tag with a matching key out of band.
    ///
    /// # Errors
    /// As [`Simulator::out_of_band`].
    pub fn remove_tags_out_of_band(&self, id: &str, is_so: impl Fn(&str) -> bool) -> Result<()> {
        let tags = {
            let state = self.shared.lock();
            let object = state.cloud.registry.object(id).ok_or_else(|| anyhow!("there is no {id}"))?;
            state.cloud.registry.latest_tags(object)
        };
        tags.keys().filter(|key| is_so(key)).try_for_each(|key| self.tag_out_of_band(id, key, None))
    }
}
