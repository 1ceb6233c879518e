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
