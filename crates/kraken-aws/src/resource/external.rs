//! Implements [`External`] for an [`AwsResource`].

use std::{fmt, marker::PhantomData};

use futures::{StreamExt, TryStreamExt, stream};
use kraken_spoke::{
    Adopt, Candidate, Comparison, External, Failure, FromContext, Identity, Ignored, Launch, Location,
    ObserveRequest, OwnSecret, Resolver, SpokeKind,
    account::{AccountKind, Connection, OnChange, Refusal},
};
use serde_json::{Value, json};

use super::{
    AwsResource, AwsSpec, ChangeOf, Creation, DesiredOf, ObservedOf, Phase, RemoteObject, SpecOf,
    compare::{self, Change, DesiredWithTags, living},
    reader::Reader,
};
use crate::{
    Aws,
    account::ACCOUNTS,
    fields::pruned,
    lookup::{self, Tagged},
    missing::is_about_an_id,
    release::lagging,
    tag_memory,
    tags::{self, KEYS, MEMORY},
};

/// The number of concurrent calls for attributes that need one call per object.
const AT_ONCE: usize = 8;

/// The [`External`] of an [`AwsResource`] kind.
pub struct Managed<S> {
    aws: Aws,
    kind: PhantomData<fn() -> S>,
}

impl<S> fmt::Debug for Managed<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Managed").finish_non_exhaustive()
    }
}

impl<S: AwsResource> FromContext<Aws> for Managed<S> {
    fn from_context(aws: &Aws) -> Self {
        Self { aws: aws.clone(), kind: PhantomData }
    }
}

