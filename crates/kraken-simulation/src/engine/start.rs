//! Starts processes with their ways to the servers, and starts them again when they end.

use std::{
    collections::BTreeMap,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use http_body::Body;
use http_body_util::BodyExt as _;
use hyper::body::Bytes;
use jiff::Timestamp;
use kraken_aws::{AwsArgs, ec2::config::SharedHttpClient};
use kraken_aws_ec2_instance::Ec2;
use kraken_aws_elb::Elb;
use kraken_aws_vpc::Network;
use kraken_hub::{Hub, HubArgs};
use kraken_kind::Spoke;
use kraken_runtime::{Bounds, EndError, Program, RunArgs, clock, embedded, metrics::Metrics};
use kraken_simulator::Simulator;
use kraken_spoke::{LoopArgs, OrphanArgs, SpokeArgs, SpokeProgram};
use kraken_tfplugin::{Host, HostLink, HostOptions};
use kube::{Client, client::DynBody};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use tower::{BoxError, ServiceExt as _};

use super::{
    checker::{Caller, Place},
    gate::Gate,
    process::{Process, RunningHost},
    providers::{Args, Provider, SimulatedTofu, Way},
    shared::Shared,
    trace::{EventKind, ProcessId},
};
use crate::{
    apiserver,
    schedule::{Controller, Settings, Side},
};

/// The delay before an ended process is restarted.
const RESTART: Duration = Duration::from_secs(1);

impl Shared {
    /// Starts a replica if it should run and does not.
    pub(super) fn start(self: &Arc<Self>, controller: Controller, replica: u32) {
        let key = (controller, replica);
        let process = {
            let mut state = self.state.lock();
            if !state.replicas.contains(&key) || state.processes.contains_key(&key) {
                return;
            }
            let incarnation = state.incarnations.entry(key).or_default();
            *incarnation += 1;
            let id = ProcessId { controller, replica, incarnation: *incarnation };
            let place = state.places.get(&controller).cloned().unwrap_or_default();
            let predecessor_ended_at = state.ended.get(&controller).copied().unwrap_or(Timestamp::MIN);
            let process = Process::new(id, place, predecessor_ended_at, self.api.connection());
            state.processes.insert(key, process.clone());
            process
        };
        let id = process.id;
        self.note(EventKind::Process(format!("{id} starts")));
        let main = process.group.spawn(process.clone().run(self.clone()));
        let shared = self.clone();
        tokio::spawn(async move {
            // A process that was ended by a fault is handled there.
            let Ok(ended) = main.await else { return };
            shared.ended(id, ended);
        });
    }

    /// After a process has ended, all its tasks are stopped; it is restarted, like in Kubernetes.
    fn ended(self: &Arc<Self>, id: ProcessId, ended: Result<(), EndError>) {
        let (why, pause) = match ended {
            Ok(()) => ("it was asked to stop".to_owned(), Duration::ZERO),
            Err(error) => (error.to_string(), RESTART),
        };
        if self.cut(id) {
            self.note(EventKind::Process(format!("{id} ended: {why}")));
            self.start_after(id, pause);
        }
    }

    /// Kills a process at any point, and restarts it after some time.
    pub(super) fn end(self: &Arc<Self>, id: ProcessId, down: Duration) {
        if self.cut(id) {
            self.note(EventKind::Process(format!("{id} is killed")));
            self.start_after(id, down);
        }
    }

    /// Whether the process ran until now.
    fn cut(&self, id: ProcessId) -> bool {
        let mut state = self.state.lock();
        let key = (id.controller, id.replica);
        if state.processes.get(&key).is_none_or(|process| process.id != id) {
            return false;
        }
        let process = state.processes.remove(&key);
        state.ended.insert(id.controller, clock::now());
        if let Some(host) = state.host.take_if(|host| host.id == id) {
            host.gone.cancel();
        }
        drop(state);
        if let Some(process) = process {
            process.is_dead.store(true, Ordering::Relaxed);
            process.group.abort();
        }
        true
    }

    fn start_after(self: &Arc<Self>, id: ProcessId, pause: Duration) {
        let shared = self.clone();
        tokio::spawn(async move {
            tokio::time::sleep(pause).await;
            shared.start(id.controller, id.replica);
        });
    }
}

impl Process {
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

    /// Runs the controller until it ends.
    async fn run(self, shared: Arc<Shared>) -> Result<(), EndError> {
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
