//! Two replicas: the one that does not lead answers reviews and plans, follows the program that was decided, and takes over.

use std::{fs, sync::Arc};

use anyhow::{Context as _, Result};
use kraken_testing::{Environment, EnvironmentOptions, Suite, SuiteOptions, paths};
use serde_json::{Value, json};

use super::{KIND, setting::Setting};
use crate::{kubectl::Shell, tofu::programs};

#[tokio::test]
async fn a_standby_answers_plans_without_a_write_and_takes_over() -> Result<()> {
    let of = |names: &[&str]| {
        let only = Some(names.iter().map(|&name| name.to_owned()).collect());
        SuiteOptions { only, webhooks: true, ..SuiteOptions::default() }.with_env(
            "tofu",
            "KRAKEN_LEASE_DURATION",
            "5s",
        )
    };
    let options = EnvironmentOptions { suite: of(&["hub", "tofu"]), ..EnvironmentOptions::default() };
    let env = Arc::new(Environment::start(options).await?);
    let s = Setting::on(env.clone(), "ktest", programs::ktest, None).await?;
    // Started second, so that it does not lead; its address is the one that the API server calls from now on.
    let standby = Suite::start_installed(&env.control_plane, &env.moto, of(&["tofu"])).await?;
    fs::create_dir_all(standby.providers())?;
    fs::copy(env.suite.providers().join("ktest"), standby.providers().join("ktest"))?;
    let (leader, standby) = (env.suite.controller("tofu")?, standby.controller("tofu")?);

    s.install(&json!({})).await?;
    s.installed("Installed").await?;
    s.usual_config().await?;
    s.apply("a", &json!({"name": {"value": "web"}, "lifecycle": {"replace": "CreateFirst"}})).await?;
    let ready = s.test_env.ready(KIND, "a").await?;
    let id = ready["status"]["externalIds"][0].as_str().context("no id")?;
    let before = s.journals().await?;

    // What it looks at for a plan, it must not believe later: the leader replaces the object.
    let shell = Shell::of(&s.test_env)?;
    let planned = async |name: &str, more: &Value| {
        let mut spec = json!({"name": {"value": name}, "lifecycle": {"replace": "CreateFirst"}});
        for (field, value) in more.as_object().into_iter().flatten() {
            spec[field] = value.clone();
        }
        let document =
            json!({"apiVersion": ready["apiVersion"], "kind": KIND, "metadata": {"name": "a"}, "spec": spec});
        shell.write("a.yaml", &document.to_string())?;
        let program = paths::bin_dir()?.join("kubectl-kraken");
        anyhow::Ok(shell.output(&format!("{} plan -f a.yaml", program.display())).await?.1)
    };
    let outputs = json!({"size": {"value": 7}, "sensitiveOutputs": {"secretName": "planned"}});
    let plan = planned("web", &outputs).await?;
    assert!(plan.contains(&format!("changes {id} in place: size 10 -> 7")), "{plan}");
    let plan = planned("api", &json!({})).await?;
    assert!(plan.contains(&format!("replaces {id} (CreateFirst): name web -> api")), "{plan}");
    assert!(s.test_env.get("Secret", "planned").await?.is_null(), "a plan writes nothing");
    assert_eq!(s.journals().await?, before);
    assert!(!leader.log_text()?.contains("panicked"), "{}", leader.log_text()?);

    s.test_env.patch(KIND, "a", json!({"spec": {"name": {"value": "api"}}})).await?;
    s.sizes_are(&json!({"api": 10})).await?;
    // Another setting of the program is decided by the leader, and known to the standby from the status only.
    s.install(&json!({"environment": {"KTEST_SIZE": "20"}, "switchPolicy": "Always"})).await?;
    s.installed("Installed").await?;
    s.sizes_are(&json!({"api": 20})).await?;

    leader.terminate().await?;
    s.resize("a", 5, &json!({"api": 5})).await?;
    s.test_env.patch(KIND, "a", json!({"spec": {"size": null}})).await?;
    s.sizes_are(&json!({"api": 20})).await?; // the default of the program that was decided
    assert_eq!(s.objects().len(), 1, "the object of the leader is the one that exists");

    // And back: the former leader starts as a standby, and leads when the other one is killed.
    leader.start().await?;
    standby.kill().await?;
    s.resize("a", 6, &json!({"api": 6})).await?;
    assert_eq!(s.objects().len(), 1);
    standby.start().await?;
    s.test_env.delete(KIND, "a").await?;
    s.test_env.gone(KIND, "a").await?;
    assert!(s.objects().is_empty());
    s.uninstall().await?;
    s.uninstalled().await
}
