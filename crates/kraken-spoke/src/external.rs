//! The trait that a kind of infrastructure implements, and the types that it exchanges with the reconcile loop.

use std::{borrow::Cow, collections::BTreeMap, fmt::Debug, future::ready};

use kraken_api::{Adopt, FieldDiff, HasLifecycle, Location, ResourceStatus};
use kraken_options::Resolver;
use kraken_runtime::mutants::{self, Mutant};
use kube::{
    CustomResourceExt, Resource,
    core::{
        NamespaceResourceScope,
        object::{HasSpec, HasStatus},
    },
};
use secrecy::SecretString;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::{
    Failure, Ignored,
    account::{AccountKind, Connection, OnChange, Refusal},
};

/// A custom resource that a spoke manages. The trait is implemented for every type with these bounds.
pub trait SpokeKind:
    Resource<DynamicType = (), Scope = NamespaceResourceScope>
    + HasSpec<Spec: HasLifecycle + Serialize + DeserializeOwned + Debug + Send + Sync + 'static>
    + HasStatus<Status = ResourceStatus>
    + CustomResourceExt
    + Serialize
    + DeserializeOwned
    + Clone
    + Debug
    + Send
    + Sync
    + 'static
{
    /// The name of the kind, such as `VPC`.
    fn kind_name() -> Cow<'static, str> {
        Self::kind(&())
    }
}

impl<K> SpokeKind for K where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + HasSpec<Spec: HasLifecycle + Serialize + DeserializeOwned + Debug + Send + Sync + 'static>
        + HasStatus<Status = ResourceStatus>
        + CustomResourceExt
        + Serialize
        + DeserializeOwned
        + Clone
        + Debug
        + Send
        + Sync
        + 'static
{
}

/// The owner of a remote object. The call that creates the object writes it as tags. Another object can take over a
/// name, but not a UID.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    /// UID of the cluster's `kube-system` namespace.
    pub cluster: String,
    /// UID of the resource.
    pub uid: String,
    /// `Kind/namespace/name`, for people who use the provider's console.
    pub owner: String,
}

impl Identity {
    /// The idempotency token of one launch: 64 hexadecimal digits, the same for the same cluster, resource and epoch.
    pub fn token(&self, epoch: i64) -> String {
        let epoch = if mutants::active(Mutant::TokenReused) { 1 } else { epoch };
        hex::encode(Sha256::digest(format!("{}/{}/{epoch}", self.cluster, self.uid)))
    }
}

/// One create call, persisted before it is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The number of this launch of the resource, from 1. It is a tag on the objects that the launch creates.
    pub epoch: i64,
    /// Sent as `ClientToken` where the API accepts one: a repeated call returns the same objects.
    pub token: String,
}

/// One resource's request to observe its remote objects. One call serves many requests.
#[derive(Clone, Debug)]
pub struct ObserveRequest {
    /// The owner of the objects.
    pub identity: Identity,
    /// The known ids of the owner's objects; may be empty.
    pub ids: Vec<String>,
    /// Also search by tag for objects of the owner that are not among `ids`: after a crash, and before the finalizer is
    /// removed.
    pub search: bool,
    /// Also read attributes that need one call per object: after an edit, not on a resync.
    pub deep: bool,
}

/// An existing remote object that could be adopted.
#[derive(Clone, Debug)]
pub struct Candidate<O> {
    /// The provider's id.
    pub id: String,
    /// The owner according to the tags, if the object is owned by a resource of any cluster.
    pub owner: Option<Identity>,
    /// The object as [`External::observe`] returns it.
    pub observed: O,
}

impl<T> Candidate<T> {
    /// Converts the observed value to another type.
    pub fn map<O>(self, form: impl FnOnce(T) -> O) -> Candidate<O> {
        Candidate { id: self.id, owner: self.owner, observed: form(self.observed) }
    }
}

