//! A data source as a kind: a look-up, which publishes what the provider finds. It creates, changes and deletes nothing.

mod external;

use std::sync::Arc;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kraken_spoke::{
    Comparison, Features, Finding, Resolver,
    account::with_account,
    api::crd::at_run_time,
    dynamic::{Change, Desired, DynKind, KindInfo, Observed, Spec, interned, interned_fields},
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

/// What the provider found; `None` before it was asked.
#[derive(Clone, Debug, Default)]
struct Found(Option<Value>);

impl Found {
    fn of(observed: &Observed) -> Option<&Value> {
        observed.get::<Self>().0.as_ref()
    }
}

impl DataKind {
    /// The kind of this data source.
    pub(crate) fn new(type_name: &str, schema: Arc<Schema>) -> Self {
        let names = names::of_data(type_name);
        let of_options = schema.clone();
        let of_spec = kraken_spoke::dynamic::Schema::new(move || crd::options(&of_options.block));
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

impl DynKind for DataKind {
    fn info(&self) -> &KindInfo {
        &self.info
    }

    fn desired(&self, spec: &dyn Spec, values: &mut Resolver<'_>) -> Option<Desired> {
        let (config, secret) = options::config(&self.schema, &spec.json(), values)?;
        Some(Desired::new(observed::Desired { config, schema: self.schema.clone(), secret, outputs: None }))
    }

    fn nothing(&self) -> Observed {
        Observed::new(Found::default())
    }

    fn compare(&self, _: &Desired, _: &Observed) -> Comparison<Change> {
        Comparison::default()
    }

    /// The newest answer, as in OpenTofu: a provider cannot say whether an earlier one still exists.
    fn finding(&self, _: &Desired, observed: &Observed) -> Option<Finding> {
        let ids = self.ids(observed);
        (!ids.is_empty()).then(|| Finding { answer: Ok(ids), pins: false, words: [].into() })
    }

    fn state(&self, _: &Desired, observed: &Observed) -> Json {
        Found::of(observed).map_or(Json::Null, |value| kind::published(&self.schema.block, value))
    }

    /// A data source without an id has the name of the data source instead.
    fn ids(&self, observed: &Observed) -> Vec<String> {
        let id = |value: &Value| value.attribute("id").as_str().unwrap_or(&self.type_name).to_owned();
        Found::of(observed).map(id).into_iter().collect()
    }

    fn select(&self, observed: Observed, _: &[String]) -> (Observed, Observed) {
        (observed, self.nothing())
    }

    fn is_gone(&self, _: &Observed) -> bool {
        true
    }

    fn epoch(&self, _: &Observed) -> i64 {
        0
    }

    fn split(&self, observed: Observed, _: i64) -> (Observed, Observed) {
        (self.nothing(), observed)
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
        assert_eq!(kind.finding(&desired, &kind.nothing()), None);
        let found = |json: Json| Observed::new(Found(Value::from_json(&json, &schema.value_type).ok()));
        let image = found(json!({"id": "i-1", "name": "web", "token": "s3cr3t"}));
        assert_eq!(kind.finding(&desired, &image).unwrap().answer, Ok(vec!["i-1".to_owned()]));
        assert_eq!(kind.state(&desired, &image), json!({"id": "i-1", "name": "web"}));
        assert_eq!(kind.ids(&found(json!({"name": "web"}))), ["acme_image"]);
    }
}
