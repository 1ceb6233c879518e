//! Implements [`External`] for the calls of a kind.

use std::{borrow::Cow, collections::BTreeMap, fmt, marker::PhantomData};

use futures::{StreamExt, TryStreamExt, stream};
use kraken_spoke::{
    Adopt, Candidate, Comparison, Edit, External, Failure, Features, FromContext, Identity, Ignored, Launch,
    Location, ObserveRequest, OwnSecret, Resolver, SpokeKind,
    account::{Connection, OnChange, Refusal},
    import::{Import, Scope},
};
use serde_json::{Value, json};

use super::{
    AwsObjects, AwsSpec, ChangeOf, Creation, DesiredOf, ObservedOf, Phase, RemoteObject, SpecOf, TagChange,
    compare::{self, Change, DesiredWithTags},
    reader::Reader,
    select::{by_tags, live_objects, owned},
    tag_changes,
};
use crate::{
    Aws,
    account::ACCOUNTS,
    fields::pruned,
    import,
    lookup::{self, Tagged},
    missing::{is_invalid_id, or_nothing},
    tag_memory, tags,
};

/// The number of concurrent calls for attributes that need one call per object.
const AT_ONCE: usize = 8;

/// The [`External`] of a kind with these calls: an [`AwsObjects`], and therefore also an [`super::AwsResource`].
pub struct Managed<S> {
    aws: Aws,
    kind: PhantomData<fn() -> S>,
}

impl<S> fmt::Debug for Managed<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Managed").finish_non_exhaustive()
    }
}

impl<S: AwsObjects> FromContext<Aws> for Managed<S> {
    fn from_context(aws: &Aws) -> Self {
        Self { aws: aws.clone(), kind: PhantomData }
    }
}

impl<S: AwsObjects> External for Managed<S> {
    type Kind = S::Kind;
    type Desired = DesiredWithTags<DesiredOf<S>>;
    type Observed = Vec<ObservedOf<S>>;
    type Change = Change<ChangeOf<S>>;
    const FEATURES: Features = Features {
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
        spec.with_tags(values).map(|(own, tags)| DesiredWithTags { own, tags })
    }

    fn edit_of(before: &SpecOf<S>, after: &SpecOf<S>, field: &str) -> Edit {
        S::edit_of(before, after, field)
    }

