//! Attempts with references in the spec of a resource.

use serde_json::json;

use super::{
    Attempt,
    Expected::{Refused, Stuck},
    Other, from, literal, object, secret, template, vpc,
};
use crate::tenancy::AWS;

pub(super) fn attempts(victim: &Other) -> Vec<Attempt> {
    let (other, literal, none) = (&victim.namespace, literal(), json!({}));
    vec![
        (
            "a ConfigMap's name with a namespace",
            vpc(
                "by-slash",
                &from(&json!({"configMap": {"name": format!("{other}/settings"), "key": "cidr"}})),
                &none,
            ),
            Stuck,
        ),
        (
            "a ConfigMap's name as a path",
            vpc(
                "by-path",
                &from(
                    &json!({"configMap": {"name": format!("../../{other}/configmaps/settings"), "key": "cidr"}}),
                ),
                &none,
            ),
            Stuck,
        ),
        (
            "a Secret's name as a path",
            vpc("secret-path", &from(&secret(&format!("../../{other}/secrets/db"))), &none),
            Stuck,
        ),
        (
            "a Secret's name as an escaped path",
            vpc("secret-escaped", &from(&secret(&format!("..%2f{other}%2fdb"))), &none),
            Stuck,
        ),
        (
            "a resource of the other's name",
            vpc(
                "by-name",
                &from(&json!({"krakenResource": {"kind": "vpc", "name": "main", "path": "vpc.CidrBlock"}})),
                &none,
            ),
            Stuck,
        ),
        (
            "a resource's name with a namespace",
            vpc(
                "by-namespace",
                &from(
                    &json!({"krakenResource": {"kind": "vpc", "name": format!("{other}/main"), "path": "vpc.CidrBlock"}}),
                ),
                &none,
            ),
            Stuck,
        ),
        (
            "a reference with a namespace",
            vpc("by-ref", &from(&json!({"ref": format!("VPC/../{other}/main")})), &none),
            Refused,
        ),
        (
            "a template with a path in brackets",
            vpc(
                "by-template",
                &from(&template(&format!(
                    "{{{{ .ConfigMap[\"../../{other}/configmaps/settings\"].cidr }}}}"
                ))),
                &none,
            ),
            Stuck,
        ),
        (
            "a template with a Secret's path",
            vpc(
                "by-secret-template",
                &from(&template(&format!("{{{{ .Secret[\"../{other}/db\"].password }}}}"))),
                &none,
            ),
            Stuck,
        ),
        (
            "a template within a value",
            vpc("nested-template", &from(&template("{{ \"{{ .Secret.db.password }}\" }}")), &none),
            Stuck,
        ),
        (
            "a dependency on the other's resource",
            vpc(
                "depends",
                &literal,
                &json!({"dependsOn": [{"kind": "VPC", "name": format!("{other}/main")}]}),
            ),
            Stuck,
        ),
        (
            "a key whose Secret is the other's",
            object(AWS, "KeyPair", "key", &json!({"generate": {"secretName": format!("../{other}/stolen")}})),
            Stuck,
        ),
    ]
}
