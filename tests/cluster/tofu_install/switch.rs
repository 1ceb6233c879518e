//! Another version of a provider: its plans are counted before it takes over.

use std::fs;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{
    KIND,
    setting::{Setting, setting},
};

impl Setting {
    /// The sizes of the objects, by name.
    fn sizes(&self) -> Result<Value> {
        let mut sizes = json!({});
        for path in self.objects() {
            let object: Value = serde_json::from_slice(&fs::read(path)?)?;
            let name = object["name"].as_str().context("an object without a name")?.to_owned();
            sizes[name] = object["size"].clone();
        }
        Ok(sizes)
    }

    pub(super) async fn sizes_are(&self, wanted: &Value) -> Result<()> {
        for _ in 0..300 {
            if self.sizes()? == *wanted {
                return Ok(());
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
        anyhow::bail!("the sizes are {}", self.sizes()?)
    }

    /// Edits the size of a resource, and waits until its object has it.
    pub(super) async fn resize(&self, name: &str, size: u64, wanted: &Value) -> Result<()> {
        self.test_env.patch(KIND, name, json!({"spec": {"size": {"value": size}}})).await?;
        self.sizes_are(wanted).await
    }

    /// The versions of the journals.
    pub(super) async fn journals(&self) -> Result<Vec<String>> {
        let all: Value = serde_json::from_str(&self.test_env.all("Secret").await?)?;
        let journals = all.as_array().into_iter().flatten();
        let journals = journals.filter(|secret| secret["type"] == "kraken-iac.eoinfennessy.com/tofu-state");
        Ok(journals.map(|secret| secret["metadata"]["resourceVersion"].to_string()).collect())
    }
}

#[tokio::test]
async fn another_program_takes_over_if_its_plans_change_nothing_or_it_is_told_to() -> Result<()> {
    let s = setting().await?;
    s.install(&json!({})).await?;
    s.installed("Installed").await?;
    s.usual_config().await?;
    s.apply("a", &json!({"name": {"value": "web"}})).await?;
    s.apply("b", &json!({"name": {"value": "api"}, "size": {"value": 3}})).await?;
    s.test_env.ready(KIND, "a").await?;
    s.test_env.ready(KIND, "b").await?;

    // The same program in another file.
    let folder = s.test_env.env.suite.providers();
    let mut next = fs::read(folder.join("ktest"))?;
    next.push(0);
    fs::write(folder.join("ktest-next"), &next)?;
    fs::set_permissions(folder.join("ktest-next"), fs::metadata(folder.join("ktest"))?.permissions())?;
    let next = json!({"path": "ktest-next", "sha256": hex::encode(Sha256::digest(&next))});
    s.install(&next).await?;
    let (_, status) = s.installed("Installed").await?;
    let (program, switch) = (status.program.context("no program")?, status.switch.context("no switch")?);
    assert_eq!((program.path.as_str(), switch.path.as_str()), ("ktest-next", "ktest-next"));
    assert_eq!((switch.unchanged, switch.changed, switch.replaced, switch.unknown), (2, 0, 0, 0));

    // One with another default: it changes nothing, and the former one works on, also after a restart.
    let with = |environment: Value, policy: &str| {
        let mut install = next.clone();
        install["environment"] = environment;
        install["switchPolicy"] = policy.into();
        install
    };
    let journals = s.journals().await?;
    let larger = json!({"KTEST_SIZE": "20"});
    s.install(&with(larger.clone(), "IfUnchanged")).await?;
    let (message, status) = s.installed("SwitchRefused").await?;
    let ns = &s.test_env.ns.name;
    assert!(message.contains("of 2 resources 1 would be changed in place"), "{message}");
    assert!(message.contains(&format!("{KIND} {ns}/a: changes ")), "{message}");
    assert!(message.contains("in place: size 10 -> 20"), "{message}");
    assert_eq!(status.switch.context("no switch")?.changed, 1);
    assert!(status.program.context("no program")?.environment.is_empty());
    assert_eq!(s.journals().await?, journals);
    s.resize("b", 4, &json!({"web": 10, "api": 4})).await?;
    s.test_env.env.suite.controller("tofu")?.restart().await?;
    s.resize("b", 5, &json!({"web": 10, "api": 5})).await?;

    // One that cannot change it.
    let replaces = json!({"KTEST_SIZE": "20", "KTEST_REPLACES": "size"});
    s.install(&with(replaces, "IfUnchanged")).await?;
    let (message, status) = s.installed("SwitchRefused").await?;
    assert!(message.contains("of 2 resources 1 would not be ready"), "{message}");
    assert_eq!(status.switch.context("no switch")?.rejected, 1);

    // A person decides.
    s.install(&with(larger, "Always")).await?;
    let (_, status) = s.installed("Installed").await?;
    assert_eq!(status.switch.context("no switch")?.changed, 1);
    assert_eq!(status.program.context("no program")?.environment["KTEST_SIZE"], "20");
    s.sizes_are(&json!({"web": 20, "api": 5})).await?;

    // The program in use is lost, and a process starts: nothing takes over by itself.
    let controller = s.test_env.env.suite.controller("tofu")?;
    controller.terminate().await?;
    fs::remove_file(folder.join("ktest-next"))?;
    s.install(&json!({})).await?;
    controller.start().await?;
    let (message, _) = s.installed("SwitchRefused").await?;
    assert!(message.contains("does not start"), "{message}");
    s.install(&json!({"switchPolicy": "Always"})).await?;
    s.installed("Installed").await?;
    s.resize("b", 6, &json!({"web": 20, "api": 6})).await?;

    for name in ["a", "b"] {
        s.test_env.delete(KIND, name).await?;
        s.test_env.gone(KIND, name).await?;
    }
    // Without resources, there is nothing to compare.
    s.install(&json!({"environment": {"KTEST_SIZE": "30"}})).await?;
    s.installed("Installed").await?;
    s.uninstall().await?;
    s.uninstalled().await
}
