//! Which resource types of a provider become kinds, and what prevents it. Pure.

use std::{collections::BTreeMap, sync::Arc};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kraken_kind::{api::crd::at_run_time::MAX_OPTION_DEPTH, dynamic::Kind, options::matches};
use kraken_tfplugin::schema::{Block, ProviderSchema, Schema};

use crate::{api::ProviderInstallSpec, data::DataKind, kind::TofuKind};

/// The most kinds of one provider: each costs the API server about 4 MB.
const MAX_KINDS: usize = 200;
/// The largest CRD, in bytes.
const MAX_CRD: usize = 64 * 1024;

/// A kind and its CRD.
pub(crate) struct Chosen {
    pub(crate) of: Of,
    pub(crate) crd: CustomResourceDefinition,
}

/// What is a kind.
pub(crate) enum Of {
    Resource(Arc<TofuKind>),
    Data(Arc<DataKind>),
}

impl Of {
    /// The kinds of these types; `config` as for [`choose`].
    fn all(field: Field, schema: &ProviderSchema, names: &[&String], config: Option<&str>) -> Vec<Self> {
        let of = |name: &&String| match field {
            Field::Resources => {
                let kind = TofuKind::new(name, schema.resources[*name].clone());
                Self::Resource(Arc::new(config.into_iter().fold(kind, TofuKind::configured)))
            }
            Field::DataSources => {
                let kind = DataKind::new(name, schema.data_sources[*name].clone());
                Self::Data(Arc::new(config.into_iter().fold(kind, DataKind::configured)))
            }
        };
        names.iter().map(of).collect()
    }

    pub(crate) fn type_name(&self) -> &str {
        match self {
            Self::Resource(kind) => kind.type_name(),
            Self::Data(kind) => kind.type_name(),
        }
    }

    pub(crate) fn kind(&self) -> &dyn Kind {
        match self {
            Self::Resource(kind) => &**kind,
            Self::Data(kind) => &**kind,
        }
    }

    /// The field of the spec by which it was chosen.
    pub(crate) fn field(&self) -> &'static str {
        match self {
            Self::Resource(_) => Field::Resources.path(),
            Self::Data(_) => Field::DataSources.path(),
        }
    }

    fn block(&self) -> &Block {
        match self {
            Self::Resource(kind) => &kind.schema().block,
            Self::Data(kind) => &kind.schema().block,
        }
    }

    fn crd(&self) -> CustomResourceDefinition {
        match self {
            Self::Resource(kind) => kind.crd(),
            Self::Data(kind) => kind.crd(),
        }
    }
}

/// A list of patterns.
#[derive(Clone, Copy)]
enum Field {
    Resources,
    DataSources,
}

impl Field {
    fn path(self) -> &'static str {
        match self {
            Self::Resources => "spec.resources",
            Self::DataSources => "spec.dataSources",
        }
    }

    /// What the patterns match. Adds a problem for each pattern that matches nothing.
    fn matched<'a>(
        self,
        patterns: &[String],
        known: &'a BTreeMap<String, Arc<Schema>>,
        problems: &mut Vec<String>,
    ) -> Vec<&'a String> {
        let names: Vec<&String> =
            known.keys().filter(|name| patterns.iter().any(|pattern| matches(pattern, name))).collect();
        let (path, all) = (self.path(), known.keys().map(String::as_str).take(20).collect::<Vec<_>>());
        let (all, more) = (all.join(", "), if known.len() > all.len() { ", ..." } else { "" });
        let is_wrong = |pattern: &&String| !names.iter().any(|name| matches(pattern, name));
        problems.extend(patterns.iter().filter(is_wrong).map(|pattern| {
            if known.is_empty() {
                return format!("{path}: {pattern} matches nothing; the provider has none");
            }
            format!("{path}: {pattern} matches no type; the provider has {all}{more}")
        }));
        names
    }
}

/// The kinds of the types and data sources that the patterns match. `config` is the name of the ProviderConfig of resources that name
/// none, if the provider has options.
///
/// # Errors
/// All that is wrong with the patterns.
pub(crate) fn choose(
    schema: &ProviderSchema,
    spec: &ProviderInstallSpec,
    config: Option<&str>,
) -> Result<Vec<Chosen>, Vec<String>> {
    let mut problems = vec![];
    let resources = Field::Resources.matched(&spec.resources, &schema.resources, &mut problems);
    let data = Field::DataSources.matched(&spec.data_sources, &schema.data_sources, &mut problems);
    let number = resources.len() + data.len();
    if number > MAX_KINDS {
        problems.push(format!(
            "spec.resources: {number} types and data sources match, and at most {MAX_KINDS} can be kinds: name fewer"
        ));
        return Err(problems);
    }
    let mut chosen = vec![];
    let resources = Of::all(Field::Resources, schema, &resources, config);
    for of in resources.into_iter().chain(Of::all(Field::DataSources, schema, &data, config)) {
        let (crd, path, name) = (of.crd(), of.field(), of.type_name());
        if crate::crd::depth(of.block()) > MAX_OPTION_DEPTH {
            problems.push(format!(
                "{path}: the blocks of {name} are nested too deep for the policy that protects Secrets: leave it out"
            ));
        }
        let size = serde_json::to_vec(&crd).map_or(0, |text| text.len());
        if size > MAX_CRD {
            let (size, most) = (size.div_ceil(1024), MAX_CRD / 1024);
            problems.push(format!(
                "{path}: the CRD of {name} has {size} kB, and at most {most} kB are possible: leave it out"
            ));
        }
        chosen.push(Chosen { of, crd });
    }
    if problems.is_empty() { Ok(chosen) } else { Err(problems) }
}

