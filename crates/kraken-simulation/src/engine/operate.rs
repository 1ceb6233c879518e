//! The simulation as the target of operations.

use std::sync::Arc;

use http::Request;
use hyper::body::Bytes;
use kraken_simulator::Simulator;

use super::{Place, Simulation, providers};
use crate::apiserver::ApiServer;
use crate::apply::{self, Installation};
use crate::schedule::{Controller, Operation, Suite};

impl Simulation {
    /// Performs an operation, and records the reason if it had no effect.
    pub(super) fn carry_out(&self, operation: &Operation) -> Option<String> {
        if let (Suite::Provider, Operation::TamperRemote { remote, tamper }) =
            (self.0.settings.suite, operation)
        {
            return providers::tamper(&self.0.api, &self.0.world, remote, tamper).err();
        }
        // It is not awaited: operations follow the schedule.
        let mut memory = self.0.memory.lock();
        apply::operation(self, &mut memory, operation)
    }

    /// The namespace that the leases are in.
    pub(super) fn install(&self) {
        let body = Bytes::from(r#"{"metadata": {"name": "kraken-system"}}"#);
        if let Ok(request) = Request::post("/api/v1/namespaces").body(body) {
            self.0.api.handle(request);
        }
    }
}

impl Installation for Simulation {
    fn api(&self) -> &ApiServer {
        &self.0.api
    }

    fn cloud(&self, controller: Controller) -> Option<Arc<Simulator>> {
        self.0.cloud(controller)
    }

    fn cloud_at(&self, account: &str, region: &str) -> Option<Arc<Simulator>> {
        let place = Place { account: account.to_owned(), region: region.to_owned() };
        Simulation::clouds(self).remove(&place)
    }

    fn clouds(&self) -> Vec<Arc<Simulator>> {
        Simulation::clouds(self).into_values().collect()
    }

    fn restart(&self, controller: Controller, region: Option<&str>, account: Option<&str>) {
        let Place { account: old_account, region: old_region } = self.place(controller);
        let place = Place {
            account: account.map_or(old_account, ToOwned::to_owned),
            region: region.map_or(old_region, ToOwned::to_owned),
        };
        Simulation::restart(self, controller, place);
    }
}
