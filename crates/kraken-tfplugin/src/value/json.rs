//! JSON, in which states are stored and configurations are written.
//!
//! A number that JSON's readers would round is text. A set is an array. A value of a dynamic type is `{"type": ..., "value": ...}`
//! in a state; in a configuration its type follows from the JSON.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use super::msgpack::within;
use super::{ConvertError, Elements, Number, Value};
use crate::path::{Path, Step};
use crate::types::Type;

impl Value {
    /// The JSON of a state.
    ///
    /// # Errors
    /// When a value is unknown: a state has none.
    pub fn to_json(&self) -> Result<Json, ConvertError> {
        encode(self, &mut Path::default())
    }

    /// Reads the JSON of a state. An attribute that is absent is null.
    ///
    /// # Errors
    /// When it is not of the type.
    pub fn from_json(json: &Json, of: &Type) -> Result<Self, ConvertError> {
        decode(json, of, Dynamics::Typed, &mut Path::default())
    }

    /// Reads the JSON of a configuration: as [`Value::from_json`], but the type of a dynamic value is inferred.
    ///
    /// # Errors
    /// When it is not of the type.
    pub fn from_config(json: &Json, of: &Type) -> Result<Self, ConvertError> {
        decode(json, of, Dynamics::Inferred, &mut Path::default())
    }
}

/// The JSON of a state without the attributes of objects that the type does not have.
pub(crate) fn without_unknown(json: &Json, of: &Type) -> Json {
    match (json, of) {
        (Json::Array(elements), of) => {
            let elements = elements.iter().enumerate();
            elements.map(|(index, json)| without_unknown(json, of.element(index))).collect()
        }
        (Json::Object(elements), Type::Map(element)) => {
            let elements = elements.iter();
            elements.map(|(key, json)| (key.clone(), without_unknown(json, element))).collect()
        }
        (Json::Object(attributes), Type::Object(types)) => {
            let known = types.iter().filter_map(|(name, of)| Some((name, attributes.get(name)?, of)));
            known.map(|(name, json, of)| (name.clone(), without_unknown(json, of))).collect()
        }
        _ => json.clone(),
    }
}

/// How values of a dynamic type are written.
#[derive(Clone, Copy)]
enum Dynamics {
    Typed,
    Inferred,
}

fn encode(value: &Value, path: &mut Path) -> Result<Json, ConvertError> {
    Ok(match value {
        Value::Null => Json::Null,
        Value::Unknown => return Err(ConvertError::new(path, "is unknown")),
        Value::Bool(value) => Json::Bool(*value),
        Value::Number(number) => encode_number(number),
        Value::String(text) => Json::String(text.clone()),
        Value::List(elements) | Value::Set(Elements(elements)) => {
            let encoded = elements.iter().enumerate();
            let encoded = encoded
                .map(|(index, element)| within(path, Step::Index(index), |path| encode(element, path)));
            Json::Array(encoded.collect::<Result<_, _>>()?)
        }
        Value::Map(elements) => {
            let encoded = elements.iter().map(|(key, element)| {
                Ok((key.clone(), within(path, Step::Key(key.clone()), |path| encode(element, path))?))
            });
            Json::Object(encoded.collect::<Result<_, _>>()?)
        }
        Value::Object(attributes) => {
            let encoded = attributes.iter().map(|(name, value)| {
                Ok((name.clone(), within(path, Step::Attribute(name.clone()), |path| encode(value, path))?))
            });
            Json::Object(encoded.collect::<Result<_, _>>()?)
        }
        Value::Dynamic(dynamic) => json!({"type": dynamic.0.to_json(), "value": encode(&dynamic.1, path)?}),
    })
}

pub(crate) fn encode_number(number: &Number) -> Json {
    if let Some(integer) = number.as_i64() {
        return integer.into();
    }
    if let Some(integer) = number.as_u64() {
        return integer.into();
    }
    let float = number.as_shortest_f64().or_else(|| number.as_exact_f64().filter(|_| !number.is_integer()));
    match float.filter(|float| is_read_exactly(*float)).and_then(serde_json::Number::from_f64) {
        Some(float) => Json::Number(float),
        None => Json::String(number.to_string()),
    }
}

