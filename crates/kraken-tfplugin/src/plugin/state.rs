//! What is known about one object of a provider, and what is planned for it.

use std::fmt;

use crate::diagnostic::Diagnostic;
use crate::diff::Difference;
use crate::path::Path;
use crate::value::Value;

/// The state of an object: what a provider needs to find it again.
#[derive(Clone, Default, PartialEq)]
pub struct ResourceState {
    /// The value, of the type of the resource's schema; null if there is no object.
    pub value: Value,
    /// Data of the provider, to be stored with the value and passed back.
    pub private: Vec<u8>,
}

impl ResourceState {
    /// Whether there is an object.
    pub fn exists(&self) -> bool {
        !self.value.is_null()
    }
}

/// Without the value, which may be secret.
impl fmt::Debug for ResourceState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResourceState").field("exists", &self.exists()).finish_non_exhaustive()
    }
}

/// A result, with what the provider warns about.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer<T> {
    /// The result.
    pub value: T,
    /// The warnings.
    pub warnings: Vec<Diagnostic>,
}

/// What a plan does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Nothing: the object is as configured.
    None,
    /// Creates an object.
    Create,
    /// Changes the object.
    Update,
    /// Needs a new object: the caller plans and applies a deletion and a creation. A provider does not execute this plan itself.
    Replace,
    /// Deletes the object.
    Delete,
}

/// A planned change of one object. It has all that [`Plugin::apply`](crate::Plugin::apply) needs.
#[derive(Clone, PartialEq)]
pub struct Plan {
    /// The type of the resource.
    pub type_name: String,
    /// The state that it starts from.
    pub prior: ResourceState,
    /// The configuration; null for a deletion.
    pub config: Value,
    /// The state that it leads to, with unknown values; null for a deletion.
    pub planned: Value,
    /// Data of the provider for the change.
    pub private: Vec<u8>,
    /// What differs, without secret values.
    pub differences: Vec<Difference>,
    /// The paths whose change requires a new object. Only those that change, although providers list others, too.
    pub requires_replace: Vec<Path>,
    /// What the provider warns about.
    pub warnings: Vec<Diagnostic>,
}

impl Plan {
    /// What it does.
    pub fn action(&self) -> Action {
        match (self.prior.value.is_null(), self.planned.is_null()) {
            (true, true) => Action::None,
            (true, false) => Action::Create,
            (false, true) => Action::Delete,
            (false, false) if !self.requires_replace.is_empty() => Action::Replace,
            (false, false) if self.differences.is_empty() => Action::None,
            (false, false) => Action::Update,
        }
    }
}

/// Without configuration and states, which may contain secret values.
impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plan")
            .field("type_name", &self.type_name)
            .field("action", &self.action())
            .field("differences", &self.differences)
            .field("requires_replace", &self.requires_replace)
            .finish_non_exhaustive()
    }
}

/// The result of an applied plan. It may have errors **and** a state: an object that was created, but not completely. Store the
/// state before anything else.
#[derive(Clone, Debug, PartialEq)]
pub struct Applied {
    /// The state after it. If a change failed without a state, the state before it; the next read shows what happened.
    pub state: ResourceState,
    /// Errors and warnings.
    pub diagnostics: Vec<Diagnostic>,
}

impl Applied {
    /// Whether it failed, at least in part.
    pub fn is_failed(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::is_error)
    }
}
