//! What searches by tag showed of a launch whose result is not on record. Its ids are not known, so no observation by id can show
//! that its objects still exist.

use crate::model::{
    intent::Clock,
    memory::{Absence, Memory},
};

/// What the searches of this process showed of the launch of an epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum LaunchSearch {
    /// No search was made, or not recently.
    #[default]
    Open,
    /// All its objects were returned: from then on they are known by id.
    Shown(i64),
    /// No response contained all of them.
    Missing(i64, Absence),
}

impl<K> Memory<K> {
    /// Tracks whether searches return all objects of the `unknown` launch, and returns whether it may have objects that the last
    /// one did not return, however old it is: the response may come from a replica that lags. `is_complete` and `clock` are
    /// those of the last observation.
    pub(crate) fn is_launch_hidden(&mut self, unknown: Option<i64>, is_complete: bool, clock: Clock) -> bool {
        let Some(launched) = unknown else { return false };
        let absence = match self.launch_search {
            LaunchSearch::Shown(shown) if shown == launched => return false,
            _ if is_complete => {
                self.launch_search = LaunchSearch::Shown(launched);
                return false;
            }
            LaunchSearch::Missing(missing, mut absence) if missing == launched => {
                absence.extend(clock);
                absence
            }
            _ => Absence::begin(),
        };
        self.launch_search = LaunchSearch::Missing(launched, absence);
        absence.is_unconfirmed()
    }

    /// Records that no further search is made before an event or a resync: a later one does not confirm the earlier ones.
    pub(crate) fn end_search(&mut self) {
        if matches!(self.launch_search, LaunchSearch::Missing(..)) {
            self.launch_search = LaunchSearch::Open;
        }
    }
}
