//! Adapts an [`External`] to the interface of the loop.

use std::{any::Any, borrow::Cow, marker::PhantomData, sync::Arc};

use async_trait::async_trait;
use kraken_api::{Adopt, Location, ResourceStatus, names::owner_kind};
use kraken_options::Resolver;
use kraken_runtime::watch::RawObject;
use kube::{Resource, core::ApiResource};
use serde::de::DeserializeOwned;
use serde_json::{Value, value::RawValue};

use super::{Change, Desired, DynExternal, DynKind, KindInfo, Object, Observed, Spec, Undecoded};
use crate::{
    Candidate, Comparison, Difference, Edit, External, Failure, Finding, Identity, Ignored, Launch,
    ObserveRequest, OwnSecret,
    account::{Connection, OnChange, Refusal},
    dynamic::Schema,
    external::SpecOf,
    import::{Import, Scope},
    model::intent::is_plausible,
};

/// The pure functions of a kind.
pub fn kind_of<E: External>() -> Arc<dyn DynKind> {
    Arc::new(Pure::<E> { info: info_of::<E>(), kind: PhantomData })
}

/// The provider calls of a kind.
pub fn calls_of(external: impl External) -> Arc<dyn DynExternal> {
    Arc::new(Calls(external))
}

struct Pure<E> {
    info: KindInfo,
    kind: PhantomData<fn() -> E>,
}

struct Calls<E>(E);

fn info_of<E: External>() -> KindInfo {
    KindInfo {
        // Leaked once per kind.
        name: match E::Kind::kind(&()) {
            Cow::Borrowed(kind) => kind,
            Cow::Owned(kind) => kind.leak(),
        },
        resource: ApiResource::erase::<E::Kind>(&()),
        key: owner_kind(&E::Kind::kind(&()), &E::Kind::group(&())),
        schema: Schema::of::<E::Kind>(),
        features: E::FEATURES,
    }
}

/// The error without its position in the JSON, which means nothing to a user who wrote YAML.
fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    text.strip_suffix(&position).map(str::to_owned).unwrap_or(text)
}

/// The error with the path of the field, which is found by decoding the spec a second time.
fn located<T: DeserializeOwned>(spec: &RawValue, error: &serde_json::Error) -> String {
    let mut deserializer = serde_json::Deserializer::from_str(spec.get());
    match serde_path_to_error::deserialize::<_, T>(&mut deserializer) {
        Err(at) if at.path().iter().len() > 0 => {
            format!("spec.{}: {}", at.path(), without_position(at.inner()))
        }
        _ => without_position(error),
    }
}

/// The spec as the type of its kind.
fn typed<E: External>(spec: &dyn Spec) -> &SpecOf<E> {
    let spec: &dyn Any = spec;
    spec.downcast_ref().unwrap_or_else(|| unreachable!("expected a spec of {}", E::Kind::kind(&())))
}

fn pair<O: Clone + std::fmt::Debug + Send + Sync + 'static>((one, other): (O, O)) -> (Observed, Observed) {
    (Observed::new(one), Observed::new(other))
}

impl<E: External> DynKind for Pure<E> {
    fn info(&self) -> &KindInfo {
        &self.info
    }

    fn decode(&self, object: &RawObject) -> Result<Object, Undecoded> {
        let undecoded = |error: String| (Box::new(object.metadata.clone()), error);
        let account = self.info.account_of(object.spec.as_deref()).map_err(undecoded)?;
        let Some(spec) = object.spec.as_deref() else {
            return Err(undecoded("missing field `spec`".to_owned()));
        };
        let spec =
            RawObject::decode::<SpecOf<E>>(Some(spec)).map_err(|error| located::<SpecOf<E>>(spec, &error));
        let status = RawObject::decode::<Option<ResourceStatus>>(object.status.as_deref());
        match (spec, status) {
            (Ok(spec), Ok(status)) => Ok(Object::new(object.metadata.clone(), spec, status).using(account)),
            (Err(error), _) => Err(undecoded(error)),
            (_, Err(error)) => Err(undecoded(without_position(&error))),
        }
    }

