//! The values of a ProviderConfig, checked against the options of its provider. Pure.

use kraken_kind::{Location, options::KeyRef};
use kraken_tfplugin::{
    Type, Value,
    schema::{Attribute, Form, Schema},
};
use serde_json::{Map, Value as Json};
use sha2::{Digest, Sha256};

use crate::{
    api::{ConfigValue, ProviderConfigSpec},
    provider::Config,
};

/// The options that say where objects are, unless a ProviderConfig names others.
const PLACES: [&str; 13] = [
    "auth_url",
    "endpoint",
    "host",
    "url",
    "region",
    "project",
    "project_id",
    "tenant_id",
    "tenant_name",
    "subscription_id",
    "account_id",
    "organization",
    "owner",
];
/// The longest location in a status, in bytes. A longer one is a digest.
const MAX_LOCATION: usize = 256;

/// The keys of Secrets that a ProviderConfig names, each with its field, in the order of its options.
pub(super) fn secrets(spec: &ProviderConfigSpec) -> impl Iterator<Item = (String, KeyRef)> {
    spec.config.iter().filter_map(|(name, value)| {
        Some((format!("spec.config.{name}"), value.value_from.as_ref()?.secret.clone()))
    })
}

/// The configuration; `texts` are the values of [`secrets`] in the same order.
///
/// # Errors
/// All problems, each with its field.
pub(super) fn config(
    schema: &Schema,
    spec: &ProviderConfigSpec,
    texts: &[&str],
) -> Result<Config, Vec<String>> {
    let (mut options, mut problems, mut texts) = (Map::new(), vec![], texts.iter());
    let mut secrets = vec![];
    let block = &schema.block;
    for (name, ConfigValue { value, value_from }) in &spec.config {
        let text = value_from.as_ref().and_then(|_| texts.next());
        let mut problem = |why: &str| problems.push(format!("spec.config.{name}: {why}"));
        let attribute = block.attributes.get(name);
        if attribute.is_none() && !block.blocks.contains_key(name) {
            let known: Vec<&str> =
                block.attributes.keys().chain(block.blocks.keys()).map(String::as_str).collect();
            problem(&format!("the provider has no such option; it has {}", known.join(", ")));
            continue;
        }
        match (value, text, attribute) {
            (Some(_), Some(_), _) => problem("has both value and valueFrom: remove one"),
            (None, None, _) => problem("has neither value nor valueFrom"),
            (Some(value), None, _) => drop(options.insert(name.clone(), value.clone())),
            (None, Some(_), None) => problem("is a block: write it as value"),
            (None, Some(text), Some(attribute)) => {
                secrets.push((*text).to_owned());
                match typed(attribute, text) {
                    Some(value) => drop(options.insert(name.clone(), value)),
                    // Without the value, which is secret.
                    None => problem("the text in the Secret is not of the option's type"),
                }
            }
        }
    }
    for (name, _) in block.attributes.iter().filter(|(_, attribute)| attribute.is_required) {
        if !spec.config.contains_key(name) {
            problems.push(format!("spec.config.{name}: is required by the provider"));
        }
    }
    let options = Json::Object(options);
    if problems.is_empty()
        && let Err(error) = Value::from_config(&options, &schema.value_type)
    {
        // A text of a Secret can be part of the error.
        let hide = |why: String, secret: &String| why.replace(secret.as_str(), "(sensitive)");
        let why = secrets.iter().filter(|secret| !secret.is_empty()).fold(error.why, hide);
        problems.push(format!("spec.config.{}: {why}", error.path));
    }
    if problems.is_empty() {
        Ok(Config { location: location(spec), options, secrets })
    } else {
        Err(problems)
    }
}

/// The value of an option from a text.
fn typed(attribute: &Attribute, text: &str) -> Option<Json> {
    match &attribute.form {
        Form::Plain(Type::String) => Some(text.into()),
        Form::Plain(Type::Bool) => text.parse::<bool>().ok().map(Json::from),
        _ => serde_json::from_str(text).ok(),
    }
}

