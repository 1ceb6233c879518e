//! Controllers, CRDs and charts of different versions, missing CRDs, and a second installation.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kraken_simulator::http::Response;
use kraken_testing::manifests::Document;
use kraken_testing::packaging::{helm, kustomize};
use kraken_testing::suite::NAMESPACE;
use kraken_testing::{SuiteOptions, manifests, paths};
use kraken_tests::TestEnv;
use kube::{
    Api,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};

const SPOKE: &str = "aws-vpc";
const DOMAIN: &str = "aws.kraken-iac.eoinfennessy.com";
const TIMEOUT: Duration = Duration::from_mins(1);

/// A separate control plane: other tests need the CRDs as they are.
async fn separate() -> Result<TestEnv> {
    let only = Some(vec!["hub".to_owned(), SPOKE.to_owned()]);
    TestEnv::with(SuiteOptions { only, ..SuiteOptions::default() }).await
}

fn crds(test_env: &TestEnv) -> Api<CustomResourceDefinition> {
    Api::all(test_env.client())
}

fn vpc(name: &str, more: &str) -> String {
    format!(
        "{{apiVersion: {DOMAIN}/v1alpha1, kind: VPC, metadata: {{name: {name}}}, spec: {{cidrBlock: {{value: 10.0.0.0/16}}{more}}}}}"
    )
}

