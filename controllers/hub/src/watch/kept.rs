//! The Secrets of accounts that an event concerns. Pure.

use kraken_api::{DependencyRequest, KEPT_SECRET_FINALIZER};
use kraken_runtime::watch::{Change, ObjectKey};
use kube::{Resource, api::ObjectMeta};

/// Whether the finalizer is on a Secret.
pub(crate) fn is_kept(meta: &ObjectMeta) -> bool {
    meta.finalizers.iter().flatten().any(|finalizer| finalizer == KEPT_SECRET_FINALIZER)
}

/// The Secrets that a changed request keeps or kept.
pub(crate) fn named(change: &Change<DependencyRequest>) -> Vec<ObjectKey> {
    let (now, before) = match change {
        Change::Applied(now, before) => (Some(now), before.as_ref()),
        Change::Listed(request) | Change::Deleted(request) => (Some(request), None),
        Change::Invalid(..) => (None, None),
    };
    let requests = now.into_iter().chain(before).filter(|request| request.spec.keep_secrets);
    let keys = requests.flat_map(|request| {
        let namespace = request.meta().namespace.as_deref().unwrap_or_default();
        request.spec.secret_dependencies.iter().map(move |key| ObjectKey::new(namespace, &key.name))
    });
    keys.collect()
}
