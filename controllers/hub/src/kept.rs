//! The Secrets of accounts in use: a finalizer keeps them until the last resource that needs their credentials is gone.
//!
//! A spoke states in a DependencyRequest with `keepSecrets` which Secrets it needs, because a spoke cannot write Secrets. Each Secret
//! is reconciled with the requests that name it, and with nothing else: any of the controllers can be restarted meanwhile.

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kraken_api::{DependencyRequest, KEPT_SECRET_FINALIZER};
use kraken_runtime::{
    clock,
    patch::{set_finalizer, try_namespace},
    queue::Requeue,
    watch::ObjectKey,
};
use kube::{Api, Resource, api::ObjectMeta};
use tracing::{info, warn};

use crate::{
    store::index::{Class, Dependent, ObjectRef},
    watch::cluster_state::ClusterState,
    watch::kept::is_kept,
};

/// The kind, for logs and metrics.
pub(crate) const KIND: &str = "Secret";

/// How long a Secret is kept whose deletion was requested while neither its account nor its namespace is being deleted: the
/// deletion of the account may follow, as if a folder is deleted. After that, a person replaces the Secret.
const GRACE: Duration = Duration::from_secs(30);

/// The name of a ConfigMap that is never stored.
const PROBE: &str = "kraken-probe";

/// What a Secret needs.
#[derive(Debug, PartialEq, Eq)]
enum Due {
    Nothing,
    Keep,
    Release,
    /// Look again after this delay.
    Wait(Duration),
}

/// What this Secret needs, `requests` being those that keep it.
fn due(meta: &ObjectMeta, requests: &[Arc<DependencyRequest>], now: Timestamp) -> Due {
    let is_needed = !requests.is_empty();
    match (is_kept(meta), &meta.deletion_timestamp) {
        (false, None) if is_needed => Due::Keep,
        (true, _) if !is_needed => Due::Release,
        (true, Some(since)) => {
            let is_ending = |request: &Arc<DependencyRequest>| request.meta().deletion_timestamp.is_some();
            let age = Duration::try_from(now.duration_since(since.0)).unwrap_or_default();
            match GRACE.checked_sub(age) {
                _ if requests.iter().any(is_ending) => Due::Nothing,
                Some(left) if !left.is_zero() => Due::Wait(left),
                _ => Due::Release,
            }
        }
        _ => Due::Nothing,
    }
}

/// Adds the finalizer to a Secret, or removes it.
pub(crate) async fn reconcile(cluster: Arc<ClusterState>, key: ObjectKey) -> Requeue {
    let named = ObjectRef { class: Class::Secret, key: key.clone() };
    let Some(meta) = cluster.meta(&named, ObjectMeta::clone) else { return Requeue::Never };
    let dependents = cluster.router.index.read().dependents(&named);
    let requests = dependents.iter().filter_map(|dependent| match dependent {
        Dependent::Request(key) => cluster.requests.get(key).filter(|request| request.spec.keep_secrets),
        Dependent::Export(_) => None,
    });
    let requests: Vec<_> = requests.collect();
    let (namespace, name) = (&*key.namespace, &*key.name);
    let is_present = match due(&meta, &requests, clock::now()) {
        Due::Nothing => return Requeue::Never,
        Due::Wait(left) => return Requeue::After(left),
        Due::Keep => true,
        // Of a large namespace, the accounts may be deleted minutes after their Secrets.
        Due::Release if !requests.is_empty() && is_ending(&cluster, namespace).await => {
            return Requeue::After(GRACE);
        }
        Due::Release => false,
    };
    let api: Api<Secret> = Api::namespaced(cluster.manager.client.clone(), namespace);
    match set_finalizer(&api, cluster.manager.name, &meta, KEPT_SECRET_FINALIZER, is_present).await {
        Ok(_) => {
            let what = if is_present { "keeping" } else { "released" };
            info!(namespace, name, "{what} the Secret of an account");
            Requeue::Never
        }
        Err(error) if error.is_not_found() => Requeue::Never,
        // The watch returns the version that this one conflicts with.
        Err(error) if error.is_conflict() => Requeue::Backoff,
        Err(error) => {
            warn!(namespace, name, %error, "failed to change the finalizer of the Secret of an account");
            Requeue::Backoff
        }
    }
}

/// Whether the namespace is being deleted.
async fn is_ending(cluster: &ClusterState, namespace: &str) -> bool {
    let api: Api<ConfigMap> = Api::namespaced(cluster.manager.client.clone(), namespace);
    let probe = ConfigMap {
        metadata: ObjectMeta { name: Some(PROBE.to_owned()), ..ObjectMeta::default() },
        ..ConfigMap::default()
    };
    try_namespace(&api, "create a ConfigMap", &probe).await.is_err()
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
    use kraken_api::DependencyRequestSpec;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn secret(is_kept: bool, deleted: Option<i64>) -> ObjectMeta {
        ObjectMeta {
            finalizers: is_kept.then(|| vec![KEPT_SECRET_FINALIZER.to_owned()]),
            deletion_timestamp: deleted.map(|second| Time(at(second))),
            ..ObjectMeta::default()
        }
    }

    fn request(is_ending: bool) -> Vec<Arc<DependencyRequest>> {
        let mut request = DependencyRequest::new("a", DependencyRequestSpec::default());
        request.metadata.deletion_timestamp = is_ending.then(|| Time(at(100)));
        vec![Arc::new(request)]
    }

    #[test]
    fn a_secret_is_kept_while_an_account_in_use_names_it() {
        assert_eq!(due(&secret(false, None), &request(false), at(100)), Due::Keep);
        assert_eq!(due(&secret(true, None), &request(false), at(100)), Due::Nothing);
        assert_eq!(due(&secret(true, None), &[], at(100)), Due::Release);
        assert_eq!(due(&secret(true, Some(90)), &[], at(100)), Due::Release);
        assert_eq!(due(&secret(false, None), &[], at(100)), Due::Nothing);
    }

    #[test]
    fn a_deleted_secret_is_kept_to_the_end_if_its_account_is_deleted_too() {
        assert_eq!(due(&secret(true, Some(0)), &request(true), at(100)), Due::Nothing);
    }

    #[test]
    fn a_secret_that_is_deleted_alone_is_released_after_a_grace_period() {
        let kept = secret(true, Some(90));
        assert_eq!(due(&kept, &request(false), at(100)), Due::Wait(Duration::from_secs(20)));
        assert_eq!(due(&kept, &request(false), at(120)), Due::Release);
        assert_eq!(
            due(&secret(false, Some(95)), &request(false), at(105)),
            Due::Nothing,
            "no finalizer can be added"
        );
    }
}
