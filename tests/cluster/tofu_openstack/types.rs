//! One resource of each type that OpenStack's identity, networking, compute and image services have: created from YAML, planned without a
//! difference, changed by somebody else and corrected, deleted.

use std::{fs, time::Duration};

use anyhow::{Context as _, Result, ensure};
use kraken_testing::{manifests, openstack::OpenStack, paths};
use kraken_tofu::names::GROUP;
use serde_json::{Value as Json, json};

use super::{config, programs};
use crate::{
    kubectl::Shell,
    tofu_install::{Setting, setting_of},
};

/// What somebody changes by the cloud's own API, and a field that has its former value again then.
struct Drift {
    kind: &'static str,
    service: &'static str,
    /// The path of the object's collection.
    collection: &'static str,
    /// The word around an object in bodies.
    word: &'static str,
    method: &'static str,
    field: &'static str,
    value: Json,
}

impl Drift {
    fn network(kind: &'static str, collection: &'static str, word: &'static str) -> Self {
        let (service, method, field) = ("network", "PUT", "description");
        Self { kind, service, collection, word, method, field, value: json!("of somebody else") }
    }

    fn identity(kind: &'static str, collection: &'static str, word: &'static str) -> Self {
        let (service, method, field) = ("identity", "PATCH", "description");
        Self { kind, service, collection, word, method, field, value: json!("of somebody else") }
    }

    fn of(self, field: &'static str, value: Json) -> Self {
        Self { field, value, ..self }
    }
}

struct Stack {
    s: Setting,
    cloud: OpenStack,
    text: String,
    /// Kinds and names.
    names: Vec<(String, String)>,
}

impl Stack {
    /// The resources of a file, with these types of the provider.
    async fn of(file: &str, patterns: &[&str], replacements: &[(&str, &str)]) -> Result<Self> {
        let s = setting_of("openstack", programs::openstack).await?;
        let version = format!("apiVersion: {GROUP}/v1alpha1");
        let mut text = file.replace("NAME", &s.test_env.ns.name);
        text = text.replace("\n{kind: ", &format!("\n{{{version}, kind: "));
        text = text.replace("\nkind: ", &format!("\n{version}\nkind: "));
        for (name, value) in replacements {
            text = text.replace(name, value);
        }
        let documents = manifests::parse("resources", &text)?;
        let names = documents.into_iter().map(|one| (one.gvk.kind, one.name)).collect();
        s.install(&json!({"resources": patterns})).await?;
        s.installed("Installed").await?;
        Ok(Self { s, cloud: OpenStack::login().await?, text, names })
    }

    async fn create(&self) -> Result<()> {
        self.s.test_env.apply(&config()?.map(|one| one.to_string()).join("\n---\n")).await?;
        self.s.test_env.apply(&self.text).await?;
        for (kind, name) in &self.names {
            self.s.test_env.ready(kind, name).await?;
        }
        Ok(())
    }

    async fn is_planned_empty(&self) -> Result<()> {
        let shell = Shell::of(&self.s.test_env)?;
        shell.write("all.yaml", &self.text)?;
        let program = paths::bin_dir()?.join("kubectl-kraken");
        let (_, plan) = shell.output(&format!("{} plan -f all.yaml", program.display())).await?;
        ensure!(plan == format!("Nothing changes: {} unchanged.\n", self.names.len()), "{plan}");
        Ok(())
    }

