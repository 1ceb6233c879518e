//! The keys that Kubernetes requires of a Secret by its type.

use kraken_api::ConfigExportSpec;

/// The required keys of a type, and whether one of them is enough.
fn required(secret_type: &str) -> (&'static [&'static str], bool) {
    match secret_type {
        "kubernetes.io/tls" => (&["tls.crt", "tls.key"], false),
        "kubernetes.io/basic-auth" => (&["username", "password"], true),
        "kubernetes.io/ssh-auth" => (&["ssh-privatekey"], false),
        "kubernetes.io/dockercfg" => (&[".dockercfg"], false),
        "kubernetes.io/dockerconfigjson" => (&[".dockerconfigjson"], false),
        _ => (&[], false),
    }
}

/// The message about the keys that the type of the Secret requires, and that no entry has. The API server would refuse each write.
pub(super) fn missing_keys(spec: &ConfigExportSpec) -> Option<String> {
    let secret_type = spec.secret_type.as_deref()?;
    let (keys, is_one_enough) = required(secret_type);
    let has = |key: &&&str| spec.entries.iter().any(|entry| entry.key == **key);
    let missing: Vec<&str> = keys.iter().filter(|key| !has(key)).copied().collect();
    let is_complete = missing.is_empty() || (is_one_enough && missing.len() < keys.len());
    (!is_complete).then(|| {
        let list = missing.join(if is_one_enough { " or " } else { " and " });
        let noun = if missing.len() > 1 && !is_one_enough {
            "entries with the keys"
        } else {
            "an entry with the key"
        };
        format!("is {secret_type}, which requires {noun} {list}")
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_type_requires_its_keys() {
        let missing = |secret_type: &str, keys: &[&str]| {
            let entries: Vec<_> = keys.iter().map(|key| json!({"key": key, "value": "x"})).collect();
            let spec = json!({"configType": "Secret", "configMetadata": {"name": "s"}, "secretType": secret_type, "entries": entries});
            missing_keys(&serde_json::from_value(spec).unwrap()).unwrap_or_default()
        };
        let tls = "kubernetes.io/tls";
        assert_eq!(
            missing(tls, &["a"]),
            "is kubernetes.io/tls, which requires entries with the keys tls.crt and tls.key"
        );
        assert_eq!(
            missing(tls, &["tls.crt"]),
            "is kubernetes.io/tls, which requires an entry with the key tls.key"
        );
        assert_eq!(missing(tls, &["tls.key", "tls.crt"]), "");
        assert_eq!(
            missing("kubernetes.io/basic-auth", &["a"]),
            "is kubernetes.io/basic-auth, which requires an entry with the key username or password"
        );
        assert_eq!(missing("kubernetes.io/basic-auth", &["password"]), "");
        assert_eq!(missing("example.com/custom", &["a"]), "");
    }
}
