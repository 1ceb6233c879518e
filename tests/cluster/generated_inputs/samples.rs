//! The kinds of the CRDs, with the inputs that are generated from a sample of each.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use kraken_testing::{manifests, paths::workspace_root};
use serde_json::{Value, json};

use super::generator::{Generated, generate};

const SAMPLES: &str = include_str!("samples.yaml");

/// A kind with the schema of its `spec`.
pub(super) struct Kind {
    pub name: String,
    pub group: String,
    pub plural: String,
    pub generated: Generated,
}

/// All kinds of the CRDs, each with what is generated from its samples.
pub(super) fn kinds(namespace: &str) -> Result<Vec<Kind>> {
    let mut samples = BTreeMap::<String, Vec<Value>>::new();
    for text in SAMPLES.split("\n---\n") {
        let named = text.replacen("\nspec:", "\nmetadata: {name: generated}\nspec:", 1);
        let named = named.replace("NAMESPACE", namespace);
        for document in manifests::parse("the samples", &named)? {
            let of_kind = samples.entry(document.gvk.kind.clone()).or_default();
            let mut by_tags = document.value.clone();
            if let Some(adopt) = by_tags.pointer_mut("/spec/lifecycle/adopt") {
                *adopt = json!({"tags": {"Name": "web"}});
                of_kind.push(by_tags);
            }
            of_kind.push(document.value);
        }
    }
    let mut kinds = vec![];
    for folder in std::fs::read_dir(workspace_root()?.join("crds"))? {
        let folder = folder?.path();
        // A ProviderInstall belongs to the cluster, and the options of a ProviderConfig have no schema: `tofu_install` tests their mistakes.
        if folder.ends_with("tofu") {
            continue;
        }
        for file in folder.is_dir().then(|| std::fs::read_dir(&folder)).transpose()?.into_iter().flatten() {
            let file = file?.path();
            if file.ends_with("kustomization.yaml") {
                continue;
            }
            for document in manifests::read(&file)? {
                let spec = &document.value["spec"];
                let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                let name = text(&spec["names"]["kind"]);
                let schema = &spec["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
                let samples = samples.remove(&name).with_context(|| format!("no sample of {name}"))?;
                let generated = generate(&name, schema, &samples);
                let (group, plural) = (text(&spec["group"]), text(&spec["names"]["plural"]));
                kinds.push(Kind { name, group, plural, generated });
            }
        }
    }
    kinds.sort_by(|one, other| one.name.cmp(&other.name));
    ensure!(samples.is_empty(), "samples of unknown kinds: {:?}", samples.keys());
    Ok(kinds)
}
