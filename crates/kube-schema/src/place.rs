//! The path of a value in its object.

use serde_json::Value;

use crate::cause::Cause;

/// The path of a value. It is formatted as text only for an error.
#[derive(Clone, Copy, Debug)]
pub enum Place<'a> {
    /// The object itself.
    Root,
    /// A field of the object that is validated by itself: errors say what is wrong inside of it.
    Top(&'a str),
    /// A field.
    Field(&'a Place<'a>, &'a str),
    /// An item of a list.
    Item(&'a Place<'a>, usize),
}

impl Place<'_> {
    /// As kube-apiserver writes it.
    pub fn text(&self) -> String {
        match self {
            Self::Root => String::new(),
            Self::Top(name) | Self::Field(Self::Root, name) => (*name).to_owned(),
            Self::Field(parent, name) => format!("{}.{name}", parent.text()),
            Self::Item(parent, index) => format!("{}[{index}]", parent.text()),
        }
    }

    /// As messages say it: inside of what is validated.
    pub(super) fn inner(&self) -> String {
        match self {
            Self::Root | Self::Top(_) => String::new(),
            Self::Field(Self::Root | Self::Top(_), name) => (*name).to_owned(),
            Self::Field(parent, name) => format!("{}.{name}", parent.inner()),
            Self::Item(parent, index) => format!("{}[{index}]", parent.inner()),
        }
    }

    pub(super) fn invalid(&self, value: &Value, why: &str) -> Cause {
        let field = self.text();
        let detail = format!("{} in body {why}", self.inner());
        Cause::invalid(field, value, &detail)
    }
}
