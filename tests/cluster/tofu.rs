//! Resource types of an OpenTofu provider as kinds. The provider `ktest` keeps its objects as files.
#![allow(clippy::unwrap_used, reason = "helpers of these tests only")]

#[allow(dead_code, reason = "the tests of the client of plugins use the other programs, too")]
#[path = "../../crates/kraken-tfplugin/tests/plugin/programs.rs"]
pub(crate) mod programs;

use std::{collections::BTreeMap, fs, path::PathBuf, sync::Arc, time::Duration};

use anyhow::{Context as _, Result};
use kraken_testing::process::kill_at_once;
use kraken_tests::{KindsController, TestEnv};
use kraken_tfplugin::{Host, HostLink, HostOptions};
use kraken_tofu::{Config, Program, ProgramOptions, Provider, TofuExternal, TofuKind, names::GROUP};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::{Mutex, MutexGuard};

const KIND: &str = "KtestFile";
/// A kind has one CRD and one controller in this cluster.
static ONE: Mutex<()> = Mutex::const_new(());

struct Setting {
    test_env: TestEnv,
    files: TempDir,
    provider: Arc<Provider>,
    controller: KindsController,
    /// Held until the end of the test.
    one: MutexGuard<'static, ()>,
}

/// A controller of these types of a provider.
pub(crate) async fn controller(
    test_env: &TestEnv,
    provider: &Arc<Provider>,
    types: &[&str],
) -> Result<KindsController> {
    let controller = KindsController::start(test_env).await?;
    for type_name in types {
        let schema = provider.schema().resources.get(*type_name);
        let schema = schema.with_context(|| format!("the provider has no type {type_name}"))?;
        let kind = TofuKind::new(type_name, schema.clone());
        let (client, manager) = controller.client();
        let external = TofuExternal::new(provider.clone(), &kind, client, manager);
        controller.add(test_env, &kind.crd(), Arc::new(kind), Arc::new(external)).await?;
    }
    Ok(controller)
}

/// A provider with this configuration.
pub(crate) async fn configured(path: PathBuf, options: Value) -> Result<Arc<Provider>> {
    let host = HostLink::Own(Host::new(HostOptions::new(jiff::Timestamp::now().to_string())));
    let program = Program::load(host, ProgramOptions { path, ..ProgramOptions::default() }).await?;
    let config = Config { options, ..Config::default() };
    Ok(Arc::new(Provider::new(Arc::new(program), config)))
}

async fn provider(test_env: &TestEnv, files: &TempDir) -> Result<Arc<Provider>> {
    let program = tokio::task::spawn_blocking(programs::ktest).await?;
    let config = json!({"folder": files.path(), "token": test_env.secret_value("token")});
    configured(program, config).await
}

async fn setting() -> Result<Setting> {
    let one = ONE.lock().await;
    let test_env = TestEnv::new().await?;
    let files = tempfile::tempdir()?;
    let provider = provider(&test_env, &files).await?;
    let controller = controller(&test_env, &provider, &["ktest_file"]).await?;
    Ok(Setting { test_env, files, provider, controller, one })
}

fn file(name: &str, spec: &Value) -> String {
    json!({"apiVersion": format!("{GROUP}/v1alpha1"), "kind": KIND, "metadata": {"name": name}, "spec": spec})
        .to_string()
}

impl Setting {
    /// The provider's objects, by id.
    fn objects(&self) -> BTreeMap<String, Value> {
        let all = fs::read_dir(self.files.path()).unwrap().map(|file| file.unwrap().path());
        let read = |path: std::path::PathBuf| {
            let content = fs::read_to_string(&path).unwrap();
            (
                path.file_stem().unwrap().to_string_lossy().into_owned(),
                serde_json::from_str(&content).unwrap_or(json!(content)),
            )
        };
        all.map(read).collect()
    }

    /// Changes an object out of band.
    fn set(&self, id: &str, field: &str, value: Value) {
        let mut object = self.objects()[id].clone();
        object[field] = value;
        let path = fs::read_dir(self.files.path()).unwrap().map(|file| file.unwrap().path());
        let mut path = path;
        let path = path.find(|path| path.file_stem().is_some_and(|name| name == id)).unwrap();
        fs::write(path, object.to_string()).unwrap();
    }

