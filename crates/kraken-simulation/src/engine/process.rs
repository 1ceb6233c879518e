//! A process of the simulation: one incarnation of one replica of a controller, as tasks that can be ended at once.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use jiff::Timestamp;
use kraken_runtime::task::Group;
use kraken_tfplugin::Host;
use tokio_util::sync::CancellationToken;

use super::checker::Place;
use super::trace::ProcessId;
use crate::apiserver::Connection;

/// One running process.
#[derive(Clone, Debug)]
pub(super) struct Process {
    pub(super) id: ProcessId,
    pub(super) place: Place,
    pub(super) group: Group,
    pub(super) shutdown: CancellationToken,
    pub(super) is_dead: Arc<AtomicBool>,
    /// When the former process of the controller ended. With leader election, the lease determines it.
    pub(super) predecessor_ended_at: Timestamp,
    /// Its way to the API server.
    pub(super) connection: Connection,
}

impl Process {
    pub(super) fn new(
        id: ProcessId,
        place: Place,
        predecessor_ended_at: Timestamp,
        connection: Connection,
    ) -> Self {
        let (group, shutdown) = (Group::default(), CancellationToken::new());
        Self { id, place, group, shutdown, is_dead: Arc::default(), predecessor_ended_at, connection }
    }

    pub(super) fn identity(&self) -> String {
        format!("{}-{}-{}", self.id.controller, self.id.replica, self.id.incarnation)
    }
}

/// A host of the simulated provider that runs.
#[derive(Clone, Debug)]
pub(super) struct RunningHost {
    pub(super) id: ProcessId,
    pub(super) host: Arc<Host>,
    /// Fires when its process is gone.
    pub(super) gone: CancellationToken,
}
