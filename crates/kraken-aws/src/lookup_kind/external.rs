//! Implements [`External`] for a look-up.

use std::{collections::BTreeMap, fmt, marker::PhantomData};

use kraken_spoke::{
    Adopt, Candidate, Comparison, External, Failure, FailureClass, Features, Finding, FromContext, Identity,
    Launch, Location, ObserveRequest, Resolver,
    account::{Connection, OnChange, Refusal},
};
use serde_json::{Value, json};

use super::{AwsLookup, DesiredOf, LookupSpec, ObservedOf, SpecOf, search::search, words};
use crate::{
    Aws, account::ACCOUNTS, fields::pruned, lookup::Tagged, missing::for_existing, resource::DescribeQuery,
};

/// The [`External`] of a look-up. It owns nothing: the loop only observes, and no call changes anything.
pub struct Lookups<S> {
    aws: Aws,
    kind: PhantomData<fn() -> S>,
}

impl<S> fmt::Debug for Lookups<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lookups").finish_non_exhaustive()
    }
}

impl<S: AwsLookup> FromContext<Aws> for Lookups<S> {
    fn from_context(aws: &Aws) -> Self {
        Self { aws: aws.clone(), kind: PhantomData }
    }
}

/// An object that a look-up observed.
#[derive(Clone, Debug)]
pub struct Hit<O> {
    object: O,
    /// Whether it is what is searched for. Otherwise, it was requested by its id, because it is published.
    is_match: bool,
}

impl<O> Hit<O> {
    /// An object that is searched for.
    pub fn of(object: O) -> Self {
        Self { object, is_match: true }
    }
}

impl<S: AwsLookup> Lookups<S> {
    /// The objects with these ids, as far as they exist.
    async fn existing(&self, ids: &[String]) -> Result<BTreeMap<String, ObservedOf<S>>, Failure> {
        let read = |ids| S::read(&self.aws, vec![], DescribeQuery { ids: Some(ids), filters: None });
        let found = for_existing(ids, read).await?.concat();
        Ok(found.into_iter().map(|object| (object.id().to_owned(), object)).collect())
    }
}

/// No step of a look-up makes this call.
fn never(action: &str) -> Failure {
    Failure {
        class: FailureClass::Terminal,
        action: format!("failed to {action}"),
        code: String::new(),
        message: "a look-up changes nothing in the cloud: please report this".to_owned(),
    }
}

impl<S: AwsLookup> External for Lookups<S> {
    type Kind = S::Kind;
    type Desired = DesiredOf<S>;
    type Observed = Vec<Hit<ObservedOf<S>>>;
    type Change = ();
    const FEATURES: Features = Features {
        is_idempotent: true,
        summary: SpecOf::<S>::SUMMARY,
        looks_up: true,
        answers: S::ANSWERS,
        accounts: Some(ACCOUNTS),
        ..Features::NONE
    };

    async fn connect(
        &self,
        namespace: &str,
        account: Option<&str>,
    ) -> Result<Option<Connection<Self>>, Refusal> {
        self.aws.connect_account(namespace, account).await
    }

    fn on_account_change(&self, on_change: OnChange) {
        self.aws.on_account_change(on_change);
    }

    fn desired(spec: &SpecOf<S>, values: &mut Resolver<'_>) -> Option<Self::Desired> {
        spec.desired(values)
    }

    fn finding(desired: &Self::Desired, observed: &Self::Observed) -> Option<Finding> {
        let found: Vec<_> = observed.iter().filter(|hit| hit.is_match).map(|hit| &hit.object).collect();
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
        let words = observed.iter().map(named).collect();
        Some(Finding { answer: answer.map(ids), pins: SpecOf::<S>::pins(desired), words })
    }

    fn compare(_: &Self::Desired, _: &Self::Observed) -> Comparison<()> {
        Comparison::default()
    }

    fn ids(observed: &Self::Observed) -> Vec<String> {
        observed.iter().map(|hit| hit.object.id().to_owned()).collect()
    }

