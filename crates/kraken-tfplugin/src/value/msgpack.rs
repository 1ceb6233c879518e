//! MessagePack, in which values go to plugins and come from them.
//!
//! Unknown values are extensions: type 0, or type 12 with statements about the value ("starts with ..."), which are not used.
//! A value of a dynamic type is an array of its type, as JSON, and itself. A number is an integer or a float if it is exactly
//! that, else text.

use rmpv::Value as Packed;
use rmpv::decode::read_value_with_max_depth;

use super::{ConvertError, Elements, Number, Value};
use crate::path::{Path, Step};
use crate::types::Type;

/// The deepest nesting, so that no value of a plugin exhausts the stack. rmpv counts an array or a map twice, so that this is as deep as
/// serde_json reads JSON.
const MAX_DEPTH: usize = 256;

impl Value {
    /// The MessagePack of the value as one of a type.
    ///
    /// # Errors
    /// When it is not of the type.
    pub fn to_msgpack(&self, of: &Type) -> Result<Vec<u8>, ConvertError> {
        let packed = pack(self, of, &mut Path::default())?;
        let mut bytes = vec![];
        rmpv::encode::write_value(&mut bytes, &packed)
            .map_err(|error| ConvertError::new(&Path::default(), error.to_string()))?;
        Ok(bytes)
    }

    /// Reads the MessagePack of a value of a type.
    ///
    /// # Errors
    /// When it is no MessagePack, has bytes at its end, or is not of the type.
    pub fn from_msgpack(mut bytes: &[u8], of: &Type) -> Result<Self, ConvertError> {
        let root = &mut Path::default();
        let packed = read_value_with_max_depth(&mut bytes, MAX_DEPTH)
            .map_err(|error| ConvertError::new(root, format!("invalid MessagePack: {error}")))?;
        if !bytes.is_empty() {
            return Err(ConvertError::new(root, "invalid MessagePack: bytes after its end"));
        }
        unpack(&packed, of, root)
    }
}

fn pack(value: &Value, of: &Type, path: &mut Path) -> Result<Packed, ConvertError> {
    Ok(match (value, of) {
        (Value::Null, _) => Packed::Nil,
        (Value::Unknown, _) => Packed::Ext(0, vec![0]),
        (Value::Dynamic(dynamic), Type::Dynamic) => {
            let name = dynamic.0.to_json().to_string().into_bytes();
            Packed::Array(vec![Packed::Binary(name), pack(&dynamic.1, &dynamic.0, path)?])
        }
        (Value::Bool(value), Type::Bool) => Packed::Boolean(*value),
        (Value::Number(number), Type::Number) => pack_number(number),
        (Value::String(text), Type::String) => text.as_str().into(),
        (
            Value::List(elements) | Value::Set(Elements(elements)),
            Type::List(_) | Type::Set(_) | Type::Tuple(_),
        ) if value.is_kind_of(of) => {
            let mut packed = Vec::with_capacity(elements.len());
            for (index, element) in elements.iter().enumerate() {
                packed.push(within(path, Step::Index(index), |path| pack(element, of.element(index), path))?);
            }
            Packed::Array(packed)
        }
        (Value::Map(elements), Type::Map(element)) => {
            let mut packed = Vec::with_capacity(elements.len());
            for (key, value) in elements {
                let value = within(path, Step::Key(key.clone()), |path| pack(value, element, path))?;
                packed.push((key.as_str().into(), value));
            }
            Packed::Map(packed)
        }
        (Value::Object(attributes), Type::Object(types)) => {
            if let Some(name) = attributes.keys().find(|name| !types.contains_key(*name)) {
                return Err(ConvertError::new(path, format!("has no attribute {name}")));
            }
            let mut packed = Vec::with_capacity(types.len());
            for (name, of) in types {
                let attribute = attributes.get(name).unwrap_or(&Value::Null);
                let step = Step::Attribute(name.clone());
                packed.push((name.as_str().into(), within(path, step, |path| pack(attribute, of, path))?));
            }
            Packed::Map(packed)
        }
        _ => return Err(ConvertError::expected(path, of, value.kind())),
    })
}

fn pack_number(number: &Number) -> Packed {
    if let Some(integer) = number.as_i64() {
        return integer.into();
    }
    match number.as_exact_f64() {
        Some(float) if !number.is_integer() => float.into(),
        _ => number.to_string().into(),
    }
}