/// A Secret that a resource creates for itself, such as a private key. The loop writes it before anything is created,
/// and only if no Secret of that name exists; [`External::desired`] refers to it like to any other.
#[derive(Clone, Debug)]
pub struct OwnSecret {
    /// Its name, in the resource's namespace.
    pub name: String,
    /// Its type, such as `kubernetes.io/ssh-auth`.
    pub type_: &'static str,
    /// Generates the data, by key; the error states why that was not possible.
    pub make: fn() -> Result<BTreeMap<&'static str, SecretString>, String>,
}

/// How desired and observed differ; returned by [`External::compare`].
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison<C> {
    /// Set if an object must be created first; describes it: "1 instance of 2".
    pub missing: Option<String>,
    /// Set if an operation of the provider is still in progress; describes it: "instance i-0abc is pending".
    pub settling: Option<String>,
    /// Fields that differ, in the order in which they must be changed.
    pub differences: Vec<Difference<C>>,
}

impl<C> Default for Comparison<C> {
    fn default() -> Self {
        Self { missing: None, settling: None, differences: vec![] }
    }
}

/// A field that differs, and how it can be changed.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference<C> {
    /// The field and both values; never a value from a Secret.
    pub field: FieldDiff,
    /// How the difference can be removed.
    pub remedy: Remedy<C>,
}

impl<C> Difference<C> {
    /// Whether it is the remaining part of a disruption that has started.
    pub(crate) fn is_resumption(&self) -> bool {
        matches!(self.remedy, Remedy::Resume(_))
    }

    /// Converts the change to another type.
    pub fn map<D>(self, form: impl FnOnce(C) -> D) -> Difference<D> {
        let remedy = match self.remedy {
            Remedy::Change(change) => Remedy::Change(form(change)),
            Remedy::Disruptive(change, takes) => Remedy::Disruptive(form(change), takes),
            Remedy::Resume(change) => Remedy::Resume(form(change)),
            Remedy::Immutable(why) => Remedy::Immutable(why),
        };
        Difference { field: self.field, remedy }
    }
}

/// How a difference can be removed.
#[derive(Clone, Debug, PartialEq)]
pub enum Remedy<C> {
    /// A change in place by one call.
    Change(C),
    /// A change in place that interrupts the service, such as a stop, by one call; made only if `lifecycle.disruption`
    /// allows it. The text states the condition: "AWS changes it only while the instance is stopped".
    Disruptive(C, String),
    /// The next step of a disruption that this resource started, such as starting an instance that it stopped. It
    /// precedes every other change, is not drift, is not ignored, and needs no approval of its own.
    Resume(C),
    /// The provider does not support the change, or not in the current state; the text states what would make it
    /// possible.
    Immutable(String),
}

/// The spec of an [`External`]'s kind.
pub type SpecOf<E> = <<E as External>::Kind as HasSpec>::Spec;

