//! The input of the decisions of one reconcile: the target, and what an observation shows. Pure.

use kraken_api::{InPlace, Lifecycle, Location};
use kraken_kind::{
    Comparison, Fate, Ignored,
    dynamic::{Change, Desired, Observed},
};
use kraken_options::Problem;

use crate::{
    ledger::{Clock, Ledger},
    policy::retention::ReleasePolicy,
    recorded::{RecordedState, Shown},
    secrecy::{Secrecy, SecretFields},
};

/// What a reconcile applies.
#[derive(Debug)]
pub struct Target {
    /// The desired state.
    pub desired: Desired,
    /// What must not be shown.
    pub secrecy: Secrecy,
    /// The fields that must not be shown.
    pub secret_fields: SecretFields,
    /// The differences that the resource ignores.
    pub ignored: Ignored,
    /// The last launch.
    pub ledger: Option<Ledger>,
    /// The record of what is in place if this reconcile finds it so.
    pub in_place: InPlace,
    /// Whether a difference is an edit to apply, and not drift.
    pub is_edited: bool,
    /// Whether the spec refers to Secrets.
    pub has_secrets: bool,
    /// The values of fields that are applied only at creation.
    pub at_creation: Vec<(&'static str, String)>,
    /// The missing values of fields that are set after the creation. The desired state leaves these fields out.
    pub following: Vec<Problem>,
}

/// The objects on both sides of a replacement.
#[derive(Debug)]
pub struct Parts {
    /// The objects to delete, while a replacement is in progress.
    pub outgoing: Option<Observed>,
    /// The objects that count as the resource's current ones.
    pub current: Observed,
}

impl Parts {
    /// Splits replaced objects from their replacements by the epoch of their launch: the boundary is the launch that
    /// started the replacement, regardless of how many followed.
    pub fn of(ledger: Option<&Ledger>, observed: Observed) -> Self {
        let Some(boundary) = ledger.and_then(|ledger| ledger.replaced_before) else {
            return Self { outgoing: None, current: observed };
        };
        let (before, since) = observed.split(boundary);
        let outgoing = (!before.is_gone()).then_some(before);
        Self { outgoing, current: since }
    }
}

/// What an observation shows.
#[derive(Debug)]
pub struct View<'t> {
    /// What was observed.
    pub observation: Observation<'t>,
    /// How desired and observed differ, without what is ignored.
    pub comparison: Comparison<Change>,
}

/// What was observed of a resource.
#[derive(Debug)]
pub struct Observation<'t> {
    /// What is desired.
    pub target: &'t Target,
    /// What was recorded before the observation.
    pub recorded: RecordedState,
    /// What the observation shows of it.
    pub shown: Shown,
    /// The recorded ids of which one more observation must confirm that they are deleted.
    pub vanishing: Vec<String>,
    /// Whether one more search must confirm that a launch without a result has no objects besides the observed ones.
    pub is_launch_hidden: bool,
    /// What the journal of the kind says of the last launch.
    pub fate: Fate,
    /// The objects of the last launch that may exist and are not visible yet, see [`awaited`](super::recorded::awaited).
    pub awaited: Option<String>,
    /// The current objects: all of them, or only the new ones during a replacement.
    pub current: Observed,
    /// The objects to delete, while a replacement is in progress.
    pub outgoing: Option<Observed>,
    /// The desired state with the observed value in every ignored field, if that differs.
    pub kept: Option<Desired>,
    /// The ids that existed before the resource.
    pub adopted: Vec<String>,
    /// The time before the observation.
    pub clock: Clock,
    /// Whether the objects were also searched for by tag, or cannot exist.
    pub is_searched: bool,
    /// Whether attributes that need one call per object were read.
    pub is_deep: bool,
    /// The location of this controller.
    pub location: Option<Location>,
}

impl Observation<'_> {
    /// The desired state with the observed value in every ignored field: for comparisons and changes, not for creation.
    pub fn effective(&self) -> &Desired {
        self.kept.as_ref().unwrap_or(&self.target.desired)
    }

    /// The highest epoch of the record and of the current objects; 0 if no launch is known.
    pub fn highest_epoch(&self) -> i64 {
        self.recorded.epoch.max(self.current.epoch())
    }

    /// Whether the replaced objects are deleted or kept.
    pub fn policy<'a>(&'a self, lifecycle: &'a Lifecycle) -> ReleasePolicy<'a> {
        ReleasePolicy::of(lifecycle, &self.adopted, self.target.ledger.as_ref())
    }
}
