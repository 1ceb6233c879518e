//! Attempts with exports: their targets, their sources and their restarts.

use serde_json::{Value, json};

use super::{
    Attempt,
    Expected::{Harmless, Refused, Stuck},
    Other, from, object, secret, template, with,
};
use crate::tenancy::EXPORT;

fn export(name: &str, spec: &Value, value: &Value) -> Value {
    let (mut spec, mut entry) = (spec.clone(), value.clone());
    entry["key"] = "k".into();
    spec["entries"] = json!([entry]);
    object(EXPORT, "ConfigExport", name, &spec)
}

fn to(kind: &str, target: &str) -> Value {
    json!({"configType": kind, "configMetadata": {"name": target}})
}

pub(super) fn attempts(victim: &Other) -> Vec<Attempt> {
    let Other { namespace: other, owner, .. } = victim;
    vec![
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
                owner,
            ),
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
            "a restart of the other's workload",
            export(
                "restart",
                &json!({"configType": "ConfigMap", "configMetadata": {"name": "restart"},
                "restart": [{"kind": "Deployment", "name": format!("../{other}/deployments/app")}]}),
                &json!({"value": "x"}),
            ),
            Refused,
        ),
    ]
}
