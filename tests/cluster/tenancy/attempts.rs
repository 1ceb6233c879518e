//! The attempts of a user of one namespace to read or write another.

use serde_json::{Value, json};

use super::{AWS, EXPORT};

const CORE: &str = "core.kraken-iac.eoinfennessy.com/v1alpha1";

/// The expected result of an attempt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Expected {
    /// The API server rejects it.
    Refused,
    /// It is rejected, or accepted and never becomes Ready.
    Stuck,
    /// It is accepted and takes effect in the attacker's own namespace.
    Harmless,
}
use Expected::{Harmless, Refused, Stuck};

fn object(api: &str, kind: &str, name: &str, spec: &Value) -> Value {
    json!({"apiVersion": api, "kind": kind, "metadata": {"name": name}, "spec": spec})
}

fn with(mut object: Value, field: &str, value: &Value) -> Value {
    object["metadata"][field] = value.clone();
    object
}

fn vpc(name: &str, cidr: &Value, lifecycle: &Value) -> Value {
    object(AWS, "VPC", name, &json!({"cidrBlock": cidr, "lifecycle": lifecycle}))
}

fn export(name: &str, spec: &Value, value: &Value) -> Value {
    let (mut spec, mut entry) = (spec.clone(), value.clone());
    entry["key"] = "k".into();
    spec["entries"] = json!([entry]);
    object(EXPORT, "ConfigExport", name, &spec)
}

fn to(kind: &str, target: &str) -> Value {
    json!({"configType": kind, "configMetadata": {"name": target}})
}

fn from(source: &Value) -> Value {
    json!({"valueFrom": source})
}

