//! Edits that are generated from a seed: after each, the calls that the cloud received are those that the plan announced.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use kraken_testing::{SuiteOptions, fuzz::Rng};
use kraken_tests::TestEnv;

use super::{calls, program, versions};
use crate::kubectl::Shell;

const STACK: &str = include_str!("stack.yaml");
/// In each run of the tests. `KRAKEN_PLAN_EDITS` and `KRAKEN_PLAN_SEED` set others.
const EDITS: u64 = 15;

const GROUP: &str = "aws.kraken-iac.eoinfennessy.com";
const BOTH: [&str; 2] = ["true", "false"];
/// What each value can be. The first ones are those of the first apply.
const VALUES: [(&str, &[&str]); 28] = [
    ("TYPE", &["t3.micro", "t3.small", "t3.large"]),
    ("TEAM", &["shop", "store"]),
    ("IDLE", &["60", "120"]),
    ("SECONDARY", &["[]", "[10.63.0.0/16]"]),
    ("DNS", &BOTH),
    ("CIDRA", &["10.62.1.0/24", "10.62.11.0/24"]),
    ("CIDRB", &["10.62.2.0/24", "10.62.12.0/24"]),
    ("PUBLIC", &BOTH),
    (
        "ROUTES",
        &[
            "[]",
            "[{destinationCIDRBlock: {value: 0.0.0.0/0}, gatewayID: {valueFrom: {ref: InternetGateway/main}}}]",
            "[{destinationCIDRBlock: {value: 192.0.2.0/24}, gatewayID: {valueFrom: {ref: InternetGateway/main}}}]",
        ],
    ),
    (
        "ASSOCIATED",
        &[
            "[]",
            "[{valueFrom: {ref: Subnet/a}}]",
            "[{valueFrom: {ref: Subnet/a}}, {valueFrom: {ref: Subnet/b}}]",
        ],
    ),
    ("OPEN", &["[0.0.0.0/0]", "[10.0.0.0/8, 192.0.2.0/24]", "[192.0.2.0/24]"]),
    ("DESCRIPTION", &["web", "the web servers"]),
    ("PORT", &["8080", "8081"]),
    ("IMAGE", &["ami-12c6146b", "ami-1e749f67"]),
    ("COUNT", &["1", "2", "3"]),
    ("IOPS", &["3000", "4000"]),
    ("ENCRYPTED", &BOTH),
    ("SCHEME", &["internal", "internet-facing"]),
    ("TARGETPORT", &["8080", "8081"]),
    ("HEALTH", &["/", "/healthz"]),
    ("LISTENERPORT", &["80", "8000"]),
    (
        "ACTION",
        &[
            "{forward: {targetGroupARN: {valueFrom: {ref: TargetGroup/web}}}}",
            "{fixedResponse: {statusCode: {value: 503}, contentType: {value: text/plain}, messageBody: {value: back soon}}}",
        ],
    ),
    ("PRIORITY", &["10", "20"]),
    ("PATH", &["/api/*", "/v1/*"]),
    ("SESSION", &["3600", "7200"]),
    ("ALLOWED", &["s3:GetObject", "s3:ListBucket"]),
    ("BATCHIMAGE", &["ami-12c6146b", "ami-1e749f67"]),
    ("MAXSIZE", &["1", "2"]),
];
/// Objects that an edit removes or adds, with those that go and come with them.
const OPTIONAL: [&[&str]; 6] = [
    &["ElasticIP/web"],
    &["Volume/data"],
    &["ListenerRule/api"],
    &["Listener/http", "ListenerRule/api"],
    &["Role/web"],
    &["AutoScalingGroup/batch"],
];

/// What the files say.
#[derive(Clone)]
struct Files {
    values: BTreeMap<&'static str, &'static str>,
    /// `KIND/NAME` of objects that are not in the files.
    absent: BTreeSet<&'static str>,
}

impl Files {
    fn first() -> Self {
        let values = VALUES.iter().filter_map(|(name, values)| Some((*name, *values.first()?))).collect();
        Self { values, absent: BTreeSet::new() }
    }

    /// Objects are removed or added, or one to three values changed. Not both: an object that is created while what it refers to is
    /// replaced may be created for the former one first.
    fn edited(&self, rng: &mut Rng) -> Self {
        let mut files = self.clone();
        if rng.u8(0..5) > 0 {
            for _ in 0..rng.usize(1..=3) {
                let (name, values) = VALUES[rng.usize(..VALUES.len())];
                files.values.insert(name, values[rng.usize(..values.len())]);
            }
            return files;
        }
        let objects = OPTIONAL[rng.usize(..OPTIONAL.len())];
        if objects.iter().any(|object| files.absent.contains(object)) {
            files.absent.retain(|object| !objects.contains(object));
            // What it refers to returns with it.
            if objects.contains(&"ListenerRule/api") {
                files.absent.remove("Listener/http");
            }
        } else {
            files.absent.extend(objects);
        }
        files
    }

