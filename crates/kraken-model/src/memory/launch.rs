//! What searches by tag showed of a launch whose result is not on record. Its ids are not known, so no observation by id can show
//! that its objects still exist.

use crate::{
    ledger::Clock,
    memory::{Absence, Memory},
};

/// What the searches of this process showed of the launch of an epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LaunchSearch {
    /// No search was made, or not recently.
    #[default]
    Open,
    /// No response contained all of its objects, and it is not confirmed that the others do not exist.
    Missing(i64, Absence),
    /// All its objects that exist are known by id.
    Settled(i64),
}

impl Memory {
    /// Tracks whether searches return all objects of the `unknown` launch, and returns whether it may have objects that the last
    /// one did not return, however old it is: the response may come from a replica that lags. `is_complete` and `clock` are
    /// those of the last observation.
    pub fn is_launch_hidden(&mut self, unknown: Option<i64>, is_complete: bool, clock: Clock) -> bool {
        let Some(launched) = unknown else { return false };
        let absence = match self.launch.search {
            LaunchSearch::Settled(settled) if settled == launched => return false,
            LaunchSearch::Missing(missing, mut absence) if missing == launched => {
                absence.extend(clock);
                absence
            }
            _ => Absence::begin(),
        };
        let is_hidden = !is_complete && absence.is_unconfirmed();
        self.launch.search = if is_hidden {
            LaunchSearch::Missing(launched, absence)
        } else {
            LaunchSearch::Settled(launched)
        };
        is_hidden
    }

    /// Whether searches have not shown yet which objects of the `unknown` launch exist: then an observation by id can miss some.
    pub fn needs_launch_search(&self, unknown: Option<i64>) -> bool {
        unknown.is_some_and(|launched| self.launch.search != LaunchSearch::Settled(launched))
    }

    /// Records that no further search is made now: a later one does not confirm the earlier ones.
    pub fn end_search(&mut self) {
        if matches!(self.launch.search, LaunchSearch::Missing(..)) {
            self.launch.search = LaunchSearch::Open;
        }
    }
}
