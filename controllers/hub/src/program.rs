//! The binary: its kinds, its permissions, and its two controllers.

use std::sync::Arc;

use anyhow::Result;
use k8s_openapi::{
    api::rbac::v1::PolicyRule,
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kraken_api::{
    ConfigExport, DependencyRequest, ImportRequest, ReferenceGrant, StateDeclaration,
    crd::{hub_kind, hub_kind_with},
};
use kraken_runtime::{Manager, Program, rbac::rule, webhook::Hook, work};
use kube::{CustomResourceExt, Resource};

use crate::{admission, exports, kept, requests, store::digest_key, watch::cluster_state::ClusterState};

/// The hub.
#[derive(Clone, Copy, Debug)]
pub struct Hub;

/// The hub has no flags of its own.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct HubArgs {}

impl Program for Hub {
    const NAME: &'static str = "kraken-hub";
    const ABOUT: &'static str =
        "Resolves references between resources, ConfigMaps and Secrets, and exports values";
    type Args = HubArgs;

    fn crds() -> Vec<CustomResourceDefinition> {
        let export = hub_kind_with::<ConfigExport>(&[("Target", ".status.target", "string")]);
        let internal = [hub_kind::<DependencyRequest>(), export, StateDeclaration::crd()];
        internal.into_iter().chain([ImportRequest::crd(), ReferenceGrant::crd()]).collect()
    }

    fn rules() -> Vec<PolicyRule> {
        const READ: &[&str] = &["get", "list", "watch"];
        let (core, export) = (DependencyRequest::group(&()), ConfigExport::group(&()));
        vec![
            // Secrets: metadata for watches, bodies of referenced ones, targets of exports, and the finalizer of those of accounts.
            rule(&[""], &["configmaps", "secrets"], &["get", "list", "watch", "create", "patch", "delete"]),
            rule(&[&core], &["dependencyrequests", "referencegrants", "statedeclarations"], READ),
            rule(&[&core], &["dependencyrequests/status"], &["patch"]),
            rule(&[&export], &["configexports"], READ),
            rule(&[&export], &["configexports/status"], &["patch"]),
            // For `restart` of a ConfigExport: one annotation of the pod template, or with `rotate` the sources of a volume.
            rule(&["apps"], &["daemonsets", "deployments", "statefulsets"], &["get", "patch"]),
        ]
    }

    fn secrets() -> &'static [&'static str] {
        &[digest_key::SECRET]
    }

    fn webhooks() -> Vec<Hook> {
        vec![admission::exports_hook(), admission::references_hook()]
    }

    async fn run(mut manager: Manager, _: HubArgs) -> Result<()> {
        // The webhooks have the cluster state, which has the manager: they would keep each other after the hub has ended.
        let webhooks = std::mem::take(&mut manager.webhooks);
        let cluster = Arc::new(ClusterState::watch(manager.clone()));
        admission::mount(&webhooks, &cluster);
        manager.watches_registered();
        // Stores sync while another replica leads, so that a takeover is fast.
        if !manager.leading().await || !cluster.synced().await {
            return Ok(());
        }
        cluster.count_exports();
        let (concurrency, metrics, stop) = (manager.args.concurrency, &manager.metrics, &manager.shutdown);
        let reconcile_request = {
            let cluster = cluster.clone();
            move |key, _| requests::reconcile(cluster.clone(), key)
        };
        let reconcile_export = {
            let cluster = cluster.clone();
            move |key, _| exports::reconcile(cluster.clone(), key)
        };
        let keep_secret = {
            let cluster = cluster.clone();
            move |key, _| kept::reconcile(cluster.clone(), key)
        };
        let (requests, exports) = (cluster.router.requests.clone(), cluster.router.exports.clone());
        let kept = cluster.router.kept.clone();
        tokio::join!(
            work::run(
                requests,
                concurrency,
                requests::KIND,
                metrics.clone(),
                stop.clone(),
                reconcile_request
            ),
            work::run(exports, concurrency, exports::KIND, metrics.clone(), stop.clone(), reconcile_export),
            work::run(kept, concurrency, kept::KIND, metrics.clone(), stop.clone(), keep_secret),
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::{future::pending, time::Duration};

    use http::{Request, Response};
    use kraken_runtime::RunArgs;
    use kube::{Client, client::Body};
    use tower::service_fn;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_hub_is_freed_when_it_has_ended() {
        let counted = Arc::new(());
        let held = counted.clone();
        let server = service_fn(move |_: Request<Body>| {
            let held = held.clone();
            async move {
                pending::<()>().await;
                drop(held);
                Ok::<_, std::io::Error>(Response::new(Body::empty()))
            }
        });
        let client = Client::new(server, "default");
        let manager = Manager::detached(Hub::NAME, client, RunArgs::default(), "cluster".to_owned());
        manager.shutdown.cancel();
        Hub::run(manager, HubArgs {}).await.unwrap();
        // The server is dropped with the last client, and the tasks of the hub end.
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(Arc::strong_count(&counted), 1, "a part of the hub refers to itself");
    }

    #[test]
    fn the_kinds_of_the_hub_have_crds() {
        let kinds: Vec<_> = Hub::crds().into_iter().map(|crd| crd.spec.names.kind).collect();
        assert_eq!(
            kinds,
            ["DependencyRequest", "ConfigExport", "StateDeclaration", "ImportRequest", "ReferenceGrant"]
        );
    }

    #[test]
    fn no_rule_is_wider_than_its_resources() {
        for rule in Hub::rules() {
            let words = rule
                .verbs
                .iter()
                .chain(rule.resources.iter().flatten())
                .chain(rule.api_groups.iter().flatten());
            assert!(words.into_iter().all(|word| word != "*"));
        }
    }
}
