//! The trait that a kind of infrastructure implements, and the words in which it speaks with the loop.

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

/// A custom resource that a spoke manages. Every type with these parts is one; nothing is to be implemented.
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
    /// Its name, such as `VPC`.
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

/// Who a thing in the cloud belongs to. Written to it as tags by the call that creates it; a name can be taken over by
/// somebody else, a UID cannot.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    /// UID of the cluster's `kube-system` namespace.
    pub cluster: String,
    /// UID of the resource.
    pub uid: String,
    /// `Kind/namespace/name`, for people who look at the cloud's console.
    pub owner: String,
}

impl Identity {
    /// The idempotency token of one launch: 64 hexadecimal digits, the same for the same cluster, resource and epoch.
    pub fn token(&self, epoch: i64) -> String {
        let epoch = if mutants::active(Mutant::TokenReused) { 1 } else { epoch };
        hex::encode(Sha256::digest(format!("{}/{}/{epoch}", self.cluster, self.uid)))
    }
}

/// One act of creation, persisted before the cloud is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Which launch of this resource it is, from 1. Tagged on what it creates.
    pub epoch: i64,
    /// Sent as `ClientToken` where the API takes one: a repeated call returns the same things.
    pub token: String,
}

/// What one resource wants to know of the cloud. Many are answered by one call.
#[derive(Clone, Debug)]
pub struct Look {
    /// Whose things are looked for.
    pub identity: Identity,
    /// The ids known to be its own; may be empty.
    pub ids: Vec<String>,
    /// Also find, by tag, what is its own and not among `ids`: after a crash, and before the finalizer goes.
    pub search: bool,
    /// Also read what costs a call per thing: after an edit, not at a resync.
    pub deep: bool,
}

/// Something that exists already and could be adopted.
#[derive(Clone, Debug)]
pub struct Candidate<O> {
    /// The cloud's id.
    pub id: String,
    /// Whose it is by its tags, if it is any resource's of any cluster.
    pub owner: Option<Identity>,
    /// As [`External::observe`] would have it.
    pub observed: O,
}

impl<T> Candidate<T> {
    /// The same with what was observed in another form.
    pub fn map<O>(self, form: impl FnOnce(T) -> O) -> Candidate<O> {
        Candidate { id: self.id, owner: self.owner, observed: form(self.observed) }
    }
}

/// A Secret that a resource makes for itself, such as a private key. The loop writes it before anything is created, and
/// only if there is none of its name; [`External::desired`] refers to it like to any other.
#[derive(Clone, Debug)]
pub struct OwnSecret {
    /// Its name, in the resource's namespace.
    pub name: String,
    /// Its type, such as `kubernetes.io/ssh-auth`.
    pub type_: &'static str,
    /// Makes what is in it, by key; the error says why that was not possible.
    pub make: fn() -> Result<BTreeMap<&'static str, SecretString>, String>,
}

/// How desired and observed differ; made by [`External::compare`].
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison<C> {
    /// Something is to be created first, said as what: "1 instance of 2".
    pub missing: Option<String>,
    /// The cloud is still at work and says what with: "instance i-0abc is pending".
    pub settling: Option<String>,
    /// Fields that differ, the ones to change first at the front.
    pub differences: Vec<Difference<C>>,
}

impl<C> Default for Comparison<C> {
    fn default() -> Self {
        Self { missing: None, settling: None, differences: vec![] }
    }
}

/// A field that differs and what can be done about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference<C> {
    /// The field and both values; never a value from a Secret.
    pub field: FieldDiff,
    /// What would mend it.
    pub remedy: Remedy<C>,
}

impl<C> Difference<C> {
    /// Whether it is what a disruption that was begun leaves to be done.
    pub(crate) fn is_resumption(&self) -> bool {
        matches!(self.remedy, Remedy::Resume(_))
    }

    /// The same with its change in another form.
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

/// What mends a difference.
#[derive(Clone, Debug, PartialEq)]
pub enum Remedy<C> {
    /// A change in place by one call.
    Change(C),
    /// A change in place that interrupts the service, such as a stop, by one call; carried out only if
    /// `lifecycle.disruption` allows it. The text says what it takes: "AWS changes it only while the instance is stopped".
    Disruptive(C, String),
    /// What follows on a disruption that this resource began, such as the start of an instance that it stopped. It comes
    /// before everything else, is no drift, is not ignored, and needs no approval of its own.
    Resume(C),
    /// The cloud cannot change it, or not now; the text says what would make it possible.
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
/// One resource is never worked on twice at once.
///
/// # What is asked of it
/// `observe` changes nothing, follows pages, and one id that does not exist hides no other. Only objects whose tags
/// carry the look's identity are returned, and those of the look's ids whose tags name no owner at all; the latter are
/// listed by [`External::untagged`]. No method waits for the cloud to finish: it is looked at again.
pub trait External: Send + Sync + 'static {
    /// The custom resource.
    type Kind: SpokeKind;
    /// The spec with every reference resolved; nothing in it is left to fail. `Debug` must not show secrets, which
    /// [`kraken_options::Resolved`] sees to.
    type Desired: Debug + Send + Sync + 'static;
    /// What the cloud has for one resource; the default is "nothing".
    type Observed: Debug + Default + Clone + Send + Sync + 'static;
    /// Whether `create` with the token of an earlier call creates nothing new: it returns what that call created, or fails
    /// with [`crate::FailureClass::TokenUsed`] if its parameters were others. Where the cloud has no such tokens, a launch of
    /// unknown fate is waited for instead.
    const IS_IDEMPOTENT: bool = true;

