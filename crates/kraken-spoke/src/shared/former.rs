//! What former resources of a kind left in the cloud, for resources that return under another UID. Client required only to list it.

use std::{sync::Arc, time::Duration};

use kraken_kind::{Failure, Identity, dynamic::Observed};
use kraken_runtime::{
    hash::{HashMap, HashSet},
    shared_reads::SharedReads,
    watch::ObjectKey,
};
use parking_lot::Mutex;
use tokio::time::Instant;

/// The objects of this cluster, by owner.
type Owned = Arc<Vec<(Identity, Observed)>>;

/// How long resources share a list: a restored backup brings all of them back at once.
const SHARED: Duration = Duration::from_secs(10);

/// The objects of former resources of one kind.
#[derive(Debug)]
pub(crate) struct Former {
    lists: SharedReads<(u64, Owned)>,
    /// The owners, as in the tags, of objects whose UID no resource has, according to the last sweep and the lists since.
    orphans: Mutex<HashSet<String>>,
    /// The accounts whose objects were listed, with the number of [losses](super::memories::Memories::losses) before the list.
    listed: Mutex<HashMap<ObjectKey, u64>>,
    /// The UIDs of resources whose deletion this process completed, each until when what they deleted or released may still be listed
    /// with their tags.
    ended: Mutex<HashMap<String, Instant>>,
}

impl Default for Former {
    fn default() -> Self {
        Self {
            lists: SharedReads::new(SHARED),
            orphans: Mutex::default(),
            listed: Mutex::default(),
            ended: Mutex::default(),
        }
    }
}

impl Former {
    /// The objects that the connection of this account can list. A list is shared for a moment, but not one from before a loss: it
    /// may lack what was launched since.
    pub(crate) async fn list(
        &self,
        account: &ObjectKey,
        losses: u64,
        list: impl Future<Output = Result<Owned, Failure>>,
    ) -> Result<Owned, Failure> {
        let list = async { list.await.map(|owned| (losses, owned)) };
        let shared = self.lists.get(account, |(before, _)| *before == losses, |_| true, list).await;
        shared.map(|(_, owned)| owned)
    }

    /// Whether the objects of this account were listed since the last of so many losses: then every owner that does not exist is
    /// [known](Self::is_orphan).
    pub(crate) fn is_listed(&self, account: &ObjectKey, losses: u64) -> bool {
        self.listed.lock().get(account) == Some(&losses)
    }

    /// Records a list that began after so many losses, and the owners in it that do not exist.
    pub(crate) fn set_listed(
        &self,
        account: ObjectKey,
        losses: u64,
        orphans: impl IntoIterator<Item = String>,
    ) {
        self.orphans.lock().extend(orphans);
        self.listed.lock().insert(account, losses);
    }

    /// Whether objects of this owner are known whose UID does not exist.
    pub(crate) fn is_orphan(&self, owner: &str) -> bool {
        self.orphans.lock().contains(owner)
    }

    /// Records that the deletion of this resource is complete: for the visibility `window`, what is listed of it is outdated.
    pub(crate) fn set_ended(&self, uid: &str, window: Duration) {
        let (mut ended, now) = (self.ended.lock(), Instant::now());
        ended.retain(|_, until| *until > now);
        ended.insert(uid.to_owned(), now + window);
    }

    /// Whether the deletion of this resource was completed less than the visibility window ago.
    pub(crate) fn has_ended(&self, uid: &str) -> bool {
        self.ended.lock().get(uid).is_some_and(|until| *until > Instant::now())
    }

    /// Records the owners of all orphans that a sweep found.
    pub(crate) fn set_orphans(&self, owners: HashSet<String>) {
        *self.orphans.lock() = owners;
    }
}
