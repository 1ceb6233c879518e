//! Implements [`Calls`] by the calls of a kind of AWS.

use std::{fmt, marker::PhantomData, sync::Arc};

use async_trait::async_trait;
use futures::{StreamExt, TryStreamExt, stream};
use kraken_kind::{
    Adopt, Calls, Candidate, Failure, FromContext, Identity, Kind, Launch, Location, ObserveRequest,
    SpokeKind,
    account::{Connection, OnChange, Refusal},
    dynamic::{self, Desired, Observed},
    import::{Import, Scope},
};

use super::{
    AwsResource, Change, ChangeOf, Creation, ManagedKind, ObservedOf, Phase, RemoteObject, TagChange,
    kind::{self, desired_of, live},
    reader::Reader,
    select::{by_tags, owned},
    tag_changes,
};
use crate::{
    Aws, import,
    lookup::{self, Tagged},
    missing::{is_invalid_id, or_nothing},
    tag_memory, tags,
};

/// The number of concurrent calls for attributes that need one call per object.
const AT_ONCE: usize = 8;

/// The [`Calls`] of an [`AwsResource`]; its [`Kind`] is [`ManagedKind`].
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
    type Resource = S::Kind;

    fn kind() -> Arc<dyn Kind> {
        Arc::new(ManagedKind::<S>::default())
    }

    fn from_context(aws: &Aws) -> Self {
        Self { aws: aws.clone(), kind: PhantomData }
    }
}