    fn text(&self) -> String {
        let mut text = STACK.to_owned();
        for (name, value) in &self.values {
            text = text.replace(&format!("%{name}"), value); // no name begins with another one
        }
        let is_present = |document: &&str| {
            let mut kind = document.lines().filter_map(|line| line.strip_prefix("kind: "));
            let mut name = document.lines().filter_map(|line| line.strip_prefix("metadata: {name: "));
            let object = format!(
                "{}/{}",
                kind.next().unwrap_or_default(),
                name.next().unwrap_or_default().trim_end_matches('}')
            );
            !self.absent.contains(object.as_str())
        };
        let labelled = text.split("---\n").filter(is_present).map(|document| {
            document.replacen("metadata: {name: ", "metadata: {labels: {app: shop}, name: ", 1)
        });
        labelled.collect::<Vec<_>>().join("---\n")
    }

    /// What differs from other files, for a person.
    fn difference(&self, before: &Self) -> String {
        let values = self.values.iter().filter(|(name, value)| before.values.get(*name) != Some(*value));
        let mut said: Vec<String> =
            values.map(|(name, value)| format!("{name} {} -> {value}", before.values[name])).collect();
        said.extend(self.absent.difference(&before.absent).map(|object| format!("without {object}")));
        said.extend(before.absent.difference(&self.absent).map(|object| format!("with {object}")));
        said.join(", ")
    }
}

fn setting(name: &str, default: u64) -> Result<u64> {
    match std::env::var(name) {
        Ok(text) => text.parse().with_context(|| format!("{name} is no number: {text}")),
        Err(_) => Ok(default),
    }
}

#[tokio::test]
async fn the_calls_that_the_cloud_receives_are_those_of_the_plan() -> Result<()> {
    // Its own environment: all calls of the cloud are those of this test.
    let test_env = TestEnv::with(SuiteOptions { webhooks: true, ..SuiteOptions::default() }).await?;
    let environment = test_env.env.clone();
    let (shell, program) = (Shell::of(&test_env)?, program()?);
    let (edits, seed) = (setting("KRAKEN_PLAN_EDITS", EDITS)?, setting("KRAKEN_PLAN_SEED", 1)?);
    let mut rng = Rng::with_seed(seed);
    let mut files = Files::first();
    shell.write("stack.yaml", &files.text())?;
    let apply = format!("{program} apply -f stack.yaml --yes --timeout 300");
    shell.run(&apply).await?;
    let mut wrong = Vec::new();
    for number in 1..=edits {
        let started = Instant::now();
        let before = files.clone();
        files = before.edited(&mut rng);
        let difference = files.difference(&before);
        shell.write("stack.yaml", &files.text())?;
        let versions_before = versions(&shell).await?;
        let printed = shell
            .run(&format!("{program} plan -f stack.yaml --prune app=shop -o json || [ $? = 2 ]"))
            .await?;
        let plan = serde_json::from_str(&printed).with_context(|| format!("no JSON: {printed}"))?;
        let announced = match calls::announced(&plan) {
            Ok(announced) => announced,
            Err(error) => {
                wrong.push(format!("edit {number}: {difference}: {error:#}"));
                files = before;
                continue;
            }
        };
        ensure!(versions_before == versions(&shell).await?, "the plan of {difference} wrote something");
        environment.proxy.clear();
        let applied =
            shell.run(&apply).await.with_context(|| format!("edit {number}: {difference}\n{plan:#}"))?;
        // There is another kind Role.
        let removed = files.absent.difference(&before.absent);
        let removed: Vec<_> =
            removed.map(|object| object.replacen('/', &format!(".v1alpha1.{GROUP}/"), 1)).collect();
        if !removed.is_empty() {
            shell.run(&format!("kubectl delete {} --timeout=120s", removed.join(" "))).await?;
        }
        let received = environment.proxy.calls();
        let done = calls::done(&received)?;
        println!("edit {number} ({:.1} s): {difference}: {done:?}", started.elapsed().as_secs_f64());
        if done != announced {
            println!("  announced {announced:?}");
            wrong.push(format!(
                "edit {number}: {difference}\n  done      {done:?}\n  announced {announced:?}\n  {received:?}\n{plan:#}\n{applied}"
            ));
        }
    }
    ensure!(
        wrong.is_empty(),
        "{} plans of {edits} (seed {seed}) were wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    shell.run("kubectl delete kraken --all --timeout=120s").await.map(drop)
}
