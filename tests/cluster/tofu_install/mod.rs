//! ProviderInstalls and ProviderConfigs, with the controller of providers as its real binary.
#![allow(clippy::unwrap_used, reason = "helpers of these tests only")]

mod deletion;
pub(crate) mod host;
mod plan;
mod replicas;
mod restored;
mod setting;
mod switch;

use std::{fs, time::Duration};

use anyhow::{Context as _, Result};
use k8s_openapi::{
    ByteString, apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kraken_tests::TestUser;
use kraken_tofu::names::GROUP;
use kube::{
    Api, Client,
    api::{DeleteParams, PostParams},
};
use serde_json::{Value, json};

use crate::{kubectl::Shell, tofu::programs};
use setting::setting;
pub(crate) use setting::{Setting, setting_of};

const KIND: &str = "KtestFile";
/// One that the controller must not write.
const CRD_OF_OTHERS: &str = "widgets.example.com";
const CRD: &str = "ktestfiles.tofu.kraken-iac.eoinfennessy.com";

#[tokio::test]
async fn provider_is_installed_configured_used_and_uninstalled() -> Result<()> {
    let s = setting().await?;
    s.install(&json!({})).await?;
    let (_, status) = s.installed("Installed").await?;
    assert_eq!(
        (status.protocol, status.kinds, status.marked, status.by_hand),
        (Some(6), Some(1), Some(1), Some(0))
    );
    assert_eq!((status.types[0].type_name.as_str(), status.types[0].kind.as_str()), ("ktest_file", KIND));

    // Without a configuration, nothing is called.
    s.apply("a", &json!({"name": {"value": "web"}})).await?;
    let message = s.test_env.not_ready(KIND, "a", "AccountNotFound").await?;
    assert!(message.contains("ProviderConfig ktest does not exist in this namespace"), "{message}");

    // All that is wrong with it at once.
    let token = json!({"valueFrom": {"secret": {"name": "absent", "key": "token"}}});
    s.configure(&json!({"tokens": {"value": 1}, "token": token})).await?;
    let message = s.test_env.not_ready("ProviderConfig", "ktest", "Rejected").await?;
    assert!(message.contains("spec.config.token: Secret absent does not exist"), "{message}");
    s.configure(&json!({"tokens": {"value": 1}, "token": {"value": 5}})).await?;
    let wrong = "spec.config.tokens: the provider has no such option; it has folder, token; spec.config.folder: is required by the provider";
    let has = |object: &Value| object["status"]["conditions"].to_string().contains(wrong);
    s.test_env.until("ProviderConfig", "ktest", has).await?;

    s.usual_config().await?;
    s.test_env.ready("ProviderConfig", "ktest").await?;
    let ready = s.test_env.ready(KIND, "a").await?;
    assert_eq!(s.objects().len(), 1);
    let place = format!("folder={}", s.files.path().display());
    assert_eq!(ready["status"]["location"], json!({"account": place, "region": ""}));

    // Neither is removed while it is in use.
    s.uninstall().await?;
    let (message, _) = s.installed("InUse").await?;
    assert!(message.contains(&format!("{KIND} ({}/a)", s.test_env.ns.name)), "{message}");
    s.test_env.delete("ProviderConfig", "ktest").await?;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(s.test_env.get("ProviderConfig", "ktest").await.is_ok());
    assert_eq!(s.objects().len(), 1);

    s.test_env.delete(KIND, "a").await?;
    s.test_env.gone(KIND, "a").await?;
    assert_eq!(s.objects().len(), 0);
    s.test_env.gone("ProviderConfig", "ktest").await?;
    s.uninstalled().await?;
    let crds: Api<CustomResourceDefinition> = Api::all(s.client());
    assert!(crds.get_opt(CRD).await?.is_none());
    Ok(())
}

#[tokio::test]
async fn wrong_installs_say_what_is_wrong_and_leave_the_kinds_as_they_are() -> Result<()> {
    let s = setting().await?;
    s.install(&json!({"sha256": "0".repeat(64)})).await?;
    let (message, _) = s.installed("ProviderNotStarted").await?;
    assert!(message.contains(&s.sha256), "{message}");
    s.install(&json!({"path": "absent"})).await?;
    let (message, _) = s.installed("ProviderNotStarted").await?;
    assert!(message.contains("providers/absent"), "{message}");
    s.install(&json!({"resources": ["ktest_file", "ktest_disk"]})).await?;
    let (message, _) = s.installed("InvalidSpec").await?;
    assert_eq!(message, "spec.resources: ktest_disk matches no type; the provider has ktest_file");
    s.install(&json!({})).await?;
    s.installed("Installed").await?;

    s.usual_config().await?;
    s.apply("a", &json!({"name": {"value": "web"}})).await?;
    s.test_env.ready(KIND, "a").await?;
    // The program is gone, and the kinds still work with the one that was loaded.
    s.install(&json!({"path": "absent"})).await?;
    s.installed("ProviderNotStarted").await?;
    s.test_env.patch(KIND, "a", json!({"spec": {"size": {"value": 5}}})).await?;
    let changed = |a: &Value| a["status"]["observedGeneration"] == a["metadata"]["generation"];
    s.test_env.until(KIND, "a", changed).await?;
    s.test_env.ready(KIND, "a").await?;
    let object: Value = serde_json::from_slice(&fs::read(&s.objects()[0])?)?;
    assert_eq!(object["size"], 5);

    // Another program: its controllers are started again, and the object stays.
    s.install(&json!({"environment": {"KTEST": "1"}})).await?;
    s.installed("Installed").await?;
    s.test_env.patch(KIND, "a", json!({"spec": {"size": {"value": 6}}})).await?;
    s.test_env.until(KIND, "a", changed).await?;
    s.test_env.ready(KIND, "a").await?;
    assert_eq!(s.objects().len(), 1);

    // One without a field that a resource has is refused, and the resource works as before.
    s.install(&json!({"environment": {"KTEST_WITHOUT": "labels,size"}})).await?;
    let (message, _) = s.installed("InUse").await?;
    let wanted = format!("{KIND} {}/a has spec.size;", s.test_env.ns.name);
    assert!(message.contains(&wanted) && !message.contains("labels"), "{message}");
    s.test_env.patch(KIND, "a", json!({"spec": {"size": {"value": 7}}})).await?;
    s.test_env.until(KIND, "a", changed).await?;
    s.test_env.ready(KIND, "a").await?;
    s.install(&json!({"environment": {"KTEST_WITHOUT": "labels"}})).await?;
    s.installed("Installed").await?;

    s.test_env.delete(KIND, "a").await?;
    s.test_env.gone(KIND, "a").await?;
    s.uninstall().await?;
    s.uninstalled().await
}

#[tokio::test]
async fn objects_elsewhere_are_left_alone_if_the_configuration_leads_to_another_place() -> Result<()> {
    let s = setting().await?;
    s.install(&json!({})).await?;
    s.installed("Installed").await?;
    s.usual_config().await?;
    s.apply("a", &json!({"name": {"value": "web"}})).await?;
    s.test_env.ready(KIND, "a").await?;
    let other = tempfile::tempdir()?;
    s.configure(&json!({"folder": {"value": other.path()}})).await?;
    let message = s.test_env.not_ready(KIND, "a", "LocationMismatch").await?;
    assert!(message.contains("ProviderConfig ktest works in folder="), "{message}");
    assert_eq!((s.objects().len(), fs::read_dir(other.path())?.count()), (1, 0));
    s.usual_config().await?;
    s.test_env.ready(KIND, "a").await?;
    s.test_env.delete(KIND, "a").await?;
    s.test_env.gone(KIND, "a").await?;
    s.uninstall().await?;
    s.uninstalled().await
}

/// The author of a resource must be allowed to get the Secrets in it, wherever they are in a spec whose schema no policy knows.
#[tokio::test]
async fn values_come_from_secrets_that_the_author_may_get_and_are_shown_nowhere() -> Result<()> {
    let s = setting().await?;
    s.install(&json!({})).await?;
    s.installed("Installed").await?;
    s.usual_config().await?;
    let secret = |key: &str| json!({"valueFrom": {"secret": {"name": "cloud", "key": key}}});
    let spec = json!({
        "name": secret("token"), "password": secret("token"), "description": {"value": "shown"},
        "disk": [{"name": {"valueFrom": {"templateString": "disk {{ .Secret.cloud.token }}"}}}],
    });
    let rules =
        json!([{"apiGroups": [GROUP], "resources": ["*"], "verbs": ["get", "create", "update", "patch"]}]);
    let user = TestUser::new(&s.test_env, "jane", &rules).await?;
    for part in ["name", "password", "disk"] {
        let mut file =
            json!({"apiVersion": format!("{GROUP}/v1alpha1"), "kind": KIND, "metadata": {"name": "b"}});
        file["spec"] = json!({"name": {"value": "web"}, "lifecycle": {"paused": true}});
        file["spec"][part] = spec[part].clone();
        let mut message = String::new();
        for _ in 0..100 {
            message = user.refused(&file.to_string()).await?;
            // Her permissions take effect after a delay.
            if message.contains("you must be allowed to get the Secrets") {
                break;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        assert!(message.contains("that this resource refers to: cloud"), "{part}: {message}");
    }
    s.apply("a", &spec).await?;
    s.test_env.ready(KIND, "a").await?;
    let object: Value = serde_json::from_slice(&fs::read(&s.objects()[0])?)?;
    let value = s.test_env.secret_value("token");
    assert_eq!(
        (&object["name"], &object["disk"][0]["name"]),
        (&json!(value), &json!(format!("disk {value}")))
    );
    let state = s.test_env.get("StateDeclaration", "ktestfile.tofu.a").await?["spec"]["data"].clone();
    assert!(state["name"].is_null() && state["disk"].is_null() && state["size"] == 10, "{state}");
    // Neither the former value nor the new one is part of a plan.
    s.test_env.patch(KIND, "a", json!({"spec": {"name": {"value": "web", "valueFrom": null}}})).await?;
    let message = s.test_env.not_ready(KIND, "a", "ImmutableField").await?;
    assert!(message.contains("spec.name") && !message.contains(&value), "{message}");
    s.test_env.delete(KIND, "a").await?;
    s.test_env.gone(KIND, "a").await?;
    s.uninstall().await?;
    s.uninstalled().await
}

/// The provider's own validation is part of the admission, with what the spec itself says.
#[tokio::test]
async fn spec_is_validated_by_the_provider_before_it_is_stored() -> Result<()> {
    let s = setting().await?;
    s.install(&json!({"dataSources": ["ktest_file"]})).await?;
    s.installed("Installed").await?;
    let shell = Shell::of(&s.test_env)?;
    let write = |name: Value, description: &str| {
        let file = json!({
            "apiVersion": format!("{GROUP}/v1alpha1"), "kind": KIND, "metadata": {"name": "a"},
            "spec": {"name": name, "description": {"value": description}, "lifecycle": {"paused": true}},
        });
        shell.write("file.yaml", &file.to_string())
    };
    write(json!({"value": ""}), "shown")?;
    let refused = shell.fails("kubectl apply -f file.yaml").await?;
    assert!(refused.contains("spec.name: Missing name: A file has a name."), "{refused}");
    // A value that is not known yet may be right.
    write(json!({"valueFrom": {"configMap": {"name": "names", "key": "a"}}}), "draft")?;
    let printed = shell.run("kubectl apply -f file.yaml").await?;
    assert!(printed.contains("spec.description: A draft: Describe it before it is used."), "{printed}");
    // What is stored is not judged again.
    let printed = shell.run("kubectl label ktestfile a team=web").await?;
    assert!(!printed.contains("draft"), "{printed}");
    s.test_env.delete(KIND, "a").await?;
    s.test_env.gone(KIND, "a").await?;
    s.uninstall().await?;
    s.uninstalled().await
}

/// Sensitive attributes that the provider computes are in the Secret that the resource names, where others can use them.
#[tokio::test]
async fn sensitive_outputs_are_in_a_secret_of_the_resource() -> Result<()> {
    let s = setting().await?;
    s.install(&json!({})).await?;
    s.installed("Installed").await?;
    s.usual_config().await?;
    let outputs = |secret: &str| json!({"sensitiveOutputs": {"secretName": secret}});
    let mut spec = outputs("cloud");
    spec["name"] = json!({"value": "web"});
    s.apply("a", &spec).await?;
    let message = s.test_env.not_ready(KIND, "a", "CloudRefused").await?;
    assert!(message.contains("the Secret cloud exists, and is not of this resource"), "{message}");
    assert!(message.contains("spec.sensitiveOutputs.secretName"), "{message}");
    assert_eq!(s.objects().len(), 1);

    s.test_env.patch(KIND, "a", json!({"spec": outputs("web-key")})).await?;
    s.test_env.ready(KIND, "a").await?;
    let object: Value = serde_json::from_slice(&fs::read(&s.objects()[0])?)?;
    let fingerprint = object["fingerprint"].as_str().context("no fingerprint")?;
    let wanted = json!({"fingerprint": ByteString(fingerprint.into())});
    assert_eq!(s.test_env.get("Secret", "web-key").await?["data"], wanted);
    let published = s.test_env.get("StateDeclaration", "ktestfile.tofu.a").await?;
    assert!(!published.to_string().contains(fingerprint), "{published}");
    // Another resource uses it.
    let name = json!({"valueFrom": {"secret": {"name": "web-key", "key": "fingerprint"}}});
    s.apply("b", &json!({"name": name})).await?;
    s.test_env.ready(KIND, "b").await?;
    let names =
        s.objects().iter().filter(|path| fs::read_to_string(path).unwrap().contains(fingerprint)).count();
    assert_eq!(names, 2);
    s.test_env.delete(KIND, "b").await?;
    s.test_env.gone(KIND, "b").await?;

    // What somebody edited is corrected.
    s.test_env.patch("Secret", "web-key", json!({"data": {"fingerprint": "eA=="}})).await?;
    let at = json!({"kraken-iac.eoinfennessy.com/reconcile-requested-at": "2026-11-27T00:00:00Z"});
    s.test_env.patch(KIND, "a", json!({"metadata": {"annotations": at}})).await?;
    s.test_env.until("Secret", "web-key", |secret| secret["data"] == wanted).await?;
    // Another name: there is never a second copy.
    s.test_env.patch(KIND, "a", json!({"spec": outputs("renamed")})).await?;
    s.test_env.until("Secret", "renamed", |secret| secret["data"] == wanted).await?;
    s.test_env.gone("Secret", "web-key").await?;
    // It stays with an object that stays.
    s.test_env.patch(KIND, "a", json!({"spec": {"lifecycle": {"deletion": "Retain"}}})).await?;
    s.test_env.ready(KIND, "a").await?;
    s.test_env.delete(KIND, "a").await?;
    s.test_env.gone(KIND, "a").await?;
    let kept = s.test_env.get("Secret", "renamed").await?;
    assert!(kept["data"] == wanted && kept["metadata"]["ownerReferences"].is_null(), "{kept}");
    assert_eq!(s.objects().len(), 1);
    s.uninstall().await?;
    s.uninstalled().await
}

/// A data source is a look-up, also of what Kraken does not manage, and its answer can be referenced. Another provider beside it works.
#[tokio::test]
async fn data_sources_are_looked_up_beside_another_provider() -> Result<()> {
    const DATA: &str = "DataKtestFile";
    let s = setting().await?;
    s.install(&json!({"dataSources": ["ktest_*"]})).await?;
    let (_, status) = s.installed("Installed").await?;
    let kinds: Vec<_> = status.types.iter().map(|one| (one.kind.as_str(), one.recovery.is_some())).collect();
    assert_eq!(kinds, [(KIND, true), (DATA, false)]);
    s.usual_config().await?;
    let search = |wanted: Value| {
        json!({"apiVersion": format!("{GROUP}/v1alpha1"), "kind": DATA, "metadata": {"name": "found"}, "spec": wanted}).to_string()
    };
    s.test_env.apply(&search(json!({"name": {"value": "web"}}))).await?;
    let message = s.test_env.not_ready(DATA, "found", "CloudRefused").await?;
    assert!(
        message.contains("failed to read the data source ktest_file: the query returned no file: 0 match"),
        "{message}"
    );
    s.apply(
        "a",
        &json!({"name": {"value": "web"}, "size": {"value": 4}, "labels": {"value": {"team": "web"}}}),
    )
    .await?;
    s.apply(
        "b",
        &json!({"name": {"value": "copy"}, "size": {"valueFrom": {"ref": "DataKtestFile/found/size"}}}),
    )
    .await?;
    let a = s.test_env.ready(KIND, "a").await?;
    let found = s.test_env.ready(DATA, "found").await?;
    assert_eq!(found["status"]["answer"]["ids"], a["status"]["externalIds"]);
    s.test_env.ready(KIND, "b").await?;
    let state = s.test_env.get("StateDeclaration", "ktestfile.tofu.b").await?;
    assert_eq!(state["spec"]["data"]["size"], 4);

    // A program that lacks a field in use is refused. After a restart there is no other one, and what it does not concern is managed.
    s.install(&json!({"dataSources": ["ktest_*"], "environment": {"KTEST_WITHOUT": "labels"}})).await?;
    s.installed("InUse").await?;
    let controller = s.test_env.env.suite.controller("tofu")?;
    controller.kill().await?;
    controller.start().await?;
    s.test_env.patch(DATA, "found", json!({"spec": {"name": {"value": "copy"}}})).await?;
    let b = s.test_env.get(KIND, "b").await?;
    let is_found = |found: &Value| found["status"]["answer"]["ids"] == b["status"]["externalIds"];
    s.test_env.until(DATA, "found", is_found).await?;
    // Nobody knows which resources of the kinds that wait use the configuration: it stays, longer than what is unused.
    tokio::time::sleep(Duration::from_secs(10)).await;
    let config = s.test_env.get("ProviderConfig", "ktest").await?;
    assert!(config["metadata"]["finalizers"].is_array(), "{config}");
    s.test_env.patch(DATA, "found", json!({"spec": {"name": {"value": "web"}}})).await?;
    s.install(&json!({"dataSources": ["ktest_*"]})).await?;
    s.installed("Installed").await?;

    let time = s.beside("time", programs::time).await?;
    time.install(&json!({"resources": ["time_static"]})).await?;
    time.installed("Installed").await?;
    let created = json!({
        "apiVersion": format!("{GROUP}/v1alpha1"), "kind": "TimeStatic", "metadata": {"name": "now"},
        "spec": {"rfc3339": {"value": "2026-11-27T12:00:00Z"}},
    });
    time.test_env.apply(&created.to_string()).await?;
    time.test_env.ready("TimeStatic", "now").await?;
    // One provider ends, and the other one goes on.
    time.test_env.delete("TimeStatic", "now").await?;
    time.test_env.gone("TimeStatic", "now").await?;
    time.uninstall().await?;
    time.uninstalled().await?;
    s.test_env.patch(KIND, "a", json!({"spec": {"size": {"value": 5}}})).await?;
    s.test_env.until("StateDeclaration", "ktestfile.tofu.a", |a| a["spec"]["data"]["size"] == 5).await?;

    s.test_env.delete(KIND, "b").await?;
    s.test_env.gone(KIND, "b").await?;
    s.test_env.delete(DATA, "found").await?;
    s.test_env.gone(DATA, "found").await?;
    s.test_env.delete(KIND, "a").await?;
    s.test_env.gone(KIND, "a").await?;
    s.uninstall().await?;
    s.uninstalled().await
}

/// A controller that is killed takes its provider with it, and finds again what it created.
#[tokio::test]
async fn creation_whose_controller_was_killed_is_found_again() -> Result<()> {
    let s = setting().await?;
    s.install(&json!({})).await?;
    s.installed("Installed").await?;
    s.usual_config().await?;
    s.apply("a", &json!({"name": {"value": "web"}, "delay_ms": {"value": 60_000}})).await?;
    for _ in 0..300 {
        if !s.objects().is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(s.objects().len(), 1);
    let controller = s.test_env.env.suite.controller("tofu")?;
    controller.kill().await?;
    let running = || {
        let all = fs::read_dir("/proc")
            .unwrap()
            .filter_map(|process| fs::read_link(process.ok()?.path().join("exe")).ok());
        all.filter(|program| program.starts_with(s.test_env.env.suite.providers())).count()
    };
    for _ in 0..50 {
        if running() == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(running(), 0, "the provider outlived its controller");
    controller.start().await?;
    // What it waited for is in the spec, and not in place.
    s.test_env.patch(KIND, "a", json!({"spec": {"delay_ms": null}})).await?;
    let ready = s.test_env.ready(KIND, "a").await?;
    assert_eq!(s.objects().len(), 1);
    let id = ready["status"]["externalIds"][0].as_str().context("no id")?;
    assert!(s.objects()[0].display().to_string().contains(id), "{:?}", s.objects());
    s.test_env.delete(KIND, "a").await?;
    s.test_env.gone(KIND, "a").await?;
    s.uninstall().await?;
    s.uninstalled().await
}

/// RBAC cannot limit the controller to its own CRDs and Secrets: policies do.
#[tokio::test]
async fn controller_writes_only_crds_of_its_group_and_secrets_of_its_type() -> Result<()> {
    let s = setting().await?;
    let kubeconfig =
        s.test_env.env.control_plane.kubeconfig_for_service_account("kraken-system", "kraken-tofu").await?;
    let config = kube::Config::from_custom_kubeconfig(
        kube::config::Kubeconfig::read_from(kubeconfig)?,
        &kube::config::KubeConfigOptions::default(),
    )
    .await?;
    let client = Client::try_from(config)?;
    let (crds, all) = (Api::all(client.clone()), Api::<CustomResourceDefinition>::all(s.client()));
    let crd: CustomResourceDefinition = serde_json::from_value(json!({
        "metadata": {"name": CRD_OF_OTHERS},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"kind": "Widget", "plural": "widgets"}, "versions": [
            {"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}},
        ]},
    }))?;
    let mut refused = String::new();
    for _ in 0..300 {
        match crds.create(&PostParams::default(), &crd).await {
            // The policies take effect some seconds after the start of the API server.
            Ok(_) => drop(all.delete(CRD_OF_OTHERS, &DeleteParams::default()).await?),
            Err(error) => refused = error.to_string(),
        }
        if refused.contains("may write CRDs") {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(
        refused.contains("may write CRDs of the group tofu.kraken-iac.eoinfennessy.com only"),
        "{refused}"
    );
    let other = all.list(&kube::api::ListParams::default().limit(50)).await?;
    let other = other.items.iter().find(|crd| crd.spec.group != GROUP).context("no other CRD")?;
    let name = other.metadata.name.as_deref().unwrap_or_default();
    let refused = crds.delete(name, &DeleteParams::default()).await.unwrap_err().to_string();
    assert!(refused.contains("may write CRDs of the group"), "{refused}");

    let secrets: Api<k8s_openapi::api::core::v1::Secret> = Api::namespaced(client, &s.test_env.ns.name);
    let secret = |kind: &str| serde_json::from_value(json!({"metadata": {"name": "mine"}, "type": kind}));
    let refused = secrets.create(&PostParams::default(), &secret("Opaque")?).await.unwrap_err().to_string();
    assert!(refused.contains("may write Secrets of the types"), "{refused}");
    let journal = secret("kraken-iac.eoinfennessy.com/tofu-state")?;
    secrets.create(&PostParams::default(), &journal).await?;
    s.usual_config().await?;
    let refused = secrets.delete("cloud", &DeleteParams::default()).await.unwrap_err().to_string();
    assert!(refused.contains("may write Secrets of the types"), "{refused}");
    Ok(())
}
