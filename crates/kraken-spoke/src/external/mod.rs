//! The trait that a kind of infrastructure implements, and the types that it exchanges with the reconcile loop.

mod calls;
mod comparison;
mod edit;
mod fate;
mod features;
mod finding;
mod spoke_kind;

use std::{borrow::Cow, fmt::Debug, future::ready};

use kraken_api::{Adopt, Location};
use kraken_options::Resolver;
use kube::core::object::HasSpec;
use serde_json::Value;

use crate::{
    Failure, Ignored,
    account::{Connection, OnChange, Refusal},
    import::{Import, Scope},
};

pub use calls::{Candidate, Identity, Launch, ObserveRequest, OwnSecret};
pub(crate) use comparison::MISSING;
pub use comparison::{Comparison, Difference, Remedy};
pub use edit::Edit;
pub use fate::Fate;
pub use features::Features;
pub use finding::{Finding, Unanswered};
pub use spoke_kind::SpokeKind;

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
    /// A change in place, one call each.
    type Change: Debug + Send + Sync + 'static;
    /// What the kind has besides its calls.
    const FEATURES: Features;

    /// Pure. Resolves every option through `values` before it returns `None`, so that all problems are reported
    /// together.
    fn desired(spec: &SpecOf<Self>, values: &mut Resolver<'_>) -> Option<Self::Desired>;

    /// Pure. The Secret that the resource creates for itself, if its spec requires one.
    fn own_secret(_: &SpecOf<Self>) -> Option<OwnSecret> {
        None
    }

    /// Pure. What is deleted with a remote object besides itself, as a warning says it before ([`Features::contains`]), for a kind whose spec
    /// says more about its deletion: `its value, which can be restored for 30 days`.
    fn contains(_: &SpecOf<Self>) -> Cow<'static, str> {
        Self::FEATURES.contains.into()
    }

    /// Pure. Compares desired with observed.
    fn compare(desired: &Self::Desired, observed: &Self::Observed) -> Comparison<Self::Change>;

    /// Pure. What an edit of this top-level field of the spec does to an object that exists, as far as both specs tell: the
    /// comparison with the observed object decides later. An edited tag or an unknown field is changed in place.
    fn edit_of(_before: &SpecOf<Self>, _after: &SpecOf<Self>, _field: &str) -> Edit {
        Edit::default()
    }

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
    fn describe_change(_: &Self::Change) -> Option<String> {
        None
    }

    /// Pure. The ids of the objects that a change deletes, because the spec accounts for fewer.
    fn deletes(_: &Self::Change) -> Vec<String> {
        vec![]
    }

    /// Pure. What a look-up ([`Features::looks_up`]) found. `None` for any other kind.
    fn finding(_: &Self::Desired, _: &Self::Observed) -> Option<Finding> {
        None
    }

    /// Pure. The ids of the objects that exist and are not being deleted, the main one first.
    fn ids(observed: &Self::Observed) -> Vec<String>;

    /// Pure. What a reference without a path resolves to. The default is the first of the [ids](External::ids).
    fn main_id(observed: &Self::Observed) -> Option<String> {
        Self::ids(observed).into_iter().next()
    }

    /// Pure. The ids of all objects in the response, including deleted objects that the provider still returns.
    fn shown(observed: &Self::Observed) -> Vec<String>;

    /// Pure. Splits observed objects into those with one of these ids, and the others.
    fn select(observed: Self::Observed, ids: &[String]) -> (Self::Observed, Self::Observed);

    /// Pure. The ids of live objects that were found by id and whose tags name no owner: their tags are restored.
    /// [`External::observe`] never returns an object that is tagged as owned by another resource.
    fn untagged(_: &Self::Observed) -> Vec<String> {
        vec![]
    }

    /// Pure. The observed objects with what the spec says about their deletion, for [`External::delete`]. A deletion needs no resolved
    /// values, so only literals count. Not called for objects whose resource does not exist any more.
    fn to_delete(_: &SpecOf<Self>, observed: Self::Observed) -> Self::Observed {
        observed
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
    /// [`External::resume`] can start them. Called only for a kind that [`disrupts`](Features::disrupts).
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

    /// Pure. The part of the [state](External::state) that dependents can use while the provider's operation is in progress
    /// ([`Comparison::settling`]), such as the records that validate a certificate. It is published without the main id, so that
    /// dependents of the object itself wait until it is in place. `None`: nothing is published before.
    fn pending_state(_: &Self::Desired, _: &Self::Observed) -> Option<Value> {
        None
    }

    /// Pure. Whether a comparison needs attributes that need one call per object ([`ObserveRequest::deep`]).
    fn needs_deep_observation(_: &Self::Desired) -> bool {
        false
    }

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

    /// Calls this function whenever an account changes, until the process ends.
    fn on_account_change(&self, _: OnChange) {}

    /// The account and region that this controller works in; `None` if the kind has no such concept. Called before
    /// every observation, so the implementation must cache the result.
    fn location(&self) -> impl Future<Output = Result<Option<Location>, Failure>> + Send {
        std::future::ready(Ok(None))
    }

    /// Observes the objects of many resources in one batch; returns one result per [`ObserveRequest`], in order.
    fn observe(
        &self,
        requests: &[ObserveRequest],
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

    /// Takes from the objects that are replaced what the new ones need and what can exist only once, such as the device of a
    /// volume: called before each change in place of the new objects. Returns what was done, or is awaited, until nothing is left
    /// to be taken.
    fn hand_over(
        &self,
        _: &Identity,
        _: &Self::Desired,
        _replaced: &Self::Observed,
    ) -> impl Future<Output = Result<Option<String>, Failure>> + Send {
        ready(Ok(None))
    }

    /// Starts the objects that [`External::disrupted`] returns although the change for which they were stopped cannot
    /// be made now: the spec is invalid, or a reference has no value.
    fn resume(&self, _: &Identity, _: &Self::Observed) -> impl Future<Output = Result<(), Failure>> + Send {
        ready(Ok(()))
    }

    /// Requests the deletion of all remaining objects, and returns the ids that the provider did not find: their deletion was not
    /// requested, because the call may have reached a stale replica. The loop observes until all of them are deleted.
    fn delete(
        &self,
        identity: &Identity,
        observed: &Self::Observed,
    ) -> impl Future<Output = Result<Vec<String>, Failure>> + Send;

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
    fn list_owned(
        &self,
        cluster: &str,
    ) -> impl Future<Output = Result<Vec<(Identity, Self::Observed)>, Failure>> + Send;

    /// All objects of this kind with this id or all of these tags, regardless of their owner; an id that does not exist returns
    /// no object.
    fn find(
        &self,
        wanted: &Adopt,
    ) -> impl Future<Output = Result<Vec<Candidate<Self::Observed>>, Failure>> + Send;

    /// What exists of this kind, as specs that adopt it; `None` if the kind cannot be imported. It changes nothing, and reads no value
    /// that a spec may take from a Secret only.
    fn import(&self, _: &Scope) -> impl Future<Output = Result<Option<Import>, Failure>> + Send {
        ready(Ok(None))
    }

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

    /// Marks objects that were just released as created by this cluster ([`Candidate::created_by`]): a resource that adopts one takes
    /// it back, and deletes it in the end. By default nothing is marked.
    fn mark_created(
        &self,
        _: &Identity,
        _: &Self::Observed,
    ) -> impl Future<Output = Result<(), Failure>> + Send {
        ready(Ok(()))
    }
}
