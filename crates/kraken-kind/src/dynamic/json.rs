//! Specs that are JSON, of kinds without a type.

use kraken_api::Lifecycle;
use kraken_runtime::watch::RawObject;
use serde::Deserialize;
use serde_json::Value;

use super::{KindInfo, Object, Spec};

#[derive(Debug)]
struct JsonSpec {
    lifecycle: Lifecycle,
    json: Value,
}

impl Spec for JsonSpec {
    fn lifecycle(&self) -> &Lifecycle {
        &self.lifecycle
    }

    fn json(&self) -> Value {
        self.json.clone()
    }
}

/// Decodes an object of this kind whose spec is any JSON with a lifecycle.
pub(super) fn decode(info: &KindInfo, object: &RawObject) -> Result<Object, String> {
    let not_json = |error: serde_json::Error| error.to_string();
    let account = info.account_of(object.spec.as_deref());
    let json: Value = RawObject::decode(object.spec.as_deref()).map_err(not_json)?;
    let lifecycle = match &json["lifecycle"] {
        Value::Null => Lifecycle::default(),
        lifecycle => Lifecycle::deserialize(lifecycle).map_err(not_json)?,
    };
    let status = RawObject::decode(object.status.as_deref()).map_err(not_json)?;
    Ok(Object::new(object.metadata.clone(), JsonSpec { lifecycle, json }, status).using(account?))
}
