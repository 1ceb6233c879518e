//! The in-memory API server against kube-apiserver, request by request.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result};
use futures::{StreamExt as _, stream};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kraken_simulation::apiserver::Kinds;
use kraken_simulation::parity::{Difference, Kind, Profile, Servers, Tally, compare, kinds, shortest};
use kraken_testing::{ControlPlane, manifests};

/// The definitions in `crds/`.
fn crds() -> Result<Vec<CustomResourceDefinition>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crds");
    let documents = manifests::read(&folder)?;
    documents
        .into_iter()
        .map(|document| serde_json::from_value(document.value).context(document.source))
        .collect()
}

/// The sequence of a number: what it is about, and how long it is.
fn profile(number: u64) -> (Profile, usize) {
    match number % 20 {
        0 => (Profile::Namespaces, 25),
        7 | 14 => (Profile::Owners, 30),
        _ => (Profile::Plain, 100),
    }
}

async fn run(servers: &Servers, kinds: &[Kind], requests: usize, seed: u64) -> Result<()> {
    let mut sequences = Vec::new();
    let mut left = requests;
    for number in 0.. {
        if left == 0 {
            break;
        }
        let (profile, count) = profile(number);
        let count = count.min(left);
        left -= count;
        sequences.push((seed * 1_000_003 + number, profile, count));
    }
    // The long waits of namespaces come first.
    let began = std::time::Instant::now();
    let results: Vec<_> = stream::iter(sequences)
        .map(|(seed, profile, count)| async move {
            (seed, profile, compare(servers, kinds, seed, profile, count).await)
        })
        .buffer_unordered(8)
        .collect()
        .await;
    let (mut tally, mut all) = (Tally::new(), BTreeMap::<String, Vec<(u64, Difference)>>::new());
    for (seed, profile, result) in results {
        let (answers, differences) = result.with_context(|| format!("seed {seed}, {profile:?}"))?;
        for (answer, count) in answers {
            *tally.entry(answer).or_default() += count;
        }
        for difference in differences {
            all.entry(difference.signature()).or_default().push((seed, difference));
        }
    }
    let seconds = began.elapsed().as_secs_f64();
    println!(
        "{} requests, {} kinds of differences, {seconds:.1} s",
        tally.values().sum::<usize>(),
        all.len()
    );
    for ((method, status), count) in &tally {
        println!("{method} {status}: {count}");
    }
    let shortest: Vec<String> = stream::iter(all)
        .map(|(signature, mut same)| async move {
            same.sort_by_key(|(_, difference)| difference.steps.len());
            let (seed, first) = same.swap_remove(0);
            let short = shortest(servers, first.clone()).await.unwrap_or(first);
            format!("== {} times: {signature}\nseed {seed}\n{short}", same.len() + 1)
        })
        .buffer_unordered(4)
        .collect()
        .await;
    let report = shortest.join("\n");
    if let Ok(file) = std::env::var("KRAKEN_PARITY_REPORT") {
        std::fs::write(file, &report)?;
    }
    assert!(report.is_empty(), "\n{report}");
    Ok(())
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

#[tokio::test]
#[ignore = "differences remain"]
async fn answers_are_those_of_kube_apiserver() -> Result<()> {
    let plane = ControlPlane::start().await?;
    let real = plane.client().await?;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crds");
    manifests::apply_path(&real, &folder, "default").await?;
    // Its garbage collector learns of new kinds every 30 seconds only.
    plane.restart_controller_manager().await?;
    let kinds = kinds(&crds()?)?;
    let requests = usize::try_from(number("KRAKEN_PARITY_REQUESTS").unwrap_or(1500))?;
    let servers = Servers { kinds: Kinds::new(&crds()?)?, real };
    run(&servers, &kinds, requests, number("KRAKEN_PARITY_SEED").unwrap_or(1)).await
}
