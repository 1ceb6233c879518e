//! What former resources of a kind left in the cloud, for resources that return under another UID. Client required only to list it.

use std::{sync::Arc, time::Duration};

use kraken_runtime::{hash::HashSet, shared_reads::SharedReads, watch::ObjectKey};
use parking_lot::Mutex;

use crate::{Failure, Identity, dynamic::Observed};

/// The objects of this cluster, by owner.
type Owned = Arc<Vec<(Identity, Observed)>>;

/// How long resources share a list: a restored backup brings all of them back at once.
const SHARED: Duration = Duration::from_secs(10);

/// The objects of former resources of one kind.
#[derive(Debug)]
pub(crate) struct Former {
    lists: SharedReads<Owned>,
    /// The owners, as in the tags, of the orphans that the last sweep found.
    orphans: Mutex<HashSet<String>>,
}

impl Default for Former {
    fn default() -> Self {
        Self { lists: SharedReads::new(SHARED), orphans: Mutex::default() }
    }
}

impl Former {
    /// The objects that the connection of this account can list.
    pub(crate) async fn list(
        &self,
        account: &ObjectKey,
        list: impl Future<Output = Result<Owned, Failure>>,
    ) -> Result<Owned, Failure> {
        self.lists.get(account, |_| true, |_| true, list).await
    }

    /// Whether the last sweep found objects of this owner whose UID does not exist.
    pub(crate) fn is_orphan(&self, owner: &str) -> bool {
        self.orphans.lock().contains(owner)
    }

    /// Records the owners of all orphans.
    pub(crate) fn set_orphans(&self, owners: HashSet<String>) {
        *self.orphans.lock() = owners;
    }
}