    /// Waits until there are so many objects.
    async fn objects_are(&self, number: usize) {
        for _ in 0..900 {
            if self.objects().len() == number {
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        assert_eq!(self.objects().len(), number, "{:?}", self.objects());
    }

    async fn touch(&self, name: &str) -> Result<()> {
        let annotations =
            json!({"kraken-iac.eoinfennessy.com/reconcile-requested-at": jiff::Timestamp::now().to_string()});
        self.test_env.patch(KIND, name, json!({"metadata": {"annotations": annotations}})).await
    }
}

#[tokio::test]
async fn resource_type_of_a_provider_has_references_changes_and_deletion() -> Result<()> {
    let s = setting().await?;
    let spec = json!({
        "name": {"value": "web"}, "description": {"value": "Of the shop"}, "labels": {"value": {"a": "b"}},
        "rule": [{"port": {"value": 80}}, {"port": {"value": 443}, "protocol": {"value": "udp"}}],
        "secret": {"value": "a literal that is sensitive"},
    });
    s.test_env.apply(&file("a", &spec)).await?;
    let ready = s.test_env.ready(KIND, "a").await?;
    assert_eq!(s.objects().len(), 1);
    let id = ready["status"]["externalIds"][0].as_str().unwrap().to_owned();
    // Kinds of providers refer to each other as all kinds do: the size, which the provider chose, and the main id.
    let spec = json!({
        "name": {"valueFrom": {"templateString": "of {{ .KtestFile.a }}"}},
        "size": {"valueFrom": {"ref": "KtestFile/a/size"}},
    });
    s.test_env.apply(&file("b", &spec)).await?;
    s.test_env.ready(KIND, "b").await?;
    let state = s.test_env.get("StateDeclaration", "ktestfile.tofu.b").await?["spec"]["data"].clone();
    assert_eq!((&state["name"], &state["size"]), (&json!(format!("of {id}")), &json!(10)));
    // What is sensitive is in no published state.
    let state = s.test_env.get("StateDeclaration", "ktestfile.tofu.a").await?["spec"]["data"].clone();
    assert!(
        state["id"].is_string() && state["secret"].is_null() && state["fingerprint"].is_null(),
        "{state}"
    );
    assert_eq!(state["rule"][1]["protocol"], "udp");
    assert!(!ready["status"].to_string().contains("a literal"), "{ready}");

    s.test_env.patch(KIND, "a", json!({"spec": {"size": {"value": 12}}})).await?;
    s.test_env.until("StateDeclaration", "ktestfile.tofu.b", |b| b["spec"]["data"]["size"] == 12).await?;
    assert_eq!(s.objects().len(), 2);
    // Deleted after its dependents.
    s.test_env.delete(KIND, "a").await?;
    s.test_env.not_ready(KIND, "a", "DeletionBlocked").await?;
    s.test_env.delete(KIND, "b").await?;
    s.test_env.gone(KIND, "a").await?;
    assert_eq!(s.objects().len(), 0);
    Ok(())
}

#[tokio::test]
async fn drift_is_reverted_and_a_change_that_needs_a_new_object_says_so() -> Result<()> {
    let s = setting().await?;
    s.test_env.apply(&file("a", &json!({"name": {"value": "web"}, "size": {"value": 3}}))).await?;
    let ready = s.test_env.ready(KIND, "a").await?;
    let id = ready["status"]["externalIds"][0].as_str().unwrap().to_owned();
    s.set(&id, "size", json!(9));
    s.touch("a").await?;
    for _ in 0..300 {
        if s.objects()[&id]["size"] == 3 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(s.objects()[&id]["size"], 3);

    s.test_env.patch(KIND, "a", json!({"spec": {"name": {"value": "api"}}})).await?;
    let message = s.test_env.not_ready(KIND, "a", "ImmutableField").await?;
    assert!(message.contains("spec.name") && message.contains("lifecycle.replace"), "{message}");
    s.test_env.patch(KIND, "a", json!({"spec": {"lifecycle": {"replace": "CreateFirst"}}})).await?;
    let replaced = s.test_env.until(KIND, "a", |a| a["status"]["externalIds"] != json!([id.clone()])).await?;
    s.test_env.ready(KIND, "a").await?;
    s.objects_are(1).await;
    assert_eq!(replaced["metadata"]["name"], "a");
    Ok(())
}

#[tokio::test]
async fn creation_whose_provider_was_killed_is_found_again() -> Result<()> {
    let s = setting().await?;
    // The object exists, and its response takes long.
    s.test_env.apply(&file("a", &json!({"name": {"value": "web"}, "delay_ms": {"value": 20_000}}))).await?;
    s.objects_are(1).await;
    let process = s.provider.process_id().await.context("the provider does not run")?;
    kill_at_once(process)?;
    let ready = s.test_env.ready(KIND, "a").await?;
    assert_eq!(s.objects().len(), 1, "{:?}", s.objects());
    assert!(s.objects().contains_key(ready["status"]["externalIds"][0].as_str().unwrap()), "{ready}");
    Ok(())
}

#[tokio::test]
async fn creation_whose_controller_ended_is_found_again() -> Result<()> {
    let s = setting().await?;
    s.test_env.apply(&file("a", &json!({"name": {"value": "web"}, "delay_ms": {"value": 20_000}}))).await?;
    s.objects_are(1).await;
    let Setting { test_env, files, provider: former, controller: ended, one } = s;
    let process = former.process_id().await.context("the provider does not run")?;
    drop(ended);
    // A process that ends takes its provider with it, unless that has already ended.
    let _ = kill_at_once(process);
    let provider = provider(&test_env, &files).await?;
    let controller = controller(&test_env, &provider, &["ktest_file"]).await?;
    test_env.ready(KIND, "a").await?;
    let s = Setting { test_env, files, provider, controller, one };
    assert_eq!(s.objects().len(), 1, "{:?}", s.objects());
    assert_eq!(s.controller.problems(), Vec::<String>::new());
    Ok(())
}

#[tokio::test]
async fn existing_object_is_adopted_by_its_id_and_kept() -> Result<()> {
    let s = setting().await?;
    let spec = json!({"name": {"value": "web"}, "lifecycle": {"deletion": "Retain"}});
    s.test_env.apply(&file("a", &spec)).await?;
    let ready = s.test_env.ready(KIND, "a").await?;
    let id = ready["status"]["externalIds"][0].clone();
    s.test_env.delete(KIND, "a").await?;
    s.test_env.gone(KIND, "a").await?;
    assert_eq!(s.objects().len(), 1);
    let spec = json!({"name": {"value": "web"}, "lifecycle": {"adopt": {"id": id}}});
    s.test_env.apply(&file("b", &spec)).await?;
    let adopted = s
        .test_env
        .until(KIND, "b", |b| {
            b["status"]["externalIds"] == json!([id.clone()])
                || b["status"]["conditions"][0]["reason"] == "AwaitingApproval"
        })
        .await?;
    if adopted["status"]["plan"]["hash"].is_string() {
        let annotations =
            json!({"kraken-iac.eoinfennessy.com/approved-plan": adopted["status"]["plan"]["hash"]});
        s.test_env.patch(KIND, "b", json!({"metadata": {"annotations": annotations}})).await?;
    }
    s.test_env.ready(KIND, "b").await?;
    assert_eq!(s.objects().len(), 1);
    Ok(())
}

#[tokio::test]
async fn error_of_a_provider_is_a_condition_without_secret_values() -> Result<()> {
    let s = setting().await?;
    let spec = json!({"name": {"value": "web"}, "fail": {"value": "before"}});
    s.test_env.apply(&file("a", &spec)).await?;
    let message = s.test_env.not_ready(KIND, "a", "CloudRefused").await?;
    assert!(message.contains("failed to create ktest_file: fail: ktest failed"), "{message}");
    assert_eq!(s.objects().len(), 0);
    s.test_env.patch(KIND, "a", json!({"spec": {"fail": null}})).await?;
    s.test_env.ready(KIND, "a").await?;
    s.objects_are(1).await;
    Ok(())
}