impl<S: AwsResource> External for Managed<S> {
    type Kind = S::Kind;
    type Desired = DesiredWithTags<DesiredOf<S>>;
    type Observed = Vec<ObservedOf<S>>;
    type Change = Change<ChangeOf<S>>;
    const IS_IDEMPOTENT: bool = S::IS_IDEMPOTENT;
    const IDEMPOTENT_BY_NAME: bool = S::IDEMPOTENT_BY_NAME;
    const DRIFT_PATHS: &[&str] = SpecOf::<S>::DRIFT_PATHS;
    const SECRET_FIELD_PATHS: &[(&str, &[&str])] = SpecOf::<S>::SECRET_FIELD_PATHS;
    const SUMMARY: &[(&str, &str)] = SpecOf::<S>::SUMMARY;
    const MAKES_SECRETS: bool = S::MAKES_SECRETS;
    const WHOLE_PATHS: &[&str] = SpecOf::<S>::WHOLE_PATHS;
    const ACCOUNTS: Option<AccountKind> = Some(ACCOUNTS);

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
        let own = spec.desired(values);
        // Both are resolved before an error is returned, so that all problems are reported.
        let tags = tags::take(spec.tags(), values);
        own.zip(tags).map(|(own, tags)| DesiredWithTags { own, tags })
    }

    fn own_secret(spec: &SpecOf<S>) -> Option<OwnSecret> {
        S::own_secret(spec)
    }

    fn compare(desired: &Self::Desired, observed: &Self::Observed) -> Comparison<Self::Change> {
        compare::compare::<S>(desired, observed)
    }

    fn without_ignored(
        desired: &Self::Desired,
        observed: &Self::Observed,
        ignored: &Ignored,
    ) -> Option<Self::Desired> {
        let own = SpecOf::<S>::without_ignored(&desired.own, living(observed).first()?, ignored)?;
        Some(DesiredWithTags { own, tags: desired.tags.clone() })
    }

    fn at_creation(desired: &Self::Desired) -> Vec<(&'static str, String)> {
        SpecOf::<S>::at_creation(&desired.own)
    }

    fn ids(observed: &Self::Observed) -> Vec<String> {
        living(observed).into_iter().map(|object| object.id().to_owned()).collect()
    }

    fn shown(observed: &Self::Observed) -> Vec<String> {
        observed.iter().map(|object| object.id().to_owned()).collect()
    }

    fn select(observed: Self::Observed, ids: &[String]) -> (Self::Observed, Self::Observed) {
        observed.into_iter().partition(|object| ids.iter().any(|id| id == object.id()))
    }

    fn is_gone(observed: &Self::Observed) -> bool {
        observed.iter().all(|object| object.phase() == Phase::Gone)
    }

    fn untagged(observed: &Self::Observed) -> Vec<String> {
        let untagged = living(observed).into_iter().filter(|object| tags::is_untagged(object.tags()));
        untagged.map(|object| object.id().to_owned()).collect()
    }

    fn epoch(observed: &Self::Observed) -> i64 {
        observed.iter().map(|object| tags::epoch(object.tags())).max().unwrap_or(0)
    }

    fn split(observed: Self::Observed, epoch: i64) -> (Self::Observed, Self::Observed) {
        observed.into_iter().partition(|object| tags::epoch(object.tags()) < epoch)
    }

    fn state(_: &Self::Desired, observed: &Self::Observed) -> Value {
        let first = living(observed).first().map(|object| pruned(json!(object)));
        json!({SpecOf::<S>::STATE_KEY: first})
    }

    fn needs_deep_observation(desired: &Self::Desired) -> bool {
        SpecOf::<S>::needs_deep_observation(&desired.own)
    }

    async fn location(&self) -> Result<Option<Location>, Failure> {
        self.aws.location().await.map(Some)
    }

    async fn observe(&self, requests: &[ObserveRequest]) -> Result<Vec<Self::Observed>, Failure> {
        let found = lookup::observe(&Reader::<S>::new(&self.aws), requests).await?;
        let deep: Vec<bool> = requests.iter().map(|request| request.deep).collect();
        let completed = found.into_iter().zip(deep).map(|(objects, deep)| self.completed(objects, deep));
        stream::iter(completed).buffered(AT_ONCE).try_collect().await
    }

    async fn create(
        &self,
        identity: &Identity,
        launch: &Launch,
        desired: &Self::Desired,
        _: &Self::Observed,
    ) -> Result<Self::Observed, Failure> {
        let mut tags = desired.tags.clone();
        tags.extend(tags::identity_tags(identity, launch.epoch));
        tags.insert(MEMORY.to_owned(), tag_memory::of(desired.tags.keys()));
        let creation = Creation { tags: &tags, launch };
        Ok(vec![S::create(&self.aws, &desired.own, &creation).await?])
    }

    async fn update(
        &self,
        identity: &Identity,
        change: &Self::Change,
        desired: &Self::Desired,
        observed: &Self::Observed,
    ) -> Result<(), Failure> {
        let living = living(observed);
        let Some(first) = living.first() else { return Ok(()) };
        match change {
            Change::Own(change) => S::update(&self.aws, change, &desired.own, first).await,
            Change::Tag(change) => {
                let (set, removed) = change.calls(first.tags());
                if !removed.is_empty() {
                    S::remove_tags(&self.aws, first.tagged_as(), &removed).await?;
                }
                S::set_tags(&self.aws, first.tagged_as(), &set).await
            }
            Change::Surplus(id) => match living.iter().find(|object| object.id() == id) {
                Some(object) => self.delete_one(identity, object).await,
                None => Ok(()),
            },
        }
    }

    async fn delete(&self, identity: &Identity, observed: &Self::Observed) -> Result<(), Failure> {
        for object in living(observed) {
            self.delete_one(identity, object).await?;
        }
        Ok(())
    }

    fn unprotected_by(spec: &SpecOf<S>) -> Option<&'static str> {
        S::unprotected_by(spec)
    }

    async fn unprotect(&self, identity: &Identity, observed: &Self::Observed) -> Result<(), Failure> {
        for object in living(observed).into_iter().filter(|object| tags::owned_by(identity, object.tags())) {
            gone_is_fine(S::unprotect(&self.aws, object).await)?;
        }
        Ok(())
    }

    async fn survey(&self, cluster: &str) -> Result<Vec<(Identity, Self::Observed)>, Failure> {
        let mut found = lookup::survey(&Reader::<S>::new(&self.aws), cluster).await?;
        // An object that another kind's resource created in addition, such as an instance's volume, is not an orphan of
        // this kind.
        let kind = format!("{}/", S::Kind::kind_name());
        found.retain(|(owner, _)| owner.owner.starts_with(&kind));
        Ok(found)
    }

    async fn find(&self, wanted: &Adopt) -> Result<Vec<Candidate<Self::Observed>>, Failure> {
        let found = lookup::find(&Reader::<S>::new(&self.aws), wanted).await?;
        let found = stream::iter(found).then(|mut candidate| async move {
            S::complete(&self.aws, &mut candidate.observed, true).await?;
            Ok(candidate.map(|object| vec![object]))
        });
        found.try_collect().await
    }

    async fn claim(&self, identity: &Identity, epoch: i64, found: &Self::Observed) -> Result<(), Failure> {
        let tags = tags::identity_tags(identity, epoch);
        for object in living(found) {
            S::set_tags(&self.aws, object.tagged_as(), &tags).await?;
        }
        Ok(())
    }

    async fn reclaim(
        &self,
        identity: &Identity,
        epoch: i64,
        desired: Option<&Self::Desired>,
        bare: &Self::Observed,
    ) -> Result<(), Failure> {
        for object in living(bare) {
            let mut tags = tags::identity_tags(identity, epoch);
            tags.extend(desired.and_then(|desired| tag_memory::lost(&desired.tags, object.tags())));
            S::set_tags(&self.aws, object.tagged_as(), &tags).await?;
        }
        Ok(())
    }

    async fn release(&self, identity: &Identity, observed: &Self::Observed) -> Result<(), Failure> {
        for object in living(observed).into_iter().filter(|object| tags::owned_by(identity, object.tags())) {
            S::remove_tags(&self.aws, object.tagged_as(), &KEYS).await.map_err(lagging)?;
        }
        Ok(())
    }
}

impl<S: AwsResource> Managed<S> {
    /// Reads the attributes that need one call per object. An object that was deleted since it was described is omitted, so
    /// that it does not fail the whole batch.
    async fn completed(
        &self,
        objects: Vec<ObservedOf<S>>,
        deep: bool,
    ) -> Result<Vec<ObservedOf<S>>, Failure> {
        let mut completed = vec![];
        for mut object in objects {
            if !matches!(object.phase(), Phase::Leaving | Phase::Gone) {
                match S::complete(&self.aws, &mut object, deep).await {
                    Err(failure) if is_about_an_id(&failure) => continue,
                    result => result?,
                }
            }
            completed.push(object);
        }
        Ok(completed)
    }

    /// Verifies the owner again, because the deletion cannot be undone.
    async fn delete_one(&self, identity: &Identity, object: &ObservedOf<S>) -> Result<(), Failure> {
        if !tags::owned_by(identity, object.tags()) {
            return Ok(());
        }
        gone_is_fine(S::delete(&self.aws, object).await)
    }
}

/// A missing object counts as deleted.
fn gone_is_fine(result: Result<(), Failure>) -> Result<(), Failure> {
    match result {
        Err(failure) if is_about_an_id(&failure) => Ok(()),
        result => result,
    }
}
