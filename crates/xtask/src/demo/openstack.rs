//! A server in a network of its own on OpenStack, by the cloud's unmodified OpenTofu provider. The cloud is the one that the variables of
//! OpenStack's clients name.

use std::time::{Duration, Instant};
use std::{env, fs};

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::api::core::v1::ConfigMap;
use kraken_testing::manifests::Document;
use kraken_testing::openstack::{OpenStack, variable};
use kraken_testing::{Environment, manifests, providers};
use kube::api::{Api, Patch, PatchParams};
use serde_json::{Value, json};

use super::common::{Demo, NAMESPACE};
use super::show;
use crate::elapsed::CommandStart;
use crate::ui;

const SAMPLES: &str = "config/samples/openstack";
/// The name of an image and a flavor that the demo makes.
const MADE: &str = "kraken-demo";
/// The types of the samples.
const TYPES: [&str; 4] = [
    "openstack_networking_*",
    "openstack_compute_instance_v2",
    "openstack_compute_flavor_v2",
    "openstack_images_image_v2",
];
/// A collection of each service whose objects must be as many in the end as at the beginning.
const COLLECTIONS: [(&str, &str, &str); 6] = [
    ("network", "/v2.0/networks", "networks"),
    ("network", "/v2.0/subnets", "subnets"),
    ("network", "/v2.0/routers", "routers"),
    ("network", "/v2.0/ports", "ports"),
    ("network", "/v2.0/security-groups", "security_groups"),
    ("compute", "/servers", "servers"),
];

pub(super) struct OnOpenStack<'env> {
    demo: Demo<'env>,
    cloud: OpenStack,
    before: Vec<String>,
    /// An image and a flavor, if the cloud has none.
    platform: Vec<Document>,
}

impl<'env> OnOpenStack<'env> {
    /// Before anything is built: what the user has to do first.
    pub(super) fn check_variables() -> Result<()> {
        for name in ["OS_AUTH_URL", "OS_USERNAME", "OS_PASSWORD", "OS_PROJECT_NAME"] {
            variable(name)?;
        }
        Ok(())
    }

    /// Installs the provider, and follows the kinds of the samples.
    pub(super) async fn begin(environment: &'env Environment, timeout: Duration) -> Result<Self> {
        let cloud = OpenStack::login().await?;
        println!("   OpenStack:  {}", variable("OS_AUTH_URL")?);
        let before = existing(&cloud).await?;
        ui::headline("Installing the provider of OpenStack");
        install(environment, timeout).await?;
        let mut demo = Demo::begin_in_reverse(environment, SAMPLES, timeout).await?;
        let mut platform = vec![];
        if cloud.has("compute") {
            platform = settings(&cloud, &mut demo).await?;
        } else {
            println!("   The cloud has no compute service: the server is left out");
            demo.samples.retain(|sample| !sample.source.contains("03-server"));
        }
        Ok(Self { demo, cloud, before, platform })
    }

    /// Creates everything, and corrects what somebody changes.
    pub(super) async fn show(&mut self, entered: CommandStart) -> Result<()> {
        self.create(entered).await?;
        self.correct().await
    }

    /// Everything is applied, the last first, and becomes Ready.
    async fn create(&mut self, entered: CommandStart) -> Result<()> {
        self.demo.apply(SAMPLES, entered).await?;
        let maps: Api<ConfigMap> = Api::namespaced(self.demo.client.clone(), NAMESPACE);
        show::config_map("web", &maps.get("web").await?);
        Ok(())
    }

    /// Somebody renames the network by the cloud's own API.
    async fn correct(&mut self) -> Result<()> {
        ui::headline("Somebody renames the network by OpenStack's own API");
        let views = self.demo.board.views();
        let network =
            views.iter().find(|view| view.kind == "OpenstackNetworkingNetworkV2" && view.name == "web");
        let id = network.and_then(|view| view.external_ids.first()).context("the network has no id")?;
        let path = format!("/v2.0/networks/{id}");
        let other = json!({"network": {"name": "of-somebody-else"}});
        self.cloud.call("PUT", "network", &path, Some(&other)).await?;
        let api = manifests::api(
            &self.demo.client,
            &document("OpenstackNetworkingNetworkV2", &json!({}))?,
            NAMESPACE,
        )
        .await?;
        let annotations =
            json!({"kraken-iac.eoinfennessy.com/reconcile-requested-at": format!("{:?}", Instant::now())});
        let now = Patch::Merge(json!({"metadata": {"annotations": annotations}}));
        api.patch("web", &PatchParams::default(), &now).await?;
        self.demo
            .until("the network is called kraken-web again", async || {
                Ok(self.cloud.call("GET", "network", &path, None).await?["network"]["name"] == "kraken-web")
            })
            .await
    }