    /// Whether that holds for a repeated call with the same parameters only, because a name or a number of the spec that the
    /// cloud gives out once takes the place of a token: with another name, a second object would be created.
    const IDEMPOTENT_BY_NAME: bool = false;

    /// Paths that [`Difference`]s speak of and that are no fields of the spec, such as `state`: a user may name them in
    /// `lifecycle.ignoreChanges`.
    const DRIFT_PATHS: &[&str] = &[];

    /// For each field of the spec that may come from a Secret: the paths of the state that show its value, or what the
    /// provider makes of it. They are not published then, whatever their value is. Dotted, through the elements of lists.
    ///
    /// A field that is shown nowhere is listed with no path. One that is not listed at all withholds the whole state.
    /// What becomes an id, a name or a tag is [`kraken_options::Public`] instead and takes no Secret.
    const SECRET_ECHOES: &[(&str, &[&str])] = &[];

    /// Columns of `kubectl get` beside those of every kind, each with the path of its value in the published state.
    const SUMMARY: &[(&str, &str)] = &[];

    /// The path that [`Comparison::missing`] speaks of where something exists already, such as `maxCount`: a user who names
    /// it in `lifecycle.ignoreChanges` leaves the number to somebody else. Empty: what is missing is always created.
    const MISSING_PATH: &str = "";

    /// Paths that are compared as a whole, such as `defaultAction`: a path in `lifecycle.ignoreChanges` that leads into one
    /// is refused, because it would never match.
    const WHOLE_PATHS: &[&str] = &[];

    /// Whether [`External::own_secret`] ever names one: the spoke is then allowed to create Secrets.
    const MAKES_SECRETS: bool = false;
    /// Whether a change in place may stop something ([`Remedy::Disruptive`]).
    const DISRUPTS: bool = false;

    /// A change in place, one call each.
    type Change: Debug + Send + Sync + 'static;

