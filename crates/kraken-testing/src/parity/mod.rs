//! Compares the simulator with moto, an independent implementation: the same calls must have the same responses, except
//! for listed differences with their reasons.

mod balancing;
mod instances;
mod network;
mod rest;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use kraken_simulator::{Service, Simulator, SimulatorOptions, http, is_simulated, xml};

use crate::Moto;

/// An action and its parameters. `$vpc-A` is the first VPC in a response, and so on.
type Calls = &'static [(&'static str, &'static str)];
/// Parts that only one side returns, each with the reason.
type Listed = &'static [(&'static [&'static str], &'static str)];

const IMAGE: &str = "ami-12c6146b";

/// One side: its endpoint, and the assigned names of its ids.
struct Side {
    endpoint: String,
    service: Service,
    names: BTreeMap<String, String>,
}

impl Side {
    fn new(endpoint: &str) -> Self {
        Self { endpoint: endpoint.to_owned(), service: Service::Ec2, names: BTreeMap::new() }
    }

    /// moto determines the service from it, and does not verify signatures.
    fn authorization(&self) -> String {
        let service = match self.service {
            Service::Ec2 => "ec2",
            Service::Elb => "elasticloadbalancing",
            Service::Sts => "sts",
        };
        format!(
            "AWS4-HMAC-SHA256 Credential=testing/20200101/us-east-1/{service}/aws4_request, SignedHeaders=host, \
             Signature=0"
        )
    }

