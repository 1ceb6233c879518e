//! Elements of sets have no names, so that a configured element is found in the prior state by what it has in common with one.

use super::{Members, was_configured};
use crate::schema::{Attribute, Form, Nesting};
use crate::value::Value;

impl Members<'_> {
    /// The elements of a set. A prior element is used once.
    pub(super) fn merged_set(self, prior: &Value, elements: &[Value]) -> Value {
        let mut unused: Vec<&Value> = match prior {
            Value::Set(prior) => prior.as_slice().iter().collect(),
            _ => vec![],
        };
        let merged = elements.iter().map(|config| {
            let position = unused.iter().position(|prior| self.can_become(config, prior));
            let prior = position.map_or(&Value::Null, |position| unused.remove(position));
            self.merged(prior, config)
        });
        Value::set(merged.collect::<Vec<_>>())
    }

    /// Whether a configured object differs from a prior one only in what a provider computes.
    fn can_become(self, config: &Value, prior: &Value) -> bool {
        if config == prior {
            return true;
        }
        let (Value::Object(_), Value::Object(_)) = (config, prior) else {
            return false;
        };
        self.attributes.iter().all(|(name, attribute)| {
            attribute_can_become(attribute, config.attribute(name), prior.attribute(name))
        }) && self.blocks().all(|(name, nested)| {
            Self::of(&nested.block).all_can_become(
                nested.nesting,
                config.attribute(name),
                prior.attribute(name),
            )
        })
    }

    fn all_can_become(self, nesting: Nesting, config: &Value, prior: &Value) -> bool {
        match (nesting, config, prior) {
            (Nesting::Single | Nesting::Group, ..) => self.can_become(config, prior),
            (Nesting::List, Value::List(config), Value::List(prior)) => {
                config.len() == prior.len()
                    && config.iter().zip(prior).all(|(config, prior)| self.can_become(config, prior))
            }
            (Nesting::Map, Value::Map(config), Value::Map(prior)) => {
                config.len() == prior.len()
                    && config
                        .iter()
                        .zip(prior)
                        .all(|(config, prior)| config.0 == prior.0 && self.can_become(config.1, prior.1))
            }
            // A set in an element of a set has to be equal: its elements would be compared with each other.
            _ => config == prior,
        }
    }
}

fn attribute_can_become(attribute: &Attribute, config: &Value, prior: &Value) -> bool {
    match &attribute.form {
        _ if config == prior => true,
        _ if config.is_null() && attribute.is_computed => !was_configured(attribute, prior),
        Form::Nested { nesting, attributes } => {
            Members::of_nested(attributes).all_can_become(*nesting, config, prior)
        }
        Form::Plain(_) => false,
    }
}
