//! Implements [`Kind`] for a look-up.

use std::{fmt, marker::PhantomData};

use kraken_kind::{
    Comparison, Features, Finding, Kind, KindInfo, Resolver,
    dynamic::{self, Change, Desired, Object, Observed, ObservedObject, Spec},
    runtime::watch::RawObject,
};
use serde_json::{Value, json};

use super::{AwsLookup, DesiredOf, LookupSpec, ObservedOf, SpecOf, words};
use crate::{account::ACCOUNTS, fields::pruned, lookup::Tagged};

/// The [`Kind`] of an [`AwsLookup`]. It observes a list of [`Hit`]s.
pub struct LookupKind<S> {
    info: KindInfo,
    kind: PhantomData<fn() -> S>,
}

impl<S> fmt::Debug for LookupKind<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LookupKind").finish_non_exhaustive()
    }
}

impl<S: AwsLookup> Default for LookupKind<S> {
    fn default() -> Self {
        let features = Features {
            is_idempotent: true,
            summary: SpecOf::<S>::SUMMARY,
            looks_up: true,
            answers: S::ANSWERS,
            accounts: Some(ACCOUNTS),
            ..Features::NONE
        };
        Self { info: KindInfo::of::<S::Kind>(features), kind: PhantomData }
    }
}

/// An object that a look-up observed.
#[derive(Clone, Debug)]
pub struct Hit<O> {
    pub(super) object: O,
    /// Whether it is what is searched for. Otherwise, it was requested by its id, because it is published.
    pub(super) is_match: bool,
}

impl<O> Hit<O> {
    /// An object that is searched for.
    pub fn of(object: O) -> Self {
        Self { object, is_match: true }
    }
}

/// What a look-up observed.
pub(crate) fn observed<S: AwsLookup>(hits: Vec<Hit<ObservedOf<S>>>) -> Observed {
    hits.into_iter().map(|hit| ObservedObject::new(hit.object.id().to_owned(), hit)).collect()
}

fn hits<S: AwsLookup>(observed: &Observed) -> Vec<&Hit<ObservedOf<S>>> {
    observed.all()
}

impl<S: AwsLookup> Kind for LookupKind<S> {
    fn info(&self) -> &KindInfo {
        &self.info
    }

    fn decode(&self, object: &RawObject) -> Result<Object, String> {
        dynamic::decode::<SpecOf<S>>(&self.info, object)
    }

    fn desired(&self, spec: &dyn Spec, values: &mut Resolver<'_>) -> Option<Desired> {
        spec.get::<SpecOf<S>>().desired(values).map(Desired::new)
    }

    fn finding(&self, desired: &Desired, observed: &Observed) -> Option<Finding> {
        let (desired, hits): (&DesiredOf<S>, _) = (desired.get(), hits::<S>(observed));
        let found: Vec<_> = hits.iter().filter(|hit| hit.is_match).map(|hit| &hit.object).collect();
        let answer = if found.is_empty() {
            Err(words::none::<S>(desired))
        } else if let Some(refusal) = found.iter().find_map(|object| S::refusal(object)) {
            Err(refusal)
        } else {
            S::choose(desired, found.clone()).map_err(|why| words::several::<S>(desired, &found, &why))
        };
        let ids = |objects: Vec<&ObservedOf<S>>| objects.iter().map(|one| one.id().to_owned()).collect();
        let named =
            |hit: &Hit<ObservedOf<S>>| (hit.object.id().to_owned(), words::of_object::<S>(&hit.object));
        let words = hits.into_iter().map(named).collect();
        Some(Finding { answer: answer.map(ids), pins: SpecOf::<S>::pins(desired), words })
    }

    fn compare(&self, _: &Desired, _: &Observed) -> Comparison<Change> {
        Comparison::default()
    }

    fn main_id(&self, observed: &Observed) -> Option<String> {
        hits::<S>(observed).first().map(|hit| S::main_id(&hit.object).to_owned())
    }

    fn state(&self, _: &Desired, observed: &Observed) -> Value {
        let key = SpecOf::<S>::STATE_KEY;
        let objects = hits::<S>(observed).into_iter().map(|hit| json!(hit.object));
        if S::IS_LIST {
            return pruned(json!({key: objects.collect::<Vec<_>>()}));
        }
        json!({key: objects.map(pruned).next()})
    }
}
