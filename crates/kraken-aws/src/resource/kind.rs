//! Implements [`Kind`] for kinds of AWS.

use std::{borrow::Cow, collections::BTreeMap, fmt, marker::PhantomData};

use kraken_kind::{
    Comparison, Edit, Features, Ignored, Kind, KindInfo, OwnSecret, Resolver,
    dynamic::{self, Desired, Existence, Object, Observed, ObservedObject, Spec},
    runtime::watch::RawObject,
};
use serde_json::{Value, json};

use super::{
    AwsResource, AwsSpec, Change, ChangeOf, DesiredOf, ObservedOf, Phase, RemoteObject, SpecOf,
    compare::{self, DesiredWithTags},
    select::oldest_first,
};
use crate::{account::ACCOUNTS, fields::pruned, lookup::Tagged, tags};

/// The [`Kind`] of an [`AwsResource`]. It observes a list of objects.
pub struct ManagedKind<S> {
    info: KindInfo,
    kind: PhantomData<fn() -> S>,
}

impl<S> fmt::Debug for ManagedKind<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ManagedKind").finish_non_exhaustive()
    }
}

impl<S: AwsResource> Default for ManagedKind<S> {
    fn default() -> Self {
        let spec = Features {
            drift_paths: SpecOf::<S>::DRIFT_PATHS,
            secret_field_paths: SpecOf::<S>::SECRET_FIELD_PATHS,
            summary: SpecOf::<S>::SUMMARY,
            missing_path: SpecOf::<S>::COUNT_PATH,
            whole_paths: SpecOf::<S>::WHOLE_PATHS,
            follows: SpecOf::<S>::FOLLOWS,
            accounts: Some(ACCOUNTS),
            imports: true,
            ..S::FEATURES
        };
        Self { info: KindInfo::of::<S::Kind>(spec), kind: PhantomData }
    }
}

/// The desired state of a resource of this kind.
pub(super) fn desired_of<S: AwsResource>(desired: &Desired) -> &DesiredWithTags<DesiredOf<S>> {
    desired.get()
}

/// The objects of a resource of this kind, in an order that never changes: the oldest first.
pub fn observed<S: AwsResource>(mut objects: Vec<ObservedOf<S>>) -> Observed {
    oldest_first(&mut objects);
    let seen = |object: ObservedOf<S>| {
        let existence = match object.phase() {
            Phase::Available | Phase::Pending(_) | Phase::Failed(_) => Existence::Live,
            Phase::Deleting => Existence::Ending,
            Phase::Deleted => Existence::Deleted,
        };
        let (id, epoch) = (object.id().to_owned(), tags::epoch(object.tags()));
        let is_untagged = tags::is_untagged(object.tags());
        ObservedObject::new(id, object).of_launch(epoch).existing(existence).untagged(is_untagged)
    };
    objects.into_iter().map(seen).collect()
}

/// Its objects that are not being deleted.
pub(super) fn live<S: AwsResource>(observed: &Observed) -> Vec<&ObservedOf<S>> {
    observed.live()
}

impl<S: AwsResource> Kind for ManagedKind<S> {
    fn info(&self) -> &KindInfo {
        &self.info
    }

    fn decode(&self, object: &RawObject) -> Result<Object, String> {
        dynamic::decode::<SpecOf<S>>(&self.info, object)
    }

    fn desired(&self, spec: &dyn Spec, values: &mut Resolver<'_>) -> Option<Desired> {
        let (own, tags) = spec.get::<SpecOf<S>>().with_tags(values)?;
        Some(Desired::new(DesiredWithTags { own, tags }))
    }

    fn edit_of(&self, before: &dyn Spec, after: &dyn Spec, field: &str) -> Edit {
        S::edit_of(before.get(), after.get(), field)
    }

    fn contains(&self, spec: &dyn Spec) -> Cow<'static, str> {
        spec.decoded().map_or_else(|| self.info.contains.into(), S::contains)
    }

    fn own_secret(&self, spec: &dyn Spec) -> Option<OwnSecret> {
        S::own_secret(spec.get())
    }

    fn unprotected_by(&self, spec: &dyn Spec) -> Option<&'static str> {
        spec.decoded().and_then(S::unprotected_by)
    }

    fn to_delete(&self, spec: &dyn Spec, observed: Observed) -> Observed {
        let Some(spec) = spec.decoded() else { return observed };
        observed.map(|object: &ObservedOf<S>| {
            let mut object = object.clone();
            S::to_delete(spec, &mut object);
            object
        })
    }

    fn compare(&self, desired: &Desired, observed: &Observed) -> Comparison<dynamic::Change> {
        compare::compare::<S>(desired_of::<S>(desired), &live::<S>(observed)).map(dynamic::Change::new)
    }

    fn without_ignored(&self, desired: &Desired, observed: &Observed, ignored: &Ignored) -> Option<Desired> {
        let DesiredWithTags { own, tags } = desired_of::<S>(desired);
        let own = SpecOf::<S>::without_ignored(own, live::<S>(observed).first()?, ignored)?;
        Some(Desired::new(DesiredWithTags { own, tags: tags.clone() }))
    }

    fn at_creation(&self, desired: &Desired) -> Vec<(&'static str, String)> {
        SpecOf::<S>::at_creation(&desired_of::<S>(desired).own)
    }

    fn describe_change(&self, change: &dynamic::Change) -> Option<String> {
        match change.get::<Change<ChangeOf<S>>>() {
            Change::Own(change, ids) => S::describe_change(change, ids),
            Change::Tag(..) | Change::Surplus(_) => None,
        }
    }

    fn deletes(&self, change: &dynamic::Change) -> Vec<String> {
        match change.get::<Change<ChangeOf<S>>>() {
            Change::Surplus(ids) => ids.clone(),
            Change::Own(..) | Change::Tag(..) => vec![],
        }
    }

    fn max_objects(&self, desired: &Desired) -> usize {
        compare::count::<S>(&desired_of::<S>(desired).own)
    }

    fn replicas(&self, observed: &Observed) -> Option<i32> {
        let has_count = !SpecOf::<S>::COUNT_PATH.is_empty();
        i32::try_from(live::<S>(observed).len()).ok().filter(|_| has_count)
    }

    fn disrupted(&self, observed: &Observed) -> (Vec<String>, bool) {
        S::disrupted(&live::<S>(observed))
    }

    fn state(&self, desired: &Desired, observed: &Observed) -> Value {
        let DesiredWithTags { own, tags } = desired_of::<S>(desired);
        let (key, live) = (SpecOf::<S>::STATE_KEY, live::<S>(observed));
        if SpecOf::<S>::COUNT_PATH.is_empty() {
            return json!({key: live.first().map(|object| pruned(json!(object)))});
        }
        let values = SpecOf::<S>::public_values(own).into_iter();
        let spec: BTreeMap<_, _> = values.chain([("tags", json!(tags))]).collect();
        pruned(json!({key: live, "spec": spec}))
    }

    fn pending_state(&self, _: &Desired, observed: &Observed) -> Option<Value> {
        let live = live::<S>(observed);
        let pending = live.first().filter(|object| matches!(object.phase(), Phase::Pending(_)))?;
        Some(json!({SpecOf::<S>::STATE_KEY: pruned(pending.pending_state()?)}))
    }

    fn needs_deep_observation(&self, desired: &Desired) -> bool {
        SpecOf::<S>::needs_deep_observation(&desired_of::<S>(desired).own)
    }
}
