//! Generated topologies in moto, made as another client makes them: what exists depends only on the seed.

use anyhow::Result;
use kraken_runtime::random::Stream;
use kraken_tests::TestEnv;

use crate::balancing::moto::{EC2, ELB, call, text};

/// A generated VPC.
pub(super) struct Topology {
    pub(super) vpc: String,
    /// How many objects were made that a resource can manage.
    pub(super) objects: usize,
}

struct Maker<'a> {
    test_env: &'a TestEnv,
    seed: u64,
    numbers: Stream,
    vpc: String,
    objects: usize,
}

/// Makes the topology of a seed.
pub(super) async fn make(test_env: &TestEnv, seed: u64) -> Result<Topology> {
    let mut maker = Maker { test_env, seed, numbers: Stream::new(seed), vpc: String::new(), objects: 0 };
    maker.vpc = maker.create("CreateVpc", "vpcId", &[("CidrBlock", &format!("10.{seed}.0.0/16"))]).await?;
    let vpc = maker.vpc.clone();
    maker.named(&vpc, "Legacy VPC").await?;
    if maker.chance(2) {
        let fields = [("VpcId", vpc.as_str()), ("EnableDnsHostnames.Value", "true")];
        call(test_env, EC2, "ModifyVpcAttribute", &fields).await?;
    }
    let subnets = maker.subnets().await?;
    let groups = maker.groups().await?;
    let gateway = maker.gateway().await?;
    let nat = maker.nat(&subnets[0]).await?;
    maker.tables(&subnets, gateway.as_deref(), nat.as_deref()).await?;
    let instances = maker.instances(&subnets, &groups).await?;
    if maker.chance(2) {
        maker.balancing(&subnets, &groups, &instances).await?;
    }
    Ok(Topology { vpc: maker.vpc, objects: maker.objects })
}

