//! What searches by tag showed of a launch whose result is not on record. Its ids are not known, so no observation by id can show
//! that its objects still exist.

use kraken_runtime::mutants::{self, Mutant};
use tokio::time::Instant;

use crate::model::{
    intent::{Clock, Intent},
    memory::{CONFIRMED_AFTER, Memory},
};

/// What the searches of this process showed of the launch of an epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum LaunchSearch {
    /// No search was made, or not recently.
    #[default]
    Open,
    /// All its objects were returned: from then on they are known by id.
    Shown(i64),
    /// No response since this time contained all of them.
    Missing(i64, Instant),
}

impl<K> Memory<K> {
    /// Tracks whether searches return all objects of the last launch, `epoch` being the highest recorded one, and returns whether
    /// the launch may have objects that the last one did not return, however old the launch is: a single response may come from a
    /// replica that lags, so they must be missing for [`CONFIRMED_AFTER`]. `is_complete` and `clock` are those of the last
    /// observation.
    pub(crate) fn is_launch_hidden(
        &mut self,
        intent: Option<&Intent>,
        epoch: i64,
        is_complete: bool,
        clock: Clock,
    ) -> bool {
        let is_unknown = |intent: &&Intent| intent.epoch > epoch && self.refused != Some(intent.epoch);
        let Some(launched) = intent.filter(is_unknown).map(|intent| intent.epoch) else { return false };
        match self.launch_search {
            LaunchSearch::Shown(shown) if shown == launched => return false,
            LaunchSearch::Missing(missing, since) if missing == launched && !is_complete => {
                return clock.instant.saturating_duration_since(since) < CONFIRMED_AFTER
                    && !mutants::active(Mutant::VanishedBelieved);
            }
            _ if is_complete => self.launch_search = LaunchSearch::Shown(launched),
            _ => self.launch_search = LaunchSearch::Missing(launched, Instant::now()),
        }
        !is_complete && !mutants::active(Mutant::VanishedBelieved)
    }

    /// Records that no further search is made before an event or a resync: a later one does not confirm the earlier ones.
    pub(crate) fn end_search(&mut self) {
        if matches!(self.launch_search, LaunchSearch::Missing(..)) {
            self.launch_search = LaunchSearch::Open;
        }
    }
}