/// Where the objects are, as far as literals say it.
fn location(spec: &ProviderConfigSpec) -> Option<Location> {
    let named: Vec<&str> = match &spec.location {
        Some(named) => named.iter().map(String::as_str).collect(),
        None => PLACES.to_vec(),
    };
    let place = |name: &str| {
        let value = spec.config.get(name)?.value.as_ref()?;
        Some(format!("{name}={}", value.as_str().map_or_else(|| value.to_string(), str::to_owned)))
    };
    let text = named.into_iter().filter_map(place).collect::<Vec<_>>().join(", ");
    let text = if text.len() > MAX_LOCATION { hex::encode(Sha256::digest(&text)) } else { text };
    (!text.is_empty()).then_some(Location { account: text, region: String::new() })
}

#[cfg(test)]
mod tests {
    use kraken_tfplugin::schema::Block;
    use serde_json::json;

    use super::*;
    use crate::fixtures;

    fn schema() -> Schema {
        let attribute = |form: Type, is_required| Attribute {
            is_required,
            is_optional: !is_required,
            ..fixtures::attribute(form)
        };
        let attributes = [
            ("auth_url".to_owned(), attribute(Type::String, true)),
            ("insecure".to_owned(), attribute(Type::Bool, false)),
            ("password".to_owned(), attribute(Type::String, false)),
            ("retries".to_owned(), attribute(Type::Number, false)),
        ];
        Schema::new(0, Block { attributes: attributes.into(), ..Block::default() })
    }

    fn resolved(spec: Json, texts: &[&str]) -> Result<Config, Vec<String>> {
        let spec: ProviderConfigSpec = serde_json::from_value(spec).unwrap();
        assert_eq!(secrets(&spec).count(), texts.len());
        config(&schema(), &spec, texts)
    }

    fn secret(key: &str) -> Json {
        json!({"valueFrom": {"secret": {"name": "cloud", "key": key}}})
    }

    #[test]
    fn texts_of_secrets_have_the_type_of_their_option() {
        let spec = json!({"provider": "p", "config": {
            "auth_url": {"value": "https://a"}, "insecure": secret("i"), "password": secret("p"), "retries": secret("r"),
        }});
        let config = resolved(spec, &["true", "007", "3"]).ok().unwrap();
        let expected = json!({"auth_url": "https://a", "insecure": true, "password": "007", "retries": 3});
        assert_eq!(config.options, expected);
        assert_eq!(config.secrets, ["true", "007", "3"]);
        assert_eq!(config.location.unwrap().account, "auth_url=https://a");
    }

    #[test]
    fn all_problems_are_reported_at_once_without_secret_values() {
        let spec = json!({"provider": "p", "config": {
            "password": {"value": "a", "valueFrom": {"secret": {"name": "cloud", "key": "p"}}},
            "retries": secret("r"), "insecure": {}, "auth": {"value": 1},
        }});
        let problems = resolved(spec, &["s3cr3t", "many"]).err().unwrap();
        assert_eq!(
            problems,
            [
                "spec.config.auth: the provider has no such option; it has auth_url, insecure, password, retries",
                "spec.config.insecure: has neither value nor valueFrom",
                "spec.config.password: has both value and valueFrom: remove one",
                "spec.config.retries: the text in the Secret is not of the option's type",
                "spec.config.auth_url: is required by the provider",
            ]
        );
        let wrong = json!({"provider": "p", "config": {"auth_url": {"value": true}}});
        assert!(resolved(wrong, &[]).err().unwrap()[0].starts_with("spec.config.auth_url: "));
    }

    #[test]
    fn location_is_named_or_follows_from_usual_options() {
        let spec = |location: Json| -> ProviderConfigSpec {
            serde_json::from_value(json!({"provider": "p", "location": location, "config": {
                "auth_url": {"value": "https://a"}, "password": secret("p"), "retries": {"value": 3},
            }}))
            .unwrap()
        };
        let text = |location| super::location(&spec(location)).map(|location| location.account);
        assert_eq!(text(Json::Null).as_deref(), Some("auth_url=https://a"));
        assert_eq!(
            text(json!(["retries", "password", "auth_url"])).as_deref(),
            Some("retries=3, auth_url=https://a")
        );
        assert_eq!(text(json!([])), None);
    }
}
