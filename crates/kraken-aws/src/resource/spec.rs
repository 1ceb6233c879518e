//! The pure part of a kind.

use std::fmt::Debug;

use kraken_kind::{Difference, Edit, Ignored, Resolved, Resolver};
use serde_json::Value;

use super::RemoteObject;
use crate::{
    import::Fields,
    tags::{self, TagOptions, Tags},
};

/// What the spec of a kind means: its desired state, the comparison with an observed object, and the published state.
/// [`crate::aws_kind`] implements it.
pub trait AwsSpec {
    /// The desired state of one object, without tags. `Debug` must not show secrets.
    type Desired: Debug + Send + Sync + 'static;
    /// The AWS object.
    type Observed: RemoteObject;
    /// A change in place of one object, one call each.
    type Change: Debug + Send + Sync + 'static;

    /// The name of the object in messages, after "1": "VPC".
    const NOUN: &'static str;
    /// The key of the object in the state: `vpc`, for references such as `vpc.CidrBlock`.
    const STATE_KEY: &'static str;
    /// As [`kraken_kind::Features::drift_paths`].
    const DRIFT_PATHS: &[&str] = &[];
    /// As [`kraken_kind::Features::whole_paths`].
    const WHOLE_PATHS: &[&str] = &[];
    /// As [`kraken_kind::Features::follows`].
    const FOLLOWS: &[&str] = &[];
    /// As [`kraken_kind::Features::secret_field_paths`].
    const SECRET_FIELD_PATHS: &[(&str, &[&str])] = &[];
    /// As [`kraken_kind::Features::summary`].
    const SUMMARY: &[(&str, &str)] = &[];
    /// The field with the number of objects; empty if a resource has one. As [`kraken_kind::Features::missing_path`].
    const COUNT_PATH: &'static str = "";
    /// The fields in the order of their differences, for a kind with a count: the first object with a difference is not always
    /// the same one.
    const FIELD_ORDER: &[&str] = &[];

    /// As [`kraken_kind::Kind::desired`].
    fn desired(&self, values: &mut Resolver<'_>) -> Option<Self::Desired>;

    /// The user's tags; the layer validates and compares them.
    fn tags(&self) -> &TagOptions;

    /// The desired state and the user's tags.
    fn with_tags(&self, values: &mut Resolver<'_>) -> Option<(Self::Desired, Tags)> {
        let own = self.desired(values);
        // Both are resolved before an error is returned, so that all problems are reported.
        let tags = tags::take(self.tags(), values);
        own.zip(tags)
    }

    /// The differences of one object, except tags.
    fn differences(desired: &Self::Desired, observed: &Self::Observed) -> Vec<Difference<Self::Change>>;

    /// The fields of a spec that creates such an object, as literals and without what AWS chooses by itself.
    fn imported(_observed: &Self::Observed) -> Fields {
        Fields::default()
    }

    /// As [`kraken_kind::Kind::edit_of`], as the field says.
    fn edit_of(_before: &Self, _after: &Self, _field: &str) -> Edit {
        Edit::default()
    }

    /// As [`kraken_kind::Kind::without_ignored`].
    fn without_ignored(_: &Self::Desired, _: &Self::Observed, _: &Ignored) -> Option<Self::Desired> {
        None
    }

    /// As [`kraken_kind::Kind::at_creation`].
    fn at_creation(_: &Self::Desired) -> Vec<(&'static str, String)> {
        vec![]
    }

    /// The desired number of objects, of a kind with a count.
    fn count(_: &Self::Desired) -> Option<&Resolved<i32>> {
        None
    }

    /// The values of the spec in the published state of a kind with a count.
    fn public_values(_: &Self::Desired) -> Vec<(&'static str, Value)> {
        vec![]
    }

    /// As [`kraken_kind::Kind::needs_deep_observation`].
    fn needs_deep_observation(_: &Self::Desired) -> bool {
        false
    }
}
