//! A resource type as a kind of the loop: the pure functions.

use std::sync::Arc;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kraken_kind::{
    Comparison, Difference, Edit, Features, FieldDiff, Remedy, Resolver,
    account::with_account,
    api::crd::at_run_time,
    dynamic::{self, Change, Desired, Kind, KindInfo, Observed, Spec, interned, interned_fields},
};
use kraken_tfplugin::{
    Path, Step, Value, masked,
    schema::{Attribute, Block, Schema},
};
use serde_json::Value as Json;

use crate::{
    config, crd, names,
    observed::{self, main_object},
    options, outputs,
};

/// A resource type.
#[derive(Debug)]
pub struct TofuKind {
    info: KindInfo,
    names: at_run_time::Names,
    type_name: String,
    schema: Arc<Schema>,
}

impl TofuKind {
    /// The kind of this type.
    pub fn new(type_name: &str, schema: Arc<Schema>) -> Self {
        let names = names::of(type_name);
        let of_options = schema.clone();
        let of_spec = dynamic::Schema::new(move || crd::options(&of_options.block));
        let info = KindInfo {
            features: Features {
                journaled: true,
                slow: true,
                // The state has the names of the spec.
                secret_field_paths: interned_fields(crd::fields(&schema.block)),
                ..Features::NONE
            },
            ..KindInfo::new(interned(&names.kind), names::resource(&names), of_spec)
        };
        Self { info, names, type_name: type_name.to_owned(), schema }
    }

    /// The resource type.
    pub fn type_name(&self) -> &str {
        &self.type_name
    }

    /// The schema of the type.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// Its CRD.
    pub fn crd(&self) -> CustomResourceDefinition {
        let description = format!("The resource type {} of an OpenTofu provider.", self.type_name);
        let mut crd = at_run_time::of(&self.names, &description, crd::options(&self.schema.block), &[]);
        if let Some(config) = &self.info.accounts {
            with_account(&mut crd, config);
        }
        outputs::add_field(&mut crd, &self.schema.block);
        crd
    }

    /// The same of a provider that needs a ProviderConfig. `default_name` is the one of resources that name none.
    #[must_use]
    pub fn configured(mut self, default_name: &str) -> Self {
        self.info.features.accounts = Some(config::kind(default_name));
        self
    }
}

/// The path of a field as in a spec: a block of which at most one can exist is an object there, and a list in the provider.
pub(crate) fn field(block: &Block, path: &Path) -> String {
    let (mut inside, mut is_single, mut kept) = (Some(block), false, vec![]);
    for step in path.steps() {
        match step {
            Step::Attribute(name) => {
                let nested = inside.and_then(|block| block.blocks.get(name));
                is_single = nested.is_some_and(crd::is_single);
                inside = nested.map(|nested| &nested.block);
            }
            Step::Index(0) if is_single => continue,
            Step::Index(_) | Step::Key(_) => {}
        }
        kept.push(step.clone());
    }
    kept.into_iter().collect::<Path>().to_string()
}

/// A value as it is published: without attributes and blocks that have something sensitive in them.
pub(crate) fn published(block: &Block, value: &Value) -> Json {
    let mut state = masked(block, value);
    if let Some(attributes) = state.as_object_mut() {
        attributes.retain(|name, _| {
            !block.attributes.get(name).is_some_and(Attribute::has_secrets)
                && !block.blocks.get(name).is_some_and(|nested| nested.block.has_secrets())
        });
    }
    state
}

/// A value for a person.
fn shown(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        Json::Null => "absent".to_owned(),
        other => other.to_string(),
    }
}

impl Kind for TofuKind {
    fn info(&self) -> &KindInfo {
        &self.info
    }

    /// The plan of the provider tells.
    fn edit_of(&self, _: &dyn Spec, _: &dyn Spec, _: &str) -> Edit {
        Edit::Decided
    }

    fn desired(&self, spec: &dyn Spec, values: &mut Resolver<'_>) -> Option<Desired> {
        let spec = spec.json();
        let (config, secret) = options::config(&self.schema, &spec, values)?;
        let outputs = outputs::secret_name(&spec).map(str::to_owned);
        Some(Desired::new(observed::Desired { config, schema: self.schema.clone(), secret, outputs }))
    }

    fn compare(&self, _: &Desired, observed: &Observed) -> Comparison<Change> {
        let mut comparison = Comparison::default();
        let Some(object) = main_object(observed) else {
            comparison.missing = Some(self.type_name.clone());
            return comparison;
        };
        let Some(plan) = &object.plan else { return comparison };
        let field = |path: &Path| field(&self.schema.block, path);
        let replacing: Vec<String> = plan.requires_replace.iter().map(field).collect();
        let of_config = |path: &Path| {
            // What the provider itself sets after a change is no difference of the spec.
            plan.config.get(path).is_some_and(|value| !value.is_null()) || replacing.contains(&field(path))
        };
        for difference in &plan.differences {
            if difference.is_unknown && !of_config(&difference.path) {
                continue;
            }
            let path = field(&difference.path);
            let remedy = if replacing.is_empty() {
                Remedy::Change(Change::new(path.clone()))
            } else if replacing.contains(&path) {
                Remedy::Immutable(
                    "the provider needs a new object for it: restore the old value, or let Kraken replace the object (spec.lifecycle.replace)"
                        .to_owned(),
                )
            } else {
                // A provider executes a plan as a whole.
                Remedy::Immutable(format!(
                    "is changed with {}, for which the provider needs a new object",
                    replacing.join(", ")
                ))
            };
            let field = FieldDiff::new(path, shown(&difference.after), shown(&difference.before));
            comparison.differences.push(Difference { field, remedy });
        }
        comparison
    }

    /// Everything but sensitive attributes.
    fn state(&self, _: &Desired, observed: &Observed) -> Json {
        main_object(observed).map_or(Json::Null, |object| published(&self.schema.block, &object.state.value))
    }
}

#[cfg(test)]
mod tests {
    use kraken_tfplugin::schema::{NestedBlock, Nesting};

    use super::*;

    #[test]
    fn only_the_index_of_a_single_block_is_left_out() {
        let nested =
            |max_items, block| NestedBlock { block, nesting: Nesting::List, min_items: 0, max_items };
        let port =
            Block { blocks: [("range".to_owned(), nested(1, Block::default()))].into(), ..Block::default() };
        let blocks = [("disk".to_owned(), nested(1, Block::default())), ("port".to_owned(), nested(0, port))];
        let block = Block { blocks: blocks.into(), ..Block::default() };
        let path = |names: &[&str]| {
            let step = |name: &&str| match name.parse() {
                Ok(index) => Step::Index(index),
                Err(_) => Step::Attribute((*name).to_owned()),
            };
            field(&block, &names.iter().map(step).collect())
        };
        assert_eq!(path(&["disk", "0", "size"]), "disk.size");
        assert_eq!(path(&["port", "0", "range", "0", "first"]), "port[0].range.first");
        assert_eq!(path(&["names", "0"]), "names[0]");
    }
}
