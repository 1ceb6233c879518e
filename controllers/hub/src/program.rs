//! The binary: its kinds, its rights, and its two controllers.

use std::sync::Arc;

use anyhow::Result;
use k8s_openapi::{
    api::rbac::v1::PolicyRule,
    apiextensions_apiserver::pkg::apis::apiextensions::v1::{
        CustomResourceColumnDefinition, CustomResourceDefinition,
    },
};
use kraken_api::{ConfigExport, DependencyRequest, StateDeclaration, crd::hub_kind};
use kraken_runtime::{Program, Shell, rbac::rule, webhook::Hook, work};
use kube::{CustomResourceExt, Resource};

use crate::{admission, exports, requests, world::World};

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
    const IS_HUB: bool = true;
    type Args = HubArgs;

    fn crds() -> Vec<CustomResourceDefinition> {
        let export = with_target(hub_kind::<ConfigExport>());
        vec![hub_kind::<DependencyRequest>(), export, StateDeclaration::crd()]
    }

    fn rules() -> Vec<PolicyRule> {
        const READ: &[&str] = &["get", "list", "watch"];
        let (core, export) = (DependencyRequest::group(&()), ConfigExport::group(&()));
        vec![
            // Secrets: metadata to watch, bodies of those that somebody names, and those that an export makes.
            rule(&[""], &["configmaps", "secrets"], &["get", "list", "watch", "create", "patch", "delete"]),
            rule(&[&core], &["dependencyrequests", "statedeclarations"], READ),
            rule(&[&core], &["dependencyrequests/status"], &["patch"]),
            rule(&[&export], &["configexports"], READ),
            rule(&[&export], &["configexports/status"], &["patch"]),
        ]
    }

    fn webhooks() -> Vec<Hook> {
        vec![admission::exports_hook(), admission::references_hook()]
    }

    async fn run(shell: Shell, _: HubArgs) -> Result<()> {
        let world = Arc::new(World::watch(shell.clone()));
        admission::mount(&shell.webhooks, &world);
        // Stores fill while another replica still leads, so that taking over is quick.
        if !shell.leading().await || !world.synced().await {
            return Ok(());
        }
        world.count_exports();
        let (concurrency, metrics, stop) = (shell.args.concurrency, &shell.metrics, &shell.shutdown);
        let answer = {
            let world = world.clone();
            move |key, _| requests::reconcile(world.clone(), key)
        };
        let carry_out = {
            let world = world.clone();
            move |key, _| exports::reconcile(world.clone(), key)
        };
        let (requests, exports) = (world.wake.requests.clone(), world.wake.exports.clone());
        tokio::join!(
            work::run(requests, concurrency, requests::KIND, metrics.clone(), stop.clone(), answer),
            work::run(exports, concurrency, exports::KIND, metrics.clone(), stop.clone(), carry_out),
        );
        Ok(())
    }
}

/// With a column for the object that is written.
fn with_target(mut crd: CustomResourceDefinition) -> CustomResourceDefinition {
    for columns in
        crd.spec.versions.iter_mut().filter_map(|version| version.additional_printer_columns.as_mut())
    {
        let target = CustomResourceColumnDefinition {
            name: "Target".to_owned(),
            json_path: ".status.target".to_owned(),
            type_: "string".to_owned(),
            ..CustomResourceColumnDefinition::default()
        };
        // Behind Ready and its reason.
        columns.insert(columns.len().min(2), target);
    }
    crd
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kinds_of_the_hub_have_crds() {
        let kinds: Vec<_> = Hub::crds().into_iter().map(|crd| crd.spec.names.kind).collect();
        assert_eq!(kinds, ["DependencyRequest", "ConfigExport", "StateDeclaration"]);
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
