//! The copies of the resource that this controller wrote, of which the watch may not know yet.

use std::sync::Arc;

use kraken_kind::dynamic::Object;
use kraken_runtime::watch;
use kube::Resource;

/// The copies of the resource.
#[derive(Debug, Default)]
pub struct Copies {
    /// The object from the API server's response to the last write of this controller; the watch may not have caught up
    /// with it.
    pub latest: Option<Arc<Object>>,
    /// The version of the object that the watch returned last.
    pub watched: Option<u128>,
    /// The version of the object that the last status write was based on. The write may have taken effect without a response, so
    /// that a copy of this version does not show the stored status.
    pub reported_on: Option<u128>,
}

impl Copies {
    /// Drops this controller's copy when the watch has caught up with it, to save memory.
    pub fn drop_watched_copy(&mut self, watched: &Arc<Object>) {
        let shown = version(&**watched);
        if shown < self.watched {
            // A backup was restored: what was written after the backup does not exist any more.
            self.latest = None;
        }
        self.watched = shown;
        self.drop_copy_until(shown);
    }

    /// Drops this controller's copy if the watch returned this version, or a newer one.
    pub fn drop_copy_until(&mut self, shown: Option<u128>) {
        if self.latest.as_ref().is_some_and(|written| version(&**written) <= shown) {
            self.latest = None;
        }
    }

    /// Records that a status write is based on this copy.
    pub fn reporting(&mut self, copy: &Object) {
        self.reported_on = version(copy);
    }

    /// Records the response to it. A write that changes nothing leaves the version as it was.
    pub fn reported(&mut self, written: &Object) {
        if version(written) <= self.reported_on {
            self.reported_on = None;
        }
    }

    /// Whether a status write since this copy may have taken effect.
    pub fn is_outdated(&self, copy: &Object) -> bool {
        self.reported_on.is_some_and(|on| version(copy) <= Some(on))
    }

    /// The latest known copy of an object: from the watch, or from the response to a later write of this controller.
    pub fn newest(&self, watched: Arc<Object>) -> Arc<Object> {
        match &self.latest {
            Some(written)
                if written.meta().uid == watched.meta().uid && version(&**written) > version(&*watched) =>
            {
                written.clone()
            }
            _ => watched,
        }
    }
}

pub(super) fn version(object: &impl Resource) -> Option<u128> {
    watch::version(object.meta())
}