/// Whether serde_json reads its own text of a fraction without rounding it, which it does not for some with 17 digits.
fn is_read_exactly(float: f64) -> bool {
    let text = Json::from(float).to_string();
    serde_json::from_str::<f64>(&text).is_ok_and(|again| again.to_bits() == float.to_bits())
}

fn decode(json: &Json, of: &Type, dynamics: Dynamics, path: &mut Path) -> Result<Value, ConvertError> {
    Ok(match (json, of) {
        (Json::Null, _) => Value::Null,
        (json, Type::Dynamic) => Value::Dynamic(Box::new(decode_dynamic(json, dynamics, path)?)),
        (Json::Bool(value), Type::Bool) => Value::Bool(*value),
        (Json::String(text), Type::String) => Value::String(text.clone()),
        (Json::Number(number), Type::Number) => decode_number(&number.to_string(), path)?,
        (Json::String(text), Type::Number) => decode_number(text, path)?,
        (Json::Array(elements), Type::List(_) | Type::Set(_) | Type::Tuple(_)) => {
            if let Type::Tuple(types) = of
                && types.len() != elements.len()
            {
                return Err(ConvertError::new(path, format!("expected {} elements", types.len())));
            }
            let decoded = elements.iter().enumerate().map(|(index, json)| {
                within(path, Step::Index(index), |path| decode(json, of.element(index), dynamics, path))
            });
            let decoded: Vec<_> = decoded.collect::<Result<_, _>>()?;
            if matches!(of, Type::Set(_)) { Value::set(decoded) } else { Value::List(decoded) }
        }
        (Json::Object(elements), Type::Map(element)) => {
            let decoded = elements.iter().map(|(key, json)| {
                let step = Step::Key(key.clone());
                Ok((key.clone(), within(path, step, |path| decode(json, element, dynamics, path))?))
            });
            Value::Map(decoded.collect::<Result<_, _>>()?)
        }
        (Json::Object(attributes), Type::Object(types)) => {
            if let Some(name) = attributes.keys().find(|name| !types.contains_key(*name)) {
                return Err(ConvertError::new(path, format!("has no attribute {name}")));
            }
            let decoded = types.iter().map(|(name, of)| {
                let json = attributes.get(name).unwrap_or(&Json::Null);
                let step = Step::Attribute(name.clone());
                Ok((name.clone(), within(path, step, |path| decode(json, of, dynamics, path))?))
            });
            Value::Object(decoded.collect::<Result<_, _>>()?)
        }
        (json, of) => return Err(ConvertError::expected(path, of, kind(json))),
    })
}

fn decode_number(text: &str, path: &Path) -> Result<Value, ConvertError> {
    text.parse()
        .map(Value::Number)
        .map_err(|error: super::NotANumber| ConvertError::new(path, error.to_string()))
}

fn decode_dynamic(json: &Json, dynamics: Dynamics, path: &mut Path) -> Result<(Type, Value), ConvertError> {
    let of = match dynamics {
        Dynamics::Inferred => inferred(json),
        Dynamics::Typed => {
            let (Some(of), Some(value)) = (json.get("type"), json.get("value")) else {
                return Err(ConvertError::new(path, "expected an object with type and value"));
            };
            let of = Type::from_json(of).map_err(|error| ConvertError::new(path, error.to_string()))?;
            let value = decode(value, &of, dynamics, path)?;
            return Ok((of, value));
        }
    };
    let value = decode(json, &of, dynamics, path)?;
    Ok((of, value))
}

/// The type that an expression of a configuration with this value has. Null inside it has any type.
fn inferred(json: &Json) -> Type {
    match json {
        Json::Null => Type::Dynamic,
        Json::Bool(_) => Type::Bool,
        Json::Number(_) => Type::Number,
        Json::String(_) => Type::String,
        Json::Array(elements) => Type::Tuple(elements.iter().map(inferred).collect()),
        Json::Object(attributes) => {
            let types: BTreeMap<_, _> =
                attributes.iter().map(|(name, json)| (name.clone(), inferred(json))).collect();
            Type::Object(types)
        }
    }
}

fn kind(json: &Json) -> &'static str {
    match json {
        Json::Null => "null",
        Json::Bool(_) => "bool",
        Json::Number(_) => "number",
        Json::String(_) => "string",
        Json::Array(_) => "list",
        Json::Object(_) => "object",
    }
}