    fn desired(&self, spec: &dyn Spec, values: &mut Resolver<'_>) -> Option<Desired> {
        E::desired(typed::<E>(spec), values).map(Desired::new)
    }

    fn edit_of(&self, before: &dyn Spec, after: &dyn Spec, field: &str) -> Edit {
        E::edit_of(typed::<E>(before), typed::<E>(after), field)
    }

    fn own_secret(&self, spec: &dyn Spec) -> Option<OwnSecret> {
        E::own_secret(typed::<E>(spec))
    }

    fn contains(&self, spec: &dyn Spec) -> Cow<'static, str> {
        let spec: &dyn Any = spec;
        // A spec that does not decode says nothing.
        spec.downcast_ref().map_or_else(|| E::FEATURES.contains.into(), E::contains)
    }

    fn unprotected_by(&self, spec: &dyn Spec) -> Option<&'static str> {
        // A spec that does not decode names no field.
        let spec: &dyn Any = spec;
        spec.downcast_ref().and_then(E::unprotected_by)
    }

    fn to_delete(&self, spec: &dyn Spec, observed: Observed) -> Observed {
        let spec: &dyn Any = spec;
        match spec.downcast_ref() {
            Some(spec) => Observed::new(E::to_delete(spec, observed.get::<E::Observed>().clone())),
            // A spec that does not decode says nothing.
            None => observed,
        }
    }

    fn nothing(&self) -> Observed {
        Observed::new(E::Observed::default())
    }

    fn compare(&self, desired: &Desired, observed: &Observed) -> Comparison<Change> {
        let Comparison { missing, settling, differences } = E::compare(desired.get(), observed.get());
        let opaque = |difference: Difference<E::Change>| difference.map(Change::new);
        Comparison { missing, settling, differences: differences.into_iter().map(opaque).collect() }
    }

    fn without_ignored(&self, desired: &Desired, observed: &Observed, ignored: &Ignored) -> Option<Desired> {
        E::without_ignored(desired.get(), observed.get(), ignored).map(Desired::new)
    }

    fn state(&self, desired: &Desired, observed: &Observed) -> Value {
        E::state(desired.get(), observed.get())
    }

    fn pending_state(&self, desired: &Desired, observed: &Observed) -> Option<Value> {
        E::pending_state(desired.get(), observed.get())
    }

    fn at_creation(&self, desired: &Desired) -> Vec<(&'static str, String)> {
        E::at_creation(desired.get())
    }

    fn max_objects(&self, desired: &Desired) -> usize {
        E::max_objects(desired.get())
    }

    fn needs_deep_observation(&self, desired: &Desired) -> bool {
        E::needs_deep_observation(desired.get())
    }

    fn describe_change(&self, change: &Change) -> Option<String> {
        E::describe_change(change.get())
    }

    fn deletes(&self, change: &Change) -> Vec<String> {
        E::deletes(change.get())
    }

    fn finding(&self, desired: &Desired, observed: &Observed) -> Option<Finding> {
        E::finding(desired.get(), observed.get())
    }

    fn ids(&self, observed: &Observed) -> Vec<String> {
        E::ids(observed.get())
    }

    fn main_id(&self, observed: &Observed) -> Option<String> {
        E::main_id(observed.get())
    }

    fn shown(&self, observed: &Observed) -> Vec<String> {
        E::shown(observed.get())
    }

    fn select(&self, observed: Observed, ids: &[String]) -> (Observed, Observed) {
        pair(E::select(observed.get::<E::Observed>().clone(), ids))
    }

    fn untagged(&self, observed: &Observed) -> Vec<String> {
        E::untagged(observed.get())
    }

    fn replicas(&self, observed: &Observed) -> Option<i32> {
        E::replicas(observed.get())
    }

    fn disrupted(&self, observed: &Observed) -> (Vec<String>, bool) {
        E::disrupted(observed.get())
    }

    fn is_gone(&self, observed: &Observed) -> bool {
        E::is_gone(observed.get())
    }

    fn epoch(&self, observed: &Observed) -> i64 {
        Some(E::epoch(observed.get())).filter(|epoch| is_plausible(*epoch)).unwrap_or_default()
    }

    fn split(&self, observed: Observed, epoch: i64) -> (Observed, Observed) {
        pair(E::split(observed.get::<E::Observed>().clone(), epoch))
    }
}

