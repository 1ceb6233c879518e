//! A process of the simulation: one incarnation of one replica of a controller, as tasks that can be ended at once.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use http_body::Body;
use http_body_util::BodyExt as _;
use hyper::body::Bytes;
use jiff::Timestamp;
use kraken_aws::AwsArgs;
use kraken_aws::ec2::config::SharedHttpClient;
use kraken_aws_ec2_instance::Ec2;
use kraken_aws_elb::Elb;
use kraken_aws_vpc::Network;
use kraken_hub::{Hub, HubArgs};
use kraken_runtime::{Bounds, EndError, Program, RunArgs, embedded, metrics::Metrics, task::Group};
use kraken_simulator::Simulator;
use kraken_spoke::{LoopArgs, OrphanArgs, Spoke, SpokeArgs, SpokeProgram};
use kraken_tfplugin::{Host, HostLink, HostOptions};
use kube::Client;
use kube::client::DynBody;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use tower::{BoxError, ServiceExt as _};

use super::checker::{Caller, Place};
use super::gate::Gate;
use super::providers::{Args, Provider, RunningHost, SimulatedTofu, Way};
use super::shared::Shared;
use super::trace::ProcessId;
use crate::apiserver::{self, Connection};
use crate::schedule::{Controller, Settings, Side};

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

    fn gate(&self, shared: &Arc<Shared>, side: Side) -> Arc<Gate> {
        let place = self.id.controller.is_spoke().then(|| self.place.clone());
        let caller = Caller { process: self.id, identity: self.identity(), place };
        Arc::new(Gate { shared: shared.clone(), caller, side, is_dead: self.is_dead.clone() })
    }

    /// Its way to the clouds: an Account may have credentials of another account, and another region.
    fn clouds(&self, shared: &Arc<Shared>) -> SharedHttpClient {
        let (own, shared, gate) = (self.place.clone(), shared.clone(), self.gate(shared, Side::Cloud));
        let known = Mutex::<BTreeMap<Place, (Arc<Simulator>, Arc<Gate>)>>::default();
        Simulator::routed(move |key, region| {
            let place = own.of_calls(key, region);
            let mut known = known.lock();
            let new = |place: &Place| (shared.cloud_at(place), Arc::new(gate.to(place)));
            known.entry(place).or_insert_with_key(new).clone()
        })
    }

    pub(super) fn identity(&self) -> String {
        format!("{}-{}-{}", self.id.controller, self.id.replica, self.id.incarnation)
    }

    /// Runs the controller until it ends.
    pub(super) async fn run(self, shared: Arc<Shared>) -> Result<(), EndError> {
        match self.id.controller {
            Controller::Hub => self.program::<Hub>(&shared, HubArgs {}).await,
            Controller::Vpc => Box::pin(self.spoke::<Network>(&shared)).await,
            Controller::Elb => Box::pin(self.spoke::<Elb>(&shared)).await,
            Controller::Ec2Instance => Box::pin(self.spoke::<Ec2>(&shared)).await,
            Controller::Tofu => {
                let way = Arc::new(Way(self.gate(&shared, Side::Cloud)));
                let args = Args { host: Some(HostLink::Other(way)), common: loop_args(&shared.settings) };
                Box::pin(self.program::<SimulatedTofu>(&shared, args)).await
            }
            Controller::TofuHost => {
                self.host(&shared).await;
                Ok(())
            }
        }
    }

    /// Runs the host of the simulated provider, which finishes its operations when it is asked to stop.
    async fn host(self, shared: &Arc<Shared>) {
        let lag = shared.settings.change_lag;
        let service = Provider { gate: self.gate(shared, Side::Cloud), world: shared.world.clone(), lag };
        let options = HostOptions { service: Some(Arc::new(service)), ..HostOptions::new(self.identity()) };
        let (host, gone) = (Host::new(options), CancellationToken::new());
        shared.state.lock().host = Some(RunningHost { id: self.id, host: host.clone(), gone });
        self.shutdown.cancelled().await;
        host.close().await;
    }

    async fn spoke<S: Spoke<Args = AwsArgs>>(self, shared: &Arc<Shared>) -> Result<(), EndError> {
        let own = AwsArgs {
            aws_region: Some(self.place.region.clone()),
            http_client: Some(self.clouds(shared)),
            ..AwsArgs::default()
        };
        let own = SpokeArgs::new(own, loop_args(&shared.settings));
        self.program::<SpokeProgram<S>>(shared, own).await
    }

    async fn program<P: Program>(self, shared: &Arc<Shared>, own: P::Args) -> Result<(), EndError> {
        let args = run_args(&shared.settings, shared.elects(self.id.controller));
        let gate = self.gate(shared, Side::Kube);
        let connect = |bounds: &Bounds| -> Client {
            let service = apiserver::service(&self.connection, gate.clone());
            bounds.client(service.map_response(|response| response.map(boxed)))
        };
        let metrics = Metrics::new(P::NAME);
        shared.state.lock().metrics.push((self.id, metrics.clone()));
        let (identity, shutdown) = (self.identity(), self.shutdown.clone());
        embedded::run::<P>(args, own, identity, Some(self.predecessor_ended_at), metrics, connect, shutdown)
            .await
    }
}

/// Any body in the form in which kube's client passes it on.
fn boxed<B>(body: B) -> Box<DynBody>
where
    B: Body<Data = Bytes, Error: Into<BoxError>> + Send + Unpin + 'static,
{
    Box::new(body.map_err(Into::into))
}

fn run_args(settings: &Settings, leader_elect: bool) -> RunArgs {
    RunArgs {
        resync_interval: settings.resync_interval,
        concurrency: settings.concurrency.try_into().unwrap_or(1),
        lease_duration: settings.lease_duration,
        leader_elect,
        ..RunArgs::default()
    }
}

fn loop_args(settings: &Settings) -> LoopArgs {
    let number = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
    let defaults = LoopArgs::default();
    LoopArgs {
        visibility_window: settings.visibility_window,
        deep_resync_interval: settings.deep_resync_interval,
        launch_limit: number(settings.launch_limit),
        launch_window: settings.launch_window,
        replace_timeout: settings.replace_timeout,
        vanished_minimum: number(settings.vanished_minimum),
        orphans: OrphanArgs {
            orphan_interval: settings.orphan_interval,
            remove_orphans: settings.remove_orphans,
            ..defaults.orphans
        },
        ..defaults
    }
}
