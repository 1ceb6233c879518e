//! The fields of each kind that users edit, and values for them.

/// Fields and their values for edits, as JSON; `-` removes the field.
#[allow(clippy::too_many_lines)] // a table
pub(super) fn plausible(kind: &str) -> &'static [(&'static str, &'static [&'static str])] {
    const TEAM: (&str, &[&str]) = ("/spec/tags/Team", &[r#""web""#, r#""shop""#, "-"]);
    const TAGS: (&str, &[&str]) =
        ("/spec/tags", &[r#"{"Name": "x"}"#, r#"{"Team": "web", "Cost": "1"}"#, "-"]);
    match kind {
        "EC2Instance" => &[
            ("/spec/maxCount", &[r#"{"value": 0}"#, r#"{"value": 1}"#, r#"{"value": 2}"#, r#"{"value": 4}"#]),
            ("/spec/minCount", &[r#"{"value": 0}"#, r#"{"value": 1}"#, r#"{"value": 2}"#]),
            (
                "/spec/instanceType",
                &[r#"{"value": "t3.micro"}"#, r#"{"value": "t3.small"}"#, r#"{"value": "t2.nano"}"#],
            ),
            ("/spec/imageID", &[r#"{"value": "ami-12c6146b"}"#, r#"{"value": "ami-0b301ce3ce3475b4f"}"#]),
            ("/spec/monitoring", &[r#"{"value": true}"#, r#"{"value": false}"#, "-"]),
            ("/spec/ebsOptimized", &[r#"{"value": true}"#, r#"{"value": false}"#, "-"]),
            (
                "/spec/userData",
                &[r##"{"value": "#!/bin/sh\necho 1\n"}"##, r##"{"value": "#!/bin/sh\necho 2\n"}"##, "-"],
            ),
            ("/spec/keyName", &["-"]),
            ("/spec/subnetID", &["-"]),
            ("/spec/metadataOptions", &[r#"{"value": {"httpTokens": "optional"}}"#, "-"]),
            TEAM,
            TAGS,
        ],
        "VPC" => &[
            ("/spec/cidrBlock", &[r#"{"value": "10.7.0.0/16"}"#, r#"{"value": "10.0.0.0/16"}"#]),
            ("/spec/secondaryCIDRBlocks", &[r#"{"value": ["10.201.0.0/16"]}"#, r#"{"value": []}"#, "-"]),
            ("/spec/enableDNSHostnames", &[r#"{"value": true}"#, r#"{"value": false}"#, "-"]),
            ("/spec/enableDNSSupport", &[r#"{"value": true}"#, r#"{"value": false}"#, "-"]),
            TEAM,
            TAGS,
        ],
        "Subnet" => &[
            ("/spec/cidrBlock", &[r#"{"value": "10.0.77.0/24"}"#, r#"{"value": "10.1.78.0/24"}"#]),
            ("/spec/availabilityZone", &[r#"{"value": "us-east-1c"}"#, "-"]),
            ("/spec/mapPublicIPOnLaunch", &[r#"{"value": true}"#, r#"{"value": false}"#, "-"]),
            TEAM,
            TAGS,
        ],
        "InternetGateway" => &[("/spec/vpcID", &["-", r#"{"valueFrom": {"ref": "VPC/b"}}"#]), TEAM, TAGS],
        "RouteTable" => &[
            (
                "/spec/routes",
                &[
                    "[]",
                    "-",
                    r#"[{"destinationCIDRBlock": {"value": "0.0.0.0/0"}, "gatewayID": {"valueFrom": {"ref": "InternetGateway/a"}}}]"#,
                ],
            ),
            (
                "/spec/subnetIDs",
                &[r#"{"value": []}"#, "-", r#"{"value": [{"valueFrom": {"ref": "Subnet/a"}}]}"#],
            ),
            TEAM,
            TAGS,
        ],
        "SecurityGroup" => &[
            ("/spec/description", &[r#"{"value": "Another text"}"#, "-"]),
            ("/spec/groupName", &[r#"{"value": "renamed"}"#, "-"]),
            (
                "/spec/ingress",
                &[
                    "[]",
                    "-",
                    r#"[{"protocol": {"value": "tcp"}, "fromPort": {"value": 22}, "cidrBlocks": {"value": ["10.0.0.0/8"]}}]"#,
                ],
            ),
            (
                "/spec/egress",
                &["[]", "-", r#"[{"protocol": {"value": -1}, "cidrBlocks": {"value": ["0.0.0.0/0"]}}]"#],
            ),
            TEAM,
            TAGS,
        ],
        "ElasticIP" => {
            &[("/spec/instanceID", &["-", r#"{"valueFrom": {"ref": "EC2Instance/a"}}"#]), TEAM, TAGS]
        }
        "NATGateway" => &[
            ("/spec/subnetID", &[r#"{"valueFrom": {"ref": "Subnet/b"}}"#]),
            ("/spec/connectivityType", &[r#"{"value": "private"}"#, r#"{"value": "public"}"#, "-"]),
            ("/spec/allocationID", &["-", r#"{"valueFrom": {"ref": "ElasticIP/a"}}"#]),
            TEAM,
            TAGS,
        ],
        "KeyPair" => &[
            ("/spec/keyName", &[r#"{"value": "renamed"}"#, "-"]),
            ("/spec/generate", &["-", r#"{"secretName": "key-other"}"#]),
            TEAM,
            TAGS,
        ],
        "Volume" => &[
            ("/spec/sizeGiB", &[r#"{"value": 8}"#, r#"{"value": 40}"#, r#"{"value": 200}"#]),
            ("/spec/type", &[r#"{"value": "gp2"}"#, r#"{"value": "gp3"}"#, "-"]),
            ("/spec/iops", &[r#"{"value": 4000}"#, "-"]),
            ("/spec/instanceID", &["-", r#"{"valueFrom": {"ref": "EC2Instance/a"}}"#]),
            ("/spec/availabilityZone", &[r#"{"value": "us-east-1b"}"#]),
            TEAM,
            TAGS,
        ],
        "LoadBalancer" => &[
            ("/spec/idleTimeoutSeconds", &[r#"{"value": 60}"#, r#"{"value": 120}"#, "-"]),
            ("/spec/deletionProtection", &[r#"{"value": true}"#, r#"{"value": false}"#, "-"]),
            ("/spec/name", &[r#"{"value": "renamed"}"#, "-"]),
            ("/spec/type", &[r#"{"value": "application"}"#, r#"{"value": "network"}"#]),
            TEAM,
            TAGS,
        ],
        "TargetGroup" => &[
            ("/spec/port", &[r#"{"value": 8081}"#]),
            (
                "/spec/healthCheck",
                &["-", r#"{"path": {"value": "/live"}}"#, r#"{"intervalSeconds": {"value": 60}}"#],
            ),
            (
                "/spec/targets",
                &[r#"{"value": []}"#, "-", r#"{"value": [{"valueFrom": {"ref": "EC2Instance/a"}}]}"#],
            ),
            ("/spec/name", &[r#"{"value": "renamed"}"#, "-"]),
            TEAM,
            TAGS,
        ],
        "Listener" => &[
            ("/spec/port", &[r#"{"value": 80}"#, r#"{"value": 8080}"#]),
            (
                "/spec/defaultAction",
                &[
                    r#"{"fixedResponse": {"statusCode": {"value": 503}}}"#,
                    r#"{"forward": {"targetGroupARN": {"valueFrom": {"ref": "TargetGroup/a"}}}}"#,
                ],
            ),
            TEAM,
            TAGS,
        ],
        "ListenerRule" => &[
            ("/spec/priority", &[r#"{"value": 10}"#, r#"{"value": 20}"#]),
            ("/spec/conditions", &[r#"{"hostHeaders": {"value": ["shop.example.com"]}}"#]),
            (
                "/spec/action",
                &[
                    r#"{"fixedResponse": {"statusCode": {"value": 503}}}"#,
                    r#"{"forward": {"targetGroupARN": {"valueFrom": {"ref": "TargetGroup/a"}}}}"#,
                ],
            ),
            TEAM,
            TAGS,
        ],
        "Account" => &[
            ("/spec/allowedAccountIDs", &[r#"["123456789012"]"#, r#"["333333333333"]"#, "-"]),
            ("/spec/defaultTags", &[r#"{"Team": "account"}"#, r#"{"Cost": "2"}"#, "-"]),
            ("/spec/credentials", &["-"]),
            ("/spec/region", &[r#""eu-west-1""#, r#""us-east-1""#, "-"]),
            ("/spec/assumeRoleARN", &[r#""arn:aws:iam::333333333333:role/kraken""#, "-"]),
        ],
        "ConfigExport" => &[
            ("/spec/whileWaiting", &[r#""Keep""#, r#""Delete""#]),
            ("/spec/configType", &[r#""ConfigMap""#, r#""Secret""#]),
            // The keys that the second one requires are missing.
            ("/spec/secretType", &[r#""example.com/custom""#, r#""kubernetes.io/tls""#, "-"]),
            ("/spec/configMetadata/name", &[r#""exported-0""#, r#""renamed""#, r#""settings""#]),
            (
                "/spec/entries",
                &[
                    r#"[{"key": "only", "valueFrom": {"ref": "VPC/a"}}]"#,
                    r#"[{"key": "only", "valueFrom": {"configMap": {"name": "settings", "key": "port"}}}]"#,
                    // Valid only in a Secret, and not valid at all: the schema accepts both.
                    r#"[{"key": "only", "valueFrom": {"templateString": "{{ .Secret.creds.password }}"}}]"#,
                    r#"[{"key": "only", "valueFrom": {"templateString": "{{ .VPC.a.vpc"}}]"#,
                ],
            ),
        ],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::generate::stack::KINDS;
    use crate::kinds;

    #[test]
    fn every_plausible_edit_is_json_of_a_field_that_exists() {
        for kind in KINDS.map(|(kind, _, _)| kind).into_iter().chain(["ConfigExport", "Account"]) {
            let schema = kinds::spec_schema(kind).unwrap();
            for (path, values) in plausible(kind) {
                let field = path.split('/').nth(2).unwrap();
                assert!(schema["properties"][field].is_object(), "{kind} {path}");
                for value in *values {
                    assert!(
                        *value == "-" || serde_json::from_str::<Value>(value).is_ok(),
                        "{kind} {path} {value}"
                    );
                }
            }
        }
    }
}
