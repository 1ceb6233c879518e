//! A data source as a kind: a look-up, which publishes what the provider finds. It creates, changes and deletes nothing.

mod external;

use std::sync::Arc;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kraken_kind::{
    Comparison, Features, Finding, Resolver,
    account::with_account,
    api::crd::at_run_time,
    dynamic::{Change, Desired, Kind, KindInfo, Observed, ObservedObject, Spec, interned, interned_fields},
};
use kraken_tfplugin::{Value, schema::Schema};
use serde_json::Value as Json;

use crate::{config, crd, kind, names, observed, options};

pub(crate) use external::DataExternal;

/// A data source.
#[derive(Debug)]
pub(crate) struct DataKind {
    info: KindInfo,
    names: at_run_time::Names,
    type_name: String,
    schema: Arc<Schema>,
}

/// What the provider found. A data source without an id has the name of the data source instead.
fn found(type_name: &str, value: Value) -> Observed {
    let id = value.attribute("id").as_str().unwrap_or(type_name).to_owned();
    ObservedObject::new(id, value).into()
}

impl DataKind {
    /// The kind of this data source.
    pub(crate) fn new(type_name: &str, schema: Arc<Schema>) -> Self {
        let names = names::of_data(type_name);
        let of_options = schema.clone();
        let of_spec = kraken_kind::dynamic::Schema::new(move || crd::options(&of_options.block));
        let info = KindInfo {
            features: Features {
                looks_up: true,
                secret_field_paths: interned_fields(crd::fields(&schema.block)),
                ..Features::NONE
            },
            ..KindInfo::new(interned(&names.kind), names::resource(&names), of_spec)
        };
        Self { info, names, type_name: type_name.to_owned(), schema }
    }

    /// The name of the data source.
    pub(crate) fn type_name(&self) -> &str {
        &self.type_name
    }

    /// Its schema.
    pub(crate) fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// Its CRD.
    pub(crate) fn crd(&self) -> CustomResourceDefinition {
        let description = format!("The data source {} of an OpenTofu provider.", self.type_name);
        let mut crd = at_run_time::look_up(&self.names, &description, &crd::options(&self.schema.block));
        if let Some(config) = &self.info.accounts {
            with_account(&mut crd, config);
        }
        crd
    }

    /// The same of a provider that needs a ProviderConfig. `default_name` is the one of resources that name none.
    #[must_use]
    pub(crate) fn configured(mut self, default_name: &str) -> Self {
        self.info.features.accounts = Some(config::kind(default_name));
        self
    }
}

impl Kind for DataKind {
    fn info(&self) -> &KindInfo {
        &self.info
    }

    fn desired(&self, spec: &dyn Spec, values: &mut Resolver<'_>) -> Option<Desired> {
        let (config, secret) = options::config(&self.schema, &spec.json(), values)?;
        Some(Desired::new(observed::Desired { config, schema: self.schema.clone(), secret, outputs: None }))
    }

    fn compare(&self, _: &Desired, _: &Observed) -> Comparison<Change> {
        Comparison::default()
    }

    /// The newest answer, as in OpenTofu: a provider cannot say whether an earlier one still exists.
    fn finding(&self, _: &Desired, observed: &Observed) -> Option<Finding> {
        let ids = observed.ids();
        (!ids.is_empty()).then(|| Finding { answer: Ok(ids), pins: false, words: [].into() })
    }

    fn state(&self, _: &Desired, observed: &Observed) -> Json {
        let found = observed.objects().first();
        found.map_or(Json::Null, |found| kind::published(&self.schema.block, found.get()))
    }
}

#[cfg(test)]
mod tests {
    use kraken_tfplugin::{
        Type,
        schema::{Attribute, Block},
    };
    use serde_json::json;

    use super::*;
    use crate::fixtures;

    #[test]
    fn answer_is_published_without_sensitive_attributes() {
        let attribute = |is_sensitive| Attribute {
            is_optional: false,
            is_computed: true,
            is_sensitive,
            ..fixtures::attribute(Type::String)
        };
        let attributes = [("id", false), ("name", false), ("token", true)];
        let attributes = attributes.map(|(name, is_sensitive)| (name.to_owned(), attribute(is_sensitive)));
        let schema = Arc::new(Schema::new(0, Block { attributes: attributes.into(), ..Block::default() }));
        let kind = DataKind::new("acme_image", schema.clone());
        let desired = Desired::new(observed::Desired {
            config: Value::Null,
            schema: schema.clone(),
            secret: [].into(),
            outputs: None,
        });
        assert_eq!(kind.finding(&desired, &Observed::default()), None);
        let found = |json: Json| found("acme_image", Value::from_json(&json, &schema.value_type).unwrap());
        let image = found(json!({"id": "i-1", "name": "web", "token": "s3cr3t"}));
        assert_eq!(kind.finding(&desired, &image).unwrap().answer, Ok(vec!["i-1".to_owned()]));
        assert_eq!(kind.state(&desired, &image), json!({"id": "i-1", "name": "web"}));
        assert_eq!(found(json!({"name": "web"})).ids(), ["acme_image"]);
    }
}