impl Maker<'_> {
    fn below(&mut self, limit: u64) -> u64 {
        self.numbers.number() % limit
    }

    /// True once in so many times.
    fn chance(&mut self, of: u64) -> bool {
        self.below(of) == 0
    }

    async fn create(&mut self, action: &str, id: &str, fields: &[(&str, &str)]) -> Result<String> {
        self.objects += 1;
        text(&call(self.test_env, EC2, action, fields).await?, id)
    }

    /// Sets the tag `Name`, sometimes, and another.
    async fn named(&mut self, id: &str, name: &str) -> Result<()> {
        if self.chance(3) {
            return Ok(());
        }
        let fields = [
            ("ResourceId.1", id),
            ("Tag.1.Key", "Name"),
            ("Tag.1.Value", name),
            ("Tag.2.Key", "Team"),
            ("Tag.2.Value", "on"),
        ];
        call(self.test_env, EC2, "CreateTags", &fields).await.map(drop)
    }

    async fn subnets(&mut self) -> Result<Vec<String>> {
        let mut subnets = vec![];
        for number in 0..2 + self.below(3) {
            let cidr = format!("10.{}.{number}.0/24", self.seed);
            let zone = ["us-east-1a", "us-east-1b"][usize::try_from(number % 2)?];
            let vpc = self.vpc.clone();
            let fields = [("VpcId", vpc.as_str()), ("CidrBlock", &cidr), ("AvailabilityZone", zone)];
            let id = self.create("CreateSubnet", "subnetId", &fields).await?;
            // The same name twice.
            self.named(&id, ["public", "private"][usize::try_from(number / 2)?]).await?;
            if self.chance(2) {
                let fields = [("SubnetId", id.as_str()), ("MapPublicIpOnLaunch.Value", "true")];
                call(self.test_env, EC2, "ModifySubnetAttribute", &fields).await?;
            }
            subnets.push(id);
        }
        Ok(subnets)
    }

    /// Security groups whose rules name addresses, other groups and themselves.
    async fn groups(&mut self) -> Result<Vec<String>> {
        let mut groups: Vec<String> = vec![];
        for number in 0..=self.below(3) {
            let (vpc, name) = (self.vpc.clone(), format!("group-{number}"));
            let fields = [("VpcId", vpc.as_str()), ("GroupName", &name), ("GroupDescription", "a group")];
            let id = self.create("CreateSecurityGroup", "groupId", &fields).await?;
            self.named(&id, &name).await?;
            groups.push(id);
        }
        for id in &groups {
            let peer = groups[usize::try_from(self.below(groups.len() as u64))?].clone();
            let fields = [
                ("GroupId", id.as_str()),
                ("IpPermissions.1.IpProtocol", "tcp"),
                ("IpPermissions.1.FromPort", "443"),
                ("IpPermissions.1.ToPort", "443"),
                ("IpPermissions.1.IpRanges.1.CidrIp", "10.0.0.0/8"),
                ("IpPermissions.1.IpRanges.1.Description", "inside"),
                ("IpPermissions.2.IpProtocol", "tcp"),
                ("IpPermissions.2.FromPort", "8000"),
                ("IpPermissions.2.ToPort", "8100"),
                ("IpPermissions.2.Groups.1.GroupId", &peer),
            ];
            call(self.test_env, EC2, "AuthorizeSecurityGroupIngress", &fields).await?;
        }
        Ok(groups)
    }

    async fn gateway(&mut self) -> Result<Option<String>> {
        if self.chance(3) {
            return Ok(None);
        }
        let id = self.create("CreateInternetGateway", "internetGatewayId", &[]).await?;
        let vpc = self.vpc.clone();
        let fields = [("InternetGatewayId", id.as_str()), ("VpcId", &vpc)];
        call(self.test_env, EC2, "AttachInternetGateway", &fields).await?;
        Ok(Some(id))
    }

    async fn nat(&mut self, subnet: &str) -> Result<Option<String>> {
        if !self.chance(2) {
            return Ok(None);
        }
        let address = self.create("AllocateAddress", "allocationId", &[("Domain", "vpc")]).await?;
        let fields = [("SubnetId", subnet), ("AllocationId", &address)];
        self.create("CreateNatGateway", "natGatewayId", &fields).await.map(Some)
    }

    async fn tables(&mut self, subnets: &[String], gateway: Option<&str>, nat: Option<&str>) -> Result<()> {
        let ways = [("GatewayId", gateway), ("NatGatewayId", nat)];
        for ((target, id), subnet) in ways.into_iter().zip(subnets) {
            let Some(id) = id else { continue };
            let vpc = self.vpc.clone();
            let table = self.create("CreateRouteTable", "routeTableId", &[("VpcId", &vpc)]).await?;
            self.named(&table, "routes").await?;
            let fields =
                [("RouteTableId", table.as_str()), ("DestinationCidrBlock", "0.0.0.0/0"), (target, id)];
            call(self.test_env, EC2, "CreateRoute", &fields).await?;
            let fields = [("RouteTableId", table.as_str()), ("SubnetId", subnet)];
            call(self.test_env, EC2, "AssociateRouteTable", &fields).await?;
        }
        Ok(())
    }

    /// Instances, one of them with a key pair, a volume and an address.
    async fn instances(&mut self, subnets: &[String], groups: &[String]) -> Result<Vec<String>> {
        let mut instances = vec![];
        for number in 0..self.below(3) {
            let key = format!("key-{}", self.seed);
            let subnet = subnets[usize::try_from(number)?].clone();
            let mut fields = vec![
                ("ImageId", "ami-12c6146b"),
                ("InstanceType", "t3.micro"),
                ("MinCount", "1"),
                ("MaxCount", "1"),
                ("SubnetId", subnet.as_str()),
                ("SecurityGroupId.1", groups[0].as_str()),
            ];
            if number == 0 {
                let public = "c3NoLWVkMjU1MTkgQUFBQUMzTnphQzFsWkRJMU5URTVBQUFBSUd3Z05GWkFqY3hUMWtzbVV2akZnaXdlYTlTMW9KVi9RWCtaSktIUVJyRVY=";
                let of_key = [("KeyName", key.as_str()), ("PublicKeyMaterial", public)];
                if self.chance(2) {
                    self.create("ImportKeyPair", "keyName", &of_key).await?;
                    fields.push(("KeyName", &key));
                }
            }
            let id = self.create("RunInstances", "instanceId", &fields).await?;
            self.named(&id, "Web Server").await?;
            instances.push(id);
        }
        Ok(instances)
    }

    /// A load balancer with a target group, a listener and a rule.
    async fn balancing(&mut self, subnets: &[String], groups: &[String], instances: &[String]) -> Result<()> {
        let name = format!("lb-{}", self.seed);
        let fields = [
            ("Name", name.as_str()),
            ("Subnets.member.1", &subnets[0]),
            ("Subnets.member.2", &subnets[1]),
            ("SecurityGroups.member.1", &groups[0]),
        ];
        let balancer = self.create_elb("CreateLoadBalancer", "LoadBalancerArn", &fields).await?;
        let (vpc, name) = (self.vpc.clone(), format!("tg-{}", self.seed));
        let fields = [
            ("Name", name.as_str()),
            ("Protocol", "HTTP"),
            ("Port", "8080"),
            ("VpcId", &vpc),
            ("HealthCheckPath", "/healthz"),
        ];
        let group = self.create_elb("CreateTargetGroup", "TargetGroupArn", &fields).await?;
        if let Some(instance) = instances.first() {
            let fields = [("TargetGroupArn", group.as_str()), ("Targets.member.1.Id", instance)];
            call(self.test_env, ELB, "RegisterTargets", &fields).await?;
        }
        let fields = [
            ("LoadBalancerArn", balancer.as_str()),
            ("Protocol", "HTTP"),
            ("Port", "80"),
            ("DefaultActions.member.1.Type", "forward"),
            ("DefaultActions.member.1.TargetGroupArn", &group),
        ];
        let listener = self.create_elb("CreateListener", "ListenerArn", &fields).await?;
        let fields = [
            ("ListenerArn", listener.as_str()),
            ("Priority", "10"),
            ("Conditions.member.1.Field", "path-pattern"),
            ("Conditions.member.1.PathPatternConfig.Values.member.1", "/old/*"),
            ("Actions.member.1.Type", "redirect"),
            ("Actions.member.1.RedirectConfig.Path", "/new"),
            ("Actions.member.1.RedirectConfig.StatusCode", "HTTP_301"),
        ];
        self.create_elb("CreateRule", "RuleArn", &fields).await.map(drop)
    }

    async fn create_elb(&mut self, action: &str, id: &str, fields: &[(&str, &str)]) -> Result<String> {
        self.objects += 1;
        text(&call(self.test_env, ELB, action, fields).await?, id)
    }
}
