//! Structural schemas of CRDs: validation, pruning, defaults and CEL rules, with the messages of kube-apiserver.
//!
//! The in-memory API server `kube-sim` uses it, and is compared with kube-apiserver by a test of random requests. An own implementation
//! and not a JSON schema crate: a structural schema also prunes, applies defaults and defines how lists and maps merge, and errors must
//! have the messages and codes of kube-apiserver. Pure.

pub mod cause;
mod defaults;
mod duplicates;
pub mod go;
mod place;
mod prune;
mod rules;
mod types;
mod validate;

use std::{collections::BTreeMap, sync::Arc};

use regex::Regex;
use serde_json::Value;

pub use defaults::{apply_defaults, drop_nulls};
pub use duplicates::duplicates;
pub use place::Place;
pub use prune::prune;
pub use validate::{check_rules, validate};

use rules::Rule;

/// Why a schema cannot be served.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {why}")]
pub struct SchemaError {
    /// Where in the schema.
    pub path: String,
    /// The invalid or unknown fields.
    pub why: String,
}

/// JSON's types as schemas name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// An object with fields, or a map.
    Object,
    /// A list.
    Array,
    /// Text.
    String,
    /// A number without a fraction.
    Integer,
    /// Any number.
    Number,
    /// `true` or `false`.
    Boolean,
}

/// The merge strategy of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum List {
    /// Not at all: the list is one value.
    Atomic,
    /// By their value.
    Set,
    /// By these fields.
    Map(Vec<String>),
}

/// One node.
#[derive(Debug, Default)]
#[allow(clippy::struct_excessive_bools)] // as OpenAPI has them
pub struct Schema {
    /// The type; `None` for any.
    pub type_: Option<Type>,
    /// Whether null is a value.
    pub nullable: bool,
    /// The value of an absent field.
    pub default: Option<Value>,
    /// The fields of an object.
    pub properties: BTreeMap<String, Schema>,
    /// The items of a list.
    pub items: Option<Box<Schema>>,
    /// The values of a map.
    pub additional: Option<Additional>,
    /// `x-kubernetes-preserve-unknown-fields`.
    pub preserves_unknown: bool,
    /// `x-kubernetes-int-or-string`.
    pub int_or_string: bool,
    /// How a list merges; `None` if this is none.
    pub list: Option<List>,
    /// `x-kubernetes-map-type: atomic`.
    pub atomic_map: bool,
    /// Whether this or anything below has a default.
    pub has_defaults: bool,
    /// Whether this or anything below has a rule.
    pub has_rules: bool,
    /// Whether this or anything below is a list whose items must differ.
    pub has_keys: bool,
    limits: Limits,
    rules: Vec<Rule>,
}

/// The schema in `additionalProperties`.
#[derive(Debug)]
pub enum Additional {
    /// Anything.
    Any,
    /// Values of this form.
    Of(Box<Schema>),
}

/// The constraints of a value, except its type.
#[derive(Debug, Default)]
struct Limits {
    enum_: Vec<Value>,
    pattern: Option<(String, Regex)>,
    format: Option<String>,
    minimum: Option<f64>,
    maximum: Option<f64>,
    min_length: Option<u64>,
    max_length: Option<u64>,
    min_items: Option<u64>,
    max_items: Option<u64>,
    min_properties: Option<u64>,
    max_properties: Option<u64>,
    required: Vec<String>,
    one_of: Vec<Schema>,
    any_of: Vec<Schema>,
    all_of: Vec<Schema>,
    not: Option<Box<Schema>>,
}

impl Schema {
    /// Compiles an `openAPIV3Schema`.
    ///
    /// # Errors
    /// If it has a field that this crate does not know, or a rule that is no CEL: nothing is ignored.
    pub fn compile(schema: &Value) -> Result<Self, SchemaError> {
        Compiler::default().schema(schema, "")
    }

    /// Whether the server merges this text as a value of any scalar type, as it does those with a format.
    pub fn is_any_scalar(&self) -> bool {
        self.type_ == Some(Type::String)
            && self.limits.format.as_deref().is_some_and(|format| format != "byte")
    }

    /// The schema of a field; `None` if the object must not have it.
    pub fn field(&self, name: &str) -> Option<&Schema> {
        self.properties.get(name).or(match &self.additional {
            Some(Additional::Of(schema)) => Some(schema),
            _ => None,
        })
    }
}

#[derive(Default)]
struct Compiler {
    patterns: BTreeMap<String, Regex>,
}

const KNOWN: &[&str] = &[
    "type",
    "nullable",
    "default",
    "properties",
    "items",
    "additionalProperties",
    "description",
    "title",
    "example",
    "format",
    "pattern",
    "enum",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "required",
    "oneOf",
    "anyOf",
    "allOf",
    "not",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-int-or-string",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type",
    "x-kubernetes-validations",
];