    async fn corrects(&self, all: &[Drift]) -> Result<()> {
        for drift in all {
            let Drift { kind, service, collection, word, method, field, value } = drift;
            let resource = self.s.test_env.get(kind, "web").await?;
            let id = resource["status"]["externalIds"][0].as_str().context("no id")?;
            let path = format!("{collection}/{id}");
            let read = async || {
                let object = self.cloud.call("GET", service, &path, None).await?;
                anyhow::Ok(object[word][field].clone())
            };
            let before = read().await?;
            self.cloud.call(method, service, &path, Some(&json!({*word: {*field: value}}))).await?;
            ensure!(read().await? == *value && before != *value, "{kind}: {before}");
            let now = json!({"kraken-iac.eoinfennessy.com/reconcile-requested-at": jiff::Timestamp::now().to_string()});
            self.s.test_env.patch(kind, "web", json!({"metadata": {"annotations": now}})).await?;
            for attempt in 0.. {
                let now = read().await?;
                if now == before {
                    break;
                }
                ensure!(attempt < 300, "{kind}: {field} is still {now}");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            println!("{kind}: {field} is corrected");
        }
        Ok(())
    }

    async fn delete(self) -> Result<()> {
        // All at once: each waits for its dependents.
        for (kind, name) in &self.names {
            self.s.test_env.delete(kind, name).await?;
        }
        for (kind, name) in &self.names {
            self.s.test_env.gone(kind, name).await?;
        }
        self.s.uninstall().await?;
        self.s.uninstalled().await
    }
}

#[tokio::test]
#[ignore = "requires OpenStack"]
async fn networking() -> Result<()> {
    let stack = Stack::of(
        include_str!("networking.yaml"),
        &["openstack_networking_*", "openstack_identity_project_*"],
        &[],
    )
    .await?;
    stack.create().await?;
    stack.is_planned_empty().await?;
    let of = |kind, collection, word| Drift::network(kind, collection, word);
    stack
        .corrects(&[
            of("OpenstackNetworkingNetworkV2", "/v2.0/networks", "network").of("name", json!("other")),
            of("OpenstackNetworkingSubnetV2", "/v2.0/subnets", "subnet"),
            of("OpenstackNetworkingRouterV2", "/v2.0/routers", "router").of("name", json!("other")),
            of("OpenstackNetworkingSecgroupV2", "/v2.0/security-groups", "security_group"),
            of("OpenstackNetworkingPortV2", "/v2.0/ports", "port").of("name", json!("other")),
            of("OpenstackNetworkingFloatingipV2", "/v2.0/floatingips", "floatingip"),
            of("OpenstackNetworkingAddressscopeV2", "/v2.0/address-scopes", "address_scope")
                .of("name", json!("other")),
            of("OpenstackNetworkingSubnetpoolV2", "/v2.0/subnetpools", "subnetpool")
                .of("name", json!("other")),
            of("OpenstackNetworkingQosPolicyV2", "/v2.0/qos/policies", "policy"),
            of("OpenstackNetworkingSegmentV2", "/v2.0/segments", "segment").of("name", json!("other")),
        ])
        .await?;
    stack.is_planned_empty().await?;
    stack.delete().await
}

#[tokio::test]
#[ignore = "requires OpenStack"]
async fn identity() -> Result<()> {
    let stack = Stack::of(include_str!("identity.yaml"), &["openstack_identity_*"], &[]).await?;
    stack.create().await?;
    stack.is_planned_empty().await?;
    let of = |kind, collection, word| Drift::identity(kind, collection, word);
    stack
        .corrects(&[
            of("OpenstackIdentityProjectV3", "/v3/projects", "project"),
            of("OpenstackIdentityUserV3", "/v3/users", "user"),
            of("OpenstackIdentityRoleV3", "/v3/roles", "role").of("name", json!("another-role")),
            of("OpenstackIdentityGroupV3", "/v3/groups", "group"),
            of("OpenstackIdentityServiceV3", "/v3/services", "service"),
            of("OpenstackIdentityEndpointV3", "/v3/endpoints", "endpoint")
                .of("url", json!("http://127.0.0.1:2/")),
            of("OpenstackIdentityLimitV3", "/v3/limits", "limit").of("resource_limit", json!(3)),
        ])
        .await?;
    stack.is_planned_empty().await?;
    stack.delete().await
}

#[tokio::test]
#[ignore = "requires OpenStack with compute and images"]
async fn compute_and_images() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let image = folder.path().join("image");
    fs::write(&image, [0; 4096])?;
    let patterns = ["openstack_compute_*", "openstack_images_*", "openstack_networking_*"];
    let image = image.display().to_string();
    let stack = Stack::of(include_str!("compute.yaml"), &patterns, &[("IMAGE", &image)]).await?;
    stack.create().await?;
    stack.is_planned_empty().await?;
    let server =
        Drift::network("OpenstackComputeInstanceV2", "/servers", "server").of("name", json!("other"));
    stack.corrects(&[Drift { service: "compute", ..server }]).await?;
    stack.is_planned_empty().await?;
    stack.delete().await
}
