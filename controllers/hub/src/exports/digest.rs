//! The digest of the content of a target: whether workloads have it, and with `rotate` the name of the target. Client required for the
//! key of the hub.

use kraken_api::{ConfigExport, ConfigExportSpec, ConfigType};
use kube::ResourceExt;

use crate::{
    exports::{resolve::Content, target::OPAQUE},
    resolve::names::words,
    store::digest_key::{self, public_digest_of},
    watch::cluster_state::ClusterState,
};

/// The digest of this content; `None` if no workload depends on it. That of a Secret has the hub's key, so that no value can be guessed
/// from it.
///
/// # Errors
/// If the hub has no key, with what to do.
pub(super) async fn of(
    cluster: &ClusterState,
    export: &ConfigExport,
    content: &Content,
) -> Result<Option<String>, String> {
    let spec = &export.spec;
    if !spec.rotate && spec.restart.is_empty() {
        return Ok(None);
    }
    let (namespace, name) = (export.namespace().unwrap_or_default(), export.name_any());
    let texts = texts(&namespace, &name, spec, content);
    if spec.config_type == ConfigType::ConfigMap {
        return Ok(Some(public_digest_of(texts)));
    }
    let secret = digest_key::SECRET;
    let key = cluster.reader.digest_key().await;
    let key = key.map_err(|error| format!("failed to read Secret {secret} of the hub: {}", words(&error)))?;
    let digest = key.digest_of(texts).ok_or_else(|| {
        format!(
            "the hub has no key for digests of Secrets; permit its service account to get, create and update Secret {secret} in its \
             namespace; it is tried again every minute"
        )
    })?;
    Ok(Some(digest))
}

/// The export, the type of the target, and its keys and values. Whoever may write another export cannot find out by its digest that two
/// Secrets have the same value. With `rotate`, another type is another target, because a target has one for ever.
fn texts<'a>(
    namespace: &'a str,
    name: &'a str,
    spec: &'a ConfigExportSpec,
    content: &'a Content,
) -> impl Iterator<Item = &'a str> {
    let type_ = spec.secret_type.as_deref().filter(|_| spec.rotate).unwrap_or(OPAQUE);
    let entries = content.0.iter().flat_map(|(key, value)| [key.as_str(), value.expose().0.as_str()]);
    [namespace, name, type_].into_iter().chain(entries)
}

#[cfg(test)]
mod tests {
    use kraken_options::{Resolved, Text};
    use serde_json::json;

    use super::*;
    use crate::exports::resolve::tests::spec;

    fn content(entries: &[(&str, &str)]) -> Content {
        let value = |text: &str| Resolved::Public(Text(text.to_owned()));
        Content(entries.iter().map(|(key, text)| ((*key).to_owned(), value(text))).collect())
    }

    #[test]
    fn a_digest_depends_on_every_key_and_value() {
        let spec = spec("ConfigMap", json!([{"key": "a", "value": "x"}]));
        let by =
            |name, entries: &[(&str, &str)]| public_digest_of(texts("ns", name, &spec, &content(entries)));
        let of = |entries: &[(&str, &str)]| by("e", entries);
        let one = of(&[("a", "x"), ("b", "y")]);
        assert_eq!(one, of(&[("b", "y"), ("a", "x")]));
        assert_ne!(one, by("f", &[("a", "x"), ("b", "y")]), "of another export");
        let others: [&[_]; 3] = [&[("a", "x"), ("b", "z")], &[("a", "xb"), ("", "y")], &[("a", "x")]];
        for entries in others {
            assert_ne!(of(entries), one, "{entries:?}");
        }
    }

    #[test]
    fn another_type_of_a_rotated_secret_is_another_target_and_restarts_nothing_else() {
        let content = content(&[("a", "x")]);
        let of = |rotate, secret_type: Option<&str>| {
            let mut spec = spec("Secret", json!([{"key": "a", "value": "x"}]));
            (spec.rotate, spec.secret_type) = (rotate, secret_type.map(str::to_owned));
            public_digest_of(texts("ns", "e", &spec, &content))
        };
        assert_ne!(of(true, Some("example.com/login")), of(true, None));
        assert_eq!(of(true, Some(OPAQUE)), of(true, None));
        assert_eq!(of(false, Some("example.com/login")), of(false, None));
    }
}
