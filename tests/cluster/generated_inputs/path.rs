//! Places in an object, and objects that differ at one.

use std::fmt;

use serde_json::Value;

/// The path of a place: `spec.ingress[0].fromPort`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Path(Vec<Step>);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Step {
    Field(String),
    Index(usize),
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, step) in self.0.iter().enumerate() {
            match step {
                Step::Field(name) if at == 0 => f.write_str(name)?,
                Step::Field(name) => write!(f, ".{name}")?,
                Step::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

impl Path {
    /// The path of `spec`.
    pub(super) fn spec() -> Self {
        Self::default().field("spec")
    }

    /// The path of a field of this object.
    pub(super) fn field(&self, name: &str) -> Self {
        Self([&*self.0, &[Step::Field(name.to_owned())]].concat())
    }

    /// The path of an item of this list.
    pub(super) fn index(&self, index: usize) -> Self {
        Self([&*self.0, &[Step::Index(index)]].concat())
    }

    /// The path of the object that contains this place.
    pub(super) fn parent(&self) -> Self {
        Self(self.0[..self.0.len().saturating_sub(1)].to_vec())
    }

    /// The name of the innermost field.
    pub(super) fn name(&self) -> &str {
        let names = self.0.iter().rev().find_map(|step| match step {
            Step::Field(name) => Some(name.as_str()),
            Step::Index(_) => None,
        });
        names.unwrap_or_default()
    }

    /// The path without the indexes of lists, as in the schema.
    pub(super) fn of_schema(&self) -> String {
        let names = self.0.iter().filter_map(|step| match step {
            Step::Field(name) => Some(name.as_str()),
            Step::Index(_) => None,
        });
        names.collect::<Vec<_>>().join(".")
    }

    /// The value at this place.
    pub(super) fn of<'a>(&self, object: &'a Value) -> Option<&'a Value> {
        self.0.iter().try_fold(object, |value, step| match step {
            Step::Field(name) => value.get(name),
            Step::Index(index) => value.get(index),
        })
    }

    /// The object with another value at this place, or without the field.
    pub(super) fn with(&self, object: &Value, value: Option<Value>) -> Value {
        let mut object = object.clone();
        let Some((last, parents)) = self.0.split_last() else { return object };
        let mut node = &mut object;
        for step in parents {
            node = match step {
                Step::Field(name) => &mut node[name.as_str()],
                Step::Index(index) => &mut node[index],
            };
        }
        match (last, value) {
            (Step::Field(name), Some(value)) => node[name.as_str()] = value,
            (Step::Field(name), None) => drop(node.as_object_mut().and_then(|fields| fields.remove(name))),
            (Step::Index(index), Some(value)) => node[index] = value,
            (Step::Index(index), None) => drop(node.as_array_mut().map(|items| items.remove(*index))),
        }
        object
    }
}
