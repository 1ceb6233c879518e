//! Seeded bugs, with which the deterministic simulation shows that it would find real ones.
//!
//! A seeded bug is a patch in the folder `patches`, and the controllers know nothing of it. `cargo xtask simulate --mutants` copies the
//! source, applies all patches one after the other in the order of [`Mutant::ALL`], and builds the copy: each patch adds a condition,
//! [`Mutant::is_active`], and the simulation [selects](select) one bug at a time. So all of them take one build.

use std::cell::Cell;

macro_rules! mutants {
    ($($name:ident,)+) => {
        /// A seeded bug.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Mutant {
            $(#[doc = concat!("See `patches/", stringify!($name), ".patch`.")] $name,)+
        }

        impl Mutant {
            /// Every mutant, in the order in which the patches are applied.
            pub const ALL: &[Self] = &[$(Self::$name,)+];

            /// The name on the command line, and of the file.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)+
                }
            }

            /// The patch, after a sentence that says what the controllers do wrong.
            pub fn patch(self) -> &'static str {
                match self {
                    $(Self::$name => include_str!(concat!("../patches/", stringify!($name), ".patch")),)+
                }
            }
        }
    };
}

mutants! {
    SkipLedger,
    IgnoreWindow,
    DropTagFilter,
    ForgetAdoption,
    WrongLane,
    LostWakeUp,
    NoResourceVersion,
    EarlyFinalizer,
    StaleAnswer,
    TokenReused,
    ListKeepsDeleted,
    GoneIgnored,
    StaleCopy,
    LeaseNotChecked,
    DeletionIgnoresReferences,
    ReplaceIgnoresProtect,
    RetainDeletes,
    SecretInError,
    SecretInState,
    ReportReverts,
    PlanHashBelieved,
    ApprovalForAll,
    BoundaryMoves,
    NoSearchByTag,
    EditedStateBelieved,
    LocationIgnored,
    RequestNotHeld,
    NotRestored,
    NothingTakenOver,
    FormerReferencesForgotten,
    TakenBackIsKept,
    AccountNotKept,
    EditedLedgerTrusted,
    AdoptedAsWhole,
    StrayByOwner,
    DriftFromCondition,
    UntaggedIsGone,
    PartlyVisible,
    DriftReplaces,
    ProtectionStays,
    NoGrowingDelay,
    VanishedIgnored,
    VanishedBelieved,
    ClaimIgnored,
    PausedIgnored,
    EmptyAnswerBelieved,
    NewWhateverAge,
    ExportKeepsKeys,
    HubMissesChanges,
    DeletionIgnoresProtect,
    LostAnswerIsRefusal,
    UnreadableIsRefusal,
    JournalNotHeld,
    JournalUnversioned,
    RejectionBelieved,
    NoHandOver,
    PublishedIsDeleted,
}

/// The patch that comes before all: the controllers get this crate, and [`BUILT_IN`] is true.
pub const BASE: &str = include_str!("../patches/base.patch");

/// Whether this is the copy of the source with the patches.
pub const BUILT_IN: bool = false;

impl Mutant {
    /// The misbehavior of the controllers.
    pub fn description(self) -> &'static str {
        self.patch().split("--- ").next().unwrap_or_default().trim()
    }

    /// Whether this bug is active on this thread. Only patched code asks.
    #[inline]
    pub fn is_active(self) -> bool {
        REACHED.set(REACHED.get() | 1 << self as u64);
        SELECTED.get() == Some(self)
    }
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

thread_local! {
    static SELECTED: Cell<Option<Mutant>> = const { Cell::new(None) };
    static REACHED: Cell<u64> = const { Cell::new(0) };
}

/// Activates one bug on this thread, or none.
pub fn select(mutant: Option<Mutant>) {
    SELECTED.set(mutant);
}

/// The locations that were reached on this thread since the last call.
pub fn take_reached() -> ReachedMutants {
    ReachedMutants(REACHED.take())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn every_patch_is_a_mutant_with_a_description() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("patches");
        let files =
            fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
        let names = Mutant::ALL.iter().map(|mutant| mutant.name()).chain(["base"]);
        assert_eq!(files.collect::<BTreeSet<_>>(), names.map(|name| format!("{name}.patch")).collect());
        for mutant in Mutant::ALL {
            assert!(mutant.description().ends_with('.'), "{mutant:?}");
            assert!(
                mutant.patch().contains(&format!("mutants::Mutant::{mutant:?}.is_active()")),
                "{mutant:?}"
            );
        }
    }

    #[test]
    fn one_mutant_is_active_on_its_thread() {
        select(Some(Mutant::SkipLedger));
        assert!(Mutant::SkipLedger.is_active());
        assert!(!Mutant::RetainDeletes.is_active());
        select(None);
        assert!(!Mutant::SkipLedger.is_active());
    }

    #[test]
    fn a_reached_location_is_reported_once() {
        let _ = take_reached();
        Mutant::RetainDeletes.is_active();
        let reached = take_reached();
        assert!(reached.contains(Mutant::RetainDeletes));
        assert!(!reached.contains(Mutant::SkipLedger));
        assert_eq!(take_reached(), ReachedMutants::default());
    }
}
