//! Applies YAML files as `kubectl apply --server-side` does, without needing kubectl.
//!
//! Used for `crds/`, `config/` and the samples, by tests and the demo. Namespaces are applied first, then CRDs
//! (until the API server serves them), then all other objects in the order of the files.

mod kinds;
mod served;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use kube::Client;
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams};
use kube::core::GroupVersionKind;
use serde::Deserialize;
use serde_json::Value;

pub use kinds::Kinds;
use served::{SERVED_WITHIN, served};

/// The field manager of applied objects.
pub const FIELD_MANAGER: &str = "kraken-testing";

/// One object of a file.
#[derive(Debug, Clone)]
pub struct Document {
    /// Where it is from, for messages: `crds/a.yaml, document 2`.
    pub source: String,
    /// Its group, version and kind.
    pub gvk: GroupVersionKind,
    /// `metadata.name`.
    pub name: String,
    /// `metadata.namespace`.
    pub namespace: Option<String>,
    /// All of it.
    pub value: Value,
}

/// Reads a file, or all `.yaml` and `.yml` files of a folder and the folders in it, in the order of their names, without
/// `kustomization.yaml` (which lists files and is no object).
///
/// # Errors
/// When there is no object, or a document is not a Kubernetes object; the error names the file and the document.
pub fn read(path: &Path) -> Result<Vec<Document>> {
    let mut documents = Vec::new();
    for file in files(path)? {
        let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        documents.extend(parse(&file.display().to_string(), &text)?);
    }
    if documents.is_empty() {
        bail!("{} holds no objects", path.display());
    }
    Ok(documents)
}

fn files(path: &Path) -> Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let entries = fs::read_dir(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
    paths.sort();
    let is_manifest = |file: &Path| {
        file.extension().is_some_and(|extension| extension == "yaml" || extension == "yml")
            && file.file_stem().is_some_and(|stem| stem != "kustomization")
    };
    let mut found = Vec::new();
    for path in paths {
        if path.is_dir() {
            found.extend(files(&path)?);
        } else if is_manifest(&path) {
            found.push(path);
        }
    }
    Ok(found)
}

/// Reads the documents of a text; `source` is its name in messages.
///
/// # Errors
/// When a document is not a Kubernetes object.
pub fn parse(source: &str, text: &str) -> Result<Vec<Document>> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Head {
        api_version: String,
        kind: String,
        metadata: Metadata,
    }
    #[derive(Deserialize)]
    struct Metadata {
        name: String,
        namespace: Option<String>,
    }

    let values: Vec<Value> =
        serde_saphyr::from_multiple(text).with_context(|| format!("{source} is not valid YAML"))?;
    let objects = values.into_iter().enumerate().filter(|(_, value)| !value.is_null());
    objects
        .map(|(index, value)| {
            let source = format!("{source}, document {}", index + 1);
            let head = Head::deserialize(&value).with_context(|| {
                format!("{source} is not a Kubernetes object: it requires apiVersion, kind and metadata.name")
            })?;
            let (group, version) = head.api_version.split_once('/').unwrap_or(("", &head.api_version));
            let gvk = GroupVersionKind::gvk(group, version, &head.kind);
            Ok(Document { source, gvk, name: head.metadata.name, namespace: head.metadata.namespace, value })
        })
        .collect()
}

/// Applies the documents; those of namespaced kinds without a namespace go to `namespace`.
///
/// # Errors
/// When the API server rejects one, or does not serve its kind; names the file and the document.
pub async fn apply(client: &Client, documents: &[Document], namespace: &str) -> Result<Vec<DynamicObject>> {
    let mut kinds = Kinds::default();
    if documents.iter().any(|document| rank(document) == Rank::Crd) {
        kinds.timeout = SERVED_WITHIN; // a CRD can be Established a moment before discovery lists its kind
    }
    let mut applied = Vec::new();
    let mut ordered: Vec<&Document> = documents.iter().collect();
    ordered.sort_by_key(|document| rank(document)); // stable: files keep their order within a rank
    let mut waited = false;
    for document in ordered {
        if rank(document) == Rank::Rest && !waited {
            served(client, &applied).await?;
            waited = true;
        }
        let api = kinds.api(client, document, namespace).await?;
        applied.push(apply_one(&api, document).await?);
    }
    if !waited {
        served(client, &applied).await?;
    }
    Ok(applied)
}

/// Applies one document with the API of its kind.
///
/// # Errors
/// When the API server rejects it; names the file and the document.
pub async fn apply_one(api: &Api<DynamicObject>, document: &Document) -> Result<DynamicObject> {
    let params = PatchParams::apply(FIELD_MANAGER).force();
    api.patch(&document.name, &params, &Patch::Apply(&document.value)).await.with_context(|| {
        format!("cannot apply {} {} ({})", document.gvk.kind, document.name, document.source)
    })
}

/// [`read`] and [`apply`].
///
/// # Errors
/// As [`read`] and [`apply`].
pub async fn apply_path(client: &Client, path: &Path, namespace: &str) -> Result<Vec<DynamicObject>> {
    apply(client, &read(path)?, namespace).await
}

/// Requests the deletion of the documents' objects, the last one first; missing ones are ignored.
///
/// # Errors
/// When the API server rejects one.
pub async fn delete(client: &Client, documents: &[Document], namespace: &str) -> Result<()> {
    let mut kinds = Kinds::default();
    for document in documents.iter().rev() {
        delete_one(&kinds.api(client, document, namespace).await?, document).await?;
    }
    Ok(())
}

/// Requests the deletion of one document's object with the API of its kind; a missing one is ignored.
///
/// # Errors
/// When the API server rejects it.
pub async fn delete_one(api: &Api<DynamicObject>, document: &Document) -> Result<()> {
    match api.delete(&document.name, &DeleteParams::default()).await {
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
        result => {
            result.map(drop).with_context(|| format!("cannot delete {} {}", document.gvk.kind, document.name))
        }
    }
}

/// An API of a document's kind in its namespace (or `namespace`, if it names none).
///
/// # Errors
/// When the API server does not serve the kind.
pub async fn api(client: &Client, document: &Document, namespace: &str) -> Result<Api<DynamicObject>> {
    Kinds::default().api(client, document, namespace).await
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Namespace,
    Crd,
    Rest,
}

fn rank(document: &Document) -> Rank {
    match (document.gvk.group.as_str(), document.gvk.kind.as_str()) {
        ("", "Namespace") => Rank::Namespace,
        ("apiextensions.k8s.io", "CustomResourceDefinition") => Rank::Crd,
        _ => Rank::Rest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_numbered_and_empty_ones_skipped() {
        let text = "# only a comment\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\n\
                    apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: b, namespace: c}\n";
        let documents = parse("f.yaml", text).unwrap();
        assert_eq!(documents.len(), 2);
        assert_eq!((documents[0].gvk.group.as_str(), documents[0].name.as_str()), ("", "a"));
        assert_eq!(documents[1].gvk, GroupVersionKind::gvk("apps", "v1", "Deployment"));
        assert_eq!(documents[1].namespace.as_deref(), Some("c"));
    }

    #[test]
    fn a_document_that_is_not_an_object_is_reported_with_its_number() {
        let error = parse("f.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\nkind: X\n");
        assert!(error.unwrap_err().to_string().contains("f.yaml, document 2"));
    }
}
