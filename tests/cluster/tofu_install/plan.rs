//! Plans of kinds whose provider decides what an edit does: it is asked.

use std::fs;

use anyhow::{Context as _, Result};
use kraken_testing::paths;
use serde_json::{Value, json};

use super::{KIND, setting::setting};
use crate::kubectl::Shell;

#[tokio::test]
async fn a_plan_says_what_the_provider_would_do() -> Result<()> {
    let s = setting().await?;
    s.install(&json!({})).await?;
    s.installed("Installed").await?;
    s.usual_config().await?;
    s.apply("a", &json!({"name": {"value": "web"}, "size": {"value": 3}})).await?;
    let ready = s.test_env.ready(KIND, "a").await?;
    let id = ready["status"]["externalIds"][0].as_str().context("no id")?;
    let (shell, program) = (Shell::of(&s.test_env)?, paths::bin_dir()?.join("kubectl-kraken"));
    let planned = async |name: &str, size: u64, lifecycle: &Value, flags: &str| {
        let spec = json!({"name": {"value": name}, "size": {"value": size}, "lifecycle": lifecycle});
        let group = ready["apiVersion"].clone();
        let document = json!({"apiVersion": group, "kind": KIND, "metadata": {"name": "a"}, "spec": spec});
        shell.write("a.yaml", &document.to_string())?;
        Ok::<_, anyhow::Error>(
            shell.output(&format!("{} plan -f a.yaml {flags}", program.display())).await?.1,
        )
    };
    let none = json!({});
    assert_eq!(planned("web", 3, &none, "").await?, "Nothing changes: 1 unchanged.\n");
    let size = planned("web", 5, &none, "").await?;
    assert!(size.contains(&format!("~ {KIND}/a\n    changes {id} in place: size 3 -> 5\n")), "{size}");
    let name = planned("api", 3, &none, "").await?;
    assert!(name.contains(&format!("x {KIND}/a\n    cannot change {id} in place")), "{name}");
    let replaced = planned("api", 3, &json!({"replace": "CreateFirst"}), "").await?;
    assert!(
        replaced.contains(&format!("± {KIND}/a\n    replaces {id} (CreateFirst): name web -> api\n")),
        "{replaced}"
    );
    let specs = planned("api", 3, &none, "--no-refresh").await?;
    assert!(specs.contains("in place, or replaces it, as the provider decides: name web -> api"), "{specs}");

    // A plan writes nothing, also where a reconcile with this spec would.
    let outputs = json!({"sensitiveOutputs": {"secretName": "planned"}, "name": {"value": "web"}, "size": {"value": 3}});
    let document =
        json!({"apiVersion": ready["apiVersion"], "kind": KIND, "metadata": {"name": "a"}, "spec": outputs});
    shell.write("a.yaml", &document.to_string())?;
    shell.output(&format!("{} plan -f a.yaml", program.display())).await?;
    assert!(s.test_env.get("Secret", "planned").await?.is_null());

    // Somebody changes the object.
    let path = s.objects().pop().context("no object")?;
    let mut object: Value = serde_json::from_str(&fs::read_to_string(&path)?)?;
    object["size"] = json!(9);
    fs::write(&path, object.to_string())?;
    let drifted = planned("web", 3, &none, "").await?;
    assert!(drifted.contains(&format!("corrects {id} in the cloud: size 9 -> 3")), "{drifted}");

    s.test_env.delete(KIND, "a").await?;
    s.test_env.gone(KIND, "a").await?;
    s.uninstall().await?;
    s.uninstalled().await
}

#[tokio::test]
async fn a_provider_that_is_too_slow_for_all_at_once_is_asked_one_by_one() -> Result<()> {
    let s = setting().await?;
    s.install(&json!({"environment": {"KTEST_READ_MS": "900"}})).await?;
    s.installed("Installed").await?;
    s.usual_config().await?;
    let names: Vec<String> = (0..8).map(|number| format!("slow-{number}")).collect();
    for name in &names {
        s.apply(name, &json!({"name": {"value": name}})).await?;
    }
    let mut documents = vec![];
    for name in &names {
        let ready = s.test_env.ready(KIND, name).await?;
        let spec = json!({"name": {"value": name}, "size": {"value": 5}});
        documents.push(
            json!({"apiVersion": ready["apiVersion"], "kind": KIND, "metadata": {"name": name}, "spec": spec}),
        );
    }
    let shell = Shell::of(&s.test_env)?;
    let text = documents.iter().map(Value::to_string).collect::<Vec<_>>().join("\n---\n");
    shell.write("all.yaml", &text)?;
    let program = paths::bin_dir()?.join("kubectl-kraken");
    let (_, plan) = shell.output(&format!("{} plan -f all.yaml", program.display())).await?;
    assert!(!plan.contains("Not compared"), "{plan}");
    assert_eq!(plan.matches("in place: size 10 -> 5").count(), names.len(), "{plan}");
    for name in &names {
        s.test_env.delete(KIND, name).await?;
    }
    for name in &names {
        s.test_env.gone(KIND, name).await?;
    }
    s.uninstall().await?;
    s.uninstalled().await
}
