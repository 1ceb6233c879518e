//! Two controllers for tests.

use clap::Args;
use k8s_openapi::{
    api::rbac::v1::PolicyRule,
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{CustomResource, CustomResourceExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Program;
use crate::{manager::Manager, rbac::rule};

#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(group = "test.kraken-iac.eoinfennessy.com", version = "v1alpha1", kind = "Widget", namespaced)]
pub(crate) struct WidgetSpec {
    /// A word: "yes" is one, and so is "1.0".
    pub(crate) word: String,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct WidgetArgs {
    /// The endpoint that widgets are created at
    #[arg(long, env = "KRAKEN_WIDGET_ENDPOINT")]
    pub(crate) widget_endpoint: Option<String>,
}

#[derive(Debug)]
pub(crate) struct Spoke;

impl Program for Spoke {
    const NAME: &'static str = "kraken-test";
    const ABOUT: &'static str = "Creates widgets";
    type Args = WidgetArgs;

    fn crds() -> Vec<CustomResourceDefinition> {
        vec![Widget::crd(), Widget::crd()]
    }

    fn rules() -> Vec<PolicyRule> {
        vec![rule(&["test.kraken-iac.eoinfennessy.com"], &["widgets"], &["list", "watch"])]
    }

    fn hub_rules() -> Vec<PolicyRule> {
        vec![rule(&["test.kraken-iac.eoinfennessy.com"], &["widgets"], &["get"])]
    }

    async fn run(_: Manager, _: WidgetArgs) -> anyhow::Result<()> {
        Ok(())
    }
}

#[derive(Debug)]
pub(crate) struct Hub;

impl Program for Hub {
    const NAME: &'static str = "kraken-hub";
    const ABOUT: &'static str = "Resolves references";
    type Args = WidgetArgs;

    fn crds() -> Vec<CustomResourceDefinition> {
        Vec::new()
    }

    fn rules() -> Vec<PolicyRule> {
        vec![rule(&[""], &["configmaps"], &["list", "watch"])]
    }

    async fn run(_: Manager, _: WidgetArgs) -> anyhow::Result<()> {
        Ok(())
    }
}
