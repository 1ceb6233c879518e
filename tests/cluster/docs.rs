//! The YAML and the commands of README and docs: every block of YAML is accepted by the API server, and marked commands work as
//! written.
//!
//! A page that begins with `<!-- executed by a test -->` is executed as a whole: its `yaml` blocks are applied and its `sh` blocks
//! run, in their order. Elsewhere, `<!-- executed by a test, after FOLDER -->` before an `sh` block runs that block after the samples
//! of the folder were applied and are Ready.

use std::{fs, path::PathBuf};

use anyhow::{Context as _, Result, ensure};
use kraken_testing::{manifests, paths};
use kraken_tests::TestEnv;
use kube::{
    Api,
    api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams},
};
use serde_json::{Value, json};

use crate::kubectl::{Shell, with_webhooks};

const MARKER: &str = "<!-- executed by a test";

/// A fenced block of a page.
#[derive(Debug, PartialEq)]
struct Block {
    /// The line of its fence, from 1.
    line: usize,
    language: String,
    text: String,
    /// The marker in the line before it.
    marker: Option<String>,
}

/// The blocks of a page. A fence in a list is indented, and so are its lines.
fn blocks(page: &str) -> Vec<Block> {
    let (mut found, mut open, mut before) = (Vec::<Block>::new(), None, "");
    for (index, line) in page.lines().enumerate() {
        let indent = line.len() - line.trim_start().len();
        match (line.trim_start().strip_prefix("```"), open) {
            (Some(language), None) => {
                let marker = before.strip_prefix(MARKER).and_then(|rest| rest.strip_suffix("-->"));
                found.push(Block {
                    line: index + 1,
                    language: language.to_owned(),
                    text: String::new(),
                    marker: marker.map(|rest| rest.trim().to_owned()),
                });
                open = Some(indent);
            }
            (Some(_), Some(_)) => open = None,
            (None, Some(indent)) => {
                if let Some(block) = found.last_mut() {
                    block.text.push_str(
                        line.get(indent.min(line.len() - line.trim_start().len())..).unwrap_or_default(),
                    );
                    block.text.push('\n');
                }
            }
            (None, None) => {}
        }
        if !line.trim().is_empty() {
            before = line;
        }
    }
    found
}

/// README and all pages for users; decisions and measurements are history.
fn pages() -> Result<Vec<(String, String)>> {
    let root = paths::workspace_root()?;
    let mut files = vec![root.join("README.md")];
    let mut folders = vec![root.join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            let is_history = path.ends_with("docs/decisions") || path.ends_with("docs/performance");
            if path.is_dir() && !is_history {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                files.push(path);
            }
        }
    }
    files.sort();
    let read = |path: &PathBuf| {
        let name = path.strip_prefix(&root).unwrap_or(path).display().to_string();
        Ok((name, fs::read_to_string(path)?))
    };
    files.iter().map(read).collect()
}

/// The documents of a block, and whether each is a whole object and not a fragment.
fn documents(block: &Block) -> Vec<(String, bool)> {
    let mut documents = vec![String::new()];
    for line in block.text.lines() {
        match documents.last_mut() {
            Some(last) if line != "---" => {
                last.push_str(line);
                last.push('\n');
            }
            _ => documents.push(String::new()),
        }
    }
    // A kustomization is a file of kubectl, and no object of the cluster.
    documents.retain(|text| !text.trim().is_empty() && !text.contains("kind: Kustomization"));
    let with_form = |text: String| {
        let is_whole = text.lines().any(|line| line.starts_with("apiVersion:"));
        (text, is_whole)
    };
    documents.into_iter().map(with_form).collect()
}

/// The entries of a fragment, which may show several forms of one field: a line without indentation begins an entry.
fn entries(fragment: &str) -> Vec<String> {
    let mut entries: Vec<String> = vec![];
    for line in fragment.lines().filter(|line| !line.trim().is_empty()) {
        let begins = !line.starts_with([' ', '-', '#']);
        match entries.last_mut() {
            Some(last) if !begins => {
                last.push_str(line);
                last.push('\n');
            }
            _ => entries.push(format!("{line}\n")),
        }
    }
    entries
}

/// An EC2Instance with this field; `None` if it has no such field.
fn instance_with(entry: &Value) -> Option<Value> {
    const FIELDS: [&str; 6] = ["imageID", "instanceType", "userData", "subnetID", "securityGroupIDs", "tags"];
    let (name, value) = entry.as_object()?.iter().next()?;
    if !FIELDS.contains(&name.as_str()) && name != "lifecycle" {
        return None;
    }
    let mut instance = json!({
        "apiVersion": "aws.kraken-iac.eoinfennessy.com/v1alpha1", "kind": "EC2Instance", "metadata": {"name": "fragment"},
        "spec": {
            "imageID": {"value": "ami-0abc1234def567890"}, "instanceType": {"value": "t3.micro"},
            "minCount": {"value": 1}, "maxCount": {"value": 1},
        },
    });
    instance["spec"][name] = value.clone();
    Some(instance)
}

async fn accepted(test_env: &TestEnv, object: &Value) -> Result<()> {
    let mut object = object.clone();
    let (kind, name) = (object["kind"].as_str().unwrap_or_default(), object["metadata"]["name"].as_str());
    let name = name.context("it has no name")?.to_owned();
    let api: Api<DynamicObject> = if kind == "ProviderInstall" {
        let kind = GroupVersionKind::gvk("providers.kraken-iac.eoinfennessy.com", "v1alpha1", kind);
        Api::all_with(test_env.client(), &ApiResource::from_gvk(&kind))
    } else {
        let api = test_env.api(kind);
        object["metadata"]["namespace"] = test_env.ns.name.clone().into();
        api
    };
    let params = PatchParams { dry_run: true, ..PatchParams::apply("docs").force() };
    let params = params.validation_strict();
    api.patch(&name, &params, &Patch::Apply(&object)).await?;
    Ok(())
}

