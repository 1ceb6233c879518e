//! The proposed new state: the prior state and a configuration merged into what the provider is asked to plan.
//!
//! A configured attribute has its configured value. A computed one without a configuration keeps its prior value, which the provider
//! then keeps or replaces by an unknown one; it is null when a resource is created. Blocks and nested attributes are merged
//! element by element: lists by index, maps by key, and an element of a set with the prior element that it can have become.
//!
//! The rules are those that OpenTofu documents for `PlanResourceChange`; the code is Kraken's own.

mod sets;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use crate::schema::{Attribute, Block, Form, NestedBlock, Nesting};
use crate::value::Value;

/// Merges a prior state with a configuration of the same block. Both are null, unknown or objects of the block's type.
pub fn proposed_new_state(block: &Block, prior: &Value, config: &Value) -> Value {
    match config {
        Value::Object(_) => Members::of(block).merged(prior, config),
        // Without a configuration there is nothing to merge: a deletion.
        other => other.clone(),
    }
}

/// What an object consists of: a block has both, an object of a nested attribute has only attributes.
#[derive(Clone, Copy)]
struct Members<'a> {
    attributes: &'a BTreeMap<String, Attribute>,
    blocks: Option<&'a BTreeMap<String, NestedBlock>>,
}

impl<'a> Members<'a> {
    fn of(block: &'a Block) -> Self {
        Self { attributes: &block.attributes, blocks: Some(&block.blocks) }
    }

    fn of_nested(attributes: &'a BTreeMap<String, Attribute>) -> Self {
        Self { attributes, blocks: None }
    }

    fn blocks(self) -> impl Iterator<Item = (&'a String, &'a NestedBlock)> {
        self.blocks.into_iter().flatten()
    }

    /// A configured object, with what it keeps of its prior value; null for a new one.
    fn merged(self, prior: &Value, config: &Value) -> Value {
        if !matches!(config, Value::Object(_)) {
            return config.clone();
        }
        let attributes = self.attributes.iter().map(|(name, attribute)| {
            (name.clone(), merged_attribute(attribute, prior.attribute(name), config.attribute(name)))
        });
        let blocks = self.blocks().map(|(name, nested)| {
            let members = Self::of(&nested.block);
            (name.clone(), members.merged_all(nested.nesting, prior.attribute(name), config.attribute(name)))
        });
        Value::Object(attributes.chain(blocks).collect())
    }

    /// The objects of a block or a nested attribute.
    fn merged_all(self, nesting: Nesting, prior: &Value, config: &Value) -> Value {
        match (nesting, config) {
            (Nesting::Single | Nesting::Group, Value::Object(_)) => self.merged(prior, config),
            (Nesting::List, Value::List(elements)) => {
                let prior = if let Value::List(prior) = prior { prior.as_slice() } else { &[] };
                let merged = elements.iter().enumerate();
                let merged = merged
                    .map(|(index, config)| self.merged(prior.get(index).unwrap_or(&Value::Null), config));
                Value::List(merged.collect())
            }
            (Nesting::Map, Value::Map(elements)) => {
                let prior = |key| if let Value::Map(prior) = prior { prior.get(key) } else { None };
                let merged = elements.iter().map(|(key, config)| {
                    (key.clone(), self.merged(prior(key).unwrap_or(&Value::Null), config))
                });
                Value::Map(merged.collect())
            }
            (Nesting::Set, Value::Set(elements)) => self.merged_set(prior, elements.as_slice()),
            // Null, or unknown until its number is known.
            _ => config.clone(),
        }
    }
}

fn merged_attribute(attribute: &Attribute, prior: &Value, config: &Value) -> Value {
    match &attribute.form {
        _ if attribute.is_computed && config.is_null() => {
            if was_configured(attribute, prior) {
                Value::Null
            } else {
                prior.clone()
            }
        }
        Form::Nested { nesting, attributes } => {
            Members::of_nested(attributes).merged_all(*nesting, prior, config)
        }
        Form::Plain(_) => config.clone(),
    }
}

/// Whether a prior value of an attribute that is both optional and computed came from a configuration: it contains a value that the
/// provider cannot have computed. If such an attribute is configured no longer, its value is not kept.
fn was_configured(attribute: &Attribute, prior: &Value) -> bool {
    attribute.is_optional && has_configured(attribute, prior)
}

fn has_configured(attribute: &Attribute, prior: &Value) -> bool {
    let Form::Nested { attributes, .. } = &attribute.form else {
        return false;
    };
    let object = |object: &Value| {
        attributes.iter().any(|(name, inner)| {
            let value = object.attribute(name);
            !value.is_null() && (!inner.is_computed || has_configured(inner, value))
        })
    };
    match prior {
        Value::Object(_) => object(prior),
        Value::List(elements) => elements.iter().any(object),
        Value::Set(elements) => elements.as_slice().iter().any(object),
        Value::Map(elements) => elements.values().any(object),
        _ => false,
    }
}
