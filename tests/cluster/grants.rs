//! References across namespaces, with the consent of the namespace of the owner: a platform team shares a network, and a team of another
//! namespace refers to it.

use std::time::Duration;

use anyhow::{Context as _, Result};
use kraken_tests::{TestEnv, TestUser, test_env::condition};
use serde_json::{Value, json};

use crate::{
    admission,
    network::{id, resource},
};

const CORE: &str = "core.kraken-iac.eoinfennessy.com/v1alpha1";

/// The namespaces of the owner and of the other team.
struct Teams {
    platform: TestEnv,
    shop: TestEnv,
}

impl Teams {
    /// With a VPC of the platform team.
    async fn new() -> Result<Self> {
        Self::of(TestEnv::new().await?, TestEnv::new().await?).await
    }

    async fn of(platform: TestEnv, shop: TestEnv) -> Result<Self> {
        let teams = Self { platform, shop };
        teams.platform.apply(&resource("VPC", "main", "cidrBlock: {value: 10.50.0.0/16}")).await?;
        teams.platform.ready("VPC", "main").await?;
        Ok(teams)
    }

    /// Applies a grant of the platform to the shop.
    async fn grant(&self, to: &Value) -> Result<()> {
        let spec = json!({"from": [{"namespace": self.shop.ns.name}], "to": to});
        let grant =
            json!({"apiVersion": CORE, "kind": "ReferenceGrant", "metadata": {"name": "shop"}, "spec": spec});
        self.platform.apply(&grant.to_string()).await
    }

    /// A subnet of the shop in the VPC of the platform, as three forms of references may name it.
    async fn subnet(&self, name: &str, third: u8, vpc: &str) -> Result<()> {
        let vpc = vpc.replace("NS", &self.platform.ns.name);
        let spec = format!("vpcID: {{valueFrom: {{{vpc}}}}}, cidrBlock: {{value: 10.50.{third}.0/24}}");
        self.shop.apply(&resource("Subnet", name, &spec)).await
    }

    fn refusal(&self, what: &str) -> String {
        let (platform, shop) = (&self.platform.ns.name, &self.shop.ns.name);
        format!(
            "namespace {platform} has no ReferenceGrant that lets namespace {shop} reference {what}; ask its owner"
        )
    }

    /// Waits until a resource of the shop is not Ready because of a missing grant.
    async fn withheld(&self, kind: &str, name: &str, what: &str) -> Result<Value> {
        let refusal = self.refusal(what);
        let is_withheld = |object: &Value| {
            let ready = condition(object, "Ready");
            ready["status"] == "False" && ready["message"].as_str().unwrap_or_default().contains(&refusal)
        };
        self.shop.until(kind, name, is_withheld).await
    }
}

#[tokio::test]
async fn every_form_of_a_reference_resolves_with_a_grant() -> Result<()> {
    let teams = Teams::new().await?;
    teams.grant(&json!([{"kind": "VPC", "name": "main"}])).await?;
    let vpc = id(&teams.platform, "VPC", "main").await?;
    teams.subnet("short", 1, "ref: VPC/NS:main").await?;
    teams
        .subnet("long", 2, "krakenResource: {kind: vpc, name: main, namespace: NS, path: vpc.VpcId}")
        .await?;
    teams.subnet("text", 3, "templateString: '{{ .VPC.NS:main }}'").await?;
    for name in ["short", "long", "text"] {
        let subnet = teams.shop.ready("Subnet", name).await?;
        let state = teams.shop.get("StateDeclaration", &format!("subnet.aws.{name}")).await?;
        assert_eq!(state["spec"]["data"]["subnet"]["VpcId"], vpc.as_str(), "{subnet}");
    }
    let export = json!({
        "apiVersion": "configexport.kraken-iac.eoinfennessy.com/v1alpha1", "kind": "ConfigExport", "metadata": {"name": "net"},
        "spec": {"configType": "ConfigMap", "configMetadata": {"name": "net"},
            "entries": [{"key": "vpc", "valueFrom": {"ref": format!("VPC/{}:main", teams.platform.ns.name)}}]},
    });
    teams.shop.apply(&export.to_string()).await?;
    teams.shop.ready("ConfigExport", "net").await?;
    assert_eq!(teams.shop.get("ConfigMap", "net").await?["data"]["vpc"], vpc.as_str());
    Ok(())
}

#[tokio::test]
async fn grant_that_is_given_later_resolves_and_one_that_is_withdrawn_withholds_the_value() -> Result<()> {
    let teams = Teams::new().await?;
    teams.subnet("a", 1, "ref: VPC/NS:main").await?;
    teams.withheld("Subnet", "a", "vpc main").await?;
    teams.grant(&json!([{"kind": "VPC"}])).await?;
    let before = teams.shop.ready("Subnet", "a").await?;

    teams.platform.delete("ReferenceGrant", "shop").await?;
    let after = teams.withheld("Subnet", "a", "vpc main").await?;
    assert_eq!(condition(&after, "Ready")["reason"], "DependenciesNotReady");
    assert_eq!(after["status"]["externalIds"], before["status"]["externalIds"], "nothing is torn down");
    let request = teams.shop.get("DependencyRequest", "subnet.aws.a").await?;
    assert_eq!(request["status"]["dependentValues"], json!({}), "{request}");
    assert_eq!(request["status"]["unmet"][0]["reason"], "RefNotPermitted");
    let subnets = teams.shop.in_cloud("DescribeSubnets", "subnetSet").await?;
    let is_there = |subnet: &Value| subnet["subnetId"] == before["status"]["externalIds"][0];
    assert!(subnets.iter().any(is_there), "{subnets:?}");
    Ok(())
}