impl Compiler {
    fn schema(&mut self, schema: &Value, path: &str) -> Result<Schema, SchemaError> {
        let failed = |why: String| SchemaError { path: path.to_owned(), why };
        let Some(map) = schema.as_object() else { return Err(failed("not an object".to_owned())) };
        if let Some(unknown) = map.keys().find(|key| !KNOWN.contains(&key.as_str())) {
            return Err(failed(format!("{unknown} is not supported")));
        }
        let is_true = |key: &str| schema[key] == true;
        let type_ = match schema["type"].as_str() {
            None => None,
            Some("object") => Some(Type::Object),
            Some("array") => Some(Type::Array),
            Some("string") => Some(Type::String),
            Some("integer") => Some(Type::Integer),
            Some("number") => Some(Type::Number),
            Some("boolean") => Some(Type::Boolean),
            Some(other) => return Err(failed(format!("the type {other} is not supported"))),
        };
        let mut properties = BTreeMap::new();
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            properties.insert(name.clone(), self.schema(property, &format!("{path}.{name}"))?);
        }
        let items = match map.get("items") {
            Some(items) => Some(Box::new(self.schema(items, &format!("{path}[]"))?)),
            None => None,
        };
        let additional = match map.get("additionalProperties") {
            None | Some(Value::Bool(false)) => None,
            Some(Value::Bool(true)) => Some(Additional::Any),
            Some(of) => Some(Additional::Of(Box::new(self.schema(of, &format!("{path}.*"))?))),
        };
        let list = match schema["x-kubernetes-list-type"].as_str() {
            Some("set") => Some(List::Set),
            Some("map") => Some(List::Map(texts(&schema["x-kubernetes-list-map-keys"]))),
            _ if type_ == Some(Type::Array) => Some(List::Atomic),
            _ => None,
        };
        let mut rules = Vec::new();
        for rule in schema["x-kubernetes-validations"].as_array().into_iter().flatten() {
            rules.push(Rule::compile(rule).map_err(failed)?);
        }
        let default = map.get("default").cloned();
        let below = |has: fn(&Schema) -> bool| {
            properties.values().any(has)
                || items.as_deref().is_some_and(has)
                || matches!(&additional, Some(Additional::Of(schema)) if has(schema))
        };
        Ok(Schema {
            type_,
            nullable: is_true("nullable"),
            has_defaults: default.is_some() || below(|schema| schema.has_defaults),
            has_rules: !rules.is_empty() || below(|schema| schema.has_rules),
            has_keys: matches!(list, Some(List::Set | List::Map(_))) || below(|schema| schema.has_keys),
            default,
            properties,
            items,
            additional,
            preserves_unknown: is_true("x-kubernetes-preserve-unknown-fields"),
            int_or_string: is_true("x-kubernetes-int-or-string"),
            list,
            atomic_map: schema["x-kubernetes-map-type"] == "atomic",
            limits: self.limits(schema, path)?,
            rules,
        })
    }

    fn limits(&mut self, schema: &Value, path: &str) -> Result<Limits, SchemaError> {
        let number = |key: &str| schema[key].as_f64();
        let count = |key: &str| schema[key].as_u64();
        let pattern = match schema["pattern"].as_str() {
            None => None,
            Some(text) => Some((text.to_owned(), self.pattern(text, path)?)),
        };
        let mut all = |key: &str| -> Result<Vec<Schema>, SchemaError> {
            let branches = schema[key].as_array().into_iter().flatten();
            branches.map(|branch| self.schema(branch, &format!("{path}.{key}"))).collect()
        };
        let (one_of, any_of, all_of) = (all("oneOf")?, all("anyOf")?, all("allOf")?);
        let not = match schema.get("not") {
            Some(not) => Some(Box::new(self.schema(not, &format!("{path}.not"))?)),
            None => None,
        };
        Ok(Limits {
            enum_: schema["enum"].as_array().cloned().unwrap_or_default(),
            pattern,
            format: schema["format"].as_str().map(str::to_owned),
            minimum: number("minimum"),
            maximum: number("maximum"),
            min_length: count("minLength"),
            max_length: count("maxLength"),
            min_items: count("minItems"),
            max_items: count("maxItems"),
            min_properties: count("minProperties"),
            max_properties: count("maxProperties"),
            required: texts(&schema["required"]),
            one_of,
            any_of,
            all_of,
            not,
        })
    }

    /// The same pattern is compiled once.
    fn pattern(&mut self, text: &str, path: &str) -> Result<Regex, SchemaError> {
        if let Some(known) = self.patterns.get(text) {
            return Ok(known.clone());
        }
        let compiled = Regex::new(text)
            .map_err(|error| SchemaError { path: path.to_owned(), why: error.to_string() })?;
        self.patterns.insert(text.to_owned(), compiled.clone());
        Ok(compiled)
    }
}

fn texts(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// A compiled schema that all simulations share.
pub type Shared = Arc<Schema>;
