//! The in-memory API server against kube-apiserver, request by request.

use std::collections::BTreeMap;
use std::time::Instant;

use anyhow::{Context as _, Result, anyhow};
use futures::{StreamExt as _, stream};
use kraken_simulation::apiserver::Kinds;
use kraken_simulation::kinds::{crds, definitions};
use kraken_simulation::parity::{
    Compared, Difference, Kind, Profile, Servers, Tally, compare, kinds, shortest,
};
use kraken_testing::{ControlPlane, manifests};

/// How many sequences run at once.
const AT_ONCE: usize = 8;

/// The sequence of a number: what it is about, and of how many requests.
fn profile(number: u64) -> (Profile, usize) {
    match number % 20 {
        0 => (Profile::Namespaces, 25),
        7 | 14 => (Profile::Owners, 30),
        _ => (Profile::Plain, 100),
    }
}

/// What was found by all sequences.
#[derive(Default)]
struct Findings {
    requests: usize,
    tally: Tally,
    differences: BTreeMap<String, Vec<(u64, Difference)>>,
}

impl Findings {
    fn add(&mut self, seed: u64, compared: Compared) {
        self.requests += compared.requests;
        for (answer, count) in compared.tally {
            *self.tally.entry(answer).or_default() += count;
        }
        for difference in compared.differences {
            self.differences.entry(difference.signature()).or_default().push((seed, difference));
        }
    }
}

/// Makes this number of requests: a sequence that ends early, because the state of the servers differs, is followed by
/// another one.
async fn requests(servers: &Servers, kinds: &[Kind], count: usize, seed: u64) -> Result<Findings> {
    let mut findings = Findings::default();
    let mut number = 0;
    while findings.requests < count {
        let mut left = count - findings.requests;
        let mut sequences = Vec::new();
        while left > 0 {
            let (profile, most) = profile(number);
            let most = most.min(left);
            sequences.push((seed * 1_000_003 + number, profile, most));
            left -= most;
            number += 1;
        }
        // The long waits of namespaces come first.
        sequences.sort_by_key(|(_, profile, _)| *profile == Profile::Plain);
        let results: Vec<_> = stream::iter(sequences)
            .map(|(seed, profile, most)| async move {
                (seed, profile, compare(servers, kinds, seed, profile, most).await)
            })
            .buffer_unordered(AT_ONCE)
            .collect()
            .await;
        for (seed, profile, compared) in results {
            findings.add(seed, compared.with_context(|| format!("seed {seed}, {profile:?}"))?);
        }
    }
    Ok(findings)
}

/// Each kind of difference once, with the shortest sequence that shows it.
async fn report(servers: &Servers, differences: BTreeMap<String, Vec<(u64, Difference)>>) -> String {
    let reports: Vec<String> = stream::iter(differences)
        .map(|(signature, mut same)| async move {
            same.sort_by_key(|(_, difference)| difference.steps.len());
            let (seed, first) = same.swap_remove(0);
            let short = shortest(servers, first.clone()).await.unwrap_or(first);
            format!("== {} times: {signature}\nseed {seed}\n{short}", same.len() + 1)
        })
        .buffer_unordered(4)
        .collect()
        .await;
    reports.join("\n")
}

async fn start() -> Result<(ControlPlane, Servers)> {
    let plane = ControlPlane::start().await?;
    let real = plane.client().await?;
    let mut documents = Vec::new();
    for crd in crds() {
        documents.extend(manifests::parse("the definitions", &crd.to_string())?);
    }
    manifests::apply(&real, &documents, "default").await?;
    // Its garbage collector learns of new kinds every 30 seconds only.
    plane.restart_controller_manager().await?;
    Ok((plane, Servers { kinds: Kinds::new(definitions())?, real }))
}

async fn answers_are_equal(count: usize, seeds: &[u64]) -> Result<()> {
    let (_plane, servers) = start().await?;
    let kinds = kinds(definitions())?;
    let mut all = Findings::default();
    for seed in seeds {
        let began = Instant::now();
        let findings = requests(&servers, &kinds, count, *seed).await?;
        println!(
            "seed {seed}: {} requests, {} kinds of differences, {:.1} s",
            findings.requests,
            findings.differences.len(),
            began.elapsed().as_secs_f64()
        );
        for (answer, count) in findings.tally {
            *all.tally.entry(answer).or_default() += count;
        }
        for (signature, found) in findings.differences {
            all.differences.entry(signature).or_default().extend(found);
        }
    }
    for ((method, status), count) in &all.tally {
        println!("{method} {status}: {count}");
    }
    let report = report(&servers, all.differences).await;
    if let Ok(file) = std::env::var("KRAKEN_PARITY_REPORT") {
        std::fs::write(file, &report)?;
    }
    if report.is_empty() { Ok(()) } else { Err(anyhow!("the responses differ:\n{report}")) }
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// `KRAKEN_PARITY_REQUESTS` and `KRAKEN_PARITY_SEED` make it longer and another one.
#[tokio::test]
async fn responses_equal_those_of_kube_apiserver() -> Result<()> {
    let count = usize::try_from(number("KRAKEN_PARITY_REQUESTS").unwrap_or(1000))?;
    answers_are_equal(count, &[number("KRAKEN_PARITY_SEED").unwrap_or(1)]).await
}
