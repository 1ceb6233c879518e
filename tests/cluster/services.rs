//! What the tests of single services have in common: an environment with the spokes of the service, and the form of their resources.

use anyhow::Result;
use kraken_testing::{Environment, EnvironmentOptions, Shared, SuiteOptions};
use kraken_tests::TestEnv;
use serde_json::{Value, json};

/// An environment whose controllers are the hub and these spokes, with a shorter visibility window. Each requested reconcile is a deep
/// one: it reads what the provider returns only per object.
pub(crate) async fn start(shared: &'static Shared<Environment>, spokes: &[&str]) -> Result<TestEnv> {
    let env = shared
        .get(|| {
            let only = ["hub"].iter().chain(spokes).map(|name| (*name).to_owned()).collect();
            let suite = SuiteOptions { only: Some(only), ..SuiteOptions::default() };
            let suite = spokes.iter().fold(suite, |suite, spoke| {
                suite.with_env(spoke, "KRAKEN_VISIBILITY_WINDOW", "2s").with_env(
                    spoke,
                    "KRAKEN_DEEP_RESYNC_INTERVAL",
                    "1ms",
                )
            });
            Environment::start(EnvironmentOptions { suite, ..EnvironmentOptions::default() })
        })
        .await?;
    TestEnv::on(env).await
}

/// A resource, as YAML.
pub(crate) fn resource(kind: &str, name: &str, spec: &Value) -> String {
    let version = "aws.kraken-iac.eoinfennessy.com/v1alpha1";
    json!({"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec}).to_string()
}
