//! Calls of moto, and the network that the tests create with them.

use anyhow::{Context as _, Result, bail};
use kraken_simulator::{REGION, http};
use kraken_tests::TestEnv;

pub(crate) const EC2: (&str, &str) = ("ec2", "2016-11-15");
pub(crate) const IAM: (&str, &str) = ("iam", "2010-05-08");
pub(crate) const ELB: (&str, &str) = ("elasticloadbalancing", "2015-12-01");

/// A call of moto's API, with its raw response.
pub(crate) async fn call(
    test_env: &TestEnv,
    service: (&str, &str),
    action: &str,
    fields: &[(&str, &str)],
) -> Result<String> {
    let (name, version) = service;
    // moto takes the service and region from this header and checks no signature.
    let credential = format!(
        "AWS4-HMAC-SHA256 Credential=testing/20200101/{REGION}/{name}/aws4_request, SignedHeaders=host, Signature=0"
    );
    let form: Vec<(&str, &str)> =
        [("Action", action), ("Version", version)].into_iter().chain(fields.iter().copied()).collect();
    let endpoint = test_env.env.moto.endpoint();
    let answer = http::post_form(endpoint, &[("authorization", credential.as_str())], &form).await?;
    if answer.status != 200 {
        bail!("{action} failed with {}: {}", answer.status, answer.body);
    }
    Ok(answer.body)
}

/// The texts of all elements of a name.
pub(crate) fn texts(xml: &str, name: &str) -> Vec<String> {
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    let text = |rest: &str| rest.split_once(&close).map(|(text, _)| text.to_owned());
    xml.split(&open).skip(1).filter_map(text).collect()
}

pub(crate) fn text(xml: &str, name: &str) -> Result<String> {
    texts(xml, name).into_iter().next().with_context(|| format!("no {name} in {xml}"))
}

/// A VPC with two subnets of different zones, and a security group.
pub(crate) struct Network {
    pub(crate) vpc: String,
    pub(crate) subnets: [String; 2],
    pub(crate) group: String,
}

pub(crate) async fn network(test_env: &TestEnv) -> Result<Network> {
    let vpc = text(&call(test_env, EC2, "CreateVpc", &[("CidrBlock", "10.0.0.0/16")]).await?, "vpcId")?;
    let mut subnets = vec![];
    for (cidr, zone) in [("10.0.1.0/24", "us-east-1a"), ("10.0.2.0/24", "us-east-1b")] {
        let fields = [("VpcId", vpc.as_str()), ("CidrBlock", cidr), ("AvailabilityZone", zone)];
        subnets.push(text(&call(test_env, EC2, "CreateSubnet", &fields).await?, "subnetId")?);
    }
    let fields = [("VpcId", vpc.as_str()), ("GroupName", "web"), ("GroupDescription", "web")];
    let group = text(&call(test_env, EC2, "CreateSecurityGroup", &fields).await?, "groupId")?;
    let subnets = subnets.try_into().map_err(|_| anyhow::anyhow!("two subnets"))?;
    Ok(Network { vpc, subnets, group })
}

/// The ids of the registered targets.
pub(crate) async fn targets(test_env: &TestEnv, arn: &str) -> Result<Vec<String>> {
    let answer = call(test_env, ELB, "DescribeTargetHealth", &[("TargetGroupArn", arn)]).await?;
    let mut ids = texts(&answer, "Id");
    ids.sort();
    Ok(ids)
}