#[tokio::test]
async fn deletion_of_what_another_namespace_uses_waits_and_names_it() -> Result<()> {
    let teams = Teams::new().await?;
    teams.grant(&json!([{"kind": "VPC", "name": "main"}])).await?;
    teams.subnet("a", 1, "ref: VPC/NS:main").await?;
    teams.shop.ready("Subnet", "a").await?;
    // A reference that is not permitted delays nothing.
    let stranger = TestEnv::new().await?;
    let vpc = format!(
        "vpcID: {{valueFrom: {{ref: VPC/{}:main}}}}, cidrBlock: {{value: 10.50.9.0/24}}",
        teams.platform.ns.name
    );
    stranger.apply(&resource("Subnet", "stranger", &vpc)).await?;
    stranger.not_ready("Subnet", "stranger", "DependenciesNotReady").await?;

    teams.platform.delete("VPC", "main").await?;
    let message = teams.platform.not_ready("VPC", "main", "DeletionBlocked").await?;
    assert!(message.contains(&format!("subnet {}:a", teams.shop.ns.name)), "{message}");
    assert!(!message.contains("stranger"), "{message}");
    // What was made with the value still uses the VPC.
    teams.platform.delete("ReferenceGrant", "shop").await?;
    teams.withheld("Subnet", "a", "vpc main").await?;
    tokio::time::sleep(Duration::from_secs(3)).await;
    teams.platform.not_ready("VPC", "main", "DeletionBlocked").await?;
    teams.shop.delete("Subnet", "a").await?;
    teams.shop.gone("Subnet", "a").await?;
    teams.platform.gone("VPC", "main").await
}

/// The warnings about a subnet when it is created, once the webhook of the hub is called.
async fn warned(test_env: &TestEnv, subnet: &str) -> Result<String> {
    let documents = kraken_testing::manifests::parse("the subnet", subnet)?;
    let uri = format!(
        "/apis/aws.kraken-iac.eoinfennessy.com/v1alpha1/namespaces/{}/subnets?dryRun=All",
        test_env.ns.name
    );
    for _ in 0..300 {
        let body = documents[0].value.to_string().into_bytes();
        let request =
            http::Request::post(&uri).header("Content-Type", "application/json").body(body.into())?;
        let response = test_env.client().send(request).await?;
        anyhow::ensure!(response.status().is_success(), "{}", response.status());
        let warnings: Vec<_> = response.headers().get_all("warning").iter().collect();
        if !warnings.is_empty() {
            return Ok(format!("{warnings:?}"));
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    anyhow::bail!("no warning")
}

#[tokio::test]
async fn warning_and_condition_are_the_same_whether_or_not_the_resource_exists() -> Result<()> {
    let teams = Teams::of(admission::test_env().await?, admission::test_env().await?).await?;
    let (mut warnings, mut conditions) = (vec![], vec![]);
    for name in ["main", "none"] {
        let vpc = format!(
            "vpcID: {{valueFrom: {{ref: VPC/{}:{name}}}}}, cidrBlock: {{value: 10.50.1.0/24}}",
            teams.platform.ns.name
        );
        let subnet = resource("Subnet", name, &vpc);
        let warned = warned(&teams.shop, &subnet).await?;
        let refusal = teams.refusal(&format!("vpc {name}"));
        assert!(warned.contains(&refusal), "{warned}");
        warnings.push(warned.replace(name, "NAME"));
        teams.shop.apply(&subnet).await?;
        let object = teams.withheld("Subnet", name, &format!("vpc {name}")).await?;
        let message = condition(&object, "Ready")["message"].as_str().context("no message")?.to_owned();
        conditions.push(message.replace(name, "NAME"));
    }
    assert_eq!(warnings[0], warnings[1]);
    assert_eq!(conditions[0], conditions[1]);
    Ok(())
}

#[tokio::test]
async fn only_administrators_of_the_namespace_give_grants() -> Result<()> {
    let teams = Teams::new().await?;
    let grant = |name: &str, to: &str| {
        let spec = json!({"from": [{"namespace": "shop"}], "to": [{"kind": to}]});
        json!({"apiVersion": CORE, "kind": "ReferenceGrant", "metadata": {"name": name}, "spec": spec})
            .to_string()
    };
    let editor = TestUser::bound(&teams.platform, "editor", "ClusterRole", "edit").await?;
    let admin = TestUser::bound(&teams.platform, "owner", "ClusterRole", "admin").await?;
    let rejected = editor.refused(&grant("by-editor", "VPC")).await?;
    assert!(rejected.contains("forbidden") && rejected.contains("referencegrants"), "{rejected}");
    admin.apply(&grant("by-admin", "VPC")).await?;
    for kind in ["ConfigMap", "Secret", "secret"] {
        let rejected = admin.refused(&grant("of-data", kind)).await?;
        assert!(rejected.contains("can be referenced only in their own namespace"), "{rejected}");
    }
    Ok(())
}
