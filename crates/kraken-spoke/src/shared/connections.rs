//! The connections of the accounts that the resources of one kind use.

use std::{fmt::Debug, sync::Arc};

use kraken_kind::{
    account::{Connected, Recent},
    dynamic::Calls,
};
use kraken_runtime::watch::ObjectKey;

use crate::shared::{batch::Batchers, vanished::Vanished};

/// The connections of one kind, by key.
#[derive(Debug, Default)]
pub(crate) struct Connections(Recent<Link>);

/// What belongs to one connection.
#[derive(Clone)]
pub(crate) struct Link {
    pub(crate) external: Arc<dyn Calls>,
    pub(crate) batchers: Batchers,
    /// The remote objects that vanished recently.
    pub(crate) vanished: Arc<Vanished>,
}

impl Link {
    /// A connection with these calls.
    pub(crate) fn new(external: Arc<dyn Calls>, vanished: Arc<Vanished>) -> Self {
        Self { batchers: Batchers::start(&external), external, vanished }
    }
}

impl Debug for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Link").finish_non_exhaustive()
    }
}

impl Connections {
    /// The link of this key.
    pub(crate) fn link(&self, connected: Connected, vanished: impl FnOnce() -> Vanished) -> Link {
        let Connected { external, key } = connected;
        self.0.get_or_insert(&key, || Link::new(external, Arc::new(vanished())))
    }

    /// Drops the links that have not been used recently.
    pub(crate) fn expire(&self) {
        self.0.expire();
    }

    /// Forgets a deleted resource.
    pub(crate) fn forget(&self, key: &ObjectKey) {
        self.0.visit(|link| link.vanished.forget(key));
    }
}
