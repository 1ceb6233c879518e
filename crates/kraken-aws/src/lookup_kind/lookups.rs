//! Implements [`Calls`] for a look-up.

use std::{collections::BTreeMap, fmt, marker::PhantomData, sync::Arc};

use async_trait::async_trait;
use kraken_kind::{
    Adopt, Calls, Candidate, Failure, FailureClass, FromContext, Identity, Kind, Launch, Location,
    ObserveRequest,
    account::{Connection, OnChange, Refusal},
    dynamic::{Change, Desired, Observed},
};

use super::{AwsLookup, DesiredOf, Hit, LookupKind, LookupSpec, ObservedOf, SpecOf, kind, search::search};
use crate::{Aws, lookup::Tagged, missing::for_existing, resource::DescribeQuery};

/// The [`Calls`] of a look-up; its [`Kind`] is [`LookupKind`]. It owns nothing: the loop only observes, and no call changes anything.
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
    type Resource = S::Kind;

    fn kind() -> Arc<dyn Kind> {
        Arc::new(LookupKind::<S>::default())
    }

    fn from_context(aws: &Aws) -> Self {
        Self { aws: aws.clone(), kind: PhantomData }
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

#[async_trait]
impl<S: AwsLookup> Calls for Lookups<S> {
    async fn connect(&self, namespace: &str, account: Option<&str>) -> Result<Option<Connection>, Refusal> {
        self.aws.connect_account::<Self>(namespace, account).await
    }

    fn on_account_change(&self, on_change: OnChange) {
        self.aws.on_account_change(on_change);
    }

    async fn location(&self) -> Result<Option<Location>, Failure> {
        self.aws.location().await.map(Some)
    }

    async fn observe(&self, requests: &[ObserveRequest]) -> Result<Vec<Observed>, Failure> {
        let wanted = requests.iter().map(|request| {
            let desired: &DesiredOf<S> = request.wanted.as_ref()?.get();
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
            kind::observed::<S>(hits)
        });
        Ok(each.collect())
    }

    async fn create(&self, _: &Identity, _: &Launch, _: &Desired, _: &Observed) -> Result<Observed, Failure> {
        Err(never("create an object"))
    }

    async fn update(&self, _: &Identity, _: &Change, _: &Desired, _: &Observed) -> Result<(), Failure> {
        Err(never("change an object"))
    }

    async fn delete(&self, _: &Identity, _: &Observed) -> Result<Vec<String>, Failure> {
        Err(never("delete an object"))
    }

    async fn find(&self, _: &Adopt) -> Result<Vec<Candidate<Observed>>, Failure> {
        Err(never("adopt an object"))
    }

    async fn claim(&self, _: &Identity, _: i64, _: &Observed) -> Result<(), Failure> {
        Err(never("tag an object"))
    }

    async fn release(&self, _: &Identity, _: &Observed) -> Result<(), Failure> {
        Err(never("release an object"))
    }
}
