//! The connections of the accounts that the resources of one kind use.

use std::{fmt::Debug, sync::Arc};

use kraken_runtime::{hash::HashMap, watch::ObjectKey};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::{
    account::{Connected, KEPT},
    dynamic::DynExternal,
    shared::{batch::Batchers, vanished::Vanished},
};

/// The connections of one kind, by key.
#[derive(Debug, Default)]
pub(crate) struct Connections(Mutex<HashMap<Arc<str>, Kept>>);

#[derive(Debug)]
struct Kept {
    link: Link,
    used: Instant,
}

/// What belongs to one connection.
#[derive(Clone)]
pub(crate) struct Link {
    pub(crate) external: Arc<dyn DynExternal>,
    pub(crate) batchers: Batchers,
    pub(crate) vanished: Arc<Vanished>,
}

impl Debug for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Link").finish_non_exhaustive()
    }
}

impl Connections {
    /// The link of this key. A new one takes the place of those that were not used for long.
    pub(crate) fn link(
        &self,
        connected: Connected<Arc<dyn DynExternal>>,
        vanished: impl FnOnce() -> Vanished,
    ) -> Link {
        let (now, mut links) = (Instant::now(), self.0.lock());
        if let Some(kept) = links.get_mut(&connected.key) {
            kept.used = now;
            return kept.link.clone();
        }
        links.retain(|_, kept| kept.used + KEPT > now);
        let Connected { external, key } = connected;
        let link = Link { batchers: Batchers::start(&external), vanished: Arc::new(vanished()), external };
        links.insert(key, Kept { link: link.clone(), used: now });
        link
    }

    /// Forgets a resource that is gone.
    pub(crate) fn forget(&self, key: &ObjectKey) {
        for kept in self.0.lock().values() {
            kept.link.vanished.forget(key);
        }
    }
}
