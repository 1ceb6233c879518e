//! The installation: the folders of `config/` and the charts, rendered like users render them and validated by an API
//! server.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result};
use k8s_openapi::api::core::v1::{Namespace, Pod};
use kraken_testing::manifests::{Document, Kinds};
use kraken_testing::packaging::{helm, helm_template, kustomize};
use kraken_testing::paths;
use kraken_tests::TestEnv;
use kube::{
    Api,
    api::{Patch, PatchParams, PostParams, ValidationDirective},
};
use serde_json::{Value, json};

const NAMESPACE: &str = "kraken-system";

/// Kind, namespace and name.
type Key = (String, Option<String>, String);

fn by_key(documents: Vec<Document>) -> BTreeMap<Key, Value> {
    documents
        .into_iter()
        .map(|document| ((document.gvk.kind, document.namespace, document.name), document.value))
        .collect()
}

fn root(path: &str) -> Result<std::path::PathBuf> {
    Ok(paths::workspace_root()?.join(path))
}

fn strict_dry_run() -> PatchParams {
    PatchParams {
        dry_run: true,
        field_validation: Some(ValidationDirective::Strict),
        force: true,
        ..PatchParams::apply("test")
    }
}

#[tokio::test]
async fn the_default_folder_contains_all_components_namespace_and_user_roles() -> Result<()> {
    let all = by_key(kustomize(&root("config/default")?).await?);
    let mut parts = vec!["namespace".to_owned(), "users".to_owned()];
    parts.extend(paths::controllers()?);
    let mut of_parts = BTreeMap::new();
    for part in parts {
        for (key, object) in by_key(kustomize(&root(&format!("config/{part}"))?).await?) {
            assert!(of_parts.insert(key.clone(), object).is_none(), "{key:?} is in two components");
        }
    }
    assert_eq!(all, of_parts);
    Ok(())
}

#[tokio::test]
async fn the_api_server_accepts_every_object_of_the_overlays() -> Result<()> {
    let test_env = TestEnv::new().await?;
    let client = test_env.client();
    let mut documents = kustomize(&root("config/overlays/high-availability")?).await?;
    let network = kustomize(&root("config/overlays/network-policy")?).await?;
    documents.extend(network.into_iter().filter(|document| document.gvk.kind == "NetworkPolicy"));
    let kinds = Kinds::of(&client, &documents).await?;
    for document in &documents {
        let api = kinds.known(&client, document, NAMESPACE)?;
        api.patch(&document.name, &strict_dry_run(), &Patch::Apply(&document.value))
            .await
            .with_context(|| format!("{} {}", document.gvk.kind, document.name))?;
        if document.gvk.kind == "Deployment" {
            assert_eq!(document.value["spec"]["replicas"], 2);
        }
    }
    assert!(documents.iter().any(|document| document.gvk.kind == "NetworkPolicy"));
    let budgets = documents.iter().filter(|document| document.gvk.kind == "PodDisruptionBudget").count();
    assert_eq!(budgets, paths::controllers()?.len());
    Ok(())
}

#[tokio::test]
async fn every_controller_runs_as_its_service_account_under_pod_security_restricted() -> Result<()> {
    let test_env = TestEnv::new().await?;
    let restricted: Namespace = serde_json::from_value(json!({
        "metadata": {
            "generateName": "restricted-",
            "labels": {"pod-security.kubernetes.io/enforce": "restricted"},
        }
    }))?;
    let namespaces: Api<Namespace> = Api::all(test_env.client());
    let created = namespaces.create(&PostParams::default(), &restricted).await?;
    let namespace = created.metadata.name.context("the namespace has a name")?;
    let pods: Api<Pod> = Api::namespaced(test_env.client(), &namespace);
    let params = PostParams { dry_run: true, ..PostParams::default() };
    for controller in paths::controllers()? {
        let objects = by_key(kustomize(&root(&format!("config/{controller}"))?).await?);
        let name = format!("kraken-{controller}");
        let own = |kind: &str| (kind.to_owned(), Some(NAMESPACE.to_owned()), name.clone());
        assert!(objects.contains_key(&own("ServiceAccount")), "{name} has a service account");
        let template = &objects[&own("Deployment")]["spec"]["template"];
        assert_eq!(template["spec"]["serviceAccountName"], json!(name));
        let mut spec = template["spec"].clone();
        spec["serviceAccountName"] = json!("default"); // its namespace differs
        let pod: Pod = serde_json::from_value(json!({"metadata": {"name": name}, "spec": spec}))?;
        pods.create(&params, &pod).await.with_context(|| format!("the pod of {name}"))?;
    }
    namespaces.delete(&namespace, &kube::api::DeleteParams::default()).await?;
    Ok(())
}

