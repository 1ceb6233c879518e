//! The comparison of a resource's objects with the desired state: missing and surplus objects, their phases, tags, and the
//! fields of the kind. Pure.

use kraken_kind::{Comparison, Difference, FieldDiff, Remedy};

use super::{
    AwsResource, AwsSpec, Change, ChangeOf, DesiredOf, Group, ObservedOf, Phase, RemoteObject, SpecOf,
    TagChange, tag_changes,
};
use crate::{
    fields::{listed, shown},
    lookup::Tagged,
    tags::Tags,
};

/// The desired state, with the user's tags.
#[derive(Clone, Debug)]
pub struct DesiredWithTags<D> {
    /// The fields of the kind.
    pub own: D,
    /// The user's tags.
    pub tags: Tags,
}

/// The desired number of objects.
pub(super) fn count<S: AwsResource>(desired: &DesiredOf<S>) -> usize {
    SpecOf::<S>::count(desired).map_or(1, |count| usize::try_from(*count.expose()).unwrap_or(0))
}

/// The differences between the desired state and the live objects, the oldest first. Only those that are kept are compared.
pub fn compare<S: AwsResource>(
    desired: &DesiredWithTags<DesiredOf<S>>,
    live: &[&ObservedOf<S>],
) -> Comparison<Change<ChangeOf<S>>> {
    let wanted = count::<S>(&desired.own);
    let (kept, surplus) = live.split_at(live.len().min(wanted));
    let mut differences = too_many::<S>(&desired.own, live.len(), surplus);
    differences.extend(kept.iter().filter_map(|object| match object.phase() {
        Phase::Failed(why) => Some(Difference {
            field: FieldDiff::new("state", "available", format!("failed: {why}")),
            remedy: Remedy::Immutable("delete and recreate the resource, or set lifecycle.replace".into()),
        }),
        Phase::Available | Phase::Pending(_) | Phase::Deleting | Phase::Deleted => None,
    }));
    let of_tags = Group::all(kept, |object| tag_changes::differences(&desired.tags, object.tags()));
    differences.extend(in_order(of_tags).into_iter().map(|group| group.map(Change::Tag).difference()));
    let mut own = Group::all(kept, |object| SpecOf::<S>::differences(&desired.own, object));
    own.sort_by_key(|group| {
        let field = group.path.split(['.', '[']).next();
        SpecOf::<S>::FIELD_ORDER.iter().position(|name| Some(*name) == field)
    });
    differences.extend(S::remedies(&desired.own, kept, own));
    let missing = wanted.saturating_sub(live.len());
    let missing = (missing > 0).then(|| missing_objects::<S>(&desired.own, missing));
    Comparison { missing, settling: settling::<S>(kept), differences }
}

fn missing_objects<S: AwsResource>(desired: &DesiredOf<S>, missing: usize) -> String {
    let plural = if missing == 1 { "" } else { "s" };
    let of = SpecOf::<S>::count(desired).map(|count| format!(" of {}", count.expose())).unwrap_or_default();
    format!("{missing} {}{plural}{of}", SpecOf::<S>::NOUN)
}

/// Of several objects, the newest ones are deleted by one change.
fn too_many<S: AwsResource>(
    desired: &DesiredOf<S>,
    live: usize,
    surplus: &[&ObservedOf<S>],
) -> Vec<Difference<Change<ChangeOf<S>>>> {
    let noun = SpecOf::<S>::NOUN;
    let difference = |path, want, have, ids| Difference {
        field: FieldDiff::new(path, want, have),
        remedy: Remedy::Change(Change::Surplus(ids)),
    };
    let id = |object: &&ObservedOf<S>| object.id().to_owned();
    match SpecOf::<S>::count(desired) {
        Some(_) if surplus.is_empty() => vec![],
        Some(count) => {
            let ids = surplus.iter().rev().map(id).collect();
            vec![difference(SpecOf::<S>::COUNT_PATH, shown(count), format!("{live} {noun}s"), ids)]
        }
        None => {
            let one = |object| {
                difference(
                    "",
                    format!("1 {noun}"),
                    format!("unexpected extra {noun} {}", id(object)),
                    vec![id(object)],
                )
            };
            surplus.iter().map(one).collect()
        }
    }
}

fn settling<S: AwsResource>(kept: &[&ObservedOf<S>]) -> Option<String> {
    let moving = kept.iter().filter_map(|object| match object.phase() {
        Phase::Pending(what) => Some(format!("{} is {what}", object.id())),
        _ => None,
    });
    let moving: Vec<_> = moving.collect();
    let noun =
        if SpecOf::<S>::COUNT_PATH.is_empty() { String::new() } else { format!("{} ", SpecOf::<S>::NOUN) };
    (!moving.is_empty()).then(|| format!("{noun}{}", listed(&moving)))
}

/// Tags are set in the order of their keys, then others are removed.
fn in_order<T>(mut of_tags: Vec<Group<'_, T, TagChange>>) -> Vec<Group<'_, T, TagChange>> {
    of_tags.sort_by_cached_key(|group| match &group.remedy {
        Remedy::Change(change) => Some(change.clone()),
        _ => None,
    });
    of_tags
}
