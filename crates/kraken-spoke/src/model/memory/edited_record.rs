//! The record of the last launch in a status that another client edited.

use kraken_api::ResourceStatus;

use crate::model::{
    intent::Intent,
    memory::{LaunchSearch, Memory},
    record_digest,
};

impl Memory {
    /// Checks whether what the status of the resource with this UID records is [intact](record_digest::is_intact), unless this process
    /// made the last launch: then it knows all ids. That of an adoption is not checked: its object was visible before.
    pub(crate) fn check_record(&mut self, uid: &str, status: Option<&ResourceStatus>) {
        let is_edited = status.is_some_and(|status| !record_digest::is_intact(uid, status));
        let launch = self.launch.intent.as_ref().filter(|intent| is_edited && !intent.adopts);
        let edited_record = launch.map(|intent| intent.epoch).filter(|epoch| !self.has_created(*epoch));
        if edited_record.is_some() && self.launch.edited_record.is_none() {
            // What earlier searches showed was on record, and may not be any more.
            self.launch.search = LaunchSearch::Open;
        }
        self.launch.edited_record = edited_record;
    }

    /// The epoch of the launch of the intent if its record was edited.
    pub(crate) fn edited_launch(&self, intent: Option<&Intent>) -> Option<i64> {
        self.launch
            .edited_record
            .filter(|edited_record| intent.is_some_and(|intent| intent.epoch == *edited_record))
    }

    /// Whether nothing was created under the epoch of the intent, see `Memory::launch.refused`. That says nothing about the objects of an
    /// edited record.
    pub(crate) fn is_refused(&self, intent: &Intent) -> bool {
        self.launch.refused == Some(intent.epoch) && self.launch.edited_record.is_none()
    }

    /// Whether this process knows the objects of this launch, or of a later one, and all that existed then.
    fn has_created(&self, epoch: i64) -> bool {
        self.owned.created.as_ref().is_some_and(|(created, _)| *created >= epoch)
    }
}
