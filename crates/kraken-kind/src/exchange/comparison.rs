//! How desired and observed differ, and how a difference can be removed.

use kraken_api::FieldDiff;

/// The observed value of objects that do not exist. The desired one describes them.
pub const MISSING: &str = "(missing)";

/// How desired and observed differ; returned by [`crate::Kind::compare`].
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison<C> {
    /// Set if an object must be created first; describes it: "1 instance of 2".
    pub missing: Option<String>,
    /// Set if an operation of the provider is still in progress; describes it: "instance i-0abc is pending".
    pub settling: Option<String>,
    /// Fields that differ, in the order in which they must be changed.
    pub differences: Vec<Difference<C>>,
}

impl<C> Default for Comparison<C> {
    fn default() -> Self {
        Self { missing: None, settling: None, differences: vec![] }
    }
}

impl<C> Comparison<C> {
    /// Converts the changes to another type.
    pub fn map<D>(self, mut form: impl FnMut(C) -> D) -> Comparison<D> {
        let Self { missing, settling, differences } = self;
        let differences = differences.into_iter().map(|difference| difference.map(&mut form)).collect();
        Comparison { missing, settling, differences }
    }
}

/// A field that differs, and how it can be changed.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference<C> {
    /// The field and both values; never a value from a Secret.
    pub field: FieldDiff,
    /// How the difference can be removed.
    pub remedy: Remedy<C>,
}

impl<C> Difference<C> {
    /// Whether it is the remaining part of a disruption that has started.
    pub fn is_resumption(&self) -> bool {
        matches!(self.remedy, Remedy::Resume(_))
    }

    /// Converts the change to another type.
    pub fn map<D>(self, form: impl FnOnce(C) -> D) -> Difference<D> {
        Difference { field: self.field, remedy: self.remedy.map(form) }
    }
}

/// How a difference can be removed.
#[derive(Clone, Debug, PartialEq)]
pub enum Remedy<C> {
    /// A change in place by one call.
    Change(C),
    /// A change in place that interrupts the service, such as a stop, by one call; made only if `lifecycle.disruption`
    /// allows it. The text states the condition: "AWS changes it only while the instance is stopped".
    Disruptive(C, String),
    /// The next step of a disruption that this resource started, such as starting an instance that it stopped. It
    /// precedes every other change, is not drift, is not ignored, and needs no approval of its own.
    Resume(C),
    /// The provider does not support the change, or not in the current state; the text states what would make it
    /// possible.
    Immutable(String),
}

impl<C> Remedy<C> {
    /// Converts the change to another type.
    pub fn map<D>(self, form: impl FnOnce(C) -> D) -> Remedy<D> {
        match self {
            Self::Change(change) => Remedy::Change(form(change)),
            Self::Disruptive(change, takes) => Remedy::Disruptive(form(change), takes),
            Self::Resume(change) => Remedy::Resume(form(change)),
            Self::Immutable(why) => Remedy::Immutable(why),
        }
    }
}
