//! Sets the volumes of the workloads of an export to its current target. Client required.

use kraken_api::{
    ConfigExport,
    config_export::{Workload, WorkloadKind},
};
use kraken_runtime::patch::{ApiError, json_patch, within};
use kube::{Api, Client, ResourceExt, core::DynamicObject};

use crate::{
    exports::{
        restart::{MANAGER, resource},
        rotate::volume::{self, VolumeError},
    },
    resolve::names::words,
    store::index::ObjectRef,
};

/// A workload could not be set.
#[derive(Debug, thiserror::Error)]
pub(super) enum WorkloadError {
    #[error("failed to read {kind:?} {name}: {}", words(.source))]
    Read { kind: WorkloadKind, name: String, source: ApiError },
    #[error("failed to restart {kind:?} {name}: {}", words(.source))]
    Patch { kind: WorkloadKind, name: String, source: ApiError },
    #[error("failed to restart {kind:?} {name}: {source}")]
    Volume { kind: WorkloadKind, name: String, source: VolumeError },
}

/// The result for all workloads.
#[derive(Debug, Default)]
pub(super) struct Followed {
    /// Those that were changed.
    pub(super) changed: Vec<String>,
    /// Whether one does not exist.
    pub(super) is_absent: bool,
    /// The first error. It does not prevent the change of the others.
    pub(super) error: Option<WorkloadError>,
}

/// Sets the volume of each workload; `is_due`: also if it has another target.
pub(super) async fn follow(
    client: &Client,
    export: &ConfigExport,
    target: &ObjectRef,
    is_due: bool,
) -> Followed {
    let namespace = export.namespace().unwrap_or_default();
    let base = &export.spec.config_metadata.name;
    let mut followed = Followed::default();
    for workload in &export.spec.restart {
        let api = Api::namespaced_with(client.clone(), &namespace, &resource(workload.kind));
        match set(&api, workload, base, target, is_due).await {
            Ok(State::Changed) => followed.changed.push(format!("{:?} {}", workload.kind, workload.name)),
            Ok(State::Unchanged) => {}
            Ok(State::Absent) => followed.is_absent = true,
            Err(error) => {
                followed.error.get_or_insert(error);
            }
        }
    }
    followed
}

enum State {
    Changed,
    Unchanged,
    Absent,
}

async fn set(
    api: &Api<DynamicObject>,
    Workload { kind, name }: &Workload,
    base: &str,
    target: &ObjectRef,
    is_due: bool,
) -> Result<State, WorkloadError> {
    let (kind, name) = (*kind, name.clone());
    let found = match within("read", api.get_opt(&name)).await {
        Ok(found) => found,
        Err(source) => return Err(WorkloadError::Read { kind, name, source }),
    };
    let Some(workload) = found else { return Ok(State::Absent) };
    let operations = match volume::change(&workload.data, base, target, is_due) {
        Ok(Some(operations)) => operations,
        Ok(None) => return Ok(State::Unchanged),
        Err(source) => return Err(WorkloadError::Volume { kind, name, source }),
    };
    match json_patch(api, MANAGER, &name, operations).await {
        Ok(_) => Ok(State::Changed),
        Err(error) if error.is_not_found() => Ok(State::Absent),
        Err(source) => Err(WorkloadError::Patch { kind, name, source }),
    }
}
