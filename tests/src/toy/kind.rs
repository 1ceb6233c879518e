//! The pure functions of the kind.

use kraken_kind::{
    Comparison, Features, Kind, KindInfo, Resolver,
    dynamic::{self, Change, Desired, Existence, Object, Observed, ObservedObject, Spec},
    runtime::watch::RawObject,
};
use serde_json::Value;

use super::{
    api::{Gadget, GadgetSpec},
    cloud::RemoteObject,
    desired,
};

/// The kind Gadget. It observes a list of gadgets.
#[derive(Debug)]
pub struct GadgetKind(KindInfo);

impl Default for GadgetKind {
    fn default() -> Self {
        Self(KindInfo::of::<Gadget>(Features {
            is_idempotent: true,
            secret_field_paths: &[
                ("size", &["gadget.Size"]),
                ("colour", &["gadget.Colour"]),
                ("password", &["gadget.Note"]),
            ],
            ..Features::NONE
        }))
    }
}

/// These gadgets as the loop sees them.
pub(super) fn observed(objects: impl IntoIterator<Item = RemoteObject>) -> Observed {
    let seen = |object: RemoteObject| {
        let existence = if object.gone { Existence::Deleted } else { Existence::Live };
        let (id, epoch, is_untagged) = (object.id.clone(), object.epoch, object.owner.is_empty());
        ObservedObject::new(id, object).of_launch(epoch).existing(existence).untagged(is_untagged)
    };
    objects.into_iter().map(seen).collect()
}

impl Kind for GadgetKind {
    fn info(&self) -> &KindInfo {
        &self.0
    }

    fn decode(&self, object: &RawObject) -> Result<Object, String> {
        dynamic::decode::<GadgetSpec>(&self.0, object)
    }

    fn desired(&self, spec: &dyn Spec, values: &mut Resolver<'_>) -> Option<Desired> {
        desired::desired(spec.get(), values).map(Desired::new)
    }

    fn compare(&self, desired: &Desired, observed: &Observed) -> Comparison<Change> {
        desired::compare(desired.get(), observed.live()).map(Change::new)
    }

    fn at_creation(&self, desired: &Desired) -> Vec<(&'static str, String)> {
        vec![("password", desired::password_shown(desired.get()))]
    }

    fn max_objects(&self, desired: &Desired) -> usize {
        desired.get::<desired::Desired>().count
    }

    fn state(&self, _: &Desired, observed: &Observed) -> Value {
        observed.live().first().copied().map(desired::state).unwrap_or_default()
    }
}
