//! The CRDs of this version, which are part of the program: their names, and their schemas when one is needed. Pure.

use anyhow::{Context as _, Result, anyhow};
use kraken_api::FOLLOWS_ANNOTATION;
use kube_schema::Schema;
use serde_json::{Value, json};

use crate::{discovery::Kinds, embedded};

/// The line before the schemas, which are most of a file.
const SCHEMAS: &str = "\n  versions:\n";

/// A CRD without its schema.
#[derive(Clone, Debug)]
pub(crate) struct Crd {
    pub(crate) group: String,
    pub(crate) kind: String,
    /// The fields of the spec that are set after the creation, so that their references close no cycle.
    pub(crate) follows: Vec<String>,
    names: Value,
    file: &'static str,
}

/// All of them.
pub(crate) fn all() -> Result<Vec<Crd>> {
    embedded::crds().map(crd).collect()
}

fn crd(file: &'static str) -> Result<Crd> {
    let (head, _) = file.split_once(SCHEMAS).context("an embedded CRD has no versions")?;
    let head: Value = serde_saphyr::from_str(head).context("an embedded CRD is no YAML")?;
    let names = head["spec"]["names"].clone();
    let follows = head["metadata"]["annotations"][FOLLOWS_ANNOTATION].as_str().unwrap_or_default();
    Ok(Crd {
        group: head["spec"]["group"].as_str().unwrap_or_default().to_owned(),
        kind: names["kind"].as_str().unwrap_or_default().to_owned(),
        follows: follows.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect(),
        names,
        file,
    })
}

impl Crd {
    /// The schema of one of its versions; `None` if it has no such version.
    pub(crate) fn schema(&self, version: &str) -> Result<Option<Schema>> {
        let whole: Value = serde_saphyr::from_str(self.file).context("an embedded CRD is no YAML")?;
        let mut versions = whole["spec"]["versions"].as_array().into_iter().flatten();
        let Some(found) = versions.find(|one| one["name"] == version) else { return Ok(None) };
        let compiled = Schema::compile(&found["schema"]["openAPIV3Schema"]);
        compiled.map(Some).map_err(|error| anyhow!("the schema of {}: {error}", self.kind))
    }
}

/// The kinds as the discovery of a cluster lists them.
pub(crate) fn kinds(crds: &[Crd]) -> Result<Kinds> {
    let group = |crd: &Crd| {
        json!({"metadata": {"name": crd.group}, "versions": [{"version": kraken_api::VERSION, "resources": [{
            "resource": crd.names["plural"], "responseKind": {"kind": crd.kind}, "singularResource": crd.names["singular"],
            "shortNames": crd.names.get("shortNames").cloned().unwrap_or_else(|| json!([])),
            "categories": crd.names.get("categories").cloned().unwrap_or_else(|| json!([])),
        }]}]})
    };
    let list = json!({"items": crds.iter().map(group).collect::<Vec<_>>()});
    Ok(Kinds::of(serde_json::from_value(list).context("the embedded CRDs have no valid names")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_schema_is_supported() {
        let all = all().unwrap();
        assert!(all.len() >= 18, "{}", all.len());
        for crd in all {
            assert!(crd.schema(kraken_api::VERSION).unwrap().is_some(), "{}", crd.kind);
            assert!(crd.schema("v9").unwrap().is_none());
        }
    }

    #[test]
    fn kinds_have_the_names_that_a_cluster_gives_them() {
        let kinds = kinds(&all().unwrap()).unwrap();
        assert_eq!(kinds.find("sg").unwrap().resource.kind, "SecurityGroup");
        assert!(kinds.named("StateDeclaration").is_some() && kinds.find("state").is_err());
    }
}