    /// Everything is deleted at once, and nothing is left in the cloud: it is a real one.
    pub(super) async fn delete(&mut self) -> Result<()> {
        self.demo.delete().await?;
        self.demo.extend();
        manifests::delete(&self.demo.client, &self.platform, NAMESPACE).await?;
        for document in &self.platform {
            let api = manifests::api(&self.demo.client, document, NAMESPACE).await?;
            let is_gone = async || Ok(api.get_opt(&document.name).await?.is_none());
            self.demo.until(&format!("{}/{} is deleted", document.gvk.kind, document.name), is_gone).await?;
        }
        let after = existing(&self.cloud).await?;
        let left: Vec<&String> = after.iter().filter(|one| !self.before.contains(one)).collect();
        ensure!(left.is_empty(), "everything is deleted, but the cloud still has {left:?}");
        println!("Nothing is left in the cloud");
        Ok(())
    }
}

/// The objects of the project, as a collection and an id.
async fn existing(cloud: &OpenStack) -> Result<Vec<String>> {
    let mut all = vec![];
    for (service, path, list) in COLLECTIONS.into_iter().filter(|(service, ..)| cloud.has(service)) {
        let found = cloud.call("GET", service, path, None).await?;
        let ids = found[list].as_array().into_iter().flatten().filter_map(|one| one["id"].as_str());
        all.extend(ids.map(|id| format!("{list} {id}")));
    }
    Ok(all)
}

/// The ProviderInstall, and a ProviderConfig from the environment.
async fn install(environment: &Environment, timeout: Duration) -> Result<()> {
    let program = providers::openstack().await?;
    let types = json!({"resources": TYPES, "dataSources": ["openstack_images_image_v2"]});
    let installed = providers::install(environment, "openstack", &program, &types, timeout);
    let kinds = ui::step("its types become kinds", installed).await?;
    println!("   {kinds} kinds");
    let value = |name: &str| anyhow::Ok(json!({"value": variable(name)?}));
    let or =
        |name: &str, default: &str| json!({"value": env::var(name).unwrap_or_else(|_| default.to_owned())});
    let all = [
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "openstack"},
            "stringData": {"password": variable("OS_PASSWORD")?}}),
        json!({"apiVersion": providers::API, "kind": "ProviderConfig", "metadata": {"name": "openstack"}, "spec": {
            "provider": "openstack", "config": {
                "auth_url": value("OS_AUTH_URL")?, "user_name": value("OS_USERNAME")?,
                "tenant_name": value("OS_PROJECT_NAME")?, "region": or("OS_REGION_NAME", "RegionOne"),
                "user_domain_id": or("OS_USER_DOMAIN_ID", "default"),
                "project_domain_id": or("OS_PROJECT_DOMAIN_ID", "default"),
                "password": {"valueFrom": {"secret": {"name": "openstack", "key": "password"}}},
            },
        }}),
    ];
    let documents = manifests::parse("the ProviderConfig", &all.map(|one| one.to_string()).join("\n---\n"))?;
    manifests::apply(&environment.control_plane.client().await?, &documents, NAMESPACE).await.map(drop)
}

/// An image and a flavor of the cloud in the ConfigMap of the samples. What it has none of, a resource makes first, as a platform team would.
async fn settings(cloud: &OpenStack, demo: &mut Demo<'_>) -> Result<Vec<Document>> {
    let first = |found: &Value, list: &str| found[list][0]["name"].as_str().map(str::to_owned);
    let image = first(&cloud.call("GET", "image", "/v2/images?status=active&limit=1", None).await?, "images");
    let flavor = first(&cloud.call("GET", "compute", "/flavors?limit=1", None).await?, "flavors");
    let (folder, mut platform) = (tempfile::tempdir()?, vec![]);
    if image.is_none() {
        let file = folder.path().join("image");
        fs::write(&file, [0; 4096])?;
        platform.push(document(
            "OpenstackImagesImageV2",
            &json!({
                "name": {"value": MADE}, "container_format": {"value": "bare"}, "disk_format": {"value": "raw"},
                "local_file_path": {"value": file},
            }),
        )?);
    }
    if flavor.is_none() {
        let spec = json!({
            "name": {"value": MADE}, "ram": {"value": 512}, "vcpus": {"value": 1}, "disk": {"value": 1},
            "is_public": {"value": true},
        });
        platform.push(document("OpenstackComputeFlavorV2", &spec)?);
    }
    manifests::apply(&demo.client, &platform, NAMESPACE).await?;
    for document in &platform {
        let api = manifests::api(&demo.client, document, NAMESPACE).await?;
        let is_ready =
            async || Ok(api.get(&document.name).await?.data["status"]["conditions"][0]["status"] == "True");
        demo.until(&format!("{} {MADE} exists", document.gvk.kind), is_ready).await?;
    }
    let name = |found: Option<String>| found.unwrap_or_else(|| MADE.to_owned());
    let (image, flavor) = (name(image), name(flavor));
    for sample in demo.samples.iter_mut().filter(|sample| sample.gvk.kind == "ConfigMap") {
        sample.value["data"]["image"] = image.as_str().into();
        sample.value["data"]["flavor"] = flavor.as_str().into();
    }
    Ok(platform)
}

/// A resource `web` of a kind of the provider.
fn document(kind: &str, spec: &Value) -> Result<Document> {
    let value =
        json!({"apiVersion": providers::KINDS, "kind": kind, "metadata": {"name": "web"}, "spec": spec});
    manifests::parse(kind, &value.to_string())?.pop().context("no document")
}
