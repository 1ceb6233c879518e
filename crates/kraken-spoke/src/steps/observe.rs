//! Step 3: what the cloud has, through the batched reader. Client required, but not always used.

use kraken_api::ResourceStatus;
use kraken_runtime::queue::Lane;
use kube::core::object::HasStatus;

use crate::{External, Failure, Identity, Look, context::Context, intent::Intent, memory::Memory};

/// What is known of a resource's things before the cloud is asked.
#[derive(Debug)]
pub(crate) struct Known {
    pub ids: Vec<String>,
    /// The highest epoch that is known to have taken effect.
    pub epoch: i64,
    /// A launch may have been made whose result nobody recorded.
    pub outstanding: bool,
}

impl Known {
    pub(crate) fn of<K: HasStatus<Status = ResourceStatus>>(
        object: &K,
        memory: &Memory<K>,
        intent: Option<&Intent>,
    ) -> Self {
        let status = object.status();
        let mut ids = status.map(|s| s.external_ids.clone()).unwrap_or_default();
        let mut epoch = status.and_then(|s| s.epoch).unwrap_or_default();
        if let Some((created, new)) = &memory.created {
            epoch = epoch.max(*created);
            ids = union(ids, new);
        }
        let outstanding =
            intent.is_some_and(|intent| intent.epoch > epoch && memory.refused != Some(intent.epoch));
        Self { ids, epoch, outstanding }
    }

    /// Whether the cloud can have anything at all: not before the first intent was persisted.
    pub(crate) fn may_exist(&self, has_finalizer: bool) -> bool {
        has_finalizer || self.outstanding || !self.ids.is_empty()
    }
}

/// Looks. A resource that was never launched costs no call.
pub(crate) async fn observe<E: External>(
    context: &Context<E>,
    lane: Lane,
    identity: &Identity,
    known: &Known,
    has_finalizer: bool,
    search: bool,
    deep: bool,
) -> Result<E::Observed, Failure> {
    if !known.may_exist(has_finalizer) {
        return Ok(E::Observed::default());
    }
    let look = Look {
        identity: identity.clone(),
        ids: known.ids.clone(),
        // Ids are lost with a status; tags are not.
        search: search || known.outstanding || known.ids.is_empty(),
        deep,
    };
    context.batchers.of(lane).observe(look).await
}

/// The first ids, and those of the others that are not among them.
pub(crate) fn union(mut ids: Vec<String>, others: &[String]) -> Vec<String> {
    for id in others {
        if !ids.contains(id) {
            ids.push(id.clone());
        }
    }
    ids
}
