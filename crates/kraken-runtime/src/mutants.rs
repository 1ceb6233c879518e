//! Seeded bugs, with which the deterministic simulation shows that it would find real ones. A release does not contain
//! them: without `KRAKEN_MUTANTS` in the environment of the compiler, [`active`] is a constant `false` and every hook is
//! compiled away.
//!
//! A hook is one line of product code, at the location of the fix that it reverts.

macro_rules! mutants {
    ($($(#[doc = $doc:literal])+ $name:ident,)+) => {
        /// A seeded bug. Its documentation describes the misbehavior of the controllers while it is active.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Mutant {
            $($(#[doc = $doc])+ $name,)+
        }

        impl Mutant {
            /// Every mutant.
            pub const ALL: &[Self] = &[$(Self::$name,)+];

            /// The name on the command line.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)+
                }
            }

            /// The misbehavior of the controllers.
            pub fn description(self) -> &'static str {
                match self {
                    $(Self::$name => concat!($($doc,)+).trim_ascii(),)+
                }
            }
        }
    };
}

mutants! {
    /// A launch is made without a recorded intent and finalizer.
    SkipIntent,
    /// A launched object counts as lost at once, without the visibility window.
    IgnoreWindow,
    /// A batched read returns the objects of other resources too.
    DropTagFilter,
    /// The record of adopted objects is lost.
    ForgetAdoption,
    /// An edit is queued in the lane of resyncs.
    WrongLane,
    /// A key that is added while it is being reconciled is not reconciled again.
    LostWakeUp,
    /// The intent is written without a resourceVersion precondition.
    NoResourceVersion,
    /// The finalizer is removed when the deletion is requested, not when it is complete.
    EarlyFinalizer,
    /// The hub's answer to an earlier generation of the request is used.
    StaleAnswer,
    /// Every launch of a resource uses the same client token.
    TokenReused,
    /// A list after a watch's outage does not report the deletions in between.
    ListKeepsDeleted,
    /// A watch that the API server ends with 410 is not restarted.
    GoneIgnored,
    /// The controller's own copy of an object takes precedence over a newer one of the watch.
    StaleCopy,
    /// A replica acts without holding the lease.
    LeaseNotChecked,
    /// Deletion does not wait for dependents.
    DeletionIgnoresReferences,
    /// `protect` does not prevent replacement.
    ReplaceIgnoresProtect,
    /// `deletion: Retain` deletes.
    RetainDeletes,
    /// Messages of providers are published unchanged, including Secret values.
    SecretInError,
    /// The published state contains Secret values.
    SecretInState,
    /// `drift: Report` reverts.
    ReportReverts,
    /// A plan in the status is trusted without computing its hash from its content.
    PlanHashBelieved,
    /// One approval is valid for every later plan.
    ApprovalForAll,
    /// Every launch of a replacement moves the boundary between old and new objects, and objects are not counted.
    BoundaryMoves,
    /// A missing object is not searched by tag before it is recreated.
    NoSearchByTag,
    /// A manually edited StateDeclaration is trusted.
    EditedStateBelieved,
    /// A mismatch of region or account is not detected.
    LocationIgnored,
    /// A DependencyRequest has no finalizer, so the order of deletion is lost.
    RequestNotHeld,
    /// A removed finalizer and intent are not restored.
    NotRestored,
    /// A resource that returns under another UID does not take over the objects of the former one.
    NothingTakenOver,
    /// A dependency is deleted while an edit that removes the reference to it is not in place.
    FormerReferencesForgotten,
    /// An object that this cluster created, released and adopts again is kept when its resource is deleted.
    TakenBackIsKept,
    /// An account and its Secrets are not kept from deletion while resources use them.
    AccountNotKept,
    /// An intent that a user edited is used.
    EditedIntentTrusted,
    /// Ids and an epoch in a status that a user edited are used.
    EditedRecordTrusted,
    /// If one object of a resource was adopted, all count as adopted.
    AdoptedAsWhole,
    /// An export deletes every object with its owner reference.
    StrayByOwner,
    /// Drift is distinguished from edits by the Ready condition.
    DriftFromCondition,
    /// Objects without owner tags are not managed any more.
    UntaggedIsGone,
    /// A launch counts as visible when one of its objects is.
    PartlyVisible,
    /// Drift alone causes a replacement.
    DriftReplaces,
    /// The provider's deletion protection is never disabled.
    ProtectionStays,
    /// A temporary rejection by the provider is retried every second, without backoff.
    NoGrowingDelay,
    /// Re-creation continues regardless of how many objects disappeared at once.
    VanishedIgnored,
    /// An object that one response does not contain counts as deleted.
    VanishedBelieved,
    /// Two resources can adopt the same object.
    ClaimIgnored,
    /// A paused resource is changed.
    PausedIgnored,
    /// Deletion accepts an empty result as final, regardless of the age of the launch.
    EmptyAnswerBelieved,
    /// A resource counts as new after a restart of the controller: a lost record is not detected.
    NewWhateverAge,
    /// Keys that were removed from an export remain in its target.
    ExportKeepsKeys,
    /// The hub does not reconcile dependents when a dependency changes.
    HubMissesChanges,
    /// `protect` does not prevent deletion.
    DeletionIgnoresProtect,
    /// A create call without a response counts as rejected.
    LostAnswerIsRefusal,
    /// The journal of a provider's resource has no finalizer.
    JournalNotHeld,
    /// The journal of a provider's resource is changed without a resourceVersion precondition.
    JournalUnversioned,
    /// A creation that a provider rejected counts as not made, although its request may have lost its response.
    RejectionBelieved,
    /// A replaced object is deleted as soon as its successor is published, whether or not dependents use it.
    NoHandOver,
    /// An edit during a replacement deletes what the replacement published, before its successor exists.
    PublishedIsDeleted,
}

