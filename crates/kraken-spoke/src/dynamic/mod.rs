//! The types of the reconcile loop: kinds, objects and calls whose types are known only at run time.
//!
//! The loop is compiled once, here, and not once for each kind: that would be most of the code of a spoke, and most of
//! its build time. [`crate::External`] is the typed form of the same interface, and [`typed`] adapts one to the other.
//! A kind that is not compiled in implements [`DynKind`] and [`DynExternal`] itself, with JSON values.

mod json;
mod object;
mod opaque;
mod schema;
mod typed;

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    ops::Deref,
    sync::Arc,
};

use async_trait::async_trait;
use kraken_api::{Adopt, Location, names::owner_kind};
use kraken_options::Resolver;
use kraken_runtime::{watch::RawObject, webhook::ReviewResult};
use kube::core::ApiResource;
use parking_lot::Mutex;
use serde_json::{Value, value::RawValue};

use crate::account::{Connection, OnChange, Refusal};
use crate::import::{Import, Scope};
use crate::{
    Candidate, Comparison, Edit, Failure, Fate, Features, Finding, Identity, Ignored, Launch, ObserveRequest,
    OwnSecret,
};

pub(crate) use object::account_of;
pub use object::{Object, Spec, Undecoded};
pub use opaque::{Change, Desired, Observed, Opaque, Payload};
pub use schema::Schema;
pub use typed::{calls_of, kind_of};

/// A name that is known only at run time, for metrics and messages, which borrow it for ever. Each is stored once per process.
pub fn interned(name: &str) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock();
    if let Some(known) = names.get(name) {
        return known;
    }
    let name: &'static str = name.to_owned().leak();
    names.insert(name);
    name
}

/// Fields of a spec that may come from Secrets, as [`crate::Features::secret_field_paths`], of a kind whose state has the names of its spec. Each
/// list is stored once per process.
pub fn interned_fields<'a>(names: impl Iterator<Item = &'a str>) -> SecretFieldPaths {
    static LISTS: Mutex<BTreeMap<Vec<&'static str>, SecretFieldPaths>> = Mutex::new(BTreeMap::new());
    let names: Vec<&'static str> = names.map(interned).collect();
    LISTS.lock().entry(names).or_insert_with_key(|names| {
        let path =
            |name: &&'static str| -> (&'static str, &'static [&'static str]) { (name, vec![*name].leak()) };
        names.iter().map(path).collect::<Vec<_>>().leak()
    })
}

/// For each field of a spec that may come from a Secret, the paths of the state that contain it.
pub type SecretFieldPaths = &'static [(&'static str, &'static [&'static str])];

/// The constants of a kind. Its features are read as its own fields.
#[derive(Clone, Debug)]
pub struct KindInfo {
    /// The name of the kind, such as `VPC`; `'static`, because it is a label of metrics.
    pub name: &'static str,
    /// The API resource: group, version, kind and plural.
    pub resource: ApiResource,
    /// The kind with its group, as in names and labels.
    pub key: String,
    /// The schema of the spec.
    pub schema: Schema,
    /// What it has besides its calls.
    pub features: Features,
}

impl Deref for KindInfo {
    type Target = Features;

    fn deref(&self) -> &Features {
        &self.features
    }
}

impl KindInfo {
    /// The account that the spec of an object names; none if the kind has no accounts.
    pub(crate) fn account_of(&self, spec: Option<&RawValue>) -> Result<Option<Arc<str>>, String> {
        self.accounts.map_or(Ok(None), |kind| account_of(spec, &kind))
    }

    /// A kind without any of the optional features.
    pub fn new(name: &'static str, resource: ApiResource, schema: Schema) -> Self {
        Self { key: owner_kind(name, &resource.group), name, resource, schema, features: Features::NONE }
    }
}

/// The pure functions of a kind, with the defaults of [`crate::External`]. Each corresponds to the function of the same name in [`crate::External`].
#[allow(missing_docs)]
pub trait DynKind: Send + Sync + 'static {
    fn info(&self) -> &KindInfo;

    /// Decodes an object. By default, its spec is JSON.
    ///
    /// # Errors
    /// If the object does not decode as this kind; its metadata does.
    fn decode(&self, object: &RawObject) -> Result<Object, Undecoded> {
        json::decode(self.info(), object)
    }

    fn desired(&self, spec: &dyn Spec, values: &mut Resolver<'_>) -> Option<Desired>;
    fn own_secret(&self, _: &dyn Spec) -> Option<OwnSecret> {
        None
    }

    fn contains(&self, _: &dyn Spec) -> Cow<'static, str> {
        self.info().contains.into()
    }

    fn unprotected_by(&self, _: &dyn Spec) -> Option<&'static str> {
        None
    }

    fn to_delete(&self, _: &dyn Spec, observed: Observed) -> Observed {
        observed
    }

    fn edit_of(&self, _before: &dyn Spec, _after: &dyn Spec, _field: &str) -> Edit {
        Edit::InPlace
    }

    /// The observed value of a resource without remote objects.
    fn nothing(&self) -> Observed;

    fn compare(&self, desired: &Desired, observed: &Observed) -> Comparison<Change>;
    fn without_ignored(&self, _: &Desired, _: &Observed, _: &Ignored) -> Option<Desired> {
        None
    }

    fn state(&self, desired: &Desired, observed: &Observed) -> Value;
    fn pending_state(&self, _: &Desired, _: &Observed) -> Option<Value> {
        None
    }

    fn at_creation(&self, _: &Desired) -> Vec<(&'static str, String)> {
        vec![]
    }

    fn max_objects(&self, _: &Desired) -> usize {
        1
    }

    fn needs_deep_observation(&self, _: &Desired) -> bool {
        false
    }

    fn describe_change(&self, _: &Change) -> Option<String> {
        None
    }

    fn deletes(&self, _: &Change) -> Vec<String> {
        vec![]
    }

    fn finding(&self, _: &Desired, _: &Observed) -> Option<Finding> {
        None
    }

    fn ids(&self, observed: &Observed) -> Vec<String>;
    fn main_id(&self, observed: &Observed) -> Option<String> {
        self.ids(observed).into_iter().next()
    }

    fn shown(&self, observed: &Observed) -> Vec<String> {
        self.ids(observed)
    }

    fn select(&self, observed: Observed, ids: &[String]) -> (Observed, Observed);
    fn untagged(&self, _: &Observed) -> Vec<String> {
        vec![]
    }

    fn replicas(&self, _: &Observed) -> Option<i32> {
        None
    }

    fn disrupted(&self, _: &Observed) -> (Vec<String>, bool) {
        (vec![], false)
    }

    fn is_gone(&self, observed: &Observed) -> bool;
    fn epoch(&self, observed: &Observed) -> i64;

    /// What is known of the last creation. Only for kinds with a [journal](crate::Features::journaled).
    fn fate(&self, _: &Observed) -> Fate {
        Fate::Known
    }

    fn split(&self, observed: Observed, epoch: i64) -> (Observed, Observed);
}

