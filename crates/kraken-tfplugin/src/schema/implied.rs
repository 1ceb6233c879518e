//! What follows from a schema: the types of its values, and which are secret.

use std::collections::BTreeMap;

use super::{Attribute, Block, Form, NestedBlock, Nesting};
use crate::types::Type;
use crate::value::Value;

impl Block {
    /// The type of its values.
    pub fn value_type(&self) -> Type {
        let attributes =
            self.attributes.iter().map(|(name, attribute)| (name.clone(), attribute.value_type()));
        let blocks = self.blocks.iter().map(|(name, nested)| (name.clone(), nested.value_type()));
        Type::Object(attributes.chain(blocks).collect())
    }

    /// The value without any configuration: null attributes and no blocks.
    pub fn empty_value(&self) -> Value {
        let attributes = self.attributes.keys().map(|name| (name.clone(), Value::Null));
        let blocks = self.blocks.iter().map(|(name, nested)| (name.clone(), nested.empty_value()));
        Value::Object(attributes.chain(blocks).collect())
    }

    /// A configuration with empty blocks where it has null: a block that is absent is an empty list, set or map.
    #[must_use]
    pub fn with_blocks(&self, config: Value) -> Value {
        let Value::Object(mut values) = config else {
            return config;
        };
        for (name, nested) in &self.blocks {
            let value = values.remove(name).unwrap_or_default();
            values.insert(name.clone(), nested.with_blocks(value));
        }
        Value::Object(values)
    }

    /// Whether a value in it must not be shown.
    pub fn has_secrets(&self) -> bool {
        self.attributes.values().any(Attribute::has_secrets)
            || self.blocks.values().any(|nested| nested.block.has_secrets())
    }
}

impl NestedBlock {
    fn value_type(&self) -> Type {
        self.nesting.collection_of(self.block.value_type())
    }

    /// The value of no such block.
    pub fn empty_value(&self) -> Value {
        match self.nesting {
            Nesting::Single => Value::Null,
            Nesting::Group => self.block.empty_value(),
            Nesting::List => Value::List(vec![]),
            Nesting::Set => Value::set([]),
            Nesting::Map => Value::Map(BTreeMap::new()),
        }
    }

    fn with_blocks(&self, value: Value) -> Value {
        match value {
            Value::Null => self.empty_value(),
            Value::List(blocks) => {
                Value::List(blocks.into_iter().map(|value| self.block.with_blocks(value)).collect())
            }
            Value::Set(blocks) => {
                Value::set(blocks.as_slice().iter().map(|value| self.block.with_blocks(value.clone())))
            }
            Value::Map(blocks) => {
                let each = |(label, value)| (label, self.block.with_blocks(value));
                Value::Map(blocks.into_iter().map(each).collect())
            }
            other => self.block.with_blocks(other),
        }
    }
}

impl Attribute {
    fn value_type(&self) -> Type {
        match &self.form {
            Form::Plain(plain) => plain.clone(),
            Form::Nested { nesting, attributes } => {
                let types = attributes.iter().map(|(name, attribute)| (name.clone(), attribute.value_type()));
                nesting.collection_of(Type::Object(types.collect()))
            }
        }
    }

    /// Whether it or an attribute in it must not be shown.
    pub fn has_secrets(&self) -> bool {
        let nested = match &self.form {
            Form::Plain(_) => false,
            Form::Nested { attributes, .. } => attributes.values().any(Self::has_secrets),
        };
        self.is_secret() || nested
    }
}

impl Nesting {
    fn collection_of(self, object: Type) -> Type {
        match self {
            Self::Single | Self::Group => object,
            Self::List => Type::List(Box::new(object)),
            Self::Set => Type::Set(Box::new(object)),
            Self::Map => Type::Map(Box::new(object)),
        }
    }
}