/// Changes the schema of the VPC's CRD, and waits until the API server uses it: a VPC with this spec gets the wanted one.
async fn change_schema(
    test_env: &TestEnv,
    change: impl Fn(&mut Value),
    (spec, wanted): (Value, impl Fn(&Value) -> bool),
) -> Result<()> {
    let name = format!("vpcs.{DOMAIN}");
    let mut crd = json!(crds(test_env).get(&name).await?);
    change(&mut crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]);
    for field in ["managedFields", "resourceVersion"] {
        crd["metadata"].as_object_mut().context("metadata")?.remove(field);
    }
    crd["metadata"]["labels"]["test"] = json!("changed");
    crds(test_env).patch(&name, &PatchParams::default(), &Patch::Merge(&replaced(&crd))).await?;
    let probe = serde_json::from_value(json!({
        "apiVersion": format!("{DOMAIN}/v1alpha1"), "kind": "VPC", "metadata": {"name": "probe"}, "spec": spec,
    }))?;
    let (started, dry_run) = (Instant::now(), PostParams { dry_run: true, ..PostParams::default() });
    loop {
        match test_env.api("VPC").create(&dry_run, &probe).await {
            Ok(object) if wanted(&object.data["spec"]) => return Ok(()),
            answer if started.elapsed() > TIMEOUT => {
                bail!("the API server does not use the schema: {answer:?}")
            }
            _ => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

/// The list of versions is replaced as a whole by a merge patch.
fn replaced(crd: &Value) -> Value {
    json!({"spec": {"versions": crd["spec"]["versions"]}})
}

/// Writes to the status of VPCs while nothing happens.
async fn writes_in_steady_state(test_env: &TestEnv, name: &str) -> Result<bool> {
    tokio::time::sleep(Duration::from_secs(2)).await;
    let version = |object: &Value| object["metadata"]["resourceVersion"].clone();
    let before = version(&test_env.get("VPC", name).await?);
    tokio::time::sleep(Duration::from_secs(4)).await;
    Ok(before != version(&test_env.get("VPC", name).await?))
}

#[tokio::test]
async fn a_controller_waits_for_a_missing_crd_and_stays_alive() -> Result<()> {
    let test_env = separate().await?;
    let controller = test_env.env.suite.controller(SPOKE)?;
    let name = format!("volumes.{DOMAIN}");
    controller.terminate().await?;
    crds(&test_env).delete(&name, &DeleteParams::default()).await?;
    let started = Instant::now();
    while crds(&test_env).get_opt(&name).await?.is_some() {
        if started.elapsed() > TIMEOUT {
            bail!("the CRD is not deleted");
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    controller.start_without_waiting()?;
    let names_the_crd =
        |answer: &Response| answer.status == 503 && answer.body.contains("is its CRD installed?");
    let unready = controller.until("/readyz", names_the_crd).await?.body;
    assert!(unready.contains("Volume"), "{unready}");
    controller.until("/healthz", |answer| answer.status == 200).await?; // a restart would not help
    let process = controller.pid();
    let documents = manifests::read(&paths::workspace_root()?.join(format!("crds/{SPOKE}/{name}.yaml")))?;
    manifests::apply(&test_env.client(), &documents, "default").await?;
    controller.wait_ready().await?;
    assert_eq!(controller.pid(), process, "it was not restarted");
    test_env.apply(&vpc("main", "")).await?;
    test_env.ready("VPC", "main").await?;
    Ok(())
}

#[tokio::test]
async fn controllers_work_with_a_newer_and_with_an_older_crd() -> Result<()> {
    let test_env = separate().await?;
    // A newer CRD: the controller does not know the field, and does not remove it.
    let newer = |properties: &mut Value| {
        properties["spec"]["properties"]["addedLater"] = json!({"type": "string"});
        properties["status"]["properties"]["addedLater"] = json!({"type": "string"});
    };
    let spec = json!({"cidrBlock": {"value": "10.0.0.0/16"}, "addedLater": "x", "tags": {"a": "b"}});
    change_schema(&test_env, newer, (spec.clone(), |spec: &Value| spec["addedLater"] == "x")).await?;
    test_env.apply(&vpc("newer", ", addedLater: x")).await?;
    test_env.ready("VPC", "newer").await?;
    assert_eq!(test_env.get("VPC", "newer").await?["spec"]["addedLater"], "x");
    assert!(!writes_in_steady_state(&test_env, "newer").await?);

    // An older CRD: the API server removes optional fields from specs and statuses.
    let older = |properties: &mut Value| {
        for (part, field) in
            [("spec", "addedLater"), ("spec", "tags"), ("status", "addedLater"), ("status", "adopted")]
        {
            if let Some(properties) = properties[part]["properties"].as_object_mut() {
                properties.remove(field);
            }
        }
    };
    let is_older = |spec: &Value| spec["addedLater"].is_null() && spec["tags"].is_null();
    change_schema(&test_env, older, (spec, is_older)).await?;
    test_env.apply(&vpc("older", "")).await?;
    test_env.ready("VPC", "older").await?;
    assert!(!writes_in_steady_state(&test_env, "older").await?, "the status is not written repeatedly");
    test_env.delete("VPC", "older").await?;
    test_env.gone("VPC", "older").await?;
    assert!(test_env.get("VPC", "newer").await?["status"]["externalIds"][0].is_string());
    Ok(())
}

#[tokio::test]
async fn a_controller_reports_a_chart_of_another_version_and_works() -> Result<()> {
    let only = Some(vec!["hub".to_owned(), SPOKE.to_owned()]);
    let options = SuiteOptions { only, ..SuiteOptions::default() };
    let test_env = TestEnv::with(options.with_env(SPOKE, "KRAKEN_MANIFEST_VERSION", "99.1.0")).await?;
    let controller = test_env.env.suite.controller(SPOKE)?;
    let warns = |answer: &Response| {
        answer.status == 200 && answer.body.contains("warning: ") && answer.body.contains("99.1.0")
    };
    controller.until("/readyz", warns).await?;
    test_env.apply(&vpc("main", "")).await?;
    test_env.ready("VPC", "main").await?;
    let log = controller.log_text()?;
    let starts = log.matches("starting kraken-aws-vpc").count();
    assert_eq!(log.matches("99.1.0").count(), starts, "it is logged once by each process");
    // Its version is not known.
    test_env.env.suite.controller("hub")?.until("/readyz", |answer| answer.body == "ok\n").await?;
    Ok(())
}

#[tokio::test]
async fn helm_rejects_a_second_installation() -> Result<()> {
    let test_env = TestEnv::new().await?;
    let charts = paths::workspace_root()?.join("charts");
    for (chart, set) in
        [("kraken", "replicas=1"), ("kraken-spoke", "component=aws-vpc"), ("kraken-crds", "keep=true")]
    {
        let (chart_folder, kubeconfig) = (charts.join(chart), test_env.env.control_plane.admin_kubeconfig());
        let arguments = [
            "install",
            "second",
            "--dry-run=server",
            "--namespace",
            &test_env.ns.name,
            "--set",
            set,
            "--kubeconfig",
        ];
        let mut arguments: Vec<&std::ffi::OsStr> = arguments.map(AsRef::as_ref).to_vec();
        arguments.extend([kubeconfig.as_os_str(), chart_folder.as_os_str()]);
        let error = match helm(&arguments).await {
            Ok(_) => bail!("a second installation of {chart} is accepted"),
            Err(error) => format!("{error:#}"),
        };
        assert!(error.contains("invalid ownership metadata"), "{chart}: {error}");
    }
    Ok(())
}

/// `config/default` in another namespace, as users set it in their overlay.
async fn in_namespace(namespace: &str) -> Result<Vec<Document>> {
    let folder = tempfile::tempdir()?;
    let default = paths::workspace_root()?.join("config/default").display().to_string();
    // Kustomize accepts only relative paths.
    let to_root = "../".repeat(folder.path().canonicalize()?.components().skip(1).count());
    let text = format!(
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nnamespace: {namespace}\nresources: [{to_root}{}]\n",
        default.trim_start_matches('/')
    );
    std::fs::write(folder.path().join("kustomization.yaml"), text)?;
    kustomize(folder.path()).await
}

/// The API server's error for an object that must be rejected. A policy is in force a second after it is installed.
async fn rejection(test_env: &TestEnv, document: &Document) -> Result<String> {
    let api = manifests::api(&test_env.client(), document, NAMESPACE).await?;
    let params = PatchParams { dry_run: true, ..PatchParams::apply("kubectl").force() };
    let started = Instant::now();
    loop {
        match api.patch(&document.name, &params, &Patch::Apply(&document.value)).await {
            Err(error) => return Ok(error.to_string()),
            Ok(_) if started.elapsed() > TIMEOUT => {
                bail!("{} {} is accepted", document.gvk.kind, document.name)
            }
            Ok(_) => tokio::time::sleep(Duration::from_millis(200)).await,
        }
    }
}

#[tokio::test]
async fn kustomize_rejects_a_second_installation_and_the_first_works() -> Result<()> {
    // The controller of these webhooks does not run here.
    const WEBHOOKS: &str = "kraken-aws-elb";
    let test_env = separate().await?;
    let mut webhooks = manifests::read(&paths::workspace_root()?.join("config/aws-elb/webhook.yaml"))?;
    webhooks.retain(|document| document.gvk.kind == "ValidatingWebhookConfiguration");
    manifests::apply(&test_env.client(), &webhooks, NAMESPACE).await?;

    let mut kinds = Vec::new();
    for document in in_namespace("second").await? {
        let is_webhook = document.gvk.kind == "ValidatingWebhookConfiguration" && document.name == WEBHOOKS;
        if document.gvk.kind != "ClusterRoleBinding" && !is_webhook {
            continue;
        }
        let error = rejection(&test_env, &document).await?;
        let expected = format!("is already installed in namespace {NAMESPACE}");
        assert!(error.contains(&expected), "{} {}: {error}", document.gvk.kind, document.name);
        kinds.push(document.gvk.kind);
    }
    // A binding of each controller, another one of each spoke for the hub, and the webhooks.
    assert_eq!(kinds.len(), 2 * paths::controllers()?.len(), "{kinds:?}");
    // The same installation can be applied again.
    manifests::apply(&test_env.client(), &webhooks, NAMESPACE).await?;
    test_env.apply(&vpc("main", "")).await?;
    test_env.ready("VPC", "main").await?;
    Ok(())
}