    /// Makes one call; returns a line for each text in the response, with its path.
    async fn lines(&mut self, action: &str, fields: &str) -> BTreeSet<String> {
        let fill = |text: &str| {
            let Some((before, name)) = text.split_once('$') else { return text.to_owned() };
            let id = self.names.iter().find(|(_, known)| *known == name).map(|(id, _)| id.as_str());
            format!("{before}{}", id.unwrap_or("nothing"))
        };
        let fields: Vec<(String, String)> = fields
            .split_whitespace()
            .filter_map(|field| field.split_once('='))
            .map(|(name, value)| (name.to_owned(), fill(value)))
            .collect();
        let mut form = vec![("Action", action), ("Version", self.service.version())];
        form.extend(fields.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        let answer = http::post_form(&self.endpoint, &[("authorization", &self.authorization())], &form)
            .await
            .unwrap();
        let mut lines = BTreeSet::from([format!("status={}", answer.status)]);
        match xml::parse(&answer.body) {
            // Ids are named in the order of the launch's response.
            Ok(root) => self.flatten(&root, "", &mut lines),
            // moto responds with an HTML page to unimplemented actions.
            Err(_) => drop(lines.insert("not implemented".to_owned())),
        }
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

    /// A text without values that differ between runs.
    fn plain(&mut self, element: &str, text: &str) -> String {
        if [
            "Time",
            "Address",
            "Ip",
            "dnsName",
            "DnsName",
            "DNSName",
            "ZoneId",
            "equestId",
            "equestID",
            "Fingerprint",
        ]
        .iter()
        .any(|end| element.ends_with(end))
        {
            return "...".to_owned();
        }
        let hex = |digits: &str, length| {
            digits.len() == length && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
        };
        let kind = if text.starts_with("arn:aws:elasticloadbalancing") {
            text.split([':', '/']).nth(5)
        } else {
            text.rsplit_once('-').filter(|(_, digits)| hex(digits, 17)).map(|(kind, _)| kind)
        };
        let Some(kind) = kind.filter(|_| !text.starts_with("i-0123456789abcdef")) else {
            return text.to_owned();
        };
        let of_kind = |name: &&String| name.rsplit_once('-').is_some_and(|(known, _)| known == kind);
        let count = self.names.values().filter(of_kind).count();
        let letter = char::from(b'A' + u8::try_from(count).unwrap());
        self.names.entry(text.to_owned()).or_insert_with(|| format!("{kind}-{letter}")).clone()
    }
}

fn is_listed(list: &[(&[&str], &str)], difference: &str) -> bool {
    list.iter().any(|(parts, _)| parts.iter().any(|part| difference.contains(part)))
}

/// Makes the calls on both sides and reports every unlisted difference.
async fn compare(theirs: &mut Side, ours: &mut Side, calls: Calls, only_moto: Listed, only_ours: Listed) {
    compare_what(theirs, ours, calls, only_moto, only_ours, |_| true).await;
}

/// As [`compare`], for the relevant lines of the responses.
async fn compare_what(
    theirs: &mut Side,
    ours: &mut Side,
    calls: Calls,
    only_moto: Listed,
    only_ours: Listed,
    matters: fn(&str) -> bool,
) {
    let mut problems = vec![];
    for (action, fields) in calls {
        let (mut moto, mut simulator) =
            (theirs.lines(action, fields).await, ours.lines(action, fields).await);
        moto.retain(|line| matters(line));
        simulator.retain(|line| matters(line));
        for (side, lines, list) in [
            ("moto", moto.difference(&simulator), only_moto),
            ("the simulator", simulator.difference(&moto), only_ours),
        ] {
            let differences = lines.map(|line| format!("{action} {fields}: {line}"));
            problems.extend(
                differences
                    .filter(|difference| !is_listed(list, difference))
                    .map(|difference| format!("only {side}: {difference}")),
            );
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// Both sides, with an empty account and without delays.
async fn sides() -> (Moto, Simulator) {
    let moment = Duration::from_millis(1);
    let simulator = Simulator::start(SimulatorOptions {
        pending: moment,
        stopping: moment,
        shutting_down: moment,
        nat_pending: moment,
        nat_deleting: moment,
        volume_creating: moment,
        volume_attaching: moment,
        provisioning: moment,
        releasing: moment,
        images: Some([IMAGE.to_owned()].into()),
        ..SimulatorOptions::default()
    });
    (Moto::start().await.unwrap(), simulator.unwrap())
}

#[tokio::test]
async fn instances_match_moto_except_for_listed_differences() {
    let (moto, simulator) = sides().await;
    let (mut theirs, mut ours) = (Side::new(moto.endpoint()), Side::new(simulator.endpoint()));
    let (only_moto, only_ours) = (instances::ONLY_MOTO, instances::ONLY_SIMULATOR);
    compare(&mut theirs, &mut ours, instances::CALLS, only_moto, only_ours).await;
}

#[tokio::test]
async fn networks_and_load_balancers_match_moto_except_for_listed_differences() {
    let (moto, simulator) = sides().await;
    let (mut theirs, mut ours) = (Side::new(moto.endpoint()), Side::new(simulator.endpoint()));
    let (only_moto, only_ours) = (network::ONLY_MOTO, network::ONLY_SIMULATOR);
    compare(&mut theirs, &mut ours, network::CALLS, only_moto, only_ours).await;
    (theirs.service, ours.service) = (Service::Elb, Service::Elb);
    let (only_moto, only_ours) = (balancing::ONLY_MOTO, balancing::ONLY_SIMULATOR);
    compare(&mut theirs, &mut ours, balancing::CALLS, only_moto, only_ours).await;
    (theirs.service, ours.service) = (Service::Sts, Service::Sts);
    // The account is the same; the users differ.
    let user: Listed = &[(&["Arn=", "UserId="], "another user")];
    compare(&mut theirs, &mut ours, &[("GetCallerIdentity", "")], user, user).await;
}

#[tokio::test]
async fn other_actions_match_moto_except_for_listed_differences() {
    let (moto, simulator) = sides().await;
    let (mut theirs, mut ours) = (Side::new(moto.endpoint()), Side::new(simulator.endpoint()));
    let is_outcome = |line: &str| line.starts_with("status=") || line.contains("/Error/Code=");
    let known = rest::KNOWN;
    for (service, calls) in
        [(Service::Ec2, rest::CALLS), (Service::Elb, rest::BALANCING), (Service::Ec2, rest::END)]
    {
        (theirs.service, ours.service) = (service, service);
        compare_what(&mut theirs, &mut ours, calls, known, known, is_outcome).await;
    }
}

#[test]
fn every_action_of_the_simulator_is_compared_with_moto() {
    let lists = [instances::CALLS, network::CALLS, balancing::CALLS, rest::CALLS, rest::BALANCING, rest::END];
    let mut compared: BTreeSet<&str> = lists.into_iter().flatten().map(|(action, _)| *action).collect();
    compared.insert("GetCallerIdentity");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../kraken-simulator/src");
    let implemented = actions_in(std::path::Path::new(source));
    assert!(implemented.len() > 100, "{implemented:?}");
    let missing: Vec<&String> =
        implemented.iter().filter(|action| !compared.contains(action.as_str())).collect();
    assert!(missing.is_empty(), "no call in parity/: {missing:?}");
}

/// The texts in the source that are names of actions.
fn actions_in(folder: &std::path::Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(actions_in(&path));
        } else if path.extension().is_some_and(|end| end == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            let quoted =
                text.split('"').filter(|part| part.starts_with(|first: char| first.is_ascii_uppercase()));
            let words = quoted.filter(|part| part.bytes().all(|byte| byte.is_ascii_alphabetic()));
            found.extend(words.filter(|word| is_simulated(word)).map(str::to_owned));
        }
    }
    found
}