/// The mutants whose code location was reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReachedMutants(u64);

const _: () = assert!(Mutant::ALL.len() <= 64, "a mutant is one bit of a number");

impl ReachedMutants {
    /// Whether the location of this mutant was reached: if not, a run with it equals a run without it.
    pub fn contains(self, mutant: Mutant) -> bool {
        self.0 & (1 << mutant as u64) != 0
    }
}

#[cfg(kraken_mutants)]
mod selected {
    use std::cell::Cell;

    use super::{Mutant, ReachedMutants};

    thread_local! {
        static SELECTED: Cell<Option<Mutant>> = const { Cell::new(None) };
        static REACHED: Cell<u64> = const { Cell::new(0) };
    }

    /// Whether this build has mutants at all.
    pub const BUILT_IN: bool = true;

    /// Whether this bug is active on this thread.
    #[inline]
    pub fn active(mutant: Mutant) -> bool {
        REACHED.set(REACHED.get() | 1 << mutant as u64);
        SELECTED.get() == Some(mutant)
    }

    /// Activates one bug on this thread, or none.
    pub fn select(mutant: Option<Mutant>) {
        SELECTED.set(mutant);
    }

    /// The locations that were reached on this thread since the last call.
    pub fn take_reached() -> ReachedMutants {
        ReachedMutants(REACHED.take())
    }
}

#[cfg(not(kraken_mutants))]
mod selected {
    use super::{Mutant, ReachedMutants};

    /// Whether this build has mutants at all.
    pub const BUILT_IN: bool = false;

    /// Whether this bug is active: never, in a build without mutants.
    #[inline]
    pub const fn active(_: Mutant) -> bool {
        false
    }

    /// Activates nothing: this build has no mutants.
    pub const fn select(_: Option<Mutant>) {}

    /// None: this build has no mutants.
    pub const fn take_reached() -> ReachedMutants {
        ReachedMutants(0)
    }
}

pub use selected::{BUILT_IN, active, select, take_reached};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mutant_has_a_unique_name_and_a_description() {
        let mut names: Vec<_> = Mutant::ALL.iter().map(|mutant| mutant.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Mutant::ALL.len());
        assert!(Mutant::ALL.iter().all(|mutant| mutant.description().ends_with('.')));
    }

    #[test]
    fn a_build_without_mutants_activates_none() {
        select(Some(Mutant::SkipIntent));
        assert_eq!(active(Mutant::SkipIntent), BUILT_IN);
        assert!(!active(Mutant::RetainDeletes));
        select(None);
        assert!(!active(Mutant::SkipIntent));
    }

    #[test]
    fn a_reached_location_is_reported_once() {
        let _ = take_reached();
        active(Mutant::RetainDeletes);
        let reached = take_reached();
        assert_eq!(reached.contains(Mutant::RetainDeletes), BUILT_IN);
        assert!(!reached.contains(Mutant::SkipIntent));
        assert_eq!(take_reached(), ReachedMutants::default());
    }
}
