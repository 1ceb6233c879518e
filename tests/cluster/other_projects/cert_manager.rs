//! Webhooks whose certificates come from cert-manager (`config/overlays/cert-manager`), with its own controllers.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::core::v1::{Secret, Service};
use kraken_testing::cert_manager::CertManager;
use kraken_testing::manifests::Document;
use kraken_testing::packaging::kustomize;
use kraken_testing::ports::free_port;
use kraken_testing::suite::NAMESPACE;
use kraken_testing::{SuiteOptions, manifests, paths};
use kraken_tests::TestEnv;
use kraken_tests::test_env::TIMEOUT;
use kube::{
    Api,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use serde_json::json;

const SPOKE: &str = "aws-vpc";
const NAME: &str = "kraken-aws-vpc";
const POLL: Duration = Duration::from_millis(100);

/// The files of a Secret, by their names.
type Files = BTreeMap<String, Vec<u8>>;

/// The Issuers, the Certificates, and the webhooks of the spoke that listens on this port.
async fn overlay(port: u16) -> Result<Vec<Document>> {
    let mut documents = kustomize(&paths::workspace_root()?.join("config/overlays/cert-manager")).await?;
    documents.retain(|document| match document.gvk.kind.as_str() {
        "Issuer" | "Certificate" => true,
        "ValidatingWebhookConfiguration" => document.name == NAME,
        _ => false,
    });
    for document in &mut documents {
        let webhooks = document.value.get_mut("webhooks").and_then(|webhooks| webhooks.as_array_mut());
        for webhook in webhooks.into_iter().flatten() {
            webhook["clientConfig"]["service"]["port"] = json!(port);
        }
    }
    Ok(documents)
}

/// A Service that the API server resolves to this machine. It calls it by the name in the certificate, like that of pods.
async fn serve_locally(test_env: &TestEnv) -> Result<()> {
    let services: Api<Service> = Api::namespaced(test_env.client(), NAMESPACE);
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": format!("{NAME}-webhook")},
        "spec": {"type": "ExternalName", "externalName": "127.0.0.1"},
    });
    let params = PatchParams::apply("test");
    services.patch(&format!("{NAME}-webhook"), &params, &Patch::Apply(&service)).await?;
    Ok(())
}

fn certificates(test_env: &TestEnv) -> Api<Secret> {
    Api::namespaced(test_env.client(), NAMESPACE)
}

/// The Secret with the certificate, when it has another one than before.
async fn issued(test_env: &TestEnv, cert_manager: &CertManager, before: &Files) -> Result<Files> {
    let started = Instant::now();
    loop {
        let secret = certificates(test_env).get_opt(&format!("{NAME}-webhook-certificate")).await?;
        let data = secret.and_then(|secret| secret.data).unwrap_or_default();
        let files: Files = data.into_iter().map(|(name, content)| (name, content.0)).collect();
        if files.contains_key("tls.crt") && files.get("tls.crt") != before.get("tls.crt") {
            return Ok(files);
        }
        ensure!(started.elapsed() < TIMEOUT, "no certificate is issued\n{}", cert_manager.log());
        tokio::time::sleep(POLL).await;
    }
}

/// Waits until cert-manager has written the authority of the certificate to every webhook.
async fn injected(test_env: &TestEnv, cert_manager: &CertManager, files: &Files) -> Result<()> {
    let api: Api<ValidatingWebhookConfiguration> = Api::all(test_env.client());
    let started = Instant::now();
    loop {
        let webhooks = api.get(NAME).await?.webhooks.unwrap_or_default();
        let bundles: Vec<_> = webhooks.into_iter().map(|webhook| webhook.client_config.ca_bundle).collect();
        let expected = files.get("ca.crt");
        if !bundles.is_empty()
            && bundles.iter().all(|bundle| bundle.as_ref().map(|bundle| &bundle.0) == expected)
        {
            return Ok(());
        }
        ensure!(started.elapsed() < TIMEOUT, "no caBundle is injected\n{}", cert_manager.log());
        tokio::time::sleep(POLL).await;
    }
}

/// Replaces all files at once, as the kubelet does in a volume of a Secret.
fn mount(folder: &Path, files: &Files, version: &str) -> Result<()> {
    fs::create_dir(folder.join(version))?;
    for (name, content) in files {
        fs::write(folder.join(version).join(name), content)?;
        if !folder.join(name).is_symlink() {
            symlink(Path::new("..data").join(name), folder.join(name))?;
        }
    }
    symlink(version, folder.join("..data_tmp"))?;
    fs::rename(folder.join("..data_tmp"), folder.join("..data"))?;
    Ok(())
}

