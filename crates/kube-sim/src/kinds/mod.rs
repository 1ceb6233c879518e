//! The kinds that are served: some of Kubernetes itself, and the CRDs.

mod builtin;

use std::{collections::BTreeMap, sync::Arc};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::Value;

use super::schema::{Schema, SchemaError, Shared};

/// The properties of a kind, except its schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Nature {
    /// Defined by a CRD.
    Custom,
    /// Phase and finalizers in the spec.
    Namespace,
    /// `immutable`.
    ConfigMap,
    /// `immutable`, `type`, `stringData`.
    Secret,
    /// Nothing of interest.
    Plain,
}

/// A kind.
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools, clippy::struct_field_names)] // independent properties, as discovery names them
pub(super) struct Kind {
    /// Its place in the list.
    pub index: usize,
    pub group: String,
    pub version: String,
    pub kind: String,
    pub plural: String,
    pub singular: String,
    pub short_names: Vec<String>,
    pub categories: Vec<String>,
    pub namespaced: bool,
    pub nature: Nature,
    /// Whether the status is a subresource.
    pub status: bool,
    /// Where the scale subresource finds its numbers: paths of the spec and of the status.
    pub scale: Option<(Vec<String>, Vec<String>)>,
    /// The fields besides name and namespace that a field selector can name: `spec.spoke`.
    pub selectable: Vec<String>,
    /// Whether a PUT without a resourceVersion overwrites.
    pub unconditional: bool,
    /// Whether a PUT creates what is absent.
    pub upserts: bool,
    pub schema: Shared,
}

impl Kind {
    /// `ec2instances.aws.example`.
    pub(super) fn resource(&self) -> String {
        if self.group.is_empty() { self.plural.clone() } else { format!("{}.{}", self.plural, self.group) }
    }

    /// The group in errors that come from inside kube-apiserver, which knows Events in their older group only.
    pub(super) fn internal_group(&self) -> &str {
        if self.plural == "events" { "" } else { &self.group }
    }

    /// `aws.example/v1`.
    pub(super) fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    /// Whether a finalizer without a domain must be one of Kubernetes' own.
    pub(super) fn checks_finalizers(&self) -> bool {
        !self.is_custom() && !matches!(self.plural.as_str(), "leases" | "customresourcedefinitions")
    }

    /// Whether it comes from a CRD.
    pub(super) fn is_custom(&self) -> bool {
        self.nature == Nature::Custom
    }
}

/// All kinds, compiled once per process and shared by all simulations.
#[derive(Debug)]
pub struct Kinds {
    all: Vec<Arc<Kind>>,
    by_resource: BTreeMap<(String, String), usize>,
    pub(super) meta: Shared,
}

impl Kinds {
    /// Some kinds of Kubernetes, and those of `crds`.
    ///
    /// # Errors
    /// When a schema has something that is not supported here.
    pub fn new(crds: &[CustomResourceDefinition]) -> Result<Arc<Self>, SchemaError> {
        let mut all = builtin::kinds()?;
        for crd in crds {
            let crd = serde_json::to_value(crd)
                .map_err(|error| SchemaError { path: String::new(), why: error.to_string() })?;
            all.push(custom(&crd)?);
        }
        let mut by_resource = BTreeMap::new();
        for (index, kind) in all.iter_mut().enumerate() {
            kind.index = index;
            by_resource.insert((kind.group.clone(), kind.plural.clone()), index);
        }
        let meta = Arc::new(Schema::compile(&builtin::object_meta())?);
        Ok(Arc::new(Self { all: all.into_iter().map(Arc::new).collect(), by_resource, meta }))
    }

    /// The kind of this group and plural.
    pub(super) fn find(&self, group: &str, plural: &str) -> Option<&Arc<Kind>> {
        let index = self.by_resource.get(&(group.to_owned(), plural.to_owned()))?;
        self.all.get(*index)
    }

    /// All of them.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<Kind>> {
        self.all.iter()
    }
}

fn custom(crd: &Value) -> Result<Kind, SchemaError> {
    let (spec, name) = (&crd["spec"], crd["metadata"]["name"].as_str().unwrap_or_default());
    let failed = |why: &str| SchemaError { path: name.to_owned(), why: why.to_owned() };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let texts = |value: &Value| value.as_array().into_iter().flatten().map(text).collect();
    let versions = spec["versions"].as_array().into_iter().flatten();
    let mut served = versions.filter(|version| version["served"] == true);
    let version = served.next().ok_or_else(|| failed("no version is served"))?;
    if served.next().is_some() {
        return Err(failed("more than one version is served"));
    }
    let subresources = &version["subresources"];
    let scale = subresources.get("scale").map(|scale| {
        let path = |key: &str| text(&scale[key]).split('.').skip(1).map(str::to_owned).collect::<Vec<_>>();
        (path("specReplicasPath"), path("statusReplicasPath"))
    });
    let schema = Schema::compile(&version["schema"]["openAPIV3Schema"])
        .map_err(|error| SchemaError { path: format!("{name}: {}", error.path), why: error.why })?;
    let kind = text(&spec["names"]["kind"]);
    Ok(Kind {
        index: 0,
        group: text(&spec["group"]),
        version: text(&version["name"]),
        plural: text(&spec["names"]["plural"]),
        singular: text(&spec["names"]["singular"]),
        kind,
        short_names: texts(&spec["names"]["shortNames"]),
        categories: texts(&spec["names"]["categories"]),
        namespaced: spec["scope"] == "Namespaced",
        nature: Nature::Custom,
        status: subresources.get("status").is_some(),
        scale,
        selectable: version["selectableFields"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|field| text(&field["jsonPath"]).trim_start_matches('.').to_owned())
            .collect(),
        unconditional: false,
        upserts: false,
        schema: Arc::new(schema),
    })
}
