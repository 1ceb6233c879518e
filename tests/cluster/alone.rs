//! Single components: a spoke without the components that it can use but does not need.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kraken_testing::{Environment, EnvironmentOptions, SuiteOptions, manifests, paths};
use kraken_tests::TestEnv;
use kube::{
    Api,
    api::{DeleteParams, ListParams, Patch, PatchParams},
};
use serde_json::json;

const SPOKE: &str = "aws-vpc";
const AWS: &str = "aws.kraken-iac.eoinfennessy.com/v1alpha1";
/// A region other than that of the controllers.
const NORTH: &str = "eu-north-1";
/// How long a CRD may be served before the API server accepts objects of its kind.
const SERVED_WITHIN: Duration = Duration::from_mins(1);

fn vpc(name: &str, more: &str) -> String {
    format!(
        "{{apiVersion: {AWS}, kind: VPC, metadata: {{name: {name}}}, spec: {{cidrBlock: {{value: 10.0.0.0/16}}{more}}}}}"
    )
}

fn account(name: &str) -> String {
    format!("{{apiVersion: {AWS}, kind: Account, metadata: {{name: {name}}}, spec: {{region: {NORTH}}}}}")
}

/// Applies an object of a kind whose CRD was just created.
async fn apply_when_served(test_env: &TestEnv, yaml: &str) -> Result<()> {
    let started = Instant::now();
    while let Err(error) = test_env.apply(yaml).await {
        if started.elapsed() > SERVED_WITHIN {
            return Err(error);
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

/// The README's first installation: the hub and one spoke, without the component that brings the CRD of Account.
#[tokio::test]
async fn a_spoke_works_without_the_crd_of_accounts_and_uses_accounts_once_it_is_installed() -> Result<()> {
    let only = Some(vec!["hub".to_owned(), SPOKE.to_owned()]);
    let suite = SuiteOptions { only, installed_alone: true, ..SuiteOptions::default() };
    let options = EnvironmentOptions { suite, ..EnvironmentOptions::default() };
    let env = Arc::new(Environment::start(options).await?);
    let test_env = TestEnv::on(env.clone()).await?;
    let spoke = env.suite.controller(SPOKE)?;

    // Resources without an Account get Ready, and nothing complains.
    test_env.apply(&vpc("own", "")).await?;
    let own = test_env.ready("VPC", "own").await?;
    spoke.until("/readyz", |answer| answer.body == "ok\n").await?;
    // A resource that names an Account says what is missing.
    test_env.apply(&vpc("named", ", account: {name: shop}")).await?;
    let why = test_env.not_ready("VPC", "named", "AccountNotFound").await?;
    assert!(why.contains("install the component aws-account"), "{why}");

    // Its CRD, and at once an Account and a resource that uses it by default, in another namespace.
    let second = TestEnv::on(env.clone()).await?;
    let crds = manifests::read(&paths::workspace_root()?.join("crds/aws-account"))?;
    // By two requests, because the framework would wait until the kind is served.
    let client = test_env.client();
    let apply = manifests::apply(&client, &crds, "default");
    let use_it = async {
        apply_when_served(&second, &account("default")).await?;
        second.apply(&vpc("default", "")).await
    };
    let (applied, used) = tokio::join!(apply, use_it);
    applied?;
    used?;
    let by_default = second.ready("VPC", "default").await?;
    assert_eq!(by_default["status"]["location"]["region"], NORTH, "never the controller's own region");
    test_env.apply(&account("shop")).await?;
    let named = test_env.ready("VPC", "named").await?;
    assert_eq!(named["status"]["location"]["region"], NORTH);
    assert_eq!(test_env.get("VPC", "own").await?["status"]["location"], own["status"]["location"]);
    assert_ne!(own["status"]["location"]["region"], json!(NORTH));
    if spoke.log_text()?.matches("does not serve this kind").count() != 1 {
        bail!("the absent kind is logged once:\n{}", spoke.log_text()?);
    }
    Ok(())
}

/// As by one `kubectl apply -k`: the controllers start while the API server is still setting up the storage of their CRDs, and rejects
/// requests with 404 and 429.
#[tokio::test]
async fn crds_and_controllers_that_are_installed_at_once_get_a_resource_ready() -> Result<()> {
    let only = Some(vec!["hub".to_owned(), SPOKE.to_owned()]);
    let suite = SuiteOptions { only, installed_alone: true, ..SuiteOptions::default() };
    let options = EnvironmentOptions { suite, ..EnvironmentOptions::default() };
    let env = Arc::new(Environment::start(options).await?);
    let test_env = TestEnv::on(env.clone()).await?;
    let crds: Api<CustomResourceDefinition> = Api::all(test_env.client());
    let controllers = ["hub", SPOKE].map(|name| env.suite.controller(name));
    let mut documents = vec![];
    for name in ["hub", SPOKE] {
        env.suite.controller(name)?.terminate().await?;
        documents.extend(manifests::read(&paths::workspace_root()?.join(format!("crds/{name}")))?);
    }
    for document in &documents {
        crds.delete(&document.name, &DeleteParams::default()).await?;
    }
    let started = Instant::now();
    while !crds.list_metadata(&ListParams::default()).await?.items.is_empty() {
        if started.elapsed() > SERVED_WITHIN {
            bail!("the CRDs are not deleted");
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }

    let started = Instant::now();
    for controller in controllers {
        controller?.start_without_waiting()?;
    }
    let params = PatchParams::apply("kubectl").force();
    for document in &documents {
        crds.patch(&document.name, &params, &Patch::Apply(&document.value)).await?;
    }
    apply_when_served(&test_env, &vpc("first", "")).await?;
    test_env.ready("VPC", "first").await?;
    println!("the first resource was Ready {:.1} s after the installation", started.elapsed().as_secs_f64());
    Ok(())
}
