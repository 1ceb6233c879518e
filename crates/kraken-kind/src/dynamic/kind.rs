//! The pure functions of a kind.

use std::borrow::Cow;

use kraken_options::Resolver;
use kraken_runtime::watch::RawObject;
use serde_json::Value;

use super::{Change, Desired, KindInfo, Object, Observed, Spec, json};
use crate::{Comparison, Edit, Finding, Ignored, OwnSecret};

/// The pure half of a kind of infrastructure: what its specs mean, and how observed objects differ from them. [`crate::Calls`] is the other
/// half. What it desires, observes and changes has a type that only the kind knows: each function gets only values that the kind returned.
///
/// # Expected flow
/// The loop calls `desired`, `observe`, `compare`, then at most one of `create`, `update`, `delete`; then starts over.
pub trait Kind: Send + Sync + 'static {
    /// The constants of the kind.
    fn info(&self) -> &KindInfo;

    /// Decodes an object. By default, its spec is JSON; [`super::decode`] is for a spec with a type.
    ///
    /// # Errors
    /// If the object does not decode as this kind: why, with the path of the field if it is known.
    fn decode(&self, object: &RawObject) -> Result<Object, String> {
        json::decode(self.info(), object)
    }

    /// The spec with every reference resolved; later steps cannot fail because of it. It resolves every option through `values` before it
    /// returns `None`, so that all problems are reported together. The `Debug` of the result must not show secrets, which
    /// [`kraken_options::Resolved`] ensures.
    fn desired(&self, spec: &dyn Spec, values: &mut Resolver<'_>) -> Option<Desired>;

    /// The Secret that the resource creates for itself, if its spec requires one.
    fn own_secret(&self, _: &dyn Spec) -> Option<OwnSecret> {
        None
    }

    /// What is deleted with a remote object besides itself, as a warning says it before ([`crate::Features::contains`]), for a kind whose
    /// spec says more about its deletion: `its value, which can be restored for 30 days`. The spec may be one that does not decode.
    fn contains(&self, _: &dyn Spec) -> Cow<'static, str> {
        self.info().contains.into()
    }

    /// The field of the spec that states, as a literal, that the provider's own deletion protection is off. A deletion resolves no values,
    /// so a reference does not count, and neither does an absent field. The spec may be one that does not decode: it names no field.
    fn unprotected_by(&self, _: &dyn Spec) -> Option<&'static str> {
        None
    }

    /// The observed objects with what the spec says about their deletion, for [`crate::Calls::delete`]. A deletion needs no resolved
    /// values, so only literals count. Not called for objects whose resource does not exist any more. The spec may be one that does not
    /// decode: it says nothing.
    fn to_delete(&self, _: &dyn Spec, observed: Observed) -> Observed {
        observed
    }

    /// What an edit of this top-level field of the spec does to an object that exists, as far as both specs tell: the comparison with the
    /// observed object decides later. An edited tag or an unknown field is changed in place.
    fn edit_of(&self, _before: &dyn Spec, _after: &dyn Spec, _field: &str) -> Edit {
        Edit::default()
    }

    /// Compares desired with observed.
    fn compare(&self, desired: &Desired, observed: &Observed) -> Comparison<Change>;

    /// The desired state with the observed value in every ignored field, if that differs: the input of [`Kind::compare`] and
    /// [`crate::Calls::update`], so that a call that sets several fields does not change an ignored one. Needed only by kinds with such
    /// calls. Not used for creation.
    fn without_ignored(&self, _: &Desired, _: &Observed, _: &Ignored) -> Option<Desired> {
        None
    }

    /// The fields that dependents may refer to: an allow-list of the provider's fields with the provider's names.
    fn state(&self, desired: &Desired, observed: &Observed) -> Value;

    /// The part of the [state](Kind::state) that dependents can use while the provider's operation is in progress
    /// ([`Comparison::settling`]), such as the records that validate a certificate. It is published without the main id, so that
    /// dependents of the object itself wait until it is in place. `None`: nothing is published before.
    fn pending_state(&self, _: &Desired, _: &Observed) -> Option<Value> {
        None
    }

    /// Every field that is applied only at creation and cannot be observed, with its value as text: empty if it is not set, `***` if it
    /// comes from a Secret. The loop records a digest of each, and reports an edit as one that cannot be applied.
    fn at_creation(&self, _: &Desired) -> Vec<(&'static str, String)> {
        vec![]
    }

    /// The maximum number of live objects that this spec accounts for. A launch that would exceed it is not made.
    fn max_objects(&self, _: &Desired) -> usize {
        1
    }

    /// Whether a comparison needs attributes that need one call per object ([`crate::ObserveRequest::deep`]).
    fn needs_deep_observation(&self, _: &Desired) -> bool {
        false
    }

    /// Describes a change for the event and the condition, if its difference does not: "stopped i-1 for a change".
    fn describe_change(&self, _: &Change) -> Option<String> {
        None
    }

    /// The ids of the objects that a change deletes, because the spec accounts for fewer.
    fn deletes(&self, _: &Change) -> Vec<String> {
        vec![]
    }

    /// What a look-up ([`crate::Features::looks_up`]) found. `None` for any other kind.
    fn finding(&self, _: &Desired, _: &Observed) -> Option<Finding> {
        None
    }

    /// What a reference without a path resolves to. The default is the first of the [ids](Observed::ids).
    fn main_id(&self, observed: &Observed) -> Option<String> {
        observed.ids().into_iter().next()
    }

    /// The number of objects, for the scale subresource of a kind that has one.
    fn replicas(&self, _: &Observed) -> Option<i32> {
        None
    }

    /// The ids of objects that are stopped, or stopping, because of a disruption that this resource started
    /// ([`crate::Remedy::Resume`]), regardless of the desired state; and whether they are stopped, so that [`crate::Calls::resume`] can
    /// start them. Called only for a kind that [`disrupts`](crate::Features::disrupts).
    fn disrupted(&self, _: &Observed) -> (Vec<String>, bool) {
        (vec![], false)
    }
}
