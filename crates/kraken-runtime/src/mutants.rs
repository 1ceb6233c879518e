//! Seeded bugs, by which the deterministic simulation proves that it would find real ones. No release has them: without
//! `KRAKEN_MUTANTS` in the environment of the compiler, [`active`] is a constant `false` and every hook is compiled away.
//!
//! A hook is one line of product code, in the place of the fix that it undoes.

macro_rules! mutants {
    ($($(#[doc = $doc:literal])+ $name:ident,)+) => {
        /// One seeded bug. Its documentation says what the controllers do wrong while it is active.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Mutant {
            $($(#[doc = $doc])+ $name,)+
        }

        impl Mutant {
            /// Every mutant.
            pub const ALL: &[Self] = &[$(Self::$name,)+];

            /// Its name, as the command line takes it.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)+
                }
            }

            /// What the controllers do wrong.
            pub fn description(self) -> &'static str {
                match self {
                    $(Self::$name => concat!($($doc,)+).trim_ascii(),)+
                }
            }
        }
    };
}

mutants! {
    /// A launch is made without an intent and a finalizer on record.
    SkipIntent,
    /// What was just launched counts as lost at once, without the visibility window.
    IgnoreWindow,
    /// A read gives each resource what belongs to others too.
    DropTagFilter,
    /// The record of what was adopted is lost.
    ForgetAdoption,
    /// An edit is filed in the lane of resyncs.
    WrongLane,
    /// What asks for a run while its key runs is forgotten.
    LostWakeUp,
    /// The intent is written without a resourceVersion precondition.
    NoResourceVersion,
    /// The finalizer goes when the deletion was asked for, not when it is done.
    EarlyFinalizer,
    /// The answer of the hub to an earlier generation of the request is used.
    StaleAnswer,
    /// Every launch of a resource uses the same client token.
    TokenReused,
    /// A list that ends a watch's outage does not tell what was deleted meanwhile.
    ListKeepsDeleted,
    /// A watch that the API server ends with 410 is not opened again.
    GoneIgnored,
    /// The controller's own copy of an object wins over a newer one of the watch.
    StaleCopy,
    /// A replica acts without holding the lease.
    LeaseNotChecked,
    /// Deletion does not wait for those that refer to the resource.
    DeletionIgnoresReferences,
    /// `protect` does not hold against replacement.
    ReplaceIgnoresProtect,
    /// `deletion: Retain` deletes.
    RetainDeletes,
    /// Messages of providers are published as they are, Secret values included.
    SecretInError,
    /// The published state has Secret values.
    SecretInState,
    /// `drift: Report` reverts.
    ReportReverts,
    /// A plan in the status is believed without its hash being computed from its content.
    PlanHashBelieved,
    /// One approval is good for every later plan.
    ApprovalForAll,
    /// Every launch of a replacement moves the boundary between old and new, and nobody counts.
    BoundaryMoves,
    /// What is missing is not searched for by tag before it is created again.
    NoSearchByTag,
    /// A StateDeclaration that somebody edited is believed.
    EditedStateBelieved,
    /// A controller that works in another region or account does not notice.
    LocationIgnored,
    /// A DependencyRequest has no finalizer: the order of deletion is lost with it.
    RequestNotHeld,
    /// A finalizer and an intent that somebody removed are not put back.
    NotRestored,
    /// If one object of a resource was adopted, all count as adopted.
    AdoptedAsWhole,
    /// An export deletes whatever has its owner reference.
    StrayByOwner,
    /// Whether drift is an edit is read from the Ready condition.
    DriftFromCondition,
    /// Objects without owner tags are not the resource's any more.
    UntaggedIsGone,
    /// A launch counts as visible when one of its objects is.
    PartlyVisible,
    /// Drift alone replaces.
    DriftReplaces,
    /// The provider's deletion protection is never turned off.
    ProtectionStays,
    /// What the provider refuses for now is tried again every second, for ever.
    NoGrowingDelay,
    /// Re-creation goes on however much vanished at once.
    VanishedIgnored,
    /// What one answer does not show is taken for gone at once.
    VanishedBelieved,
    /// Two resources may adopt one object.
    ClaimIgnored,
    /// A paused resource is changed.
    PausedIgnored,
    /// Deletion takes an empty answer for gone, however young the launch is.
    EmptyAnswerBelieved,
    /// A resource is taken for new although the controller was restarted: a wiped record is not noticed.
    NewWhateverAge,
    /// Keys that were removed from an export stay in its target.
    ExportKeepsKeys,
    /// The hub does not look again when an object that is named changes.
    HubMissesChanges,
    /// `protect` does not hold against deletion.
    DeletionIgnoresProtect,
    /// A creating call that had no answer counts as refused.
    LostAnswerIsRefusal,
}

/// The mutants whose place in the code was reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked(u64);

const _: () = assert!(Mutant::ALL.len() <= 64, "a mutant is one bit of a number");

impl Asked {
    /// Whether the place of this one was reached: if not, a run with it is the same as one without.
    pub fn contains(self, mutant: Mutant) -> bool {
        self.0 & (1 << mutant as u64) != 0
    }
}

#[cfg(kraken_mutants)]
mod selected {
    use std::cell::Cell;

    use super::{Asked, Mutant};

    thread_local! {
        static SELECTED: Cell<Option<Mutant>> = const { Cell::new(None) };
        static ASKED: Cell<u64> = const { Cell::new(0) };
    }

    /// Whether this build has mutants at all.
    pub const BUILT_IN: bool = true;

    /// Whether this bug is active on this thread.
    #[inline]
    pub fn active(mutant: Mutant) -> bool {
        ASKED.set(ASKED.get() | 1 << mutant as u64);
        SELECTED.get() == Some(mutant)
    }

    /// Activates one bug on this thread, or none.
    pub fn select(mutant: Option<Mutant>) {
        SELECTED.set(mutant);
    }

    /// Which places were reached on this thread since the last time.
    pub fn take_asked() -> Asked {
        Asked(ASKED.take())
    }
}

#[cfg(not(kraken_mutants))]
mod selected {
    use super::{Asked, Mutant};

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
    pub const fn take_asked() -> Asked {
        Asked(0)
    }
}

pub use selected::{BUILT_IN, active, select, take_asked};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mutant_has_a_name_of_its_own_and_a_description() {
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
    fn a_place_that_was_reached_is_known_once() {
        let _ = take_asked();
        active(Mutant::RetainDeletes);
        let asked = take_asked();
        assert_eq!(asked.contains(Mutant::RetainDeletes), BUILT_IN);
        assert!(!asked.contains(Mutant::SkipIntent));
        assert_eq!(take_asked(), Asked::default());
    }
}
