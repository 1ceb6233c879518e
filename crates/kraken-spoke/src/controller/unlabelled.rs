//! The DependencyRequests whose label a client removed while no process was watching: no watch returns them, although only
//! their spoke removes their finalizer. Client required.
//!
//! A process that runs sees such a request leave its watch. Before that it cannot, so it lists them once when it starts: one
//! call, whose response is empty unless a client removed a label.

use std::time::Duration;

use kraken_api::{
    OWNER_KIND_LABEL,
    names::{owned_name, owner_name},
};
use kraken_runtime::{
    list::each_metadata,
    manager::Manager,
    patch::ApiError,
    queue::{Lane, Queue},
    watch::ObjectKey,
};
use kube::api::{ListParams, ObjectMeta};
use tracing::warn;

use crate::{actions::references::apis, context::Shared, shared::unselected::Unselected};

/// The delay after the first failure; it doubles with each further failure.
const RETRY_FIRST: Duration = Duration::from_secs(1);
/// The maximum delay between two attempts.
const RETRY_MAX: Duration = Duration::from_secs(30);

/// The kinds of the process, whose requests are searched.
#[derive(Debug, Default)]
pub(crate) struct Unlabelled(Vec<OfKind>);

/// What the controller of one kind records and enqueues.
#[derive(Debug)]
struct OfKind {
    kind: String,
    queue: Queue<ObjectKey>,
    unselected: Unselected,
}

impl Unlabelled {
    /// Adds a kind.
    pub(crate) fn add(&mut self, shared: &Shared) {
        let (queue, unselected) = (shared.queue.clone(), shared.unselected.clone());
        self.0.push(OfKind { kind: shared.kind.info().key.clone(), queue, unselected });
    }

    /// Finds the requests once this process leads. A list that fails is repeated until shutdown.
    pub(crate) async fn run(self, manager: Manager) {
        let shutdown = &manager.shutdown;
        // With synced stores: a request that loses its label after the list is one that a watch returned.
        let synced = shutdown.run_until_cancelled(manager.health.ready()).await.is_some();
        if !synced || !manager.leading().await {
            return;
        }
        let mut delay = RETRY_FIRST;
        while let Some(Err(error)) = shutdown.run_until_cancelled(self.find(&manager)).await {
            warn!(%error, "failed to list the DependencyRequests without a label; retrying");
            if shutdown.run_until_cancelled(tokio::time::sleep(delay)).await.is_none() {
                return;
            }
            delay = (delay * 2).min(RETRY_MAX);
        }
    }

    /// Lists the requests without a label, and enqueues their owners: a reconcile of an existing one writes the label again,
    /// and that of a deleted one releases the request.
    pub(crate) async fn find(&self, manager: &Manager) -> Result<(), ApiError> {
        for api in apis(manager) {
            let params = ListParams::default().labels(&format!("!{OWNER_KIND_LABEL}"));
            let verb = "list the DependencyRequests without a label";
            each_metadata(&api, verb, params, |request| self.note(&request)).await?;
        }
        Ok(())
    }

    fn note(&self, request: &ObjectMeta) {
        for OfKind { kind, queue, unselected } in &self.0 {
            if let Some(owner) = owner_of(kind, request) {
                unselected.insert(ObjectKey::of(request));
                queue.add(owner, Lane::Edit);
            }
        }
    }
}

/// The resource of this kind that owns a request without a label, by the name of the request, which no client can change.
fn owner_of(kind: &str, request: &ObjectMeta) -> Option<ObjectKey> {
    let name = request.name.as_deref()?;
    // A truncated name does not contain the one of the owner.
    let mut references = request.owner_references.iter().flatten().map(|owner| owner.name.as_str());
    let referenced = || references.find(|owner| owned_name(kind, owner) == name);
    let owner = owner_name(kind, name).or_else(referenced)?;
    Some(ObjectKey::new(request.namespace.as_deref().unwrap_or_default(), owner))
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

    use super::*;

    fn request(name: &str, owner: &str) -> ObjectMeta {
        let owner = OwnerReference { name: owner.to_owned(), ..OwnerReference::default() };
        ObjectMeta {
            name: Some(name.to_owned()),
            namespace: Some("ns".to_owned()),
            owner_references: Some(vec![owner]),
            ..ObjectMeta::default()
        }
    }

    #[test]
    fn owner_is_identified_by_the_name_of_the_request() {
        let found = owner_of("vpc.aws", &request("vpc.aws.main", "edited"));
        assert_eq!(found, Some(ObjectKey::new("ns", "main")));
        for other in ["subnet.aws.main", "vpc.aws2.main", "static-vpc.aws.main"] {
            assert_eq!(owner_of("vpc.aws", &request(other, "main")), None, "{other}");
        }
    }

    #[test]
    fn owner_with_a_long_name_is_identified_by_the_owner_reference() {
        let long = "a".repeat(253);
        let name = owned_name("vpc.aws", &long);
        assert_eq!(owner_of("vpc.aws", &request(&name, &long)), Some(ObjectKey::new("ns", &long)));
        assert_eq!(owner_of("vpc.aws", &request(&name, "another")), None);
    }
}
