//! Checks what the hub deletes: a former target of an export, which pods may still mount, is kept until there is another one.

use std::time::Duration;

use kraken_kind::api::EXPORTED_BY_ANNOTATION;
use serde_json::Value;

use super::{CallingProcess, Checks, Class, history::Version, policy::is_deleting};

impl Checks {
    /// After the hub deleted a ConfigMap or a Secret that an export wrote. While values are missing, a target may be deleted, unless
    /// the export keeps it.
    pub(super) fn check_former_target(&mut self, now: Duration, by: &CallingProcess, target: &Value) {
        let maker = target["metadata"]["annotations"][EXPORTED_BY_ANNOTATION].as_str().unwrap_or_default();
        let Some(export) = self.history.records.get(maker).filter(|export| export.gone.is_none()) else {
            return;
        };
        let candidates = self.history.candidates(export, by, now, self.calm);
        let former = (&target["kind"], &target["metadata"]["name"]);
        // The hub knows of what it wrote, whether or not a user deleted it since.
        let was_written = |spec: &Value| {
            self.history.records.values().any(|written| {
                spec["configType"] == *written.kind
                    && spec["configMetadata"]["name"] == *written.name
                    && written.namespace == export.namespace
                    && written.versions.iter().any(|version| {
                        version.value["metadata"]["annotations"][EXPORTED_BY_ANNOTATION] == maker
                    })
            })
        };
        // The next one's name is that of a target of another export, which may wait for this one.
        let is_anothers = |spec: &Value| {
            self.history.all_live().any(|(_, other)| {
                let owners = other.latest().value["metadata"]["ownerReferences"].as_array();
                spec["configType"] == *other.kind
                    && spec["configMetadata"]["name"] == *other.name
                    && other.namespace == export.namespace
                    && owners.into_iter().flatten().any(|owner| owner["kind"] == "ConfigExport")
            })
        };
        let explains = |version: &Version| {
            let spec = &version.value["spec"];
            let is_same = (&spec["configType"], &spec["configMetadata"]["name"]) == former;
            spec["rotate"] == true
                || spec["whileWaiting"] != "Keep"
                || is_deleting(&version.value)
                || if is_same { is_replaced(spec, target) } else { was_written(spec) || is_anothers(spec) }
        };
        if candidates.is_empty() || candidates.iter().any(explains) {
            return;
        }
        let message = format!(
            "the hub deletes {} {}, the former target of {}, and the next one was not written yet",
            target["kind"],
            target["metadata"]["name"],
            export.title()
        );
        self.violated(now, Class::Wrong, message.replace('"', ""));
    }
}

/// Whether a target cannot get the content that a spec wants, and is created again.
fn is_replaced(spec: &Value, target: &Value) -> bool {
    let wanted = spec["secretType"].as_str().unwrap_or("Opaque");
    target["immutable"] == true || (target["kind"] == "Secret" && target["type"] != wanted)
}
