//! What kube-apiserver requires of a Secret by its type.

use serde_json::Value;

use super::{base64::decoded, cause::Cause};

/// Adds the validation errors of the data that the type of a Secret requires.
pub(super) fn check(secret: &Value, causes: &mut Vec<Cause>) {
    let data = &secret["data"];
    let absent = |key: &&&str| data[**key].is_null();
    let required = |keys: &[&str], causes: &mut Vec<Cause>| {
        causes.extend(keys.iter().filter(absent).map(|key| Cause::required(format!("data[{key}]"), "")));
    };
    match secret["type"].as_str().unwrap_or_default() {
        "kubernetes.io/tls" => required(&["tls.crt", "tls.key"], causes),
        "kubernetes.io/basic-auth" if data["username"].is_null() && data["password"].is_null() => {
            required(&["username", "password"], causes);
        }
        "kubernetes.io/ssh-auth" if data["ssh-privatekey"].as_str().is_none_or(str::is_empty) => {
            causes.push(Cause::required("data[ssh-privatekey]", ""));
        }
        "kubernetes.io/service-account-token" => {
            const NAME: &str = "kubernetes.io/service-account.name";
            if secret["metadata"]["annotations"][NAME].as_str().is_none_or(str::is_empty) {
                causes.push(Cause::required(format!("metadata.annotations[{NAME}]"), ""));
            }
        }
        "kubernetes.io/dockercfg" => check_json(data, ".dockercfg", causes),
        "kubernetes.io/dockerconfigjson" => check_json(data, ".dockerconfigjson", causes),
        _ => {}
    }
}

fn check_json(data: &Value, key: &str, causes: &mut Vec<Cause>) {
    let field = format!("data[{key}]");
    let Some(text) = data[key].as_str() else {
        causes.push(Cause::required(field, ""));
        return;
    };
    let is_object = serde_json::from_slice::<serde_json::Map<String, Value>>(&decoded(text)).is_ok();
    if !is_object {
        causes.push(Cause::invalid(field, &"<secret contents redacted>".into(), "invalid JSON"));
    }
}