async fn check(test_env: &TestEnv, block: &Block) -> Result<()> {
    for (text, is_whole) in documents(block) {
        if is_whole {
            for document in manifests::parse("the block", &text)? {
                // Kinds of other programs are not installed.
                let group = document.gvk.group.as_str();
                let is_served = ["", "apps"].contains(&group)
                    || (group.ends_with("kraken-iac.eoinfennessy.com") && group != kraken_tofu::names::GROUP);
                if is_served {
                    accepted(test_env, &document.value).await.with_context(|| document.name.clone())?;
                }
            }
            continue;
        }
        for entry in entries(&text) {
            let value: Value = serde_saphyr::from_str(&entry).with_context(|| entry.clone())?;
            if let Some(instance) = instance_with(&value) {
                accepted(test_env, &instance).await.context(entry)?;
            }
        }
    }
    Ok(())
}

#[tokio::test]
async fn every_block_of_yaml_in_the_docs_is_accepted() -> Result<()> {
    let test_env = with_webhooks().await?;
    let (mut problems, mut checked) = (vec![], 0);
    for (page, text) in pages()? {
        for block in blocks(&text).iter().filter(|block| block.language == "yaml") {
            checked += 1;
            if let Err(error) = check(&test_env, block).await {
                problems.push(format!("{page}:{}: {error:#}", block.line));
            }
        }
    }
    ensure!(problems.is_empty(), "{}", problems.join("\n"));
    ensure!(checked >= 20, "only {checked} blocks were found");
    Ok(())
}

/// The commands of a page.
fn script(page: &str, text: &str) -> String {
    let mut script = String::new();
    for block in blocks(text) {
        let place = format!("echo '== {page}:{}'\n", block.line);
        match block.language.as_str() {
            "yaml" => script.extend([
                place.as_str(),
                "kubectl apply -f - <<'END_OF_YAML'\n",
                &block.text,
                "END_OF_YAML\n",
            ]),
            "sh" => script.extend([place.as_str(), &block.text]),
            _ => {}
        }
    }
    script
}

#[tokio::test]
async fn the_pages_of_docs_that_say_so_work_as_written() -> Result<()> {
    let mut executed = 0;
    for (page, text) in pages()?.iter().filter(|(_, text)| text.starts_with(MARKER)) {
        let test_env = with_webhooks().await?;
        Shell::of(&test_env)?.run(&script(page, text)).await.with_context(|| page.clone())?;
        executed += 1;
    }
    ensure!(executed >= 5, "only {executed} pages were executed");
    Ok(())
}

/// The YAML of kubectl is stricter than that of the controllers: a `?` at the end of a text in `{}` has to be quoted.
#[tokio::test]
async fn kubectl_reads_every_sample() -> Result<()> {
    const SCRIPT: &str = r#"
        for folder in */ teams/kro/; do
            [ "$folder" = teams/ ] || kubectl label --local -f "$folder" sample=read -o name > /dev/null || echo "$folder"
        done
        for team in checkout search support; do
            kubectl kustomize "teams/kustomize/$team" > /dev/null || echo "$team"
        done"#;
    let test_env = with_webhooks().await?;
    let samples = paths::workspace_root()?.join("config/samples");
    let printed = Shell::of(&test_env)?.run(&format!("cd '{}'\n{SCRIPT}", samples.display())).await?;
    ensure!(printed.is_empty(), "{printed}");
    Ok(())
}

#[tokio::test]
async fn marked_commands_of_the_docs_work_after_their_samples() -> Result<()> {
    let mut executed = 0;
    for (page, text) in pages()? {
        for block in blocks(&text) {
            let Some(samples) = block.marker.as_ref().and_then(|marker| marker.strip_prefix(", after "))
            else {
                continue;
            };
            let place = || format!("{page}:{}", block.line);
            let test_env = with_webhooks().await?;
            let samples = manifests::read(&paths::workspace_root()?.join(samples)).with_context(place)?;
            manifests::apply(&test_env.client(), &samples, &test_env.ns.name).await?;
            for sample in samples.iter().filter(|sample| sample.gvk.group.starts_with("aws.")) {
                // One of the quickstart waits for a key that its user sets.
                let waits = sample.value.to_string().contains("batch-type");
                if !waits {
                    test_env.ready(&sample.gvk.kind, &sample.name).await?;
                }
            }
            Shell::of(&test_env)?.run(&block.text).await.with_context(place)?;
            executed += 1;
        }
    }
    ensure!(executed > 0, "no block is marked");
    Ok(())
}

#[test]
fn blocks_are_found_with_their_markers_and_without_their_indentation() {
    let page = "<!-- executed by a test, after a/b -->\n\n```sh\nkubectl get vpc\n```\n\n- x\n\n  ```yaml\n  a:\n    b: 1\n  ```\n";
    let block = |line, language: &str, text: &str, marker: Option<&str>| Block {
        line,
        language: language.to_owned(),
        text: text.to_owned(),
        marker: marker.map(str::to_owned),
    };
    assert_eq!(
        blocks(page),
        [block(3, "sh", "kubectl get vpc\n", Some(", after a/b")), block(9, "yaml", "a:\n  b: 1\n", None),]
    );
    assert_eq!(entries("a: 1\na:\n  b: 2\n"), ["a: 1\n", "a:\n  b: 2\n"]);
}
