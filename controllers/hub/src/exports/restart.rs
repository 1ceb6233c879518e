//! After step 3: restarts the workloads of an export when the content of its target changed. Client required.
//!
//! A restart is one annotation of the pod template, whose value is a digest of the content: setting it again changes nothing.

use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, StatefulSet};
use kraken_api::{
    ConfigExport, RESTARTED_FOR_PREFIX,
    config_export::{Workload, WorkloadKind},
};
use kraken_runtime::patch::{ApiError, within};
use kube::{
    Api, Client, ResourceExt,
    api::{Patch, PatchParams},
    core::{ApiResource, DynamicObject},
};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::{resolve::names::words, store::digest_key::are_comparable};

/// The field manager of the annotation, and of the source of a volume.
pub(super) const MANAGER: &str = "kraken-restart";
/// The maximum length of the name of an annotation without its prefix.
const MAX_NAME: usize = 63;

/// A workload could not be restarted.
#[derive(Debug, thiserror::Error)]
#[error("failed to restart {kind:?} {name}: {}", words(.source))]
pub(crate) struct RestartError {
    kind: WorkloadKind,
    name: String,
    source: ApiError,
}

/// Whether the workloads have not been restarted for the content with this digest. The first content restarts nothing: pods wait for
/// their ConfigMap or Secret. Neither does one after the hub's key was lost, because nobody can tell whether the content is another one.
pub(crate) fn is_due(before: Option<&str>, digest: &str) -> bool {
    before.is_some_and(|before| before != digest && are_comparable(before, digest))
}

/// Restarts the workloads of an export for this content; returns those that exist.
///
/// # Errors
/// The first failed request. Requests that succeeded before have no effect when they are repeated.
pub(crate) async fn restart(
    client: &Client,
    export: &ConfigExport,
    digest: &str,
) -> Result<Vec<String>, RestartError> {
    let namespace = export.namespace().unwrap_or_default();
    let params = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
    let patch = Patch::Merge(annotation(&export.name_any(), digest));
    let mut restarted = vec![];
    for Workload { kind, name } in &export.spec.restart {
        let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), &namespace, &resource(*kind));
        match within("restart", api.patch_metadata(name, &params, &patch)).await {
            Ok(_) => restarted.push(format!("{kind:?} {name}")),
            // It starts with the current content when it is created.
            Err(error) if error.is_not_found() => {}
            Err(source) => return Err(RestartError { kind: *kind, name: name.clone(), source }),
        }
    }
    Ok(restarted)
}

/// The API of a kind of workloads.
pub(super) fn resource(kind: WorkloadKind) -> ApiResource {
    match kind {
        WorkloadKind::Deployment => ApiResource::erase::<Deployment>(&()),
        WorkloadKind::StatefulSet => ApiResource::erase::<StatefulSet>(&()),
        WorkloadKind::DaemonSet => ApiResource::erase::<DaemonSet>(&()),
    }
}

/// A merge patch, which needs no other permission than `patch`, and never creates a workload as server-side apply would.
fn annotation(export: &str, digest: &str) -> Value {
    json!({"spec": {"template": {"metadata": {"annotations": {annotation_name(export): digest}}}}})
}

/// One annotation per export, because several can restart the same workload.
fn annotation_name(export: &str) -> String {
    if export.len() <= MAX_NAME {
        return format!("{RESTARTED_FOR_PREFIX}{export}");
    }
    let hash = hex::encode(Sha256::digest(export));
    format!("{RESTARTED_FOR_PREFIX}{}-{}", &export[..MAX_NAME - 17], &hash[..16])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_restart_is_due_when_the_content_differs_from_the_last_one() {
        assert!(!is_due(None, "1"), "the first content");
        assert!(!is_due(Some("k.1"), "k.1"));
        assert!(is_due(Some("k.1"), "k.2"));
        for before in ["other.1", "1", ""] {
            assert!(!is_due(Some(before), "k.2"), "{before}: of another key, or of a former version");
        }
    }

    #[test]
    fn annotation_names_are_valid_and_differ_by_export() {
        assert_eq!(annotation_name("web"), "restarted-for.kraken-iac.eoinfennessy.com/web");
        let (one, two) = ("a".repeat(253), format!("{}b", "a".repeat(252)));
        assert_ne!(annotation_name(&one), annotation_name(&two));
        for name in [one, two] {
            assert_eq!(annotation_name(&name).rsplit('/').next().map(str::len), Some(MAX_NAME));
        }
    }
}
