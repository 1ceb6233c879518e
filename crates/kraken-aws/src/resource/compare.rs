//! The comparison of a resource's objects with the desired state: surplus objects, the phase, tags, and the fields of the
//! kind. Pure.

use kraken_spoke::{Comparison, Difference, FieldDiff, Remedy};

use super::{
    AwsResource, AwsSpec, ChangeOf, DesiredOf, ObservedOf, Phase, RemoteObject, SpecOf, TagChange,
    tag_changes,
};
use crate::{
    lookup::Tagged,
    tags::{self, Tags},
};

/// The desired state of an object, with the user's tags.
#[derive(Debug)]
pub struct DesiredWithTags<D> {
    pub(super) own: D,
    pub(super) tags: Tags,
}

/// A change in place.
#[derive(Debug)]
pub enum Change<C> {
    /// Changes a tag.
    Tag(TagChange),
    /// A change of the kind.
    Own(C),
    /// Deletes a surplus object.
    Surplus(String),
}

/// The objects that are not being deleted, the oldest first.
pub(super) fn living<T: RemoteObject>(objects: &[T]) -> Vec<&T> {
    let is_there = |object: &&T| !matches!(object.phase(), Phase::Leaving | Phase::Gone);
    let mut living: Vec<&T> = objects.iter().filter(is_there).collect();
    living.sort_by_key(|object| (tags::epoch(object.tags()), object.id().to_owned()));
    living
}

/// The differences between the desired state and the observed objects.
pub(super) fn compare<S: AwsResource>(
    desired: &DesiredWithTags<DesiredOf<S>>,
    observed: &[ObservedOf<S>],
) -> Comparison<Change<ChangeOf<S>>> {
    let living = living(observed);
    let Some((first, surplus)) = living.split_first() else {
        return Comparison { missing: Some(format!("1 {}", SpecOf::<S>::NOUN)), ..Comparison::default() };
    };
    let mut differences: Vec<_> = surplus
        .iter()
        .map(|object| Difference {
            field: FieldDiff::new(
                "",
                format!("1 {}", SpecOf::<S>::NOUN),
                format!("{} in addition", object.id()),
            ),
            remedy: Remedy::Change(Change::Surplus(object.id().to_owned())),
        })
        .collect();
    let mut settling = None;
    match first.phase() {
        Phase::Settling(what) => settling = Some(format!("{} is {what}", first.id())),
        Phase::Failed(why) => differences.push(Difference {
            field: FieldDiff::new("state", "available", format!("failed: {why}")),
            remedy: Remedy::Immutable("delete and recreate the resource, or set lifecycle.replace".into()),
        }),
        Phase::Up | Phase::Leaving | Phase::Gone => {}
    }
    let of_tags = tag_changes::differences(&desired.tags, first.tags());
    differences.extend(of_tags.into_iter().map(|difference| difference.map(Change::Tag)));
    let own = SpecOf::<S>::differences(&desired.own, first);
    differences.extend(own.into_iter().map(|difference| difference.map(Change::Own)));
    Comparison { missing: None, settling, differences }
}