    fn contains(spec: &SpecOf<S>) -> Cow<'static, str> {
        S::contains(spec)
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
        let own = SpecOf::<S>::without_ignored(&desired.own, live_objects(observed).first()?, ignored)?;
        Some(DesiredWithTags { own, tags: desired.tags.clone() })
    }

    fn at_creation(desired: &Self::Desired) -> Vec<(&'static str, String)> {
        SpecOf::<S>::at_creation(&desired.own)
    }

    fn describe_change(change: &Self::Change) -> Option<String> {
        match change {
            Change::Own(change, ids) => S::describe_change(change, ids),
            Change::Tag(..) | Change::Surplus(_) => None,
        }
    }

    fn deletes(change: &Self::Change) -> Vec<String> {
        match change {
            Change::Surplus(ids) => ids.clone(),
            Change::Own(..) | Change::Tag(..) => vec![],
        }
    }

    fn max_objects(desired: &Self::Desired) -> usize {
        compare::count::<S>(&desired.own)
    }

    fn replicas(observed: &Self::Observed) -> Option<i32> {
        let has_count = !SpecOf::<S>::COUNT_PATH.is_empty();
        i32::try_from(live_objects(observed).len()).ok().filter(|_| has_count)
    }

    fn disrupted(observed: &Self::Observed) -> (Vec<String>, bool) {
        S::disrupted(&live_objects(observed))
    }

    fn ids(observed: &Self::Observed) -> Vec<String> {
        live_objects(observed).into_iter().map(|object| object.id().to_owned()).collect()
    }

    fn shown(observed: &Self::Observed) -> Vec<String> {
        observed.iter().map(|object| object.id().to_owned()).collect()
    }

    fn select(observed: Self::Observed, ids: &[String]) -> (Self::Observed, Self::Observed) {
        observed.into_iter().partition(|object| ids.iter().any(|id| id == object.id()))
    }

    fn is_gone(observed: &Self::Observed) -> bool {
        observed.iter().all(|object| object.phase() == Phase::Deleted)
    }

    fn untagged(observed: &Self::Observed) -> Vec<String> {
        let untagged = live_objects(observed).into_iter().filter(|object| tags::is_untagged(object.tags()));
        untagged.map(|object| object.id().to_owned()).collect()
    }

    fn epoch(observed: &Self::Observed) -> i64 {
        observed.iter().map(|object| tags::epoch(object.tags())).max().unwrap_or(0)
    }

    fn split(observed: Self::Observed, epoch: i64) -> (Self::Observed, Self::Observed) {
        observed.into_iter().partition(|object| tags::epoch(object.tags()) < epoch)
    }

    fn state(desired: &Self::Desired, observed: &Self::Observed) -> Value {
        let (key, live) = (SpecOf::<S>::STATE_KEY, live_objects(observed));
        if SpecOf::<S>::COUNT_PATH.is_empty() {
            return json!({key: live.first().map(|object| pruned(json!(object)))});
        }
        let values = SpecOf::<S>::public_values(&desired.own).into_iter();
        let spec: BTreeMap<_, _> = values.chain([("tags", json!(desired.tags))]).collect();
        pruned(json!({key: live, "spec": spec}))
    }

    fn pending_state(_: &Self::Desired, observed: &Self::Observed) -> Option<Value> {
        let live = live_objects(observed);
        let pending = live.first().filter(|object| matches!(object.phase(), Phase::Pending(_)))?;
        Some(json!({SpecOf::<S>::STATE_KEY: pruned(pending.pending_state()?)}))
    }

    fn needs_deep_observation(desired: &Self::Desired) -> bool {
        SpecOf::<S>::needs_deep_observation(&desired.own)
    }

    async fn location(&self) -> Result<Option<Location>, Failure> {
        self.aws.location().await.map(Some)
    }

    async fn observe(&self, requests: &[ObserveRequest]) -> Result<Vec<Self::Observed>, Failure> {
        let found = lookup::observe(&Reader::<S>::new(&self.aws), requests).await?;
        let mut observed: Vec<Self::Observed> = vec![vec![]; found.len()];
        let deep: Vec<bool> = requests.iter().map(|request| request.deep).collect();
        let objects = found.into_iter().zip(deep).enumerate().flat_map(|(index, (objects, deep))| {
            objects.into_iter().map(move |object| (index, object, deep))
        });
        let completed = objects.map(|(index, object, deep)| async move {
            Ok::<_, Failure>((index, self.completed(object, deep).await?))
        });
        let mut completed = stream::iter(completed).buffered(AT_ONCE);
        while let Some((index, object)) = completed.try_next().await? {
            observed[index].extend(object);
        }
        Ok(observed)
    }

    async fn create(
        &self,
        identity: &Identity,
        launch: &Launch,
        desired: &Self::Desired,
        observed: &Self::Observed,
    ) -> Result<Self::Observed, Failure> {
        let tags = tag_changes::of_launch(identity, launch, &desired.tags);
        let creation = Creation { tags: &tags, launch };
        S::create(&self.aws, &desired.own, &creation, live_objects(observed).len()).await
    }

    async fn update(
        &self,
        identity: &Identity,
        change: &Self::Change,
        desired: &Self::Desired,
        observed: &Self::Observed,
    ) -> Result<(), Failure> {
        let live = live_objects(observed);
        let of = |ids: &[String]| -> Vec<_> {
            ids.iter().filter_map(|id| live.iter().find(|object| object.id() == id).copied()).collect()
        };
        match change {
            Change::Own(change, ids) => S::update(&self.aws, change, &desired.own, &of(ids)).await,
            Change::Tag(change, ids) => self.change_tag(change, &of(ids)).await,
            Change::Surplus(ids) => S::delete(&self.aws, &owned(identity, of(ids))).await.map(drop),
        }
    }

    async fn hand_over(
        &self,
        identity: &Identity,
        desired: &Self::Desired,
        replaced: &Self::Observed,
    ) -> Result<Option<String>, Failure> {
        for object in owned(identity, live_objects(replaced)) {
            let handed_over = S::hand_over(&self.aws, &desired.own, object).await?;
            if handed_over.is_some() {
                return Ok(handed_over);
            }
        }
        Ok(None)
    }

    async fn resume(&self, identity: &Identity, observed: &Self::Observed) -> Result<(), Failure> {
        let live = live_objects(observed);
        let (ids, are_stopped) = S::disrupted(&live);
        let mut objects = owned(identity, live);
        objects.retain(|object| are_stopped && ids.iter().any(|id| id == object.id()));
        S::start(&self.aws, &objects).await
    }

    async fn delete(&self, identity: &Identity, observed: &Self::Observed) -> Result<Vec<String>, Failure> {
        S::delete(&self.aws, &owned(identity, live_objects(observed))).await
    }

    fn unprotected_by(spec: &SpecOf<S>) -> Option<&'static str> {
        S::unprotected_by(spec)
    }

    fn to_delete(spec: &SpecOf<S>, mut observed: Self::Observed) -> Self::Observed {
        for object in &mut observed {
            S::to_delete(spec, object);
        }
        observed
    }

    async fn unprotect(&self, identity: &Identity, observed: &Self::Observed) -> Result<(), Failure> {
        for object in owned(identity, live_objects(observed)) {
            or_nothing(S::unprotect(&self.aws, object).await)?;
        }
        Ok(())
    }

    async fn list_owned(&self, cluster: &str) -> Result<Vec<(Identity, Self::Observed)>, Failure> {
        let mut found = lookup::list_owned(&Reader::<S>::new(&self.aws), cluster).await?;
        // An object that another kind's resource created in addition, such as an instance's volume, is not an orphan of
        // this kind.
        let kind = format!("{}/", S::Kind::kind_name());
        found.retain(|(owner, _)| owner.owner.starts_with(&kind));
        Ok(found)
    }

    async fn find(&self, wanted: &Adopt) -> Result<Vec<Candidate<Self::Observed>>, Failure> {
        let found = lookup::find(&Reader::<S>::new(&self.aws), wanted).await?;
        let found = found.into_iter().map(|mut candidate| async move {
            S::complete(&self.aws, &mut candidate.observed, true).await?;
            Ok(candidate.map(|object| vec![object]))
        });
        stream::iter(found).buffered(AT_ONCE).try_collect().await
    }

    async fn import(&self, scope: &Scope) -> Result<Option<Import>, Failure> {
        import::import::<S>(&self.aws, scope).await.map(Some)
    }

    async fn claim(&self, identity: &Identity, epoch: i64, found: &Self::Observed) -> Result<(), Failure> {
        S::claim(&self.aws, &live_objects(found), &tags::identity_tags(identity, epoch)).await
    }

    async fn reclaim(
        &self,
        identity: &Identity,
        epoch: i64,
        desired: Option<&Self::Desired>,
        bare: &Self::Observed,
    ) -> Result<(), Failure> {
        let with_tags = live_objects(bare).into_iter().map(|object| {
            let mut tags = tags::identity_tags(identity, epoch);
            tags.extend(desired.and_then(|desired| tag_memory::lost(&desired.tags, object.tags())));
            (object, tags)
        });
        for (tags, objects) in by_tags(with_tags) {
            S::claim(&self.aws, &objects, &tags).await?;
        }
        Ok(())
    }

    async fn release(&self, identity: &Identity, observed: &Self::Observed) -> Result<(), Failure> {
        S::release(&self.aws, identity, &owned(identity, live_objects(observed))).await
    }

    async fn mark_created(&self, identity: &Identity, observed: &Self::Observed) -> Result<(), Failure> {
        let objects = owned(identity, live_objects(observed));
        if objects.is_empty() {
            return Ok(());
        }
        S::set_tags(&self.aws, &objects, &tags::released_tag(&identity.cluster)).await
    }
}

impl<S: AwsObjects> Managed<S> {
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
            S::remove_tag(&self.aws, objects, key).await?;
        }
        for (tags, objects) in by_tags(objects.iter().map(|object| (*object, change.tags(object.tags())))) {
            S::set_tags(&self.aws, &objects, &tags).await?;
        }
        Ok(())
    }
}