/// The provider calls of a kind. Each corresponds to the function of the same name in [`crate::External`], with its
/// errors.
#[async_trait]
#[allow(missing_docs, clippy::missing_errors_doc)]
pub trait DynExternal: Send + Sync + 'static {
    async fn connect(
        &self,
        _namespace: &str,
        _account: Option<&str>,
    ) -> Result<Option<Connection<Arc<dyn DynExternal>>>, Refusal> {
        Ok(None)
    }

    fn on_account_change(&self, _: OnChange) {}

    async fn location(&self) -> Result<Option<Location>, Failure> {
        Ok(None)
    }

    /// What the provider says of a spec before it is stored, in addition to [`DynKind::desired`]: problems that only an edit can solve,
    /// and warnings. Values of references are not known. It is called on every replica, and what it does not say in time is not said.
    async fn review(&self, _spec: &dyn Spec) -> ReviewResult {
        ReviewResult::default()
    }

    /// The calls for a look, which may be made by any replica and between the steps of a reconcile: they write nothing, neither in the
    /// cloud nor in the cluster. `None` if the reads of this one are such calls.
    fn looking(&self) -> Option<Arc<dyn DynExternal>> {
        None
    }

    async fn observe(&self, requests: &[ObserveRequest]) -> Result<Vec<Observed>, Failure>;
    /// What a comparison must know in addition to what was observed, such as the provider's own plan for this desired state. Called
    /// before each comparison with objects that exist.
    async fn examine(
        &self,
        _identity: &Identity,
        _desired: &Desired,
        observed: &Observed,
    ) -> Result<Observed, Failure> {
        Ok(observed.clone())
    }

    async fn create(
        &self,
        identity: &Identity,
        launch: &Launch,
        desired: &Desired,
        observed: &Observed,
    ) -> Result<Observed, Failure>;
    async fn update(
        &self,
        identity: &Identity,
        change: &Change,
        desired: &Desired,
        observed: &Observed,
    ) -> Result<(), Failure>;
    async fn hand_over(
        &self,
        _: &Identity,
        _: &Desired,
        _replaced: &Observed,
    ) -> Result<Option<String>, Failure> {
        Ok(None)
    }

    async fn resume(&self, _: &Identity, _: &Observed) -> Result<(), Failure> {
        Ok(())
    }

    async fn delete(&self, identity: &Identity, observed: &Observed) -> Result<Vec<String>, Failure>;
    async fn unprotect(&self, _: &Identity, _: &Observed) -> Result<(), Failure> {
        Ok(())
    }

    /// Nothing, if the external keeps a journal in the cluster, which is deleted with the resource.
    async fn list_owned(&self, _cluster: &str) -> Result<Vec<(Identity, Observed)>, Failure> {
        Ok(vec![])
    }

    async fn find(&self, wanted: &Adopt) -> Result<Vec<Candidate<Observed>>, Failure>;
    async fn import(&self, _: &Scope) -> Result<Option<Import>, Failure> {
        Ok(None)
    }
    async fn claim(&self, identity: &Identity, epoch: i64, found: &Observed) -> Result<(), Failure>;
    async fn reclaim(
        &self,
        identity: &Identity,
        epoch: i64,
        _: Option<&Desired>,
        bare: &Observed,
    ) -> Result<(), Failure> {
        self.claim(identity, epoch, bare).await
    }

    async fn release(&self, identity: &Identity, observed: &Observed) -> Result<(), Failure>;
    /// The resource is gone, or will be with the next write: its deletion is complete, or somebody removed its finalizer. What is
    /// recorded of it elsewhere need not be kept any more. May be called twice.
    async fn forget(&self, _: &Identity) -> Result<(), Failure> {
        Ok(())
    }

    async fn mark_created(&self, _: &Identity, _: &Observed) -> Result<(), Failure> {
        Ok(())
    }
}

/// A kind, shared by all its users.
pub(crate) type SharedKind = Arc<dyn DynKind>;
