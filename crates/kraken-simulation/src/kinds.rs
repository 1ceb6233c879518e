//! The kinds that the simulation's API server serves: those of `crds/`, and the few of Kubernetes itself that are used.

use std::sync::LazyLock;

use serde_json::Value;

/// `crds/`, as it is in the repository.
const CRDS: [&str; 17] = [
    include_str!("../../../crds/hub/configexports.configexport.kraken-iac.eoinfennessy.com.yaml"),
    include_str!("../../../crds/hub/dependencyrequests.core.kraken-iac.eoinfennessy.com.yaml"),
    include_str!("../../../crds/aws-ec2-instance/ec2instances.aws.kraken-iac.eoinfennessy.com.yaml"),
    include_str!("../../../crds/aws-vpc/elasticips.aws.kraken-iac.eoinfennessy.com.yaml"),
    include_str!("../../../crds/aws-vpc/internetgateways.aws.kraken-iac.eoinfennessy.com.yaml"),
    include_str!("../../../crds/aws-vpc/keypairs.aws.kraken-iac.eoinfennessy.com.yaml"),
    include_str!("../../../crds/aws-elb/listenerrules.aws.kraken-iac.eoinfennessy.com.yaml"),
    include_str!("../../../crds/aws-elb/listeners.aws.kraken-iac.eoinfennessy.com.yaml"),
    include_str!("../../../crds/aws-elb/loadbalancers.aws.kraken-iac.eoinfennessy.com.yaml"),
    include_str!("../../../crds/aws-vpc/natgateways.aws.kraken-iac.eoinfennessy.com.yaml"),
    include_str!("../../../crds/aws-vpc/routetables.aws.kraken-iac.eoinfennessy.com.yaml"),
    include_str!("../../../crds/aws-vpc/securitygroups.aws.kraken-iac.eoinfennessy.com.yaml"),
    include_str!("../../../crds/hub/statedeclarations.core.kraken-iac.eoinfennessy.com.yaml"),
    include_str!("../../../crds/aws-vpc/subnets.aws.kraken-iac.eoinfennessy.com.yaml"),
    include_str!("../../../crds/aws-elb/targetgroups.aws.kraken-iac.eoinfennessy.com.yaml"),
    include_str!("../../../crds/aws-vpc/volumes.aws.kraken-iac.eoinfennessy.com.yaml"),
    include_str!("../../../crds/aws-vpc/vpcs.aws.kraken-iac.eoinfennessy.com.yaml"),
];

static PARSED: LazyLock<Vec<Value>> = LazyLock::new(|| {
    let all = CRDS.iter().filter_map(|text| kraken_testing::manifests::parse("crds", text).ok());
    all.flatten().map(|document| document.value).collect()
});

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

/// The CRDs of the suite.
pub fn crds() -> &'static [Value] {
    &PARSED
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
    let crd = crds().iter().find(|crd| crd["spec"]["names"]["kind"] == kind)?;
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
    fn every_kind_of_the_suite_is_served() {
        assert_eq!(crds().len(), CRDS.len());
        let vpc = served("VPC").unwrap();
        assert_eq!(
            vpc.path("prod", "main"),
            "/apis/aws.kraken-iac.eoinfennessy.com/v1alpha1/namespaces/prod/vpcs/main"
        );
        assert_eq!(served("Namespace").unwrap().path("", "prod"), "/api/v1/namespaces/prod");
        assert!(spec_schema("EC2Instance").unwrap()["properties"]["imageID"].is_object());
    }
}
