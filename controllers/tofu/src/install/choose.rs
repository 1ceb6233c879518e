//! Which resource types of a provider become kinds, and what prevents it. Pure.

use std::sync::Arc;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kraken_spoke::{api::crd::at_run_time::MAX_OPTION_DEPTH, dynamic::DynKind as _, options::matches};
use kraken_tfplugin::schema::ProviderSchema;

use crate::kind::TofuKind;

/// The most kinds of one provider: each costs the API server about 4 MB.
const MAX_KINDS: usize = 200;
/// The largest CRD, in bytes.
const MAX_CRD: usize = 64 * 1024;

/// A kind and its CRD.
pub(crate) struct Chosen {
    pub(crate) kind: Arc<TofuKind>,
    pub(crate) crd: CustomResourceDefinition,
}

/// The kinds of the types that these patterns match. `config` is the name of the ProviderConfig of resources that name none, if the
/// provider has options.
///
/// # Errors
/// All that is wrong with the patterns.
pub(crate) fn choose(
    schema: &ProviderSchema,
    patterns: &[String],
    config: Option<&str>,
) -> Result<Vec<Chosen>, Vec<String>> {
    let types: Vec<&String> = schema
        .resources
        .keys()
        .filter(|name| patterns.iter().any(|pattern| matches(pattern, name)))
        .collect();
    let mut problems: Vec<String> = patterns
        .iter()
        .filter(|pattern| !types.iter().any(|name| matches(pattern, name)))
        .map(|pattern| {
            let all: Vec<&str> = schema.resources.keys().map(String::as_str).take(20).collect();
            let more = if schema.resources.len() > all.len() { ", ..." } else { "" };
            format!("spec.resources: {pattern} matches no type; the provider has {}{more}", all.join(", "))
        })
        .collect();
    if types.len() > MAX_KINDS {
        problems.push(format!(
            "spec.resources: {} types match, and at most {MAX_KINDS} can be kinds: name fewer",
            types.len()
        ));
        return Err(problems);
    }
    let mut chosen = vec![];
    for name in types {
        let kind = TofuKind::new(name, schema.resources[name].clone());
        let kind = config.into_iter().fold(kind, TofuKind::configured);
        let crd = kind.crd();
        if crate::crd::depth(&kind.schema().block) > MAX_OPTION_DEPTH {
            problems.push(format!(
                "spec.resources: the blocks of {name} are nested too deep for the policy that protects Secrets: leave it out"
            ));
        }
        let size = serde_json::to_vec(&crd).map_or(0, |text| text.len());
        if size > MAX_CRD {
            let (size, most) = (size.div_ceil(1024), MAX_CRD / 1024);
            problems.push(format!("spec.resources: the CRD of {name} has {size} kB, and at most {most} kB are possible: leave it out"));
        }
        chosen.push(Chosen { kind: Arc::new(kind), crd });
    }
    if problems.is_empty() { Ok(chosen) } else { Err(problems) }
}

impl Chosen {
    /// The key of the kind.
    pub(crate) fn key(&self) -> &str {
        &self.kind.info().key
    }
}

#[cfg(test)]
mod tests {
    use kraken_tfplugin::schema::{Attribute, Block, Form, NestedBlock, Nesting, Schema};

    use super::*;

    fn schema(types: &[&str]) -> ProviderSchema {
        let of = |name: &&str| ((*name).to_owned(), Arc::new(Schema::default()));
        ProviderSchema { resources: types.iter().map(of).collect(), ..ProviderSchema::default() }
    }

    fn chosen(schema: &ProviderSchema, patterns: &[&str]) -> Result<Vec<String>, Vec<String>> {
        let patterns: Vec<String> = patterns.iter().map(|&pattern| pattern.to_owned()).collect();
        let chosen = choose(schema, &patterns, Some("acme"))?;
        Ok(chosen.iter().map(|chosen| chosen.kind.type_name().to_owned()).collect())
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
    fn too_many_and_too_large_kinds_are_refused() {
        let names: Vec<String> = (0..201).map(|number| format!("acme_{number}")).collect();
        let many = schema(&names.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(
            chosen(&many, &["*"]).unwrap_err(),
            ["spec.resources: 201 types match, and at most 200 can be kinds: name fewer"]
        );
        let attribute = Attribute {
            form: Form::Plain(kraken_tfplugin::Type::String),
            description: "d".repeat(200),
            is_required: false,
            is_optional: true,
            is_computed: false,
            is_sensitive: false,
            is_write_only: false,
            is_deprecated: false,
        };
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
