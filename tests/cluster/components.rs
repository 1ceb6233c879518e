//! The components of `config/components`, which users combine.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use kraken_testing::packaging::kustomize;
use kraken_testing::paths;
use serde_json::{Value, json};

/// Kind, namespace and name.
type Key = (String, Option<String>, String);

async fn by_key(folder: &Path) -> Result<BTreeMap<Key, Value>> {
    let documents = kustomize(folder).await?.into_iter();
    Ok(documents
        .map(|document| ((document.gvk.kind, document.namespace, document.name), document.value))
        .collect())
}

/// Copies `config`, with the hub and two spokes as its default, and one small CustomResourceDefinition of each: every spoke has the same files, and to
/// render all of them takes about ten seconds for each pair.
fn copy_some(config: &Path, to: &Path) -> Result<()> {
    let copied = Command::new("cp").arg("-R").arg(config).arg(to.join("config")).status()?;
    ensure!(copied.success(), "cannot copy {}", config.display());
    for component in fs::read_dir(config.with_file_name("crds"))? {
        let component = component?;
        if !component.file_type()?.is_dir() {
            continue;
        }
        let folder = to.join("crds").join(component.file_name());
        fs::create_dir_all(&folder)?;
        let mut files = Vec::new();
        for file in fs::read_dir(component.path())? {
            let file = file?;
            if file.file_name() != "kustomization.yaml" {
                files.push((file.metadata()?.len(), file.path()));
            }
        }
        let (_, smallest) = files.into_iter().min().context("a component without a kind")?;
        fs::copy(smallest, folder.join("kind.yaml"))?;
        let kustomization =
            "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [kind.yaml]\n";
        fs::write(folder.join("kustomization.yaml"), kustomization)?;
    }
    let default = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n\
                   resources: [../namespace, ../users, ../hub, ../aws-account, ../aws-s3]\n";
    fs::write(to.join("config/default/kustomization.yaml"), default)?;
    Ok(())
}

/// Every two components of `config/components` in one folder contain what each of them contains alone.
#[tokio::test]
async fn components_of_the_installation_combine_in_pairs() -> Result<()> {
    let config = paths::workspace_root()?.join("config").canonicalize()?;
    let mut names = Vec::new();
    for entry in fs::read_dir(config.join("components"))? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    assert!(names.len() >= 5, "{names:?}");
    let folder = tempfile::tempdir()?;
    copy_some(&config, folder.path())?;
    let rendered = async |components: &[&String]| -> Result<BTreeMap<Key, Value>> {
        let lines: String = components.iter().map(|name| format!("- config/components/{name}\n")).collect();
        let text = format!(
            "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [config/default]\ncomponents:\n{lines}"
        );
        fs::write(folder.path().join("kustomization.yaml"), text)?;
        by_key(folder.path()).await.with_context(|| format!("{components:?}"))
    };
    let default = by_key(&folder.path().join("config/default")).await?;
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