#[async_trait]
impl<S: AwsResource> Calls for Managed<S> {
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
        let found = lookup::observe(&Reader::<S>::new(&self.aws), requests).await?;
        let mut observed: Vec<Vec<ObservedOf<S>>> = vec![vec![]; found.len()];
        let mut objects = vec![];
        for (index, (found, request)) in found.into_iter().zip(requests).enumerate() {
            objects.extend(found.into_iter().map(|object| (index, object, request.deep)));
        }
        let completed = objects.into_iter().map(|(index, object, deep)| async move {
            Ok::<_, Failure>((index, self.completed(object, deep).await?))
        });
        let mut completed = stream::iter(completed).buffered(AT_ONCE);
        while let Some((index, object)) = completed.try_next().await? {
            observed[index].extend(object);
        }
        Ok(observed.into_iter().map(kind::observed::<S>).collect())
    }

    async fn create(
        &self,
        identity: &Identity,
        launch: &Launch,
        desired: &Desired,
        observed: &Observed,
    ) -> Result<Observed, Failure> {
        let desired = desired_of::<S>(desired);
        let tags = tag_changes::of_launch(identity, launch, &desired.tags);
        let creation = Creation { tags: &tags, launch };
        let created = S::create_all(&self.aws, &desired.own, &creation, live::<S>(observed).len()).await?;
        Ok(kind::observed::<S>(created))
    }

    async fn update(
        &self,
        identity: &Identity,
        change: &dynamic::Change,
        desired: &Desired,
        observed: &Observed,
    ) -> Result<(), Failure> {
        let live = live::<S>(observed);
        let of = |ids: &[String]| -> Vec<_> {
            ids.iter().filter_map(|id| live.iter().find(|object| object.id() == id).copied()).collect()
        };
        match change.get::<Change<ChangeOf<S>>>() {
            Change::Own(change, ids) => {
                S::update_all(&self.aws, change, &desired_of::<S>(desired).own, &of(ids)).await
            }
            Change::Tag(change, ids) => self.change_tag(change, &of(ids)).await,
            Change::Surplus(ids) => S::delete_all(&self.aws, &owned(identity, of(ids))).await.map(drop),
        }
    }

    async fn hand_over(
        &self,
        identity: &Identity,
        desired: &Desired,
        replaced: &Observed,
    ) -> Result<Option<String>, Failure> {
        for object in owned(identity, live::<S>(replaced)) {
            let handed_over = S::hand_over(&self.aws, &desired_of::<S>(desired).own, object).await?;
            if handed_over.is_some() {
                return Ok(handed_over);
            }
        }
        Ok(None)
    }

    async fn resume(&self, identity: &Identity, observed: &Observed) -> Result<(), Failure> {
        let live = live::<S>(observed);
        let (ids, are_stopped) = S::disrupted(&live);
        let mut objects = owned(identity, live);
        objects.retain(|object| are_stopped && ids.iter().any(|id| id == object.id()));
        S::start(&self.aws, &objects).await
    }

    async fn delete(&self, identity: &Identity, observed: &Observed) -> Result<Vec<String>, Failure> {
        S::delete_all(&self.aws, &owned(identity, live::<S>(observed))).await
    }

    async fn unprotect(&self, identity: &Identity, observed: &Observed) -> Result<(), Failure> {
        for object in owned(identity, live::<S>(observed)) {
            or_nothing(S::unprotect(&self.aws, object).await)?;
        }
        Ok(())
    }

    async fn list_owned(&self, cluster: &str) -> Result<Vec<(Identity, Observed)>, Failure> {
        let mut found = lookup::list_owned(&Reader::<S>::new(&self.aws), cluster).await?;
        // An object that another kind's resource created in addition, such as an instance's volume, is not an orphan of
        // this kind.
        let kind = format!("{}/", S::Kind::kind_name());
        found.retain(|(owner, _)| owner.owner.starts_with(&kind));
        Ok(found.into_iter().map(|(owner, objects)| (owner, kind::observed::<S>(objects))).collect())
    }

    async fn find(&self, wanted: &Adopt) -> Result<Vec<Candidate<Observed>>, Failure> {
        let found = lookup::find(&Reader::<S>::new(&self.aws), wanted).await?;
        let found = found.into_iter().map(|mut candidate| async move {
            S::complete(&self.aws, &mut candidate.observed, true).await?;
            Ok(candidate.map(|object| kind::observed::<S>(vec![object])))
        });
        stream::iter(found).buffered(AT_ONCE).try_collect().await
    }

    async fn import(&self, scope: &Scope) -> Result<Option<Import>, Failure> {
        import::import::<S>(&self.aws, scope).await.map(Some)
    }

    async fn claim(&self, identity: &Identity, epoch: i64, found: &Observed) -> Result<(), Failure> {
        S::claim_all(&self.aws, &live::<S>(found), &tags::identity_tags(identity, epoch)).await
    }

    async fn reclaim(
        &self,
        identity: &Identity,
        epoch: i64,
        desired: Option<&Desired>,
        bare: &Observed,
    ) -> Result<(), Failure> {
        let with_tags = live::<S>(bare).into_iter().map(|object| {
            let mut tags = tags::identity_tags(identity, epoch);
            tags.extend(
                desired.and_then(|desired| tag_memory::lost(&desired_of::<S>(desired).tags, object.tags())),
            );
            (object, tags)
        });
        for (tags, objects) in by_tags(with_tags) {
            S::claim_all(&self.aws, &objects, &tags).await?;
        }
        Ok(())
    }

    async fn release(&self, identity: &Identity, observed: &Observed) -> Result<(), Failure> {
        S::release_all(&self.aws, identity, &owned(identity, live::<S>(observed))).await
    }

    async fn mark_created(&self, identity: &Identity, observed: &Observed) -> Result<(), Failure> {
        let objects = owned(identity, live::<S>(observed));
        if objects.is_empty() {
            return Ok(());
        }
        S::set_tags_of_all(&self.aws, &objects, &tags::released_tag(&identity.cluster)).await
    }
}

impl<S: AwsResource> Managed<S> {
    /// Reads the attributes that need one call per object. An object that was deleted since it was described is omitted, so
    /// that it does not fail the whole batch.
    async fn completed(
        &self,
        mut object: ObservedOf<S>,
        deep: bool,
    ) -> Result<Option<ObservedOf<S>>, Failure> {
        if !matches!(object.phase(), Phase::Deleting | Phase::Deleted) {
            match S::complete(&self.aws, &mut object, deep).await {
                Err(failure) if is_invalid_id(&failure) => return Ok(None),
                result => result?,
            }
        }
        Ok(Some(object))
    }

    /// Changes a tag. The record of tags differs between objects; those with the same record share a call.
    async fn change_tag(&self, change: &TagChange, objects: &[&ObservedOf<S>]) -> Result<(), Failure> {
        if let TagChange::Remove(key) = change {
            S::remove_tag_of_all(&self.aws, objects, key).await?;
        }
        for (tags, objects) in by_tags(objects.iter().map(|object| (*object, change.tags(object.tags())))) {
            S::set_tags_of_all(&self.aws, &objects, &tags).await?;
        }
        Ok(())
    }
}
