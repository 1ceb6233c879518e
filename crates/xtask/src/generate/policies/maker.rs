//! Policies that limit a controller which makes kinds at run time. RBAC cannot: the name of an object that is created is not known to it,
//! and neither the group of a CRD nor the type of a Secret ever is.

use serde_json::{Value, json};

use super::Policy;

/// The types of the Secrets with journals, and with sensitive outputs.
const SECRETS: [&str; 2] =
    ["kraken-iac.eoinfennessy.com/tofu-state", "kraken-iac.eoinfennessy.com/tofu-outputs"];
/// What a request is about.
const OBJECTS: &str = "[object, oldObject].filter(o, o != null)";

/// The policies of the controller in this folder, whose kinds are in this group.
pub(super) fn policies(component: &str, group: &str) -> Vec<(String, Policy)> {
    let account = format!("system:serviceaccount:kraken-system:kraken-{component}");
    let by_controller = json!({
        "name": "by-controller",
        "expression": format!("request.userInfo.username == '{account}'"),
    });
    // The certificate of its webhooks, to which a Role in that namespace limits it.
    let elsewhere = json!({
        "name": "elsewhere", "expression": "request.namespace != request.userInfo.username.split(':')[2]",
    });
    let limit = |group: &str, resource: &str, conditions: Vec<Value>, expression: String, message: String| {
        Policy {
            rules: vec![json!({
                "apiGroups": [group], "apiVersions": ["*"], "operations": ["CREATE", "UPDATE", "DELETE"], "resources": [resource],
            })],
            conditions,
            variables: vec![],
            validations: vec![json!({
                "expression": format!("{OBJECTS}.all(o, {expression})"), "message": message, "reason": "Forbidden",
            })],
        }
    };
    vec![
        (
            "crds".to_owned(),
            limit(
                "apiextensions.k8s.io",
                "customresourcedefinitions",
                vec![by_controller.clone()],
                format!("o.spec.group == '{group}'"),
                format!("kraken-{component} may write CRDs of the group {group} only"),
            ),
        ),
        (
            "secrets".to_owned(),
            limit(
                "",
                "secrets",
                vec![by_controller, elsewhere],
                format!("o.?type.orValue('') in ['{}']", SECRETS.join("', '")),
                format!("kraken-{component} may write Secrets of the types {} only", SECRETS.join(" and ")),
            ),
        ),
    ]
}
