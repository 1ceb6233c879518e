//! The installation: the folders of `config/` and the charts, rendered like users render them and validated by an API
//! server.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result};
use k8s_openapi::api::core::v1::{Namespace, Pod};
use kraken_testing::manifests::{Document, Kinds};
use kraken_testing::packaging::{helm_template, kustomize, release_size};
use kraken_testing::{cert_manager, manifests, paths, schemas};
use kraken_tests::TestEnv;
use kube::{
    Api, Client,
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
    assert_eq!(budgets, paths::programs()?.len());
    Ok(())
}

/// The overlays with kinds of other projects, whose CRDs are installed but not their controllers (see `other_projects/cert_manager.rs`).
#[tokio::test]
async fn the_api_server_accepts_the_cert_manager_and_monitoring_overlays() -> Result<()> {
    let test_env = TestEnv::new().await?;
    let client = test_env.client();
    let mut crds = cert_manager::crds().await?;
    crds.extend(schemas::prometheus_operator().await?);
    manifests::apply(&client, &crds, NAMESPACE).await?;
    let documents = kustomize(&root("config/overlays/cert-manager")?).await?;
    let monitoring = kustomize(&root("config/overlays/monitoring")?).await?;
    let others: Vec<_> = ["Certificate", "Issuer", "ServiceMonitor", "PrometheusRule"]
        .map(|kind| documents.iter().chain(&monitoring).filter(|document| document.gvk.kind == kind).count())
        .into();
    assert_eq!(others, [paths::controllers()?.len() + 1, 2, 1, 1], "and the authority of the certificates");
    for documents in [&documents, &monitoring] {
        accepted(&client, documents).await?;
    }
    let objects = by_key(documents);
    for controller in paths::controllers()? {
        names_agree(&objects, &controller);
    }
    Ok(())
}

#[tokio::test]
async fn charts_contain_certificates_of_cert_manager_if_enabled() -> Result<()> {
    let test_env = TestEnv::new().await?;
    manifests::apply(&test_env.client(), &cert_manager::crds().await?, NAMESPACE).await?;
    for controller in paths::controllers()? {
        let component = format!("component={controller}");
        let (chart, set) = match controller.as_str() {
            "hub" => ("charts/kraken", vec!["webhooks.certManager=true"]),
            _ => ("charts/kraken-spoke", vec!["webhooks.certManager=true", component.as_str()]),
        };
        let documents = helm_template(&root(chart)?, NAMESPACE, &set).await?;
        accepted(&test_env.client(), &documents).await?;
        names_agree(&by_key(documents), &controller);
        // Without webhooks, nothing needs a certificate.
        let disabled = [&set[..], &["webhooks.enabled=false"]].concat();
        let documents = helm_template(&root(chart)?, NAMESPACE, &disabled).await?;
        assert!(documents.iter().all(|document| document.gvk.group != "cert-manager.io"), "{controller}");
    }
    Ok(())
}

/// Fails unless the API server accepts each object.
async fn accepted(client: &Client, documents: &[Document]) -> Result<()> {
    let kinds = Kinds::of(client, documents).await?;
    for document in documents {
        let api = kinds.known(client, document, NAMESPACE)?;
        api.patch(&document.name, &strict_dry_run(), &Patch::Apply(&document.value))
            .await
            .with_context(|| format!("{} {}", document.gvk.kind, document.name))?;
    }
    Ok(())
}