    fn main_id(observed: &Self::Observed) -> Option<String> {
        observed.first().map(|hit| S::main_id(&hit.object).to_owned())
    }

    fn shown(observed: &Self::Observed) -> Vec<String> {
        Self::ids(observed)
    }

    /// The objects with these ids are in the order of the ids.
    fn select(observed: Self::Observed, ids: &[String]) -> (Self::Observed, Self::Observed) {
        let place = |hit: &Hit<ObservedOf<S>>| ids.iter().position(|id| id == hit.object.id());
        let (mut selected, rest): (Vec<_>, Vec<_>) =
            observed.into_iter().partition(|hit| place(hit).is_some());
        selected.sort_by_key(place);
        (selected, rest)
    }

    fn is_gone(_: &Self::Observed) -> bool {
        true
    }

    fn epoch(_: &Self::Observed) -> i64 {
        0
    }

    fn split(observed: Self::Observed, _: i64) -> (Self::Observed, Self::Observed) {
        (vec![], observed)
    }

    fn state(_: &Self::Desired, observed: &Self::Observed) -> Value {
        let key = SpecOf::<S>::STATE_KEY;
        let objects = observed.iter().map(|hit| json!(hit.object));
        if S::IS_LIST {
            return pruned(json!({key: objects.collect::<Vec<_>>()}));
        }
        json!({key: objects.map(pruned).next()})
    }

    async fn location(&self) -> Result<Option<Location>, Failure> {
        self.aws.location().await.map(Some)
    }

    async fn observe(&self, requests: &[ObserveRequest]) -> Result<Vec<Self::Observed>, Failure> {
        let wanted = requests.iter().map(|request| {
            let desired: &Self::Desired = request.wanted.as_ref()?.get();
            Some(S::search(desired).tagged(SpecOf::<S>::tags(desired)))
        });
        let found = search::<S>(&self.aws, &wanted.collect::<Vec<_>>()).await?;
        let is_unknown =
            |(objects, id): &(&Vec<ObservedOf<S>>, &String)| !objects.iter().any(|object| object.id() == *id);
        let pairs = found.iter().zip(requests);
        let by_id = pairs.flat_map(|(objects, request)| request.ids.iter().map(move |id| (objects, id)));
        let mut by_id: Vec<String> = by_id.filter(is_unknown).map(|(_, id)| id.clone()).collect();
        by_id.sort_unstable();
        by_id.dedup();
        let existing = self.existing(&by_id).await?;
        let each = found.into_iter().zip(requests).map(|(objects, request)| {
            let mut hits: Vec<_> = objects.into_iter().map(Hit::of).collect();
            for id in &request.ids {
                let is_known = hits.iter().any(|hit| hit.object.id() == id);
                let object = existing.get(id).filter(|_| !is_known).cloned();
                hits.extend(object.map(|object| Hit { object, is_match: false }));
            }
            hits
        });
        Ok(each.collect())
    }

    async fn create(
        &self,
        _: &Identity,
        _: &Launch,
        _: &Self::Desired,
        _: &Self::Observed,
    ) -> Result<Self::Observed, Failure> {
        Err(never("create an object"))
    }

    async fn update(
        &self,
        _: &Identity,
        (): &(),
        _: &Self::Desired,
        _: &Self::Observed,
    ) -> Result<(), Failure> {
        Err(never("change an object"))
    }

    async fn delete(&self, _: &Identity, _: &Self::Observed) -> Result<Vec<String>, Failure> {
        Err(never("delete an object"))
    }

    async fn list_owned(&self, _: &str) -> Result<Vec<(Identity, Self::Observed)>, Failure> {
        Ok(vec![])
    }

    async fn find(&self, _: &Adopt) -> Result<Vec<Candidate<Self::Observed>>, Failure> {
        Err(never("adopt an object"))
    }

    async fn claim(&self, _: &Identity, _: i64, _: &Self::Observed) -> Result<(), Failure> {
        Err(never("tag an object"))
    }

    async fn release(&self, _: &Identity, _: &Self::Observed) -> Result<(), Failure> {
        Err(never("release an object"))
    }
}