#[async_trait]
impl<E: External> DynExternal for Calls<E> {
    async fn connect(
        &self,
        namespace: &str,
        account: Option<&str>,
    ) -> Result<Option<Connection<Arc<dyn DynExternal>>>, Refusal> {
        let connection = self.0.connect(namespace, account).await?;
        Ok(connection.map(|connection| connection.map(calls_of)))
    }

    fn on_account_change(&self, on_change: OnChange) {
        self.0.on_account_change(on_change);
    }

    async fn location(&self) -> Result<Option<Location>, Failure> {
        self.0.location().await
    }

    async fn observe(&self, requests: &[ObserveRequest]) -> Result<Vec<Observed>, Failure> {
        Ok(self.0.observe(requests).await?.into_iter().map(Observed::new).collect())
    }

    async fn create(
        &self,
        identity: &Identity,
        launch: &Launch,
        desired: &Desired,
        observed: &Observed,
    ) -> Result<Observed, Failure> {
        self.0.create(identity, launch, desired.get(), observed.get()).await.map(Observed::new)
    }

    async fn update(
        &self,
        identity: &Identity,
        change: &Change,
        desired: &Desired,
        observed: &Observed,
    ) -> Result<(), Failure> {
        self.0.update(identity, change.get(), desired.get(), observed.get()).await
    }

    async fn hand_over(
        &self,
        identity: &Identity,
        desired: &Desired,
        replaced: &Observed,
    ) -> Result<Option<String>, Failure> {
        self.0.hand_over(identity, desired.get(), replaced.get()).await
    }

    async fn resume(&self, identity: &Identity, observed: &Observed) -> Result<(), Failure> {
        self.0.resume(identity, observed.get()).await
    }

    async fn delete(&self, identity: &Identity, observed: &Observed) -> Result<Vec<String>, Failure> {
        self.0.delete(identity, observed.get()).await
    }

    async fn unprotect(&self, identity: &Identity, observed: &Observed) -> Result<(), Failure> {
        self.0.unprotect(identity, observed.get()).await
    }

    async fn list_owned(&self, cluster: &str) -> Result<Vec<(Identity, Observed)>, Failure> {
        let found = self.0.list_owned(cluster).await?;
        Ok(found.into_iter().map(|(identity, observed)| (identity, Observed::new(observed))).collect())
    }

    async fn find(&self, wanted: &Adopt) -> Result<Vec<Candidate<Observed>>, Failure> {
        let found = self.0.find(wanted).await?;
        Ok(found.into_iter().map(|candidate| candidate.map(Observed::new)).collect())
    }

    async fn import(&self, scope: &Scope) -> Result<Option<Import>, Failure> {
        self.0.import(scope).await
    }

    async fn claim(&self, identity: &Identity, epoch: i64, found: &Observed) -> Result<(), Failure> {
        self.0.claim(identity, epoch, found.get()).await
    }

    async fn reclaim(
        &self,
        identity: &Identity,
        epoch: i64,
        desired: Option<&Desired>,
        bare: &Observed,
    ) -> Result<(), Failure> {
        self.0.reclaim(identity, epoch, desired.map(Desired::get), bare.get()).await
    }

    async fn release(&self, identity: &Identity, observed: &Observed) -> Result<(), Failure> {
        self.0.release(identity, observed.get()).await
    }

    async fn mark_created(&self, identity: &Identity, observed: &Observed) -> Result<(), Failure> {
        self.0.mark_created(identity, observed.get()).await
    }
}
