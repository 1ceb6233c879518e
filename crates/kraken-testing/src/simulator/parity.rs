//! The same calls to the simulator and to moto, which was written by others: what both answer must be the same, but for
//! what is listed here with its reason.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::{Simulator, SimulatorOptions};
use crate::{Moto, http, xml};

const IMAGE: &str = "ami-12c6146b";
const AUTHORIZATION: &str = "AWS4-HMAC-SHA256 Credential=testing/20200101/us-east-1/ec2/aws4_request, SignedHeaders=host, Signature=0";

/// The calls; `$1` and `$2` stand for the two instances. Each is made when the one before has settled.
const CALLS: &[(&str, &str)] = &[
    (
        "RunInstances",
        "ImageId=ami-12c6146b MinCount=2 MaxCount=2 InstanceType=t2.nano ClientToken=token \
         TagSpecification.1.ResourceType=instance TagSpecification.1.Tag.1.Key=Name \
         TagSpecification.1.Tag.1.Value=a&b<c>",
    ),
    ("DescribeInstances", "InstanceId.1=$1 InstanceId.2=$2"),
    ("DescribeInstances", "Filter.1.Name=tag:Name Filter.1.Value.1=other Filter.1.Value.2=a&b<c>"),
    ("DescribeInstances", "Filter.1.Name=tag:Name Filter.1.Value.1=a*"),
    ("DescribeInstances", "Filter.1.Name=tag-key Filter.1.Value.1=Nobody"),
    ("DescribeInstances", "Filter.1.Name=instance-state-name Filter.1.Value.1=running"),
    (
        "CreateTags",
        "ResourceId.1=$1 ResourceId.2=$2 Tag.1.Key=Team Tag.1.Value=web Tag.2.Key=Name Tag.2.Value=n",
    ),
    ("DescribeTags", "Filter.1.Name=resource-id Filter.1.Value.1=$1 Filter.1.Value.2=$2"),
    ("DeleteTags", "ResourceId.1=$1 Tag.1.Key=Team"),
    ("DescribeTags", "Filter.1.Name=key Filter.1.Value.1=Team"),
    ("DescribeInstances", "InstanceId.1=$1"),
    ("StopInstances", "InstanceId.1=$1"),
    ("ModifyInstanceAttribute", "InstanceId=$1 InstanceType.Value=t3.micro"),
    ("ModifyInstanceAttribute", "InstanceId=$1 UserData.Value=aGVsbG8="),
    ("DescribeInstanceAttribute", "InstanceId=$1 Attribute=userData"),
    ("DescribeInstanceAttribute", "InstanceId=$2 Attribute=userData"),
    ("DescribeInstances", "InstanceId.1=$1"),
    ("StartInstances", "InstanceId.1=$1"),
    ("ModifyInstanceMetadataOptions", "InstanceId=$1 HttpTokens=required HttpPutResponseHopLimit=2"),
    ("DescribeInstances", "InstanceId.1=$1"),
    ("DescribeImages", "ImageId.1=ami-12c6146b"),
    ("DescribeImages", "ImageId.1=ami-00000000"),
    ("DescribeInstances", "InstanceId.1=i-0123456789abcdef0"),
    (
        "DescribeInstances",
        "InstanceId.1=i-0123456789abcdef0 InstanceId.2=$1 InstanceId.3=i-0123456789abcdef1",
    ),
    ("StopInstances", "InstanceId.1=i-0123456789abcdef0"),
    ("TerminateInstances", "InstanceId.1=i-0123456789abcdef0"),
    ("ModifyInstanceAttribute", "InstanceId=i-0123456789abcdef0 InstanceType.Value=t3.micro"),
    ("TerminateInstances", "InstanceId.1=$1 InstanceId.2=$2"),
    ("DescribeInstances", "InstanceId.1=$2"),
    ("TerminateInstances", "InstanceId.1=$2"),
];

/// What only moto says: parts of calls and answers, and why the simulator does not say it.
const ONLY_MOTO: &[(&[&str], &str)] = &[
    (
        &[
            "/reason=",
            "/stateReason/",
            "/sourceDestCheck=",
            "/sriovNetSupport=",
            "/productCodes=",
            "/hibernationOptions=",
            "/placement/groupName=",
            "/privateIpAddressesSet/",
            "/ipv6AddressesSet=",
            "/interfaceType=",
            "/description=",
            "/attachTime=",
            "/attachmentId=",
            "/networkCardIndex=",
            "/attachment/deleteOnTermination=",
            "/ipOwnerId=",
            "/httpProtocolIpv6=",
            "/instanceMetadataTags=",
        ],
        "no controller reads it",
    ),
    (
        &["/platform=windows", "DescribeImages ImageId.1=ami-12c6146b: /imagesSet/item/"],
        "moto knows this image",
    ),
    (
        &["/instancesSet/item/groupSet="],
        "moto tells the groups of an interface alone, AWS those of the instance too",
    ),
    (
        &["RunInstances ImageId", "/dnsName=", "/ipAddress=", "/association="],
        "moto gives a public address at once and keeps it as an empty one; AWS gives one to what runs",
    ),
    (&["DescribeInstances InstanceId.1=$2: /"], "moto leaves a terminated instance its network and volumes"),
    (&["TerminateInstances InstanceId.1=$2: /instancesSet/item/currentState/"], "moto terminates again"),
    (&["InstanceId.3=i-0123456789abcdef1: /Errors/Error/Message="], "moto names one missing id, AWS all"),
    (
        &["UserData.Value=", "Attribute=userData: /userData="],
        "moto wants the user data of a change encoded twice, so it refuses what AWS takes",
    ),
];

