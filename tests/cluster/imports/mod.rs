//! `kubectl kraken import`: what another client made in moto is taken over, without any change of it but tags.

mod topology;

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use kraken_testing::{Environment, EnvironmentOptions, SuiteOptions, paths};
use kraken_tests::TestEnv;
use serde_json::Value;

use crate::kubectl::Shell;

/// The number of generated topologies.
const TOPOLOGIES: u64 = 8;

/// An environment whose cloud no other test uses.
async fn own() -> Result<TestEnv> {
    let suite = SuiteOptions { webhooks: true, ..SuiteOptions::default() };
    let options = EnvironmentOptions { suite, ..EnvironmentOptions::default() };
    TestEnv::on(Arc::new(Environment::start(options).await?)).await
}

fn program() -> Result<String> {
    let program = paths::bin_dir()?.join("kubectl-kraken");
    ensure!(program.is_file(), "{} does not exist; build the binaries first", program.display());
    Ok(program.display().to_string())
}

/// The calls that change more than tags.
fn mutating(calls: &BTreeMap<String, u64>) -> Vec<&String> {
    // A path alone is that of a GET.
    let is_read =
        |action: &str| ["Describe", "Get", "List", "/"].iter().any(|start| action.starts_with(start));
    let is_tag = |action: &str| matches!(action, "CreateTags" | "AddTags");
    calls.keys().filter(|action| !is_read(action) && !is_tag(action)).collect()
}

#[tokio::test]
async fn generated_topologies_are_taken_over_without_a_change_but_tags() -> Result<()> {
    let test_env = own().await?;
    let (shell, program) = (Shell::of(&test_env)?, program()?);
    let proxy = &test_env.env.proxy;
    for seed in 1..=TOPOLOGIES {
        let topology::Topology { vpc, objects } = topology::make(&test_env, seed).await?;
        proxy.clear();
        let said = shell.run(&format!("{program} import --vpc {vpc} 2>&1 >import.yaml")).await?;
        ensure!(mutating(&proxy.calls()).is_empty(), "an import changes nothing: {:?}", proxy.calls());
        let yaml = shell.run("cat import.yaml").await?;
        let plan = shell.run(&format!("{program} plan -f import.yaml -o json || [ $? = 2 ]")).await?;
        let plan: Value = serde_json::from_str(&plan).with_context(|| format!("no JSON: {plan}"))?;
        let entries = plan["entries"].as_array().context("a plan without entries")?;
        let others: Vec<_> = entries.iter().filter(|entry| entry["action"] != "Adopt").collect();
        ensure!(others.is_empty(), "seed {seed}: {others:?}\n{yaml}");
        // Each was compared with the cloud, also where it refers to others of the file.
        let is_unchanged = |entry: &&Value| {
            entry["effects"][0].as_str().is_some_and(|effect| effect.ends_with(" without changes"))
        };
        let changed: Vec<_> = entries.iter().filter(|entry| !is_unchanged(entry)).collect();
        ensure!(changed.is_empty(), "seed {seed}: {changed:?}\n{yaml}");
        // The volumes of launches are found besides what was made.
        let written =
            yaml.lines().filter(|line| line.starts_with("kind: ") && *line != "kind: Volume").count();
        ensure!(
            written == objects,
            "seed {seed}: {written} of {objects} objects are written\n{said}\n{yaml}"
        );
        let printed = shell.run(&format!("{program} apply -f import.yaml --yes --timeout 120 2>&1")).await?;
        let changed = proxy.calls();
        ensure!(
            mutating(&changed).is_empty(),
            "seed {seed}: an adoption changes nothing but tags: {:?}\n{yaml}\n{printed}",
            mutating(&changed)
        );
        println!("seed {seed}: {objects} objects\n{said}");
    }
    // Everything has a resource now.
    let said = shell.run(&format!("{program} import --account 2>&1 >import.yaml")).await?;
    ensure!(said.contains("managed already"), "{said}");
    // Adopted objects are kept.
    proxy.clear();
    shell.run("kubectl delete kraken --all --timeout=300s").await?;
    let deleted: Vec<_> = proxy
        .calls()
        .into_keys()
        .filter(|action| action.starts_with("Delete") && action != "DeleteTags")
        .collect();
    ensure!(deleted.is_empty(), "{deleted:?}");
    Ok(())
}

#[tokio::test]
async fn references_are_restored_and_what_cannot_be_managed_is_said() -> Result<()> {
    let test_env = crate::kubectl::with_webhooks().await?;
    let (shell, program) = (Shell::of(&test_env)?, program()?);
    // A seed with an internet gateway and routes.
    let topology::Topology { vpc, .. } = topology::make(&test_env, 101).await?;
    let said = shell.run(&format!("{program} import --vpc {vpc} 2>&1 >import.yaml")).await?;
    for text in [
        "the default security group of its VPC",
        "the default network ACL of its VPC",
        "references instead of ids",
    ] {
        ensure!(said.contains(text), "{text}: {said}");
    }
    let yaml = shell.run("cat import.yaml").await?;
    ensure!(yaml.contains("vpcID: {valueFrom: {ref: VPC/"), "{yaml}");
    ensure!(yaml.contains(&format!("# was {vpc}")), "{yaml}");
    ensure!(yaml.contains(&format!("lifecycle: {{adopt: {{id: {vpc}}}}}")), "{yaml}");
    // No request remains.
    let left = shell.run("kubectl get importrequests -o name").await?;
    ensure!(left.trim().is_empty(), "{left}");
    // By tags only what has them, with ids where the other object is not part of the import.
    let said = shell.run(&format!("{program} import --tags Team=nobody 2>&1")).await?;
    ensure!(said.contains("nothing to import"), "{said}");
    for (line, text) in [
        ("import", "required"),
        ("import --vpc vpc-1 --account", "cannot be used with"),
        ("import --tags Team", "KEY=VALUE"),
        ("import --vpc vpc-1 -A", "-n instead of -A"),
        ("import --vpc vpc-1 --use-account missing", "Account missing does not exist"),
    ] {
        let (succeeded, printed) = shell.output(&format!("{program} {line}")).await?;
        ensure!(!succeeded && printed.contains(text), "{line}: {printed}");
    }
    Ok(())
}
