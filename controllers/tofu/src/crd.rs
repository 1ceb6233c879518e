//! The schema of a kind's options, from the schema of its type. Attributes and blocks have the provider's names; each attribute is an
//! option with `value` or `valueFrom`.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::JSONSchemaProps;
use kraken_kind::options::element_schema;
use kraken_tfplugin::{
    Type,
    schema::{Attribute, Block, Form, NestedBlock, Nesting},
};
use serde_json::{Map, Value as Json, json};

/// The longest description, in characters: a provider's documentation is longer.
const MAX_DESCRIPTION: usize = 200;

/// Whether users set this attribute. `id` is the provider's, also where it could be set.
pub(crate) fn is_option(name: &str, attribute: &Attribute) -> bool {
    name != "id" && (attribute.is_required || attribute.is_optional)
}

/// Whether at most one such block can exist, so that it is an object and no list.
pub(crate) fn is_single(nested: &NestedBlock) -> bool {
    nested.max_items == 1 || matches!(nested.nesting, Nesting::Single | Nesting::Group)
}

/// What the elements of a list or a map are, each of which is a literal or a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    Bool,
    Number,
    String,
}

impl Element {
    fn json_type(self) -> &'static str {
        match self {
            Self::Bool => "boolean",
            Self::Number => "number",
            Self::String => "string",
        }
    }
}

/// The elements of an attribute that can be references; `None` if it is not a list, a set or a map of them.
pub(crate) fn element(form: &Form) -> Option<Element> {
    let Form::Plain(Type::List(element) | Type::Set(element) | Type::Map(element)) = form else {
        return None;
    };
    match **element {
        Type::Bool => Some(Element::Bool),
        Type::Number => Some(Element::Number),
        Type::String => Some(Element::String),
        _ => None,
    }
}

/// A list, set or map of these elements.
fn collection_of(of: &Type, element: &Json) -> Json {
    match of {
        Type::Map(_) => json!({"type": "object", "additionalProperties": element}),
        _ => json!({"type": "array", "items": element}),
    }
}

/// The schema of the options of a block.
pub(crate) fn options(block: &Block) -> JSONSchemaProps {
    serde_json::from_value(object(block)).unwrap_or_default()
}

/// The names of the options and blocks at the top level.
pub(crate) fn fields(block: &Block) -> impl Iterator<Item = &str> {
    let options = block.attributes.iter().filter(|(name, attribute)| is_option(name, attribute));
    options.map(|(name, _)| name.as_str()).chain(block.blocks.keys().map(String::as_str))
}

/// The depth of the deepest option, as in [`MAX_OPTION_DEPTH`](kraken_kind::api::crd::at_run_time::MAX_OPTION_DEPTH).
pub(crate) fn depth(block: &Block) -> usize {
    let options = block.attributes.iter().filter(|(name, attribute)| is_option(name, attribute));
    let options = options.map(|(_, attribute)| if element(&attribute.form).is_some() { 3 } else { 1 });
    let of = |nested: &NestedBlock| depth(&nested.block) + if is_single(nested) { 1 } else { 2 };
    options.chain(block.blocks.values().map(of)).max().unwrap_or(1)
}

fn object(block: &Block) -> Json {
    let mut properties = Map::new();
    let mut required: Vec<&str> = vec![];
    for (name, attribute) in block.attributes.iter().filter(|(name, attribute)| is_option(name, attribute)) {
        properties.insert(name.clone(), option(attribute));
        required.extend(attribute.is_required.then_some(name.as_str()));
    }
    for (name, nested) in &block.blocks {
        properties.insert(name.clone(), blocks(nested));
        required.extend((nested.min_items > 0).then_some(name.as_str()));
    }
    let mut schema = json!({"type": "object", "properties": properties});
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

/// An attribute: a literal, or where its value comes from.
fn option(attribute: &Attribute) -> Json {
    let mut description: String = attribute.description.chars().take(MAX_DESCRIPTION).collect();
    if attribute.is_deprecated {
        description = format!("Deprecated. {description}");
    }
    let source = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let value = match &attribute.form {
        Form::Plain(plain) => match element(&attribute.form) {
            Some(element) => collection_of(plain, &element_schema(element.json_type(), &source)),
            None => of_type(plain),
        },
        Form::Nested { nesting, attributes } => {
            let types = attributes.iter().map(|(name, attribute)| (name.clone(), value_of(attribute)));
            collection(*nesting, &json!({"type": "object", "properties": types.collect::<Map<_, _>>()}))
        }
    };
    let mut schema = json!({
        "type": "object",
        "properties": {"value": value, "valueFrom": source},
    });
    if !description.is_empty() {
        schema["description"] = json!(description);
    }
    schema
}

fn value_of(attribute: &Attribute) -> Json {
    match &attribute.form {
        Form::Plain(plain) => of_type(plain),
        Form::Nested { .. } => anything(),
    }
}

fn blocks(nested: &NestedBlock) -> Json {
    let one = object(&nested.block);
    if is_single(nested) { one } else { collection(nested.nesting, &one) }
}

fn collection(nesting: Nesting, one: &Json) -> Json {
    match nesting {
        Nesting::Single | Nesting::Group => one.clone(),
        Nesting::List | Nesting::Set => json!({"type": "array", "items": one}),
        Nesting::Map => json!({"type": "object", "additionalProperties": one}),
    }
}

fn anything() -> Json {
    json!({"x-kubernetes-preserve-unknown-fields": true})
}

fn of_type(of: &Type) -> Json {
    match of {
        Type::Bool => json!({"type": "boolean"}),
        Type::Number => json!({"type": "number"}),
        Type::String => json!({"type": "string"}),
        Type::List(element) | Type::Set(element) | Type::Map(element) => collection_of(of, &of_type(element)),
        Type::Object(attributes) => {
            let properties = attributes.iter().map(|(name, of)| (name.clone(), of_type(of)));
            json!({"type": "object", "properties": properties.collect::<Map<_, _>>()})
        }
        Type::Dynamic | Type::Tuple(_) => anything(),
    }
}