/// The attempts. `theirs` is the other namespace's VPC, `owner` a reference to it.
#[allow(clippy::too_many_lines)] // a table
pub(super) fn attempts(other: &str, theirs: &Value) -> Vec<(&'static str, Value, Expected)> {
    let id = theirs["status"]["externalIds"][0].clone();
    let owner = json!([{
        "apiVersion": AWS, "kind": "VPC", "name": "main", "uid": theirs["metadata"]["uid"], "controller": true,
        "blockOwnerDeletion": true,
    }]);
    let (literal, none) = (json!({"value": "10.9.0.0/16"}), json!({}));
    let state = |name: &str| {
        object(CORE, "StateDeclaration", name, &json!({"data": {"vpc": {"VpcId": id}}, "id": id}))
    };
    let secret = |name: &str| json!({"secret": {"name": name, "key": "password"}});
    let template = |text: &str| json!({"templateString": text});
    let credentials = {
        let theirs = from(&secret(&format!("../{other}/secrets/db")));
        json!({"accessKeyID": theirs, "secretAccessKey": theirs})
    };
    let using = |name: &str, account: &str| {
        object(AWS, "VPC", name, &json!({"cidrBlock": literal, "account": {"name": account}}))
    };
    let intent = json!({
        "epoch": 1, "at": "2026-01-01T00:00:00Z", "hash": "x", "replacedBefore": 1, "outgoing": [id], "adopted": [id],
    });
    vec![
        ("a state of a resource that has none", state("vpc.aws.main"), Refused),
        ("a state owned by the other's VPC", with(state("vpc.aws.main"), "ownerReferences", &owner), Refused),
        ("a state in the other namespace", with(state("static-x"), "namespace", &json!(other)), Refused),
        (
            "a request for a Secret",
            object(
                CORE,
                "DependencyRequest",
                "vpc.aws.main",
                &json!({"secretDependencies": [{"name": "db", "key": "password"}]}),
            ),
            Refused,
        ),
        (
            "a request owned by the other's VPC",
            with(
                object(
                    CORE,
                    "DependencyRequest",
                    "vpc.aws.main",
                    &json!({"configMapDependencies": [{"name": "settings", "key": "cidr"}]}),
                ),
                "ownerReferences",
                &owner,
            ),
            Refused,
        ),
        (
            "a VPC in the other namespace",
            with(vpc("x", &literal, &none), "namespace", &json!(other)),
            Refused,
        ),
        (
            "a static state owned by the other's VPC",
            with(state("static-owned"), "ownerReferences", &owner),
            Harmless,
        ),
        (
            "a static state labelled as a controller's",
            with(
                state("static-labelled"),
                "labels",
                &json!({"kraken-iac.eoinfennessy.com/owner-kind": "vpc.aws"}),
            ),
            Harmless,
        ),
        (
            "an export to the other namespace",
            export(
                "to-other",
                &json!({"configType": "ConfigMap", "configMetadata": {"name": "settings", "namespace": other}}),
                &json!({"value": "x"}),
            ),
            Stuck,
        ),
        (
            "an export whose target is a path",
            export(
                "to-path",
                &to("ConfigMap", &format!("../../{other}/configmaps/settings")),
                &json!({"value": "x"}),
            ),
            Refused,
        ),
        (
            "an export onto kube-root-ca.crt",
            export("to-ca", &to("ConfigMap", "kube-root-ca.crt"), &json!({"value": "x"})),
            Stuck,
        ),
        (
            "an export onto a token of a service account",
            export("to-token", &to("Secret", "token"), &json!({"value": "x"})),
            Stuck,
        ),
        (
            "an export onto a Secret that exists",
            export("to-precious", &to("Secret", "precious"), &json!({"value": "x"})),
            Stuck,
        ),
        (
            "an export that creates a token of a service account",
            export(
                "new-token",
                &json!({"configType": "Secret", "secretType": "kubernetes.io/service-account-token",
                "configMetadata": {"name": "new-token"}}),
                &json!({"value": "x"}),
            ),
            Stuck,
        ),
        (
            "an export of a Secret as a ConfigMap",
            export("leak", &to("ConfigMap", "leak"), &from(&secret("precious"))),
            Refused,
        ),
        (
            "an export of a templated Secret as a ConfigMap",
            export(
                "leak-template",
                &to("ConfigMap", "leak-template"),
                &from(&template("{{ .Secret.precious.password }}")),
            ),
            Stuck,
        ),
        (
            "an export owned by the other's VPC",
            with(
                export("owned", &to("ConfigMap", "owned"), &json!({"value": "x"})),
                "ownerReferences",
                &owner,
            ),
            Harmless,
        ),
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
        ("adoption by the other's id", vpc("adopt-id", &literal, &json!({"adopt": {"id": id}})), Stuck),
        (
            "adoption by the other's tags",
            vpc(
                "adopt-tags",
                &literal,
                &json!({"adopt": {"tags": {"kraken-iac.eoinfennessy.com/owner": format!("VPC/{other}/main")}}}),
            ),
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
            "an intent that claims the other's VPC",
            with(
                vpc("intent", &literal, &json!({"replace": "DeleteFirst"})),
                "annotations",
                &json!({"kraken-iac.eoinfennessy.com/intent": intent.to_string()}),
            ),
            Harmless,
        ),
        (
            "a VPC owned by the other's VPC",
            with(vpc("owned", &literal, &none), "ownerReferences", &owner),
            Harmless,
        ),
        (
            "a target marked as the other's export's",
            with(
                json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "out"}}),
                "annotations",
                &json!({"kraken-iac.eoinfennessy.com/exported-by": format!("{other}/out")}),
            ),
            Harmless,
        ),
        ("a name that ends like another's state", vpc("aws.main", &literal, &none), Harmless),
        (
            "a key whose Secret is the other's",
            object(AWS, "KeyPair", "key", &json!({"generate": {"secretName": format!("../{other}/stolen")}})),
            Stuck,
        ),
        (
            "an export in the other namespace",
            with(
                export("inside", &to("ConfigMap", "inside"), &json!({"value": "x"})),
                "namespace",
                &json!(other),
            ),
            Refused,
        ),
        (
            "a request in the other namespace",
            with(
                object(
                    CORE,
                    "DependencyRequest",
                    "vpc.aws.main",
                    &json!({"secretDependencies": [{"name": "db", "key": "password"}]}),
                ),
                "namespace",
                &json!(other),
            ),
            Refused,
        ),
        (
            "a restart of the other's workload",
            export(
                "restart",
                &json!({"configType": "ConfigMap", "configMetadata": {"name": "restart"},
                "restart": [{"kind": "Deployment", "name": format!("../{other}/deployments/app")}]}),
                &json!({"value": "x"}),
            ),
            Refused,
        ),
        (
            "an Account in the other namespace",
            with(object(AWS, "Account", "default", &json!({})), "namespace", &json!(other)),
            Refused,
        ),
        (
            "an Account with the other's Secret",
            object(AWS, "Account", "thief", &json!({"credentials": credentials})),
            Refused,
        ),
        ("the other's Account by its name", using("account-name", "shop"), Stuck),
        (
            "the other's Account by a path",
            using("account-path", &format!("../{other}/accounts/shop")),
            Refused,
        ),
    ]
}

/// The number of attempts. Add one for each new way to refer to an object.
const ATTEMPTS: usize = 42;

#[test]
fn every_attempt_has_a_name_of_its_own() {
    let theirs = json!({"metadata": {"uid": "u"}, "status": {"externalIds": ["vpc-1"]}});
    let attempts = attempts("other", &theirs);
    let names: std::collections::BTreeSet<&str> = attempts.iter().map(|(name, _, _)| *name).collect();
    assert_eq!((attempts.len(), names.len()), (ATTEMPTS, ATTEMPTS));
    // No attempt replaces the object of another.
    let object = |attempt: &Value| {
        let metadata = &attempt["metadata"];
        format!("{} {} {}", attempt["kind"], metadata["namespace"], metadata["name"])
    };
    let objects: Vec<String> = attempts
        .iter()
        .filter(|(_, _, expected)| *expected != Refused)
        .map(|(_, attempt, _)| object(attempt))
        .collect();
    let distinct: std::collections::BTreeSet<&String> = objects.iter().collect();
    assert_eq!(distinct.len(), objects.len(), "{objects:?}");
}