/// The message with which a VPC is rejected whose CIDR blocks overlap; `None` if it is accepted because the webhook is unavailable.
async fn rejection(test_env: &TestEnv) -> Result<Option<String>> {
    let vpc = json!({
        "apiVersion": "aws.kraken-iac.eoinfennessy.com/v1alpha1", "kind": "VPC", "metadata": {"name": "bad"},
        "spec": {"cidrBlock": {"value": "10.0.0.0/16"}, "secondaryCIDRBlocks": {"value": ["10.0.0.0/24"]}},
    });
    let params = PatchParams { dry_run: true, ..PatchParams::apply("test").force() };
    match test_env.api("VPC").patch("bad", &params, &Patch::Apply(&vpc)).await {
        Ok(_) => Ok(None),
        Err(kube::Error::Api(status)) if status.message.contains("spec.secondaryCIDRBlocks") => {
            Ok(Some(status.message.clone()))
        }
        Err(error) => Err(error.into()),
    }
}

/// Waits until a rejection contains this text.
async fn until_rejected(test_env: &TestEnv, expected: &str) -> Result<()> {
    let started = Instant::now();
    loop {
        let last = rejection(test_env).await?;
        if last.as_ref().is_some_and(|message| message.contains(expected)) {
            return Ok(());
        }
        ensure!(started.elapsed() < TIMEOUT, "the webhook does not reject it: {last:?}");
        tokio::time::sleep(POLL).await;
    }
}

/// Renames the webhooks: the API server then uses new connections, and verifies the certificate again.
async fn reconnect(test_env: &TestEnv) -> Result<()> {
    let api: Api<ValidatingWebhookConfiguration> = Api::all(test_env.client());
    let mut configuration = api.get(NAME).await?;
    for webhook in configuration.webhooks.iter_mut().flatten() {
        webhook.name = format!("renewed.{}", webhook.name);
    }
    api.replace(NAME, &PostParams::default(), &configuration).await?;
    Ok(())
}

#[tokio::test]
async fn every_write_is_reviewed_while_cert_manager_renews_a_certificate() -> Result<()> {
    let (folder, port) = (tempfile::tempdir()?, free_port()?);
    let only = Some(vec!["hub".to_owned(), SPOKE.to_owned()]);
    let path = folder.path().to_str().context("the path is not valid UTF-8")?;
    let suite = SuiteOptions { only, ..SuiteOptions::default() }
        .with_env(SPOKE, "KRAKEN_WEBHOOK_LISTEN", &format!("127.0.0.1:{port}"))
        .with_env(SPOKE, "KRAKEN_WEBHOOK_CERTIFICATE_FOLDER", path);
    let test_env = TestEnv::with(suite).await?;
    let cert_manager = CertManager::start(&test_env.env.control_plane).await?;
    serve_locally(&test_env).await?;
    manifests::apply(&test_env.client(), &overlay(port).await?, NAMESPACE).await?;

    let first = issued(&test_env, &cert_manager, &Files::new()).await?;
    injected(&test_env, &cert_manager, &first).await?;
    assert_eq!(rejection(&test_env).await?, None, "the controller has no certificate yet");
    mount(folder.path(), &first, "first")?;
    until_rejected(&test_env, "denied the request").await?;

    let controller = test_env.env.suite.controller(SPOKE)?;
    let process = controller.pid();
    certificates(&test_env).delete(&format!("{NAME}-webhook-certificate"), &DeleteParams::default()).await?;
    let second = issued(&test_env, &cert_manager, &first).await?;
    assert_eq!(first.get("ca.crt"), second.get("ca.crt"), "both are of one authority");
    injected(&test_env, &cert_manager, &second).await?;
    mount(folder.path(), &second, "second")?;
    // The old certificate is served until the controller reads the files, every 30 s.
    let (started, mut reviews) = (Instant::now(), 0);
    while controller.log_text()?.matches("the webhook serves a new certificate").count() < 2 {
        ensure!(rejection(&test_env).await?.is_some(), "not reviewed, after {reviews} reviews");
        reviews += 1;
        ensure!(started.elapsed() < TIMEOUT, "the controller does not read the new certificate");
        tokio::time::sleep(POLL).await;
    }
    reconnect(&test_env).await?;
    until_rejected(&test_env, "\"renewed.vpcs.").await?;
    assert_eq!(controller.pid(), process, "it was not restarted");
    Ok(())
}
