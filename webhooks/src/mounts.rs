//! Who reviews what: validators by the path of their hook.

use std::{collections::BTreeMap, fmt, sync::Arc};

use futures::future::BoxFuture;
use kraken_options::Problem;
use parking_lot::RwLock;
use serde_json::Value;

use crate::{Hook, Operation};

/// One object as it shall be, or as it is if it is deleted.
#[derive(Clone, Debug)]
pub struct Subject {
    /// What is done with it.
    pub operation: Operation,
    /// Its API group.
    pub group: String,
    /// Its kind.
    pub kind: String,
    /// Its plural name.
    pub plural: String,
    /// Its namespace.
    pub namespace: String,
    /// Its name; empty if `generateName` is still to become one.
    pub name: String,
    /// The whole object.
    pub object: Arc<Value>,
}

/// What is said of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Why it is refused; none if it is not.
    pub problems: Vec<Problem>,
    /// What its author should know all the same.
    pub warnings: Vec<String>,
}

/// Reviews objects. It may read, and never writes.
pub trait Validator: Send + Sync + 'static {
    /// What is to be said of this object.
    fn review(&self, subject: Subject) -> BoxFuture<'_, Verdict>;
}

/// The validators of a process. A clone is another handle of the same.
#[derive(Clone, Default)]
pub struct Mounts(Arc<RwLock<BTreeMap<String, Arc<dyn Validator>>>>);

impl Mounts {
    /// From now on this validator answers for this hook.
    pub fn mount(&self, hook: &Hook, validator: impl Validator) {
        self.0.write().insert(hook.path(), Arc::new(validator));
    }

    /// Who answers at this path.
    pub(crate) fn at(&self, path: &str) -> Option<Arc<dyn Validator>> {
        self.0.read().get(path).cloned()
    }
}

impl fmt::Debug for Mounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.read().keys()).finish()
    }
}