impl Chosen {
    /// The key of the kind.
    pub(crate) fn key(&self) -> &str {
        &self.of.kind().info().key
    }
}

#[cfg(test)]
mod tests {
    use kraken_tfplugin::schema::{Attribute, Block, NestedBlock, Nesting, Schema};

    use super::*;
    use crate::fixtures::attribute;

    fn schema(types: &[&str]) -> ProviderSchema {
        let of = |name: &&str| ((*name).to_owned(), Arc::new(Schema::default()));
        ProviderSchema { resources: types.iter().map(of).collect(), ..ProviderSchema::default() }
    }

    fn chosen(schema: &ProviderSchema, patterns: &[&str]) -> Result<Vec<String>, Vec<String>> {
        let resources = patterns.iter().map(|&pattern| pattern.to_owned()).collect();
        let spec = ProviderInstallSpec { resources, ..ProviderInstallSpec::default() };
        let chosen = choose(schema, &spec, Some("acme"))?;
        Ok(chosen.iter().map(|chosen| chosen.of.type_name().to_owned()).collect())
    }

    #[test]
    fn types_are_chosen_by_patterns() {
        let schema = schema(&["acme_disk", "acme_network_port", "acme_network_v2"]);
        let found = chosen(&schema, &["acme_network_*", "acme_disk"]).unwrap();
        assert_eq!(found, ["acme_disk", "acme_network_port", "acme_network_v2"]);
        assert_eq!(chosen(&schema, &["*_v2"]).unwrap(), ["acme_network_v2"]);
        assert_eq!(
            chosen(&schema, &["acme_disk", "acme_disks"]).unwrap_err(),
            [
                "spec.resources: acme_disks matches no type; the provider has acme_disk, acme_network_port, acme_network_v2"
            ]
        );
    }

    #[test]
    fn data_sources_are_kinds_of_their_own() {
        let mut schema = schema(&["acme_disk"]);
        schema.data_sources.insert("acme_disk".to_owned(), Arc::new(Schema::default()));
        let list = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        let spec = |data: &[&str]| ProviderInstallSpec {
            resources: list(&["*"]),
            data_sources: list(data),
            ..ProviderInstallSpec::default()
        };
        let kinds: Vec<&str> = choose(&schema, &spec(&["acme_*"]), None)
            .unwrap()
            .iter()
            .map(|chosen| chosen.of.kind().info().name)
            .collect();
        assert_eq!(kinds, ["AcmeDisk", "DataAcmeDisk"]);
        assert_eq!(
            choose(&schema, &spec(&["acme_image"]), None).err().unwrap(),
            ["spec.dataSources: acme_image matches no type; the provider has acme_disk"]
        );
    }

    #[test]
    fn too_many_and_too_large_kinds_are_refused() {
        let names: Vec<String> = (0..201).map(|number| format!("acme_{number}")).collect();
        let many = schema(&names.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(
            chosen(&many, &["*"]).unwrap_err(),
            ["spec.resources: 201 types and data sources match, and at most 200 can be kinds: name fewer"]
        );
        let attribute =
            Attribute { description: "d".repeat(200), ..attribute(kraken_tfplugin::Type::String) };
        let attributes = (0..300).map(|number| (format!("a{number}"), attribute.clone())).collect();
        let large = Schema::new(0, Block { attributes, ..Block::default() });
        let mut schema = schema(&["acme_disk"]);
        schema.resources.insert("acme_large".to_owned(), Arc::new(large));
        let block = (0..4).fold(Block::default(), |block, _| {
            let nested = NestedBlock { block, nesting: Nesting::List, min_items: 0, max_items: 0 };
            Block { blocks: [("inner".to_owned(), nested)].into(), ..Block::default() }
        });
        schema.resources.insert("acme_nested".to_owned(), Arc::new(Schema::new(0, block)));
        let problems = chosen(&schema, &["*"]).unwrap_err();
        assert!(problems.len() == 2 && problems[0].contains("the CRD of acme_large has"), "{problems:?}");
        assert!(problems[1].contains("acme_nested are nested too deep"), "{problems:?}");
    }
}