/// The names by which the certificate, the Deployment and the webhooks of a controller refer to each other.
fn names_agree(objects: &BTreeMap<Key, Value>, controller: &str) {
    let name = format!("kraken-{controller}");
    let own = |kind: &str, name: String| (kind.to_owned(), Some(NAMESPACE.to_owned()), name);
    let certificate = &objects[&own("Certificate", format!("{name}-webhook"))]["spec"];
    let issuer = certificate["issuerRef"]["name"].as_str().unwrap_or_default();
    let authority = &objects[&own("Issuer", issuer.to_owned())]["spec"]["ca"]["secretName"];
    let of_authority = objects
        .iter()
        .find(|((kind, ..), object)| kind == "Certificate" && object["spec"]["secretName"] == *authority);
    assert!(of_authority.is_some_and(|(_, object)| object["spec"]["isCA"] == true), "{authority}");
    assert_eq!(certificate["dnsNames"], json!([format!("{name}-webhook.{NAMESPACE}.svc")]));
    let pod = &objects[&own("Deployment", name.clone())]["spec"]["template"]["spec"];
    assert_eq!(pod["volumes"][0]["secret"]["secretName"], certificate["secretName"]);
    let folder = json!({"name": "KRAKEN_WEBHOOK_CERTIFICATE_FOLDER", "value": "/var/run/kraken-webhook"});
    assert!(pod["containers"][0]["env"].as_array().is_some_and(|env| env.contains(&folder)));
    assert_eq!(pod["containers"][0]["volumeMounts"][0]["mountPath"], folder["value"]);
    let configuration = ("ValidatingWebhookConfiguration".to_owned(), None, name.clone());
    let injected = &objects[&configuration]["metadata"]["annotations"]["cert-manager.io/inject-ca-from"];
    assert_eq!(*injected, json!(format!("{NAMESPACE}/{name}-webhook")));
    let service = &objects[&configuration]["webhooks"][0]["clientConfig"]["service"]["name"];
    assert_eq!(*service, json!(format!("{name}-webhook")));
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

/// Fails unless the charts, with these components, render what this folder renders.
async fn charts_render(components: &[String], folder: &str) -> Result<()> {
    let mut of_charts = by_key(helm_template(&root("charts/kraken-crds")?, NAMESPACE, &[]).await?);
    of_charts.extend(by_key(helm_template(&root("charts/kraken")?, NAMESPACE, &[]).await?));
    for component in components {
        let set = format!("component={component}");
        of_charts.extend(by_key(helm_template(&root("charts/kraken-spoke")?, NAMESPACE, &[&set]).await?));
    }
    let mut of_kustomize = by_key(kustomize(&root(folder)?).await?);
    of_kustomize.retain(|(kind, ..), _| kind != "Namespace"); // Helm makes it
    let keys = |objects: &BTreeMap<Key, Value>| objects.keys().cloned().collect::<BTreeSet<_>>();
    assert_eq!(keys(&of_charts), keys(&of_kustomize));
    for (key, object) in of_kustomize {
        assert_eq!(bare(of_charts[&key].clone()), bare(object), "{key:?}");
    }
    Ok(())
}

#[tokio::test]
async fn charts_render_what_kustomize_renders() -> Result<()> {
    let mut spokes = paths::controllers()?;
    spokes.retain(|controller| controller != "hub");
    charts_render(&spokes, "config/default").await?;
    spokes.retain(|controller| !controller.starts_with("aws-"));
    charts_render(&[spokes, vec!["aws-all".to_owned()]].concat(), "config/overlays/one-process").await
}

#[tokio::test]
async fn controllers_in_one_process_differ_in_deployment_account_and_selector_only() -> Result<()> {
    let separate = by_key(kustomize(&root("config/default")?).await?);
    let shared = by_key(kustomize(&root("config/overlays/one-process")?).await?);
    let mut of_aws = paths::controllers()?;
    of_aws.retain(|controller| controller.starts_with("aws-"));
    let of_account = |object: &Value| object["subjects"][0]["name"] == "kraken-aws-all";
    let bound = shared.values().filter(|object| of_account(object)).count();
    assert_eq!(bound, 2 * of_aws.len(), "a ClusterRoleBinding and a RoleBinding of each");
    for (key, object) in &shared {
        let (kind, _, name) = key;
        match kind.as_str() {
            "Service" if name.starts_with("kraken-aws-") => {
                assert_eq!(object["spec"]["selector"], json!({"app.kubernetes.io/name": "kraken-aws-all"}));
            }
            _ if of_account(object) || name == "kraken-aws-all" => {}
            _ => assert_eq!(Some(object), separate.get(key), "{key:?}"),
        }
    }
    let missing: Vec<&Key> = separate.keys().filter(|key| !shared.contains_key(key)).collect();
    assert_eq!(missing.len(), 2 * of_aws.len(), "a Deployment and a ServiceAccount of each: {missing:?}");
    Ok(())
}

#[tokio::test]
async fn one_process_combines_with_the_components() -> Result<()> {
    let folder = tempfile::tempdir_in(root("config/overlays")?)?;
    let text = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [../one-process]\n\
                components: [../../components/high-availability, ../../components/cert-manager]\n";
    std::fs::write(folder.path().join("kustomization.yaml"), text)?;
    let objects = by_key(kustomize(folder.path()).await?);
    let own = |kind: &str| (kind.to_owned(), Some(NAMESPACE.to_owned()), "kraken-aws-all".to_owned());
    assert!(objects.contains_key(&own("PodDisruptionBudget")));
    let spec = &objects[&own("Deployment")]["spec"];
    assert_eq!(spec["replicas"], 2);
    let sources = &spec["template"]["spec"]["volumes"][0]["projected"]["sources"];
    let sources = sources.as_array().context("the certificates are projected")?;
    let vpc = "kraken-aws-vpc";
    let of_vpc =
        sources.iter().find(|source| source["secret"]["items"][0]["path"] == format!("{vpc}/tls.crt"));
    let certificate =
        &objects[&("Certificate".to_owned(), Some(NAMESPACE.to_owned()), format!("{vpc}-webhook"))];
    assert_eq!(of_vpc.map(|source| &source["secret"]["name"]), Some(&certificate["spec"]["secretName"]));
    // Only for selected namespaces.
    let overlay = root("config/overlays/namespaced")?;
    std::fs::create_dir(folder.path().join("team"))?;
    for file in ["settings.yaml", "team/kustomization.yaml", "team/roles.yaml"] {
        std::fs::copy(overlay.join(file), folder.path().join(file))?;
    }
    let text = std::fs::read_to_string(overlay.join("kustomization.yaml"))?;
    let text = text.replace("../../default", "../one-process");
    std::fs::write(folder.path().join("kustomization.yaml"), text)?;
    let objects = by_key(kustomize(folder.path()).await?);
    assert_eq!(objects[&own("ConfigMap")]["data"]["KRAKEN_NAMESPACES"], "team-a");
    let role = ("RoleBinding".to_owned(), Some("team-a".to_owned()), format!("{vpc}-resources"));
    assert_eq!(objects[&role]["subjects"][1]["name"], "kraken-aws-all");
    // As by the chart, whose certificate has the names of all.
    let set = ["component=aws-all", "webhooks.certManager=true", "controllers={aws-vpc,aws-sqs}"];
    let objects = by_key(helm_template(&root("charts/kraken-spoke")?, NAMESPACE, &set).await?);
    let name = "kraken-aws-all-webhook".to_owned();
    let certificate = &objects[&("Certificate".to_owned(), Some(NAMESPACE.to_owned()), name)]["spec"];
    let names = ["kraken-aws-sqs-webhook.kraken-system.svc", "kraken-aws-vpc-webhook.kraken-system.svc"];
    assert_eq!(certificate["dnsNames"], json!(names));
    let pod = &objects[&own("Deployment")]["spec"]["template"]["spec"];
    let items = &pod["volumes"][0]["projected"]["sources"][0]["secret"]["items"];
    assert_eq!(items[0]["path"], "kraken-aws-sqs/tls.crt");
    let chosen = json!({"name": "KRAKEN_CONTROLLERS", "value": "aws-sqs,aws-vpc"});
    assert!(pod["containers"][0]["env"].as_array().is_some_and(|env| env.contains(&chosen)), "{pod}");
    assert!(!objects.keys().any(|(.., name)| name.contains("aws-iam")), "{:?}", objects.keys());
    Ok(())
}

#[tokio::test]
async fn charts_install_into_any_namespace_with_the_values_given() -> Result<()> {
    let set = [
        "component=aws-vpc",
        "replicas=2",
        "podDisruptionBudget.enabled=true",
        "image.registry=example.com/team",
        "image.repository=vpc",
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
    assert_eq!(container["image"], "example.com/team/vpc:1.2.3");
    let interval = json!({"name": "KRAKEN_RESYNC_INTERVAL", "value": "10m"});
    assert!(container["env"].as_array().is_some_and(|env| env.contains(&interval)), "{container}");
    Ok(())
}

#[tokio::test]
async fn wrong_values_are_rejected_by_their_name() -> Result<()> {
    for (set, expected) in [
        (&["component=aws-vpcs"][..], "there is no spoke \"aws-vpcs\""),
        (
            &["component=aws-all", "controllers={aws-vpc,aws-vpcs}"],
            "controllers: there is no spoke \"aws-vpcs\"",
        ),
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

/// Helm stores a release in one Secret, which the API server limits. A chart that comes near the limit needs less text, or more charts.
#[tokio::test]
async fn a_release_of_each_chart_fits_into_a_secret() -> Result<()> {
    const LIMIT: usize = 1_048_576;
    let test_env = TestEnv::new().await?;
    let kubeconfig = test_env.env.control_plane.admin_kubeconfig();
    let mut releases = vec![("charts/kraken-crds", String::new()), ("charts/kraken", String::new())];
    let spokes = paths::controllers()?.into_iter().filter(|controller| controller != "hub");
    let spokes = spokes.chain(["aws-all".to_owned()]);
    releases.extend(spokes.map(|spoke| ("charts/kraken-spoke", format!("component={spoke}"))));
    for (chart, set) in releases {
        let bytes = release_size(&kubeconfig, &root(chart)?, &[set.as_str()]).await?;
        println!("{chart} {set}: {bytes} bytes");
        assert!(bytes < LIMIT * 3 / 4, "a release of {chart} {set} has {bytes} bytes of {LIMIT}");
    }
    Ok(())
}
