//! What people install, as far as an API server can judge it.

use anyhow::Result;
use k8s_openapi::api::{apps::v1::Deployment, core::v1::ServiceAccount};
use kraken_testing::{manifests, paths};
use kraken_tests::World;
use kube::{
    Api,
    api::{Patch, PatchParams, ValidationDirective},
};

const NAMESPACE: &str = "kraken-system";

#[tokio::test]
async fn every_controller_has_a_deployment_that_is_valid_and_runs_as_its_service_account() -> Result<()> {
    let world = World::new().await?;
    let deployments = manifests::read(&paths::workspace_root()?.join("config/deploy"))?;
    assert_eq!(deployments.len(), paths::controllers()?.len());
    let api: Api<Deployment> = Api::namespaced(world.client(), NAMESPACE);
    let accounts: Api<ServiceAccount> = Api::namespaced(world.client(), NAMESPACE);
    let params = PatchParams {
        dry_run: true,
        field_validation: Some(ValidationDirective::Strict),
        ..PatchParams::apply("test")
    };
    for document in deployments {
        let taken = api.patch(&document.name, &params, &Patch::Apply(&document.value)).await?;
        let pod = taken.spec.and_then(|spec| spec.template.spec).unwrap_or_default();
        assert_eq!(pod.service_account_name.as_deref(), Some(document.name.as_str()));
        accounts.get(&document.name).await?;
    }
    Ok(())
}
