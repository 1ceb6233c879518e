//! The projected volume of a pod template whose only source is the current target. Pure.
//!
//! The manifest of the workload has the volume without `sources`, so that no other manager owns this field.

use serde_json::{Value, json};

use crate::{
    exports::rotate::names::is_of,
    store::index::{Class, ObjectRef},
};

/// Why the volume of a pod template cannot be set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum VolumeError {
    /// There is none of this name.
    #[error("its pod template has no volume {0}; add {{name: {0}, projected: {{}}}} to its volumes")]
    Absent(String),
    /// It has another type.
    #[error("its volume {0} is not a projected volume; change it to {{name: {0}, projected: {{}}}}")]
    NotProjected(String),
    /// Others set its sources.
    #[error("its volume {0} has other sources; change it to {{name: {0}, projected: {{}}}}")]
    OtherSources(String),
}

/// The operations of a JSON patch that set the source of the volume `base`; `None` if nothing is to be changed. `is_due`: the
/// workload has not been set to this target; afterwards only an empty volume is set, because another target is a rollback.
///
/// # Errors
/// If there is no such volume, or its sources belong to others.
pub(super) fn change(
    workload: &Value,
    base: &str,
    target: &ObjectRef,
    is_due: bool,
) -> Result<Option<Value>, VolumeError> {
    let volumes = workload.pointer("/spec/template/spec/volumes").and_then(Value::as_array);
    let (index, volume) = volumes
        .into_iter()
        .flatten()
        .enumerate()
        .find(|(_, volume)| volume["name"] == base)
        .ok_or_else(|| VolumeError::Absent(base.to_owned()))?;
    if !volume["projected"].is_object() {
        return Err(VolumeError::NotProjected(base.to_owned()));
    }
    let desired = source(target);
    // The API server returns `null` for no sources.
    let sources = volume["projected"]["sources"].as_array().map(Vec::as_slice).unwrap_or_default();
    match sources {
        [] => {}
        [set] if *set == desired => return Ok(None),
        [set] if is_of_export(set, base) && is_due => {}
        [set] if is_of_export(set, base) => return Ok(None),
        _ => return Err(VolumeError::OtherSources(base.to_owned())),
    }
    // A strategic merge patch would add the volume if it was removed in the meantime.
    let path = format!("/spec/template/spec/volumes/{index}");
    Ok(Some(json!([
        {"op": "test", "path": format!("{path}/name"), "value": base},
        {"op": "add", "path": format!("{path}/projected/sources"), "value": [desired]},
    ])))
}

fn source(target: &ObjectRef) -> Value {
    let name = &*target.key.name;
    match target.class {
        Class::Secret => json!({"secret": {"name": name}}),
        Class::ConfigMap | Class::State => json!({"configMap": {"name": name}}),
    }
}

/// Whether this is a source that the hub sets: a target of the export, which may have had the other type.
fn is_of_export(source: &Value, base: &str) -> bool {
    let is_alone = source.as_object().is_some_and(|source| source.len() == 1);
    let named = ["configMap", "secret"].into_iter().find_map(|kind| source[kind]["name"].as_str());
    is_alone && named.is_some_and(|named| is_of(base, named))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workload(volume: Value) -> Value {
        let other = json!({"name": "tmp", "emptyDir": {}});
        json!({"spec": {"template": {"spec": {"volumes": [other, volume]}}}})
    }

    fn with_sources(sources: Value) -> Value {
        workload(json!({"name": "app", "projected": {"defaultMode": 420, "sources": sources}}))
    }

    fn target() -> ObjectRef {
        ObjectRef::new(Class::ConfigMap, "ns", "app-0000000003")
    }

    /// The name of the target that the workload is set to.
    fn set(workload: &Value, is_due: bool) -> Option<String> {
        let mut operations = change(workload, "app", &target(), is_due).unwrap()?;
        assert_eq!(operations[0]["value"], "app");
        assert_eq!(operations[1]["path"], "/spec/template/spec/volumes/1/projected/sources");
        let value = operations[1]["value"].take();
        Some(value[0]["configMap"]["name"].as_str().unwrap().to_owned())
    }

    #[test]
    fn a_volume_without_sources_is_always_set() {
        for sources in [Value::Null, json!([])] {
            assert_eq!(set(&with_sources(sources.clone()), true).as_deref(), Some("app-0000000003"));
            assert_eq!(set(&with_sources(sources), false).as_deref(), Some("app-0000000003"));
        }
        let empty = workload(json!({"name": "app", "projected": {}}));
        assert_eq!(set(&empty, false).as_deref(), Some("app-0000000003"));
    }

    #[test]
    fn a_rollback_is_kept_until_the_content_changes() {
        let former = with_sources(json!([{"configMap": {"name": "app-0000000002"}}]));
        assert_eq!(set(&former, false), None);
        assert_eq!(set(&former, true).as_deref(), Some("app-0000000003"));
        let secret = with_sources(json!([{"secret": {"name": "app-0000000002"}}]));
        assert_eq!(set(&secret, true).as_deref(), Some("app-0000000003"), "of another configType");
        assert_eq!(set(&with_sources(json!([{"configMap": {"name": "app-0000000003"}}])), true), None);
    }

    #[test]
    fn a_secret_is_the_source_as_a_secret() {
        let target = ObjectRef::new(Class::Secret, "ns", "app-0000000001");
        let operations = change(&with_sources(Value::Null), "app", &target, true).unwrap().unwrap();
        assert_eq!(operations[1]["value"], json!([{"secret": {"name": "app-0000000001"}}]));
    }

    #[test]
    fn the_sources_of_others_are_never_changed() {
        for sources in [
            json!([{"configMap": {"name": "theirs"}}]),
            json!([{"configMap": {"name": "app"}}]),
            json!([{"configMap": {"name": "app-0000000002"}}, {"secret": {"name": "theirs"}}]),
            json!([{"serviceAccountToken": {"path": "token"}}]),
        ] {
            let changed = change(&with_sources(sources.clone()), "app", &target(), true);
            assert_eq!(changed, Err(VolumeError::OtherSources("app".into())), "{sources}");
        }
    }

    #[test]
    fn an_error_states_the_volume_to_add() {
        let error = |workload: Value| change(&workload, "app", &target(), true).unwrap_err();
        let absent = error(json!({"spec": {"template": {"spec": {}}}}));
        assert_eq!(
            absent.to_string(),
            "its pod template has no volume app; add {name: app, projected: {}} to its volumes"
        );
        let fixed = error(workload(json!({"name": "app", "configMap": {"name": "app"}})));
        assert_eq!(fixed, VolumeError::NotProjected("app".into()));
    }
}
