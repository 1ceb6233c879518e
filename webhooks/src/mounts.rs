//! The mounted validators, by the path of their hook.

use std::{collections::BTreeMap, fmt, sync::Arc};

use futures::future::BoxFuture;
use kraken_options::Problem;
use parking_lot::RwLock;
use serde_json::Value;

use crate::{Hook, Operation};

/// The object of a request: its new content, or its current content for a deletion.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The operation.
    pub operation: Operation,
    /// The API group.
    pub group: String,
    /// The kind.
    pub kind: String,
    /// The plural name.
    pub plural: String,
    /// The namespace.
    pub namespace: String,
    /// The name; empty if it will be generated from `generateName`.
    pub name: String,
    /// The whole object.
    pub object: Arc<Value>,
    /// The current object, if it is an update: only for what the author is told of the edit. A problem is one of the new object.
    pub before: Option<Arc<Value>>,
    /// Whether it is a dry run: nothing is stored.
    pub dry_run: bool,
}

/// The result of a review.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReviewResult {
    /// The problems for which it is rejected; empty if it is allowed.
    pub problems: Vec<Problem>,
    /// Warnings for the author.
    pub warnings: Vec<String>,
}

/// Reviews objects. It may read from the API server, and never writes.
pub trait Validator: Send + Sync + 'static {
    /// Reviews this object.
    fn review(&self, subject: Subject) -> BoxFuture<'_, ReviewResult>;
}

/// The validators of a process. Clones share the same state.
#[derive(Clone, Default)]
pub struct Mounts(Arc<RwLock<BTreeMap<String, Arc<dyn Validator>>>>);

impl Mounts {
    /// Mounts a validator for this hook.
    pub fn mount(&self, hook: &Hook, validator: impl Validator) {
        self.0.write().insert(hook.path(), Arc::new(validator));
    }

    /// The validator for this path.
    pub(crate) fn at(&self, path: &str) -> Option<Arc<dyn Validator>> {
        self.0.read().get(path).cloned()
    }
}

impl fmt::Debug for Mounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.read().keys()).finish()
    }
}
