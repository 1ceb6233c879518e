//! Accounts: which credentials a resource is managed with, and what an Account allows. The cloud is several simulated accounts
//! behind one endpoint, which knows the credentials of each call.

mod allow;
mod deletion;
mod isolation;
mod metrics;
mod orphans;
mod rotation;

use std::{collections::BTreeSet, sync::Arc};

use anyhow::{Context as _, Result};
use kraken_simulator::{RoutedCall, SimulatedAccounts, Simulator};
use kraken_testing::{ControlPlaneOptions, Environment, EnvironmentOptions, Shared, SuiteOptions};
use kraken_tests::TestEnv;
use serde_json::{Value, json};

const AWS: &str = "aws.kraken-iac.eoinfennessy.com/v1alpha1";
/// The account of the controllers' own credentials.
const OWN: &str = "999999999999";
const ONE: &str = "111111111111";
const TWO: &str = "222222222222";
const WEST: &str = "eu-west-1";
const NORTH: &str = "eu-north-1";

struct Setting {
    env: Arc<Environment>,
    aws: Arc<SimulatedAccounts>,
}

/// The environment of these tests, whose controllers have resyncs every two seconds.
async fn shared() -> Result<Arc<Setting>> {
    static SHARED: Shared<Setting> = Shared::new();
    let start = || async {
        let aws = Arc::new(SimulatedAccounts::start()?);
        // The key that the suite's controllers get.
        aws.add_key("testing", OWN);
        let suite = SuiteOptions {
            only: Some(["hub", "aws-account", "aws-vpc"].map(str::to_owned).to_vec()),
            resync_interval: Some("2s".to_owned()),
            cloud_endpoint: Some(aws.endpoint().to_owned()),
            ..SuiteOptions::default()
        };
        // Credentials are values of Secrets: the end of each test searches for them at every log level.
        let suite = ["hub", "aws-account", "aws-vpc"]
            .iter()
            .fold(suite, |suite, controller| suite.with_env(controller, "KRAKEN_LOG", "trace"));
        let control_plane = ControlPlaneOptions { audit: true, ..ControlPlaneOptions::default() };
        let env = Environment::start(EnvironmentOptions { control_plane, suite }).await?;
        anyhow::Ok(Setting { env: Arc::new(env), aws })
    };
    SHARED.get(start).await
}

/// A namespace, and access keys of its own in the simulated accounts.
struct Tenant {
    test_env: TestEnv,
    aws: Arc<SimulatedAccounts>,
    key: String,
    _shared: Option<Arc<Setting>>,
}

impl Tenant {
    /// A namespace, with an access key of this account that no other test uses.
    async fn of(account: &str) -> Result<Self> {
        let shared = shared().await?;
        let test_env = TestEnv::on(shared.env.clone()).await?;
        let key = format!("AKIA{}", test_env.ns.name.to_uppercase().replace('-', ""));
        shared.aws.add_key(&key, account);
        Ok(Self { test_env, aws: shared.aws.clone(), key, _shared: Some(shared) })
    }

    /// Writes the Secret of an access key.
    async fn secret(&self, name: &str, key: &str) -> Result<()> {
        let data = json!({"id": key, "key": self.test_env.secret_value(&format!("of-{key}"))});
        let secret =
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": data});
        self.test_env.apply(&secret.to_string()).await
    }

    /// Writes an Account with the tenant's access key, and more fields.
    async fn account(&self, name: &str, region: &str, more: Value) -> Result<()> {
        self.secret("aws", &self.key).await?;
        self.account_of("aws", name, region, more).await
    }

    /// Writes an Account with the access key in this Secret, and more fields.
    async fn account_of(&self, secret: &str, name: &str, region: &str, more: Value) -> Result<()> {
        self.test_env.apply(&account(secret, name, region, more)).await
    }

    /// Writes a resource that names this Account, or none.
    async fn resource(&self, kind: &str, name: &str, account: &str, mut spec: Value) -> Result<()> {
        if !account.is_empty() {
            spec["account"] = json!({"name": account});
        }
        let object = json!({"apiVersion": AWS, "kind": kind, "metadata": {"name": name}, "spec": spec});
        self.test_env.apply(&object.to_string()).await
    }

    async fn vpc(&self, name: &str, account: &str) -> Result<()> {
        self.resource("VPC", name, account, json!({"cidrBlock": {"value": "10.0.0.0/16"}})).await
    }

    /// The calls with this access key.
    fn calls_of(&self, key: &str) -> Vec<RoutedCall> {
        self.aws.calls().into_iter().filter(|call| call.key == key).collect()
    }

    /// The calls with the tenant's access key, by name.
    fn actions(&self) -> BTreeSet<String> {
        self.calls_of(&self.key).into_iter().map(|call| call.action).collect()
    }

    fn cloud(&self, account: &str, region: &str) -> Arc<Simulator> {
        self.aws.cloud(account, region)
    }

    /// The tags of the only object of the VPC of this name.
    async fn tags(&self, name: &str) -> Result<Value> {
        let state = self.test_env.get("StateDeclaration", &format!("vpc.aws.{name}")).await?;
        let tags = state["spec"]["data"]["vpc"]["Tags"].as_array().cloned().unwrap_or_default();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        Ok(tags.iter().map(|tag| (text(&tag["Key"]), json!(tag["Value"]))).collect())
    }

    /// Waits until the published tags of a VPC are these.
    async fn tagged(&self, name: &str, wanted: Value) -> Result<()> {
        for _ in 0..300 {
            if self.tags(name).await? == wanted {
                return Ok(());
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
        anyhow::bail!("the tags of {name} are {}, not {wanted}", self.tags(name).await?)
    }
}

/// An Account with the access key in this Secret, and more fields.
fn account(secret: &str, name: &str, region: &str, more: Value) -> String {
    let from = |key: &str| json!({"valueFrom": {"secret": {"name": secret, "key": key}}});
    let credentials = json!({"accessKeyID": from("id"), "secretAccessKey": from("key")});
    let mut spec = json!({"region": region, "credentials": credentials});
    merge(&mut spec, more);
    json!({"apiVersion": AWS, "kind": "Account", "metadata": {"name": name}, "spec": spec}).to_string()
}

fn merge(spec: &mut Value, more: Value) {
    if let (Some(spec), Value::Object(more)) = (spec.as_object_mut(), more) {
        spec.extend(more);
    }
}

/// The id of the resource's object.
fn id(object: &Value) -> Result<String> {
    object["status"]["externalIds"][0].as_str().map(str::to_owned).context("no id")
}
