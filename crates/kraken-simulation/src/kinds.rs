//! The kinds that the simulation's API server serves: those of the controllers, and the few of Kubernetes itself that are used.

use std::sync::LazyLock;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kraken_aws_account::AccountController;
use kraken_aws_ec2_instance::Ec2;
use kraken_aws_elb::Elb;
use kraken_aws_vpc::Network;
use kraken_hub::Hub;
use kraken_runtime::Program as _;
use kraken_spoke::SpokeProgram;
use serde_json::Value;

use crate::provider_types;

static DEFINITIONS: LazyLock<Vec<CustomResourceDefinition>> = LazyLock::new(|| {
    [
        Hub::crds(),
        AccountController::crds(),
        SpokeProgram::<Network>::crds(),
        SpokeProgram::<Elb>::crds(),
        SpokeProgram::<Ec2>::crds(),
    ]
    .concat()
});

static CRDS: LazyLock<Vec<Value>> = LazyLock::new(|| {
    let mut all: Vec<&CustomResourceDefinition> = definitions().iter().collect();
    // The generated schedule of a seed does not depend on which controller serves a kind.
    all.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
    all.into_iter().map(|definition| serde_json::to_value(definition).unwrap_or_default()).collect()
});

/// The definitions of all controllers but those of IAM, certificates, DNS and providers, from which the files in `crds/` are generated.
pub fn definitions() -> &'static [CustomResourceDefinition] {
    &DEFINITIONS
}

/// Where a kind is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served<'a> {
    /// Its group; empty for the core group.
    pub group: &'a str,
    /// Its version.
    pub version: &'a str,
    /// Its plural.
    pub plural: &'a str,
}

/// [`definitions`] as JSON, by name.
pub fn crds() -> &'static [Value] {
    &CRDS
}

/// Those of the simulated provider.
pub(crate) fn provider_crds() -> &'static [Value] {
    static CRDS: LazyLock<Vec<Value>> = LazyLock::new(|| {
        provider_types::crds().iter().map(|crd| serde_json::to_value(crd).unwrap_or_default()).collect()
    });
    &CRDS
}

/// Where a kind is served; `None` for an unknown one.
pub fn served(kind: &str) -> Option<Served<'static>> {
    let core = |plural| Some(Served { group: "", version: "v1", plural });
    match kind {
        "Namespace" => return core("namespaces"),
        "ConfigMap" => return core("configmaps"),
        "Secret" => return core("secrets"),
        _ => {}
    }
    let crd = crds().iter().chain(provider_crds()).find(|crd| crd["spec"]["names"]["kind"] == kind)?;
    Some(Served {
        group: crd["spec"]["group"].as_str()?,
        version: "v1alpha1",
        plural: crd["spec"]["names"]["plural"].as_str()?,
    })
}

/// The schema of a kind's spec.
pub fn spec_schema(kind: &str) -> Option<&'static Value> {
    let crd = crds().iter().find(|crd| crd["spec"]["names"]["kind"] == kind)?;
    crd.pointer("/spec/versions/0/schema/openAPIV3Schema/properties/spec")
}

/// The name of a kind in references: without group, hyphens and case.
pub(crate) fn key(kind: &str) -> String {
    kind.split('.').next().unwrap_or_default().replace('-', "").to_lowercase()
}

impl Served<'_> {
    /// The path of an object.
    pub fn path(&self, namespace: &str, name: &str) -> String {
        let Self { group, version, plural } = self;
        let root =
            if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") };
        let namespace =
            if *plural == "namespaces" { String::new() } else { format!("/namespaces/{namespace}") };
        let name = if name.is_empty() { String::new() } else { format!("/{name}") };
        format!("{root}{namespace}/{plural}{name}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_the_suite_is_served_except_those_without_a_behavior_of_their_own() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crds");
        let count = |folder: &std::path::Path| kraken_testing::manifests::read(folder).unwrap().len();
        // They have no behavior that other kinds do not have.
        let others = [
            "aws-acm",
            "aws-autoscaling",
            "aws-cloudwatch",
            "aws-dns",
            "aws-dynamodb",
            "aws-ecr",
            "aws-iam",
            "aws-kms",
            "aws-rds",
            "aws-s3",
            "aws-secretsmanager",
            "aws-sns",
            "aws-sqs",
            "aws-ssm",
            "tofu",
        ]
        .map(|component| count(&folder.join(component)));
        assert_eq!(crds().len(), count(&folder) - others.iter().sum::<usize>());
        let vpc = served("VPC").unwrap();
        assert_eq!(
            vpc.path("prod", "main"),
            "/apis/aws.kraken-iac.eoinfennessy.com/v1alpha1/namespaces/prod/vpcs/main"
        );
        assert_eq!(served("Namespace").unwrap().path("", "prod"), "/api/v1/namespaces/prod");
        assert!(spec_schema("EC2Instance").unwrap()["properties"]["imageID"].is_object());
    }
}