/// Without what charts add for Helm.
fn bare(mut object: Value) -> Value {
    let Some(metadata) = object["metadata"].as_object_mut() else { return object };
    if let Some(labels) = metadata.get_mut("labels").and_then(Value::as_object_mut) {
        labels.remove("helm.sh/chart");
        labels.remove("app.kubernetes.io/managed-by");
        labels.remove("app.kubernetes.io/name"); // user roles belong to no component in Kustomize
        labels.remove("app.kubernetes.io/part-of");
    }
    if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
        annotations.remove("helm.sh/resource-policy");
    }
    metadata.retain(|_, value| value != &json!({}));
    object
}

#[tokio::test]
async fn charts_render_what_kustomize_renders() -> Result<()> {
    let mut of_charts = by_key(helm_template(&root("charts/kraken-crds")?, NAMESPACE, &[]).await?);
    of_charts.extend(by_key(helm_template(&root("charts/kraken")?, NAMESPACE, &[]).await?));
    for controller in paths::controllers()?.iter().filter(|controller| *controller != "hub") {
        let component = format!("component={controller}");
        of_charts
            .extend(by_key(helm_template(&root("charts/kraken-spoke")?, NAMESPACE, &[&component]).await?));
    }
    let mut of_kustomize = by_key(kustomize(&root("config/default")?).await?);
    of_kustomize.retain(|(kind, ..), _| kind != "Namespace"); // Helm makes it
    let keys = |objects: &BTreeMap<Key, Value>| objects.keys().cloned().collect::<BTreeSet<_>>();
    assert_eq!(keys(&of_charts), keys(&of_kustomize));
    for (key, object) in of_kustomize {
        assert_eq!(bare(of_charts[&key].clone()), bare(object), "{key:?}");
    }
    Ok(())
}

