//! The components of `config/components`, which users combine.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use kraken_testing::packaging::kustomize;
use kraken_testing::paths;
use serde_json::{Value, json};

/// Kind, namespace and name.
type Key = (String, Option<String>, String);

async fn by_key(folder: &std::path::Path) -> Result<BTreeMap<Key, Value>> {
    let documents = kustomize(folder).await?.into_iter();
    Ok(documents
        .map(|document| ((document.gvk.kind, document.namespace, document.name), document.value))
        .collect())
}

/// Every two components of `config/components` in one folder contain what each of them contains alone.
#[tokio::test]
async fn components_of_the_installation_combine_in_pairs() -> Result<()> {
    let config = paths::workspace_root()?.join("config").canonicalize()?;
    let mut names = Vec::new();
    for entry in std::fs::read_dir(config.join("components"))? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    assert!(names.len() >= 5, "{names:?}");
    let folder = tempfile::tempdir()?;
    // Kustomize accepts only relative paths.
    let to_root = "../".repeat(folder.path().canonicalize()?.components().skip(1).count());
    let relative = format!("{to_root}{}", config.display().to_string().trim_start_matches('/'));
    let rendered = async |components: &[&String]| -> Result<BTreeMap<Key, Value>> {
        let lines: String =
            components.iter().map(|name| format!("- {relative}/components/{name}\n")).collect();
        let text = format!(
            "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [{relative}/default]\ncomponents:\n{lines}"
        );
        std::fs::write(folder.path().join("kustomization.yaml"), text)?;
        by_key(folder.path()).await.with_context(|| format!("{components:?}"))
    };
    let default = by_key(&config.join("default")).await?;
    let mut alone = BTreeMap::new();
    for name in &names {
        alone.insert(name, rendered(&[name]).await?);
    }
    for (first, second) in
        names.iter().flat_map(|a| names.iter().map(move |b| (a, b))).filter(|(a, b)| a != b)
    {
        let both = rendered(&[first, second]).await?;
        for (one, other) in [(first, second), (second, first)] {
            let removed_by =
                |name: &String, key: &Key| default.contains_key(key) && !alone[name].contains_key(key);
            for (key, object) in &alone[one] {
                assert_eq!(both.contains_key(key), !removed_by(other, key), "{first} and {second}: {key:?}");
                // What only one of them changes is as that one alone makes it.
                let is_its_own = alone[other].get(key).is_none_or(|theirs| default.get(key) == Some(theirs));
                if is_its_own && both.contains_key(key) {
                    assert_eq!(&both[key], object, "{first} and {second}: {key:?}");
                }
            }
        }
        // What both change has the changes of both.
        for (name, spec) in
            both.iter().filter(|((kind, ..), _)| kind == "Deployment").map(|(key, o)| (&key.2, &o["spec"]))
        {
            let pod = &spec["template"]["spec"];
            let is_certified = [first, second].iter().any(|component| *component == "cert-manager");
            let has_certificate = pod["volumes"].to_string().contains("webhook-certificate");
            assert_eq!(has_certificate, is_certified, "{first} and {second}: {name}");
            let is_available = [first, second].iter().any(|component| *component == "high-availability");
            assert_eq!(spec["replicas"] == 2, is_available, "{first} and {second}: {name}");
            let listens = json!({"name": "KRAKEN_WEBHOOK_LISTEN", "value": ""});
            let is_namespaced = [first, second].iter().any(|component| *component == "namespaced");
            let env = pod["containers"][0]["env"].as_array().cloned().unwrap_or_default();
            assert_eq!(env.contains(&listens), is_namespaced, "{first} and {second}: {name}");
        }
    }
    Ok(())
}
