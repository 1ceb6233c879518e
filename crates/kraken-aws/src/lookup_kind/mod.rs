//! The layer for look-ups: kinds that find objects of AWS which Kraken does not manage. It implements their common parts, so that a
//! look-up consists of its fields, its filters and one call: [`AwsLookup`]. [`Lookups`] and [`LookupKind`] implement
//! [`kraken_kind::Calls`] and [`kraken_kind::Kind`] for it.

mod filters;
mod kind;
mod lookups;
mod pattern;
mod search;
mod words;

use std::fmt::Debug;

use kraken_kind::{Failure, Resolver, SpokeKind, Unanswered};
use kube::core::object::HasSpec;

use crate::{
    Aws, Tags,
    resource::{DescribeQuery, RemoteObject},
};

pub use filters::{passes, passing, tag, tags_apart};
pub(crate) use kind::observed;
pub use kind::{Hit, LookupKind};
pub use lookups::Lookups;
pub use pattern::matches;
pub use search::{Search, TAG};

/// The path of the column with a newer answer, which is not part of the state.
pub const NEWER: &str = "newer";

/// The default of `spec.pin`.
pub fn pinned() -> bool {
    true
}

/// What the spec of a look-up means. [`crate::aws_lookup`] implements it.
pub trait LookupSpec {
    /// What is searched for.
    type Desired: Debug + Clone + Send + Sync + 'static;
    /// The AWS object.
    type Observed: RemoteObject;
    /// The name of the object in messages: "VPC".
    const NOUN: &'static str;
    /// The key of the object, or of the list of objects, in the state.
    const STATE_KEY: &'static str;
    /// As [`kraken_kind::Features::summary`].
    const SUMMARY: &[(&str, &str)];
    /// The fields that say what is searched for.
    const FIELDS: &[&str];

    /// As [`kraken_kind::Kind::desired`].
    fn desired(&self, values: &mut Resolver<'_>) -> Option<Self::Desired>;

    /// The fields that are set, with their values, except tags.
    fn criteria(desired: &Self::Desired) -> Vec<(&'static str, String)>;

    /// The tags of the object.
    fn tags(desired: &Self::Desired) -> &Tags;

    /// Whether an answer is kept.
    fn pins(desired: &Self::Desired) -> bool;
}

/// The spec of a look-up.
pub type SpecOf<S> = <<S as AwsLookup>::Kind as HasSpec>::Spec;
/// What a look-up searches for.
pub type DesiredOf<S> = <SpecOf<S> as LookupSpec>::Desired;
/// What a look-up finds.
pub type ObservedOf<S> = <SpecOf<S> as LookupSpec>::Observed;

/// The filters and the call of a look-up.
pub trait AwsLookup: Sized + Send + Sync + 'static {
    /// The custom resource.
    type Kind: SpokeKind + HasSpec<Spec: LookupSpec>;

    /// As [`kraken_kind::Features::answers`].
    const ANSWERS: &'static str = "";
    /// Whether the answer is a list, which is one in the state, too.
    const IS_LIST: bool = false;
    /// The filters, besides those of tags, with which several look-ups share a call: [`AwsLookup::value`] knows their values. The
    /// first filter of a search that is one of them has a value for each look-up; all others are the same.
    const SHARED: &[&str] = &[];

    /// Pure. What is searched for, without tags.
    fn search(desired: &DesiredOf<Self>) -> Search;

    /// Pure. The value of an object that one of the [shared](AwsLookup::SHARED) filters compares.
    fn value<'o>(_object: &'o ObservedOf<Self>, _filter: &str) -> Option<&'o str> {
        None
    }

    /// Reads all pages. `owners` is empty for objects of the account, and for a query of ids.
    fn read(
        aws: &Aws,
        owners: Vec<String>,
        query: DescribeQuery,
    ) -> impl Future<Output = Result<Vec<ObservedOf<Self>>, Failure>> + Send;

    /// Pure. The answer among the objects that were found, of which there is at least one. The default is the only one.
    ///
    /// # Errors
    /// If there are too many: what is expected, and what narrows the search.
    fn choose<'o>(
        desired: &DesiredOf<Self>,
        found: Vec<&'o ObservedOf<Self>>,
    ) -> Result<Vec<&'o ObservedOf<Self>>, String> {
        if found.len() == 1 { Ok(found) } else { Err(words::narrow::<Self>(desired)) }
    }

    /// Pure. What a reference to the look-up without a path resolves to. The default is the id of the object.
    fn main_id(object: &ObservedOf<Self>) -> &str {
        use crate::lookup::Tagged;
        object.id()
    }

    /// Pure. Why an object that was found cannot be published, such as a value that must stay secret.
    fn refusal(_object: &ObservedOf<Self>) -> Option<Unanswered> {
        None
    }

    /// Pure. An object in words, besides its id. The default is its tag `Name`.
    fn words(object: &ObservedOf<Self>) -> Option<String> {
        use crate::lookup::Tagged;
        object.tags().get("Name").cloned()
    }
}
