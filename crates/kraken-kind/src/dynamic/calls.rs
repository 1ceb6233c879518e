//! The calls of a kind to its provider, and the connection that makes them.

use std::sync::Arc;

use async_trait::async_trait;
use kraken_api::{Adopt, Location};
use kraken_runtime::webhook::ReviewResult;

use super::{Change, Desired, Observed, Spec};
use crate::{
    Candidate, Failure, Identity, Launch, ObserveRequest,
    account::{OnChange, Refusal, Rules},
    import::{Import, Scope},
};

/// The half of a kind of infrastructure that calls the provider. [`crate::Kind`] is the pure half, and states in which order the loop uses
/// both. By default, a call that few kinds need does nothing.
///
/// # Guarantees to the implementor
/// `create` is called only after its launch was persisted; `update` and `delete` only with what `observe` returned.
/// A resource is never reconciled twice at the same time.
///
/// # Requirements
/// `observe` changes nothing, reads all pages, and an id that does not exist hides no other. It returns only objects
/// whose tags carry the identity of the [`ObserveRequest`], and objects with one of its ids whose tags name no owner; the latter
/// are [untagged](crate::dynamic::ObservedObject::untagged). No method waits for the provider to finish: the loop observes again.
///
/// # Errors
/// Each method returns the failure of its call.
#[async_trait]
#[allow(clippy::missing_errors_doc)] // of all methods: above
pub trait Calls: Send + Sync + 'static {
    /// The connection and the rules of a resource in this namespace that names this account, or none. `None` for the controller's
    /// own connection without rules. Called at the beginning of each reconcile: without accounts it makes no request.
    ///
    /// # Errors
    /// If the account does not exist, or cannot be used.
    async fn connect(&self, _namespace: &str, _account: Option<&str>) -> Result<Option<Connection>, Refusal> {
        Ok(None)
    }

    /// Calls this function whenever an account changes, until the process ends.
    fn on_account_change(&self, _: OnChange) {}

    /// The account and region that this controller works in; `None` if the kind has no such concept. Called before
    /// every observation, so the implementation must cache the result.
    async fn location(&self) -> Result<Option<Location>, Failure> {
        Ok(None)
    }

    /// What the provider says of a spec before it is stored, in addition to [`crate::Kind::desired`]: problems that only an edit can solve,
    /// and warnings. Values of references are not known. It is called on every replica, and what it does not say in time is not said.
    async fn review(&self, _spec: &dyn Spec) -> ReviewResult {
        ReviewResult::default()
    }

    /// The calls for a look, which may be made by any replica and between the steps of a reconcile: they write nothing, neither in the
    /// cloud nor in the cluster. `None` if the reads of this one are such calls.
    fn looking(&self) -> Option<Arc<dyn Calls>> {
        None
    }

    /// Observes the objects of many resources in one batch; returns one result per [`ObserveRequest`], in order.
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

    /// Creates the objects that [`crate::Comparison::missing`] describes, tagged with the identity and the epoch, and returns
    /// the objects that it created; the loop observes them before it treats them as present.
    ///
    /// # Errors
    /// Every class except [`crate::FailureClass::Transient`] and [`crate::FailureClass::TokenUsed`] means that the call
    /// created nothing: a failure after an object was created is `Transient`.
    async fn create(
        &self,
        identity: &Identity,
        launch: &Launch,
        desired: &Desired,
        observed: &Observed,
    ) -> Result<Observed, Failure>;

    /// Makes one change.
    async fn update(
        &self,
        identity: &Identity,
        change: &Change,
        desired: &Desired,
        observed: &Observed,
    ) -> Result<(), Failure>;

    /// Takes from the objects that are replaced what the new ones need and what can exist only once, such as the device of a
    /// volume: called before each change in place of the new objects. Returns what was done, or is awaited, until nothing is left
    /// to be taken.
    async fn hand_over(
        &self,
        _: &Identity,
        _: &Desired,
        _replaced: &Observed,
    ) -> Result<Option<String>, Failure> {
        Ok(None)
    }

    /// Starts the objects that [`crate::Kind::disrupted`] returns although the change for which they were stopped cannot
    /// be made now: the spec is invalid, or a reference has no value.
    async fn resume(&self, _: &Identity, _: &Observed) -> Result<(), Failure> {
        Ok(())
    }

    /// Requests the deletion of all remaining objects, and returns the ids that the provider did not find: their deletion was not
    /// requested, because the call may have reached a stale replica. The loop observes until all of them are deleted.
    async fn delete(&self, identity: &Identity, observed: &Observed) -> Result<Vec<String>, Failure>;

    /// Turns off the provider's own deletion protection. Called only after `delete` failed with
    /// [`crate::FailureClass::Protected`], and only if [`crate::Kind::unprotected_by`] returns a field that is not
    /// ignored.
    async fn unprotect(&self, _: &Identity, _: &Observed) -> Result<(), Failure> {
        Ok(())
    }

    /// All objects of this kind that carry the cluster's tags, with their owners: for the orphan sweep. Nothing, if a journal in the
    /// cluster is kept, which is deleted with the resource.
    async fn list_owned(&self, _cluster: &str) -> Result<Vec<(Identity, Observed)>, Failure> {
        Ok(vec![])
    }

    /// All objects of this kind with this id or all of these tags, regardless of their owner; an id that does not exist returns
    /// no object.
    async fn find(&self, wanted: &Adopt) -> Result<Vec<Candidate<Observed>>, Failure>;

    /// What exists of this kind, as specs that adopt it; `None` if the kind cannot be imported. It changes nothing, and reads no value
    /// that a spec may take from a Secret only.
    async fn import(&self, _: &Scope) -> Result<Option<Import>, Failure> {
        Ok(None)
    }

    /// Sets the tags of this identity and epoch on objects that `find` returned: from then on the resource owns them.
    async fn claim(&self, identity: &Identity, epoch: i64, found: &Observed) -> Result<(), Failure>;

    /// Restores the owner tags after another client removed them, with Kraken's other tags. `desired` is `None` during
    /// a deletion.
    async fn reclaim(
        &self,
        identity: &Identity,
        epoch: i64,
        _desired: Option<&Desired>,
        bare: &Observed,
    ) -> Result<(), Failure> {
        self.claim(identity, epoch, bare).await
    }

    /// Removes Kraken's tags and leaves the objects in place: for `deletion: Retain`.
    async fn release(&self, identity: &Identity, observed: &Observed) -> Result<(), Failure>;

    /// The resource is gone, or will be with the next write: its deletion is complete, or somebody removed its finalizer. What is
    /// recorded of it elsewhere need not be kept any more. May be called twice.
    async fn forget(&self, _: &Identity) -> Result<(), Failure> {
        Ok(())
    }

    /// Marks objects that were just released as created by this cluster ([`Candidate::created_by`]): a resource that adopts one takes
    /// it back, and deletes it in the end. By default nothing is marked.
    async fn mark_created(&self, _: &Identity, _: &Observed) -> Result<(), Failure> {
        Ok(())
    }
}

/// The connection and the rules that a resource uses instead of the controller's own.
#[derive(Debug)]
pub struct Connection<E = Arc<dyn Calls>> {
    /// The calls; `None` if they are made with the controller's own credentials.
    pub connected: Option<Connected<E>>,
    /// The rules of the account.
    pub rules: Arc<dyn Rules>,
}

/// A connection whose credentials or region differ from the controller's own.
#[derive(Debug)]
pub struct Connected<E = Arc<dyn Calls>> {
    /// The calls.
    pub external: E,
    /// A digest of the credentials, the role and the region: resources with the same key share batches.
    pub key: Arc<str>,
}

impl<E> Connection<E> {
    /// Converts the calls to another type.
    pub fn map<F>(self, form: impl FnOnce(E) -> F) -> Connection<F> {
        let connected =
            self.connected.map(|Connected { external, key }| Connected { external: form(external), key });
        Connection { connected, rules: self.rules }
    }
}
