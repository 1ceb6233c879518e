//! One web tier for three teams, from each tool for templates: what they make is the same in the cluster and in the cloud.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use kraken_testing::manifests::Document;
use kraken_testing::{kro::Kro, manifests, packaging, paths};
use kraken_tests::TestEnv;
use kraken_tests::test_env::TIMEOUT;
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client};
use serde_json::{Value, json};

/// The teams of the sample, with the first two numbers of their addresses.
const TEAMS: [(&str, &str); 3] = [("checkout", "10.31"), ("search", "10.32"), ("support", "10.33")];
/// What a team has in the end.
const RESOURCES: [(&str, &str); 13] = [
    ("VPC", "web"),
    ("InternetGateway", "web"),
    ("Subnet", "web-a"),
    ("Subnet", "web-b"),
    ("RouteTable", "web"),
    ("SecurityGroup", "web"),
    ("ImageLookup", "web"),
    ("EC2Instance", "web-a"),
    ("EC2Instance", "web-b"),
    ("TargetGroup", "web"),
    ("LoadBalancer", "web"),
    ("Listener", "web"),
    ("ConfigExport", "web-address"),
];

fn sample(path: &str) -> Result<PathBuf> {
    Ok(paths::workspace_root()?.join("config/samples/teams").join(path))
}

/// A namespace for each team of the sample.
async fn teams() -> Result<BTreeMap<&'static str, TestEnv>> {
    let mut teams = BTreeMap::new();
    for (team, _) in TEAMS {
        teams.insert(team, TestEnv::new().await?);
    }
    Ok(teams)
}

/// Puts a document of a team into the namespace that this test has for it.
fn placed(mut document: Document, namespace: &str) -> Document {
    if document.namespace.is_some() {
        document.namespace = Some(namespace.to_owned());
        document.value["metadata"]["namespace"] = json!(namespace);
    }
    document
}

/// Waits until the web tier of each team is in place, in its own network.
async fn all_in_place(teams: &BTreeMap<&'static str, TestEnv>) -> Result<()> {
    for (team, network) in TEAMS {
        let test_env = &teams[team];
        for (kind, name) in RESOURCES {
            test_env.ready(kind, name).await.with_context(|| format!("team {team}"))?;
        }
        let vpc = test_env.get("StateDeclaration", "vpc.aws.web").await?;
        let block = find(&vpc, "CidrBlock").with_context(|| format!("no block: {vpc}"))?;
        assert_eq!(block, &json!(format!("{network}.0.0/16")), "team {team}");
        let address =
            test_env.until("ConfigMap", "web-address", |map| map["data"]["host"].is_string()).await?;
        let host = address["data"]["host"].as_str().unwrap_or_default().to_owned();
        assert!(host.contains("elb.amazonaws.com"), "team {team}: {host}");
    }
    Ok(())
}

/// The first value of this key, however deep.
fn find<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    match value {
        Value::Object(all) => all.get(key).or_else(|| all.values().find_map(|value| find(value, key))),
        Value::Array(all) => all.iter().find_map(|value| find(value, key)),
        _ => None,
    }
}

#[tokio::test]
async fn kustomize_makes_a_web_tier_for_three_teams_whose_settings_are_edited() -> Result<()> {
    let teams = teams().await?;
    for (team, test_env) in &teams {
        let documents = packaging::kustomize(&sample(&format!("kustomize/{team}"))?).await?;
        let documents: Vec<_> =
            documents.into_iter().map(|document| placed(document, &test_env.ns.name)).collect();
        manifests::apply(&test_env.client(), &documents, &test_env.ns.name).await?;
    }
    all_in_place(&teams).await?;
    // A setting is edited in the ConfigMap; its name stays.
    let search = &teams["search"];
    search.patch("ConfigMap", "settings", json!({"data": {"port": "8081"}})).await?;
    search
        .until("StateDeclaration", "listener.aws.web", |state| find(state, "Port") == Some(&json!(8081)))
        .await?;
    Ok(())
}

#[tokio::test]
async fn helm_makes_a_web_tier_for_three_teams() -> Result<()> {
    let teams = teams().await?;
    for (team, test_env) in &teams {
        let (chart, values) = (sample("helm")?, sample(&format!("helm/{team}.yaml"))?);
        let [template, release, flag] = ["template", "web", "--values"].map(OsStr::new);
        let text = packaging::helm(&[template, release, chart.as_os_str(), flag, values.as_os_str()]).await?;
        let documents = manifests::parse("helm template", &text)?;
        manifests::apply(&test_env.client(), &documents, &test_env.ns.name).await?;
    }
    all_in_place(&teams).await
}

/// The WebTiers of a namespace, which kro makes a kind.
fn web_tiers(client: Client, namespace: &str) -> Api<DynamicObject> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("kro.run", "v1alpha1", "WebTier"));
    Api::namespaced_with(client, namespace, &resource)
}

#[tokio::test]
async fn kro_makes_a_web_tier_for_three_teams_and_deletes_it() -> Result<()> {
    let teams = teams().await?;
    let support = &teams["support"];
    let kro = Kro::start(&support.env.control_plane).await?;
    manifests::apply_path(&support.client(), &sample("kro/webtier.yaml")?, "default").await?;
    for document in manifests::read(&sample("kro/teams.yaml")?)? {
        let team = document.namespace.clone().context("a WebTier without a namespace")?;
        let test_env = &teams[team.as_str()];
        let document = placed(document, &test_env.ns.name);
        let api = web_tiers(test_env.client(), &test_env.ns.name);
        let (apply, started) = (PatchParams::apply("test"), Instant::now());
        // Until kro made the kind.
        while let Err(error) = api.patch("web", &apply, &Patch::Apply(&document.value)).await {
            ensure!(started.elapsed() < TIMEOUT, "{error}\n{}", kro.log());
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }
    all_in_place(&teams).await.with_context(|| kro.log())?;
    // A deletion of its object is one of the whole tier, in the order of the references.
    web_tiers(support.client(), &support.ns.name).delete("web", &DeleteParams::default()).await?;
    for (kind, name) in RESOURCES {
        support.gone(kind, name).await.with_context(|| kro.log())?;
    }
    Ok(())
}