fn unpack(packed: &Packed, of: &Type, path: &mut Path) -> Result<Value, ConvertError> {
    Ok(match (packed, of) {
        (Packed::Ext(..), _) => Value::Unknown,
        (Packed::Nil, _) => Value::Null,
        (Packed::Array(parts), Type::Dynamic) => {
            let (Some(name), Some(value), 2) = (parts.first().and_then(bytes), parts.get(1), parts.len())
            else {
                return Err(ConvertError::new(path, "expected a type and a value"));
            };
            let of = Type::parse(name).map_err(|error| ConvertError::new(path, error.to_string()))?;
            let value = unpack(value, &of, path)?;
            Value::Dynamic(Box::new((of, value)))
        }
        (Packed::Boolean(value), Type::Bool) => Value::Bool(*value),
        (packed, Type::Number) => Value::Number(unpack_number(packed, path)?),
        (Packed::String(_), Type::String) => match packed.as_str() {
            Some(text) => text.into(),
            None => return Err(ConvertError::new(path, "is not UTF-8")),
        },
        (Packed::Array(packed), Type::List(_) | Type::Set(_) | Type::Tuple(_)) => {
            if let Type::Tuple(types) = of
                && types.len() != packed.len()
            {
                return Err(ConvertError::new(path, format!("expected {} elements", types.len())));
            }
            let mut elements = Vec::with_capacity(packed.len());
            for (index, element) in packed.iter().enumerate() {
                elements
                    .push(within(path, Step::Index(index), |path| unpack(element, of.element(index), path))?);
            }
            if matches!(of, Type::Set(_)) { Value::set(elements) } else { Value::List(elements) }
        }
        (Packed::Map(packed), Type::Map(element)) => {
            let unpacked = packed.iter().map(|(key, value)| {
                let key = key.as_str().ok_or_else(|| ConvertError::new(path, "has a key that is no text"))?;
                Ok((
                    key.to_owned(),
                    within(path, Step::Key(key.to_owned()), |path| unpack(value, element, path))?,
                ))
            });
            Value::Map(unpacked.collect::<Result<_, _>>()?)
        }
        (Packed::Map(packed), Type::Object(types)) => {
            let unpacked = packed.iter().map(|(name, value)| {
                let name =
                    name.as_str().ok_or_else(|| ConvertError::new(path, "has a name that is no text"))?;
                let of = types
                    .get(name)
                    .ok_or_else(|| ConvertError::new(path, format!("has no attribute {name}")))?;
                let step = Step::Attribute(name.to_owned());
                Ok((name.to_owned(), within(path, step, |path| unpack(value, of, path))?))
            });
            let mut attributes = unpacked.collect::<Result<std::collections::BTreeMap<_, _>, _>>()?;
            for name in types.keys() {
                attributes.entry(name.clone()).or_insert(Value::Null);
            }
            Value::Object(attributes)
        }
        (packed, of) => return Err(ConvertError::expected(path, of, kind(packed))),
    })
}

fn unpack_number(packed: &Packed, path: &Path) -> Result<Number, ConvertError> {
    let number = match packed {
        Packed::Integer(integer) => match (integer.as_i64(), integer.as_u64()) {
            (Some(integer), _) => Ok(integer.into()),
            (None, Some(integer)) => Ok(integer.into()),
            (None, None) => Err(super::NotANumber),
        },
        Packed::F32(float) => Number::from_f64(f64::from(*float)),
        Packed::F64(float) => Number::from_f64(*float),
        Packed::String(text) => text.as_str().ok_or(super::NotANumber).and_then(str::parse),
        other => return Err(ConvertError::expected(path, Type::Number, kind(other))),
    };
    number.map_err(|error| ConvertError::new(path, error.to_string()))
}

/// Text and binary data are both used for the JSON of a type.
fn bytes(packed: &Packed) -> Option<&[u8]> {
    packed.as_slice().or_else(|| packed.as_str().map(str::as_bytes))
}

fn kind(packed: &Packed) -> &'static str {
    match packed {
        Packed::Nil => "nil",
        Packed::Boolean(_) => "bool",
        Packed::Integer(_) | Packed::F32(_) | Packed::F64(_) => "number",
        Packed::String(_) => "string",
        Packed::Binary(_) => "binary data",
        Packed::Array(_) => "array",
        Packed::Map(_) => "map",
        Packed::Ext(..) => "extension",
    }
}

/// Converts a value one step inside.
pub(super) fn within<T>(path: &mut Path, step: Step, convert: impl FnOnce(&mut Path) -> T) -> T {
    path.push(step);
    let converted = convert(path);
    path.pop();
    converted
}

impl Value {
    /// Whether a list, a set or a tuple has the form of a type.
    fn is_kind_of(&self, of: &Type) -> bool {
        match (self, of) {
            (Self::List(elements), Type::Tuple(types)) => elements.len() == types.len(),
            (Self::List(_), Type::List(_)) | (Self::Set(_), Type::Set(_)) => true,
            _ => false,
        }
    }
}

impl Type {
    /// The type of an element of a list, a set or a tuple.
    pub(super) fn element(&self, index: usize) -> &Self {
        match self {
            Self::List(element) | Self::Set(element) => element,
            Self::Tuple(types) => types.get(index).unwrap_or(&Self::Dynamic),
            _ => &Self::Dynamic,
        }
    }
}