/// What only the simulator says, or says otherwise, and why.
const ONLY_SIMULATOR: &[(&[&str], &str)] = &[
    (&["/return=true"], "AWS says so, moto does not"),
    (&["/instancesSet/item/groupSet/item/"], "moto tells the groups of an interface alone"),
    (&["/httpEndpoint=enabled"], "moto forgets the endpoint when another setting changes"),
    (&["TerminateInstances InstanceId.1=$2: /instancesSet/item/currentState/"], "moto terminates again"),
    (&["InstanceId.3=i-0123456789abcdef1: /Errors/Error/Message="], "moto names one missing id, AWS all"),
    (&["UserData.Value=", "Attribute=userData: /userData/value="], "moto refuses this change"),
];

/// One side: where it is, and the names that its ids got.
struct Side {
    endpoint: String,
    names: BTreeMap<String, String>,
}

impl Side {
    fn new(endpoint: &str) -> Self {
        Self { endpoint: endpoint.to_owned(), names: BTreeMap::new() }
    }

    /// Makes one call; returns a line for each text in the answer, with its path.
    async fn lines(&mut self, action: &str, fields: &str) -> BTreeSet<String> {
        let known = |name: &str| self.names.iter().find(|(_, n)| *n == name).map(|(id, _)| id.clone());
        let fill = |text: &str| {
            let one = text.replace("$1", &known("i-A").unwrap_or_default());
            one.replace("$2", &known("i-B").unwrap_or_default())
        };
        let fields: Vec<(String, String)> = fields
            .split_whitespace()
            .filter_map(|field| field.split_once('='))
            .map(|(name, value)| (name.to_owned(), fill(value)))
            .collect();
        let mut form = vec![("Action", action), ("Version", "2016-11-15")];
        form.extend(fields.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        let answer =
            http::post_form(&self.endpoint, &[("authorization", AUTHORIZATION)], &form).await.unwrap();
        let root = xml::parse(&answer.body).unwrap();
        let mut lines = BTreeSet::from([format!("status={}", answer.status)]);
        // Ids get their names in the order in which the launch told them.
        self.flatten(&root, "", &mut lines);
        lines
    }

    fn flatten(&mut self, element: &xml::Element, path: &str, lines: &mut BTreeSet<String>) {
        for child in &element.children {
            let path = format!("{path}/{}", child.name);
            if child.children.is_empty() {
                let value = self.plain(&child.name, child.text.trim());
                lines.insert(format!("{path}={value}"));
            }
            self.flatten(child, &path, lines);
        }
    }

    /// A text without what differs from one run to the next.
    fn plain(&mut self, element: &str, text: &str) -> String {
        if ["Time", "Address", "Ip", "dnsName", "DnsName", "equestId", "equestID"]
            .iter()
            .any(|end| element.ends_with(end))
        {
            return "...".to_owned();
        }
        let is_id = text.split_once('-').is_some_and(|(_, digits)| {
            digits.len() == 17 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
        });
        if !is_id || text.starts_with("i-0123456789abcdef") {
            return text.to_owned();
        }
        let kind = text.split('-').next().unwrap_or_default().to_owned();
        let count = self.names.values().filter(|name| name.starts_with(&format!("{kind}-"))).count();
        let letter = ["A", "B"].get(count).copied().unwrap_or("Z");
        self.names.entry(text.to_owned()).or_insert_with(|| format!("{kind}-{letter}")).clone()
    }
}

fn is_listed(list: &[(&[&str], &str)], told: &str) -> bool {
    list.iter().any(|(parts, _)| parts.iter().any(|part| told.contains(part)))
}

#[tokio::test]
async fn the_simulator_answers_as_moto_does_but_for_what_is_listed() {
    let moto = Moto::start().await.unwrap();
    let instant = Duration::from_millis(1);
    let simulator = Simulator::start(SimulatorOptions {
        pending: instant,
        stopping: instant,
        shutting_down: instant,
        images: Some([IMAGE.to_owned()].into()),
        ..SimulatorOptions::default()
    })
    .unwrap();
    let (mut theirs, mut ours) = (Side::new(moto.endpoint()), Side::new(simulator.endpoint()));
    let mut problems = vec![];
    for (action, fields) in CALLS {
        let (moto, simulator) = (theirs.lines(action, fields).await, ours.lines(action, fields).await);
        for (side, lines, list) in [
            ("moto", moto.difference(&simulator), ONLY_MOTO),
            ("the simulator", simulator.difference(&moto), ONLY_SIMULATOR),
        ] {
            let told = lines.map(|line| format!("{action} {fields}: {line}"));
            problems.extend(
                told.filter(|told| !is_listed(list, told)).map(|told| format!("only {side}: {told}")),
            );
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