/// A kind of infrastructure.
///
/// # Expected flow
/// The loop calls `desired`, `observe`, `compare`, then at most one of `create`, `update`, `delete`; then starts over.
///
/// # Guarantees to the implementor
/// `create` is called only after its launch was persisted; `update` and `delete` only with what `observe` returned.
/// A resource is never reconciled twice at the same time.
///
/// # Requirements
/// `observe` changes nothing, reads all pages, and an id that does not exist hides no other. It returns only objects
/// whose tags carry the identity of the [`ObserveRequest`], and objects with one of its ids whose tags name no owner; the latter
/// are listed by [`External::untagged`]. No method waits for the provider to finish: the loop observes again.
pub trait External: Send + Sync + 'static {
    /// The custom resource.
    type Kind: SpokeKind;
    /// The spec with every reference resolved; later steps cannot fail because of it. `Debug` must not show secrets,
    /// which [`kraken_options::Resolved`] ensures.
    type Desired: Debug + Send + Sync + 'static;
    /// The observed remote objects of one resource; the default is none.
    type Observed: Debug + Default + Clone + Send + Sync + 'static;
    /// Whether `create` with the token of an earlier call creates no new object: it returns the objects that the
    /// earlier call created, or fails with [`crate::FailureClass::TokenUsed`] if the parameters differ. If the provider
    /// has no such tokens, a launch whose result is unknown is waited for instead.
    const IS_IDEMPOTENT: bool = true;

    /// Whether that holds only for a repeated call with the same parameters, because a unique name or number of the
    /// spec replaces the token: with another name, a second object would be created.
    const IDEMPOTENT_BY_NAME: bool = false;

    /// Paths in [`Difference`]s that are not fields of the spec, such as `state`: a user may name them in
    /// `lifecycle.ignoreChanges`.
    const DRIFT_PATHS: &[&str] = &[];

    /// For each field of the spec that may come from a Secret: the paths of the state that contain its value, or a
    /// value that the provider derives from it. They are then not published, whatever their value is. Paths are dotted
    /// and go through the elements of lists.
    ///
    /// A field that the state does not contain is listed without a path. A field that is not listed withholds the whole
    /// state. A field that becomes an id, a name or a tag has the type [`kraken_options::Public`] instead and accepts
    /// no Secret.
    const SECRET_FIELD_PATHS: &[(&str, &[&str])] = &[];

    /// Columns of `kubectl get` in addition to those of every kind, each with the path of its value in the published
    /// state.
    const SUMMARY: &[(&str, &str)] = &[];

    /// The path that [`Comparison::missing`] refers to when an object already exists, such as `maxCount`: a user who
    /// names it in `lifecycle.ignoreChanges` leaves the number to another controller. Empty: missing objects are always
    /// created.
    const MISSING_PATH: &str = "";

    /// Paths that are compared as a whole, such as `defaultAction`: a path in `lifecycle.ignoreChanges` below one of
    /// them is rejected, because it would never match.
    const WHOLE_PATHS: &[&str] = &[];

    /// Whether [`External::own_secret`] can return a Secret: the spoke then gets the permission to create Secrets.
    const MAKES_SECRETS: bool = false;
    /// Whether a change in place may stop a remote object ([`Remedy::Disruptive`]).
    const DISRUPTS: bool = false;

    /// A change in place, one call each.
    type Change: Debug + Send + Sync + 'static;

    /// Pure. Resolves every option through `values` before it returns `None`, so that all problems are reported
    /// together.
    fn desired(spec: &SpecOf<Self>, values: &mut Resolver<'_>) -> Option<Self::Desired>;

    /// Pure. The Secret that the resource creates for itself, if its spec requires one.
    fn own_secret(_: &SpecOf<Self>) -> Option<OwnSecret> {
        None
    }

    /// Pure. Compares desired with observed.
    fn compare(desired: &Self::Desired, observed: &Self::Observed) -> Comparison<Self::Change>;

    /// Pure. The desired state with the observed value in every ignored field, if that differs: the input of
    /// [`External::compare`] and [`External::update`], so that a call that sets several fields does not change an
    /// ignored one. Needed only by kinds with such calls. Not used for creation.
    fn without_ignored(_: &Self::Desired, _: &Self::Observed, _: &Ignored) -> Option<Self::Desired> {
        None
    }

    /// Pure. Every field that is applied only at creation and cannot be observed, with its value as text: empty if it
    /// is not set, `***` if it comes from a Secret. The loop records a digest of each, and reports an edit as one that
    /// cannot be applied.
    fn at_creation(_: &Self::Desired) -> Vec<(&'static str, String)> {
        vec![]
    }

    /// Pure. Describes a change for the event and the condition, if its difference does not: "stopped i-1 for a
    /// change".
    fn what_is_done(_: &Self::Change) -> Option<String> {
        None
    }

    /// Pure. The ids of the objects that exist and are not being deleted, the main one first.
    fn ids(observed: &Self::Observed) -> Vec<String>;

    /// Pure. The ids of all objects in the response, including deleted objects that the provider still returns.
    fn shown(observed: &Self::Observed) -> Vec<String>;

    /// Pure. Splits observed objects into those with one of these ids, and the others.
    fn select(observed: Self::Observed, ids: &[String]) -> (Self::Observed, Self::Observed);

    /// Pure. The ids of live objects that were found by id and whose tags name no owner: their tags are restored.
    /// [`External::observe`] never returns an object that is tagged as owned by another resource.
    fn untagged(_: &Self::Observed) -> Vec<String> {
        vec![]
    }

    /// Pure. The maximum number of live objects that this spec accounts for. A launch that would exceed it is not made.
    fn max_objects(_: &Self::Desired) -> usize {
        1
    }

    /// Pure. The number of objects, for the scale subresource of a kind that has one.
    fn replicas(_: &Self::Observed) -> Option<i32> {
        None
    }

    /// Pure. The ids of objects that are stopped, or stopping, because of a disruption that this resource started
    /// ([`Remedy::Resume`]), regardless of the desired state; and whether they are stopped, so that
    /// [`External::resume`] can start them. Called only for a kind that [`DISRUPTS`](External::DISRUPTS).
    fn disrupted(_: &Self::Observed) -> (Vec<String>, bool) {
        (vec![], false)
    }

    /// Pure. Whether no object remains that must be deleted or is still being deleted.
    fn is_gone(observed: &Self::Observed) -> bool;

    /// Pure. The highest epoch among the tags of all observed objects, including deleted ones; 0 if there is none.
    fn epoch(observed: &Self::Observed) -> i64;

    /// Pure. Splits observed objects into those created before this epoch, and those created in it or later: for a
    /// replacement.
    fn split(observed: Self::Observed, epoch: i64) -> (Self::Observed, Self::Observed);

    /// Pure. The fields that dependents may refer to: an allow-list of the provider's fields with the provider's names.
    fn state(desired: &Self::Desired, observed: &Self::Observed) -> Value;

    /// Pure. Whether a comparison needs attributes that need one call per object ([`ObserveRequest::deep`]).
    fn needs_deep_observation(_: &Self::Desired) -> bool {
        false
    }

    /// The kind of the provider's accounts, if it has any. Each resource can name one in `spec.account`, which the schema of the
    /// kind then has, and [`External::connect`] connects it.
    const ACCOUNTS: Option<AccountKind> = None;

    /// The connection and the rules of a resource in this namespace that names this account, or none. `None` for the controller's
    /// own connection without rules. Called at the beginning of each reconcile: without accounts it makes no request.
    ///
    /// # Errors
    /// If the account does not exist, or cannot be used.
    fn connect(
        &self,
        _namespace: &str,
        _account: Option<&str>,
    ) -> impl Future<Output = Result<Option<Connection<Self>>, Refusal>> + Send
    where
        Self: Sized,
    {
        ready(Ok(None))
    }

    /// Calls this whenever an account changes, as long as the process lives.
    fn on_account_change(&self, _: OnChange) {}

    /// The account and region that this controller works in; `None` if the kind has no such concept. Called before
    /// every observation, so the implementation must cache the result.
    fn location(&self) -> impl Future<Output = Result<Option<Location>, Failure>> + Send {
        std::future::ready(Ok(None))
    }

    /// Observes the objects of many resources in one batch; returns one result per [`ObserveRequest`], in order.
    fn observe(
        &self,
        looks: &[ObserveRequest],
    ) -> impl Future<Output = Result<Vec<Self::Observed>, Failure>> + Send;

    /// Creates the objects that [`Comparison::missing`] describes, tagged with the identity and the epoch, and returns
    /// the objects that it created; the loop observes them before it treats them as present.
    ///
    /// # Errors
    /// Every class except [`crate::FailureClass::Transient`] and [`crate::FailureClass::TokenUsed`] means that the call
    /// created nothing: a failure after an object was created is `Transient`.
    fn create(
        &self,
        identity: &Identity,
        launch: &Launch,
        desired: &Self::Desired,
        observed: &Self::Observed,
    ) -> impl Future<Output = Result<Self::Observed, Failure>> + Send;

    /// Makes one change.
    fn update(
        &self,
        identity: &Identity,
        change: &Self::Change,
        desired: &Self::Desired,
        observed: &Self::Observed,
    ) -> impl Future<Output = Result<(), Failure>> + Send;

    /// Starts the objects that [`External::disrupted`] returns although the change for which they were stopped cannot
    /// be made now: the spec is invalid, or a reference has no value.
    fn resume(&self, _: &Identity, _: &Self::Observed) -> impl Future<Output = Result<(), Failure>> + Send {
        ready(Ok(()))
    }

    /// Requests the deletion of all remaining objects; the loop observes until they are deleted.
    fn delete(
        &self,
        identity: &Identity,
        observed: &Self::Observed,
    ) -> impl Future<Output = Result<(), Failure>> + Send;

    /// Pure. The field of the spec that states, as a literal, that the provider's own deletion protection is off. A
    /// deletion resolves no values, so a reference does not count, and neither does an absent field.
    fn unprotected_by(_: &SpecOf<Self>) -> Option<&'static str> {
        None
    }

    /// Turns off the provider's own deletion protection. Called only after `delete` failed with
    /// [`crate::FailureClass::Protected`], and only if [`External::unprotected_by`] returns a field that is not
    /// ignored.
    fn unprotect(
        &self,
        _: &Identity,
        _: &Self::Observed,
    ) -> impl Future<Output = Result<(), Failure>> + Send {
        ready(Ok(()))
    }

    /// All objects of this kind that carry the cluster's tags, with their owners: for the orphan sweep.
    fn survey(
        &self,
        cluster: &str,
    ) -> impl Future<Output = Result<Vec<(Identity, Self::Observed)>, Failure>> + Send;

    /// All objects of this kind with this id or all of these tags, whoever owns them; an id that does not exist returns
    /// no object.
    fn find(
        &self,
        wanted: &Adopt,
    ) -> impl Future<Output = Result<Vec<Candidate<Self::Observed>>, Failure>> + Send;

    /// Sets the tags of this identity and epoch on objects that `find` returned: from then on the resource owns them.
    fn claim(
        &self,
        identity: &Identity,
        epoch: i64,
        found: &Self::Observed,
    ) -> impl Future<Output = Result<(), Failure>> + Send;

    /// Restores the owner tags after another client removed them, with Kraken's other tags. `desired` is `None` during
    /// a deletion.
    fn reclaim(
        &self,
        identity: &Identity,
        epoch: i64,
        _: Option<&Self::Desired>,
        bare: &Self::Observed,
    ) -> impl Future<Output = Result<(), Failure>> + Send {
        self.claim(identity, epoch, bare)
    }

    /// Removes Kraken's tags and leaves the objects in place: for `deletion: Retain`.
    fn release(
        &self,
        identity: &Identity,
        observed: &Self::Observed,
    ) -> impl Future<Output = Result<(), Failure>> + Send;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity() -> Identity {
        Identity { cluster: "c".into(), uid: "u".into(), owner: "EC2Instance/ns/a".into() }
    }

    #[test]
    fn token_is_stable_and_differs_by_epoch_uid_and_cluster() {
        let token = identity().token(1);
        assert_eq!(token.len(), 64);
        assert_eq!(token, identity().token(1));
        assert_ne!(token, identity().token(2));
        assert_ne!(token, Identity { uid: "v".into(), ..identity() }.token(1));
        assert_ne!(token, Identity { cluster: "d".into(), ..identity() }.token(1));
    }
}
