//! For kinds whose specs have a type.

use std::any::Any;

use kraken_api::{HasLifecycle, ResourceStatus};
use kraken_runtime::watch::RawObject;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::value::RawValue;

use super::{KindInfo, Object, Spec};

/// Decodes an object whose spec has this type.
///
/// # Errors
/// If its spec or its status does not decode, with the path of the field in the spec.
pub fn decode<T>(info: &KindInfo, object: &RawObject) -> Result<Object, String>
where
    T: HasLifecycle + Serialize + DeserializeOwned + std::fmt::Debug + Send + Sync + 'static,
{
    let account = info.account_of(object.spec.as_deref())?;
    let spec = object.spec.as_deref().ok_or("missing field `spec`")?;
    let spec = RawObject::decode::<T>(Some(spec)).map_err(|error| located::<T>(spec, &error))?;
    let status = RawObject::decode::<Option<ResourceStatus>>(object.status.as_deref());
    let status = status.map_err(|error| without_position(&error))?;
    Ok(Object::new(object.metadata.clone(), spec, status).using(account))
}

/// The error with the path of the field, which is found by decoding the spec a second time.
fn located<T: DeserializeOwned>(spec: &RawValue, error: &serde_json::Error) -> String {
    let mut deserializer = serde_json::Deserializer::from_str(spec.get());
    match serde_path_to_error::deserialize::<_, T>(&mut deserializer) {
        Err(at) if at.path().iter().len() > 0 => {
            format!("spec.{}: {}", at.path(), without_position(at.inner()))
        }
        _ => without_position(error),
    }
}

/// The error without its position in the JSON, which means nothing to a user who wrote YAML.
fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    text.strip_suffix(&position).map(str::to_owned).unwrap_or(text)
}

impl dyn Spec {
    /// The spec as the type of its kind.
    ///
    /// # Panics
    /// If it has another type, also because it does not decode: for functions that are called with decoded specs only.
    pub fn get<T: Spec>(&self) -> &T {
        self.decoded().unwrap_or_else(|| unreachable!("expected {}", std::any::type_name::<T>()))
    }

    /// The same, or `None` for a spec that does not decode.
    pub fn decoded<T: Spec>(&self) -> Option<&T> {
        let spec: &dyn Any = self;
        spec.downcast_ref()
    }
}