#[tokio::test]
async fn charts_install_into_any_namespace_with_the_values_given() -> Result<()> {
    let set = [
        "component=aws-vpc",
        "replicas=2",
        "podDisruptionBudget.enabled=true",
        "image.repository=example.com/vpc",
        "image.tag=1.2.3",
        "env.KRAKEN_RESYNC_INTERVAL=10m",
        "serviceAccount.annotations.role=x",
    ];
    let objects = by_key(helm_template(&root("charts/kraken-spoke")?, "infra", &set).await?);
    for ((kind, namespace, name), object) in &objects {
        assert!(namespace.as_deref().is_none_or(|namespace| namespace == "infra"), "{kind} {name}");
        for subject in object["subjects"].as_array().into_iter().flatten() {
            assert_eq!(subject["namespace"], "infra", "{kind} {name}");
        }
    }
    let policy = ("ValidatingAdmissionPolicy".to_owned(), None, "kraken-aws-vpc-status".to_owned());
    let author = objects[&policy]["spec"]["validations"][0]["expression"].as_str().unwrap_or_default();
    assert!(author.contains("'system:serviceaccount:infra:kraken-'"), "{author}");
    let own = |kind: &str| (kind.to_owned(), Some("infra".to_owned()), "kraken-aws-vpc".to_owned());
    assert!(objects.contains_key(&own("PodDisruptionBudget")));
    assert_eq!(objects[&own("ServiceAccount")]["metadata"]["annotations"]["role"], "x");
    let container = &objects[&own("Deployment")]["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["image"], "example.com/vpc:1.2.3");
    let interval = json!({"name": "KRAKEN_RESYNC_INTERVAL", "value": "10m"});
    assert!(container["env"].as_array().is_some_and(|env| env.contains(&interval)), "{container}");
    Ok(())
}

#[tokio::test]
async fn wrong_values_are_rejected_by_their_name() -> Result<()> {
    for (set, expected) in [
        (&["component=aws-vpcs"][..], "there is no spoke \"aws-vpcs\""),
        (&["component=aws-vpc", "replica=2"], "replica"),
        (&["component=aws-vpc", "replicas=two"], "replicas"),
        (&["component=aws-vpc", "image.pullPolicy=Sometimes"], "pullPolicy"),
        (&["component=aws-vpc", "podDisruptionBudget.enabled=true"], "needs replicas of 2 or more"),
        (&[], "component"),
    ] {
        let rendered = helm_template(&root("charts/kraken-spoke")?, NAMESPACE, set).await;
        let error = format!("{:#}", rendered.err().with_context(|| format!("{set:?} is accepted"))?);
        assert!(error.contains(expected), "{set:?}: {error}");
    }
    Ok(())
}

/// `helm dependency build` writes into the chart's folder, so it runs on a copy.
#[tokio::test]
async fn the_chart_of_the_suite_installs_every_part_that_is_enabled() -> Result<()> {
    let scratch = tempfile::tempdir()?;
    copy(&root("charts")?, scratch.path())?;
    let chart = scratch.path().join("kraken-suite");
    helm(&["dependency".as_ref(), "build".as_ref(), chart.as_os_str()]).await?;
    let deployments = async |set: &[&str]| -> Result<Vec<String>> {
        let objects = by_key(helm_template(&chart, NAMESPACE, set).await?);
        let deployments = objects.into_keys().filter(|(kind, ..)| kind == "Deployment");
        Ok(deployments.map(|(.., name)| name).collect())
    };
    let all: Vec<String> = paths::controllers()?.iter().map(|name| format!("kraken-{name}")).collect();
    let mut expected = all.clone();
    expected.sort();
    assert_eq!(deployments(&[]).await?, expected);
    assert!(!deployments(&["enabled.aws-elb=false"]).await?.contains(&"kraken-aws-elb".to_owned()));
    Ok(())
}

fn copy(from: &std::path::Path, to: &std::path::Path) -> Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            std::fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

/// Every name of a metric in a text, without what Prometheus adds to the parts of a histogram.
fn metrics_in(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let metrics = words.filter(|word| word.starts_with("kraken_"));
    metrics.map(|name| name.strip_suffix("_bucket").unwrap_or(name)).collect()
}

/// The output of a controller with a value for every metric: metrics without a value are not served.
fn every_metric() -> String {
    let metrics = kraken_runtime::Metrics::new("kraken-test");
    let second = std::time::Duration::from_secs(1);
    metrics.reconciled("VPC", "Available", second);
    metrics.reconcile_failed("VPC", "throttled");
    metrics.reconcile_panicked("VPC");
    metrics.queue_depth("VPC", "edit", 1);
    metrics.cloud_call("DescribeVpcs", "ok", second);
    metrics.orphans("VPC", 1);
    metrics.launch_withheld("VPC", "LaunchRefused");
    metrics.watch_failed("VPC");
    metrics.count_resources("VPC", |tally| tally.add(&[]));
    // Requests are counted by the client, below the public API.
    metrics.encode() + "# TYPE kraken_kubernetes_requests counter\n"
}

#[tokio::test]
async fn alerts_and_dashboard_use_existing_metrics_and_each_alert_has_a_runbook() -> Result<()> {
    let overlay = root("config/overlays/monitoring")?;
    let documents = kustomize(&overlay).await?;
    let dashboard = std::fs::read_to_string(overlay.join("kraken.json"))?;
    let rule = documents.iter().find(|document| document.gvk.kind == "PrometheusRule").context("no rules")?;
    let runbooks = std::fs::read_to_string(root("docs/operations.md")?)?;
    let mut asked = metrics_in(&dashboard);
    for alert in rule.value["spec"]["groups"][0]["rules"].as_array().into_iter().flatten() {
        let (name, expression) = (&alert["alert"], &alert["expr"]);
        let heading = format!("\n### {}\n", name.as_str().unwrap_or_default());
        assert!(runbooks.contains(&heading), "{name} has no section in docs/operations.md");
        asked.extend(metrics_in(expression.as_str().unwrap_or_default()));
    }
    asked.extend(metrics_in(&runbooks));
    let served = every_metric();
    let types = served.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    // Counters are declared without the ending that their samples have.
    let served: BTreeSet<String> = types
        .filter_map(|line| line.split_once(' '))
        .map(|(name, kind)| if kind == "counter" { format!("{name}_total") } else { name.to_owned() })
        .collect();
    for name in asked {
        assert!(served.contains(name), "{name} is not among {served:?}");
    }
    Ok(())
}