    /// Pure. Takes every option through `values` before it gives up, so that all problems are told at once.
    fn desired(spec: &SpecOf<Self>, values: &mut Resolver<'_>) -> Option<Self::Desired>;

    /// Pure. The Secret that the resource makes for itself, if its spec wants one.
    fn own_secret(_: &SpecOf<Self>) -> Option<OwnSecret> {
        None
    }

    /// Pure. How the two differ.
    fn compare(desired: &Self::Desired, observed: &Self::Observed) -> Comparison<Self::Change>;

    /// Pure. The desired state with every ignored field as it is observed, if that differs: what [`External::compare`] and
    /// [`External::update`] get, so that a call which sets several fields does not change an ignored one. Needed only by
    /// kinds that have such calls. Not used for creation.
    fn without_ignored(_: &Self::Desired, _: &Self::Observed, _: &Ignored) -> Option<Self::Desired> {
        None
    }

    /// Pure. Every field that is applied at creation only and cannot be observed, with its value as text: empty if it is not
    /// set, `***` if it comes from a Secret. The loop records a digest of each, and reports an edit as one that cannot be
    /// carried out.
    fn at_creation(_: &Self::Desired) -> Vec<(&'static str, String)> {
        vec![]
    }

    /// Pure. What a change does, for the event and the condition, where the difference that led to it does not say so:
    /// "stopped i-1 for a change".
    fn what_is_done(_: &Self::Change) -> Option<String> {
        None
    }

    /// Pure. The ids of what exists and is not on its way out, the main one first.
    fn ids(observed: &Self::Observed) -> Vec<String>;

    /// Pure. The ids of everything in the answer, deleted objects that are still shown included.
    fn shown(observed: &Self::Observed) -> Vec<String>;

    /// Pure. Those with one of these ids, and the others.
    fn select(observed: Self::Observed, ids: &[String]) -> (Self::Observed, Self::Observed);

    /// Pure. The ids of live objects that were found by id and whose tags name no owner: they are claimed again. An object
    /// that is tagged as another resource's is never returned by [`External::observe`].
    fn untagged(_: &Self::Observed) -> Vec<String> {
        vec![]
    }

    /// Pure. How many live objects this spec explains at most. No launch is made that would exceed it.
    fn max_objects(_: &Self::Desired) -> usize {
        1
    }

    /// Pure. How many there are, for the scale subresource of a kind that has one.
    fn replicas(_: &Self::Observed) -> Option<i32> {
        None
    }

    /// Pure. What is down, or going down, because of a disruption that this resource began ([`Remedy::Resume`]), whatever is desired;
    /// and whether it is down, so that [`External::resume`] can end it. Asked only of a kind that [`DISRUPTS`](External::DISRUPTS).
    fn disrupted(_: &Self::Observed) -> (Vec<String>, bool) {
        (vec![], false)
    }

    /// Pure. Whether nothing is left that still has to be deleted or is still going away.
    fn is_gone(observed: &Self::Observed) -> bool;

    /// Pure. The highest epoch tagged on anything seen, gone things included; 0 if there is none.
    fn epoch(observed: &Self::Observed) -> i64;

    /// Pure. What was created before this epoch, and what by it or later: for a replacement.
    fn split(observed: Self::Observed, epoch: i64) -> (Self::Observed, Self::Observed);

    /// Pure. What others may refer to: an allow-list of the provider's fields in its own spelling.
    fn state(desired: &Self::Desired, observed: &Self::Observed) -> Value;

    /// Pure. Whether a comparison needs what costs a call per thing to read ([`Look::deep`]).
    fn needs_deep_look(_: &Self::Desired) -> bool {
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

    /// The account and region that this controller works in; `None` if the kind has no such notion. Called before every
    /// observation, so the answer is to be cached.
    fn location(&self) -> impl Future<Output = Result<Option<Location>, Failure>> + Send {
        std::future::ready(Ok(None))
    }

    /// Looks at the cloud for many resources at once; one answer per look, in order.
    fn observe(&self, looks: &[Look]) -> impl Future<Output = Result<Vec<Self::Observed>, Failure>> + Send;

    /// Creates what [`Comparison::missing`] speaks of, tagged with the identity and the epoch, and returns what it
    /// created; the loop looks again before it believes in it.
    ///
    /// # Errors
    /// Any class but [`crate::FailureClass::Transient`] and [`crate::FailureClass::TokenUsed`] says that the call created
    /// nothing: what fails after something was created is of the first.
    fn create(
        &self,
        identity: &Identity,
        launch: &Launch,
        desired: &Self::Desired,
        observed: &Self::Observed,
    ) -> impl Future<Output = Result<Self::Observed, Failure>> + Send;

    /// Carries out one change.
    fn update(
        &self,
        identity: &Identity,
        change: &Self::Change,
        desired: &Self::Desired,
        observed: &Self::Observed,
    ) -> impl Future<Output = Result<(), Failure>> + Send;

    /// Starts what [`External::disrupted`] names although the change for which it was stopped cannot be made now: the spec is
    /// invalid, or a reference has no value.
    fn resume(&self, _: &Identity, _: &Self::Observed) -> impl Future<Output = Result<(), Failure>> + Send {
        ready(Ok(()))
    }

    /// Asks for the deletion of all that is left; the loop looks again until it is gone.
    fn delete(
        &self,
        identity: &Identity,
        observed: &Self::Observed,
    ) -> impl Future<Output = Result<(), Failure>> + Send;

    /// Pure. The field of the spec that says, as a literal, that the provider's own protection against deletion is off.
    /// A deletion needs no values, so a reference says nothing, and neither does an absent field.
    fn unprotected_by(_: &SpecOf<Self>) -> Option<&'static str> {
        None
    }

    /// Turns the provider's own protection against deletion off. Called only after `delete` failed with
    /// [`crate::FailureClass::Protected`], and only if [`External::unprotected_by`] names a field that is not ignored.
    fn unprotect(
        &self,
        _: &Identity,
        _: &Self::Observed,
    ) -> impl Future<Output = Result<(), Failure>> + Send {
        ready(Ok(()))
    }

    /// Everything of this kind that carries the cluster's tags, by whose it is: for the search for orphans.
    fn survey(
        &self,
        cluster: &str,
    ) -> impl Future<Output = Result<Vec<(Identity, Self::Observed)>, Failure>> + Send;

    /// Everything of this kind with this id or all of these tags, whoever it belongs to; an id that does not exist finds
    /// nothing.
    fn find(
        &self,
        wanted: &Adopt,
    ) -> impl Future<Output = Result<Vec<Candidate<Self::Observed>>, Failure>> + Send;

    /// Puts the tags of this identity and epoch on what `find` found: from then on it is the resource's own.
    fn claim(
        &self,
        identity: &Identity,
        epoch: i64,
        found: &Self::Observed,
    ) -> impl Future<Output = Result<(), Failure>> + Send;

    /// Puts them back on what somebody took them off, with whatever else Kraken's tags said. `desired` is absent in a deletion.
    fn reclaim(
        &self,
        identity: &Identity,
        epoch: i64,
        _: Option<&Self::Desired>,
        bare: &Self::Observed,
    ) -> impl Future<Output = Result<(), Failure>> + Send {
        self.claim(identity, epoch, bare)
    }

    /// Takes Kraken's tags off and leaves the things: for `deletion: Retain`.
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
    fn a_token_is_stable_and_differs_by_epoch_uid_and_cluster() {
        let token = identity().token(1);
        assert_eq!(token.len(), 64);
        assert_eq!(token, identity().token(1));
        assert_ne!(token, identity().token(2));
        assert_ne!(token, Identity { uid: "v".into(), ..identity() }.token(1));
        assert_ne!(token, Identity { cluster: "d".into(), ..identity() }.token(1));
    }
}
