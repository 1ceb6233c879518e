//! The way from the controller to the host, which is another process.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use hyper::body::Bytes;
use kraken_simulator::hook::{Answer, Call, Hook as _, HookAction};
use kraken_tfplugin::{Asked, CallError, Host, Reach, Replied};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::engine::gate::Gate;
use crate::engine::trace::ProcessId;

/// How long a controller waits for a host that is being started, and between attempts.
const START: Duration = Duration::from_secs(5);
const RETRY: Duration = Duration::from_millis(100);

/// A host that runs.
#[derive(Clone, Debug)]
pub(in crate::engine) struct RunningHost {
    pub(in crate::engine) id: ProcessId,
    pub(in crate::engine) host: Arc<Host>,
    /// Fires when its process is gone.
    pub(in crate::engine) gone: CancellationToken,
}

/// The way of one process of the controller.
pub(in crate::engine) struct Way(pub(in crate::engine) Arc<Gate>);

impl std::fmt::Debug for Way {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Way").finish()
    }
}

impl Way {
    async fn host(&self) -> Option<RunningHost> {
        let until = Instant::now() + START;
        loop {
            let host = self.0.shared.state.lock().host.clone();
            if host.is_some() || Instant::now() >= until {
                return host;
            }
            sleep(RETRY).await;
        }
    }
}

impl Reach for Way {
    fn ask(&self, asked: Asked) -> BoxFuture<'_, Result<Replied, CallError>> {
        Box::pin(async move {
            let name = asked.name();
            let call = Call {
                number: 0,
                name: format!("host {name}"),
                // The others are repeated at rest.
                writes: matches!(name.as_str(), "operate" | "acknowledge"),
                watches: false,
                namespace: String::new(),
                object: "host".to_owned(),
                body: Bytes::new(),
            };
            let lost = || CallError::Host("simulated".to_owned());
            match self.0.before(&call).await {
                HookAction::Pass => {}
                HookAction::Drop => return Err(lost()),
                HookAction::Refuse(_) => return Err(CallError::NotBegun("simulated".to_owned())),
            }
            let Some(RunningHost { host, gone, .. }) = self.host().await else {
                return Err(CallError::NotBegun("the host is not reachable (simulated)".to_owned()));
            };
            let replied = tokio::select! {
                replied = host.replied(asked) => replied?,
                () = gone.cancelled() => return Err(lost()),
            };
            match self.0.after(&call, &Answer { status: 200, body: Bytes::new() }).await {
                HookAction::Pass => Ok(replied),
                _ => Err(lost()),
            }
        })
    }
}
