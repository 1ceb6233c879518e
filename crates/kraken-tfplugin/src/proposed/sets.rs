//! Elements of sets have no names, so that a configured element is found in the prior state by what it has in common with one.

use super::Members;
use crate::path::Step;
use crate::schema::{Form, Nesting};
use crate::types::Type;
use crate::value::Value;

impl Members<'_> {
    /// The elements of a set. A prior element is used once, by the first configured one that can have become it.
    pub(super) fn merged_set(self, prior: &Value, elements: &[Value]) -> Value {
        let mut unused: Vec<&Value> = match prior {
            Value::Set(prior) => prior.as_slice().iter().collect(),
            _ => vec![],
        };
        let merged = elements.iter().map(|config| {
            let position = unused.iter().position(|prior| Node::Object(self).can_become(config, prior));
            let prior = position.map_or(&Value::Null, |position| unused.remove(position));
            self.merged(prior, config)
        });
        Value::set(merged.collect::<Vec<_>>())
    }
}

/// A part of an element.
#[derive(Clone, Copy)]
enum Node<'a> {
    Object(Members<'a>),
    Objects(Nesting, Members<'a>),
    Plain { of: &'a Type, is_computed: bool },
}

impl Node<'_> {
    /// Whether a configured value differs from a prior one only in what a provider computes. Each part of the prior value is
    /// compared; what is only configured does not matter.
    fn can_become(self, config: &Value, prior: &Value) -> bool {
        if config == prior {
            return true;
        }
        let inside = |step: Step, node: Self, prior: &Value| match (config, step) {
            // Each part of an unknown value is unknown.
            (Value::Unknown, _) => node.can_become(&Value::Unknown, prior),
            (Value::Object(values), Step::Attribute(name)) | (Value::Map(values), Step::Key(name)) => {
                values.get(&name).is_some_and(|config| node.can_become(config, prior))
            }
            (Value::List(values), Step::Index(index)) => {
                values.get(index).is_some_and(|config| node.can_become(config, prior))
            }
            _ => false,
        };
        match (self, prior) {
            // The elements of two sets would have to be compared with each other.
            (Self::Objects(Nesting::Set, _) | Self::Plain { of: Type::Set(_), .. }, _) => false,
            (Self::Plain { is_computed, .. }, _) => is_computed && config.is_null(),
            (
                Self::Object(members) | Self::Objects(Nesting::Single | Nesting::Group, members),
                Value::Object(_),
            ) => members
                .nodes()
                .all(|(name, node)| inside(Step::Attribute(name.clone()), node, prior.attribute(name))),
            (Self::Objects(_, members), Value::List(elements)) => elements
                .iter()
                .enumerate()
                .all(|(index, prior)| inside(Step::Index(index), Self::Object(members), prior)),
            (Self::Objects(_, members), Value::Map(elements)) => elements
                .iter()
                .all(|(key, prior)| inside(Step::Key(key.clone()), Self::Object(members), prior)),
            // A null prior value has no parts.
            _ => true,
        }
    }
}

impl<'a> Members<'a> {
    fn nodes(self) -> impl Iterator<Item = (&'a String, Node<'a>)> {
        let attributes = self.attributes.iter().map(|(name, attribute)| {
            let node = match &attribute.form {
                Form::Plain(of) => Node::Plain { of, is_computed: attribute.is_computed },
                Form::Nested { nesting, attributes } => {
                    Node::Objects(*nesting, Members::of_nested(attributes))
                }
            };
            (name, node)
        });
        let blocks = self
            .blocks()
            .map(|(name, nested)| (name, Node::Objects(nested.nesting, Members::of(&nested.block))));
        attributes.chain(blocks)
    }
}
