//! The way from the controller to the host, which is another process.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use kraken_tfplugin::{Asked, CallError, Reach, Replied};
use tokio::time::{Instant, sleep};

use crate::engine::gate::{Gate, Lost};
use crate::engine::process::RunningHost;

/// How long a controller waits for a host that is being started, and between attempts.
const START: Duration = Duration::from_secs(5);
const RETRY: Duration = Duration::from_millis(100);

/// The way of one process of the controller.
#[derive(Debug)]
pub(in crate::engine) struct Way(pub(in crate::engine) Arc<Gate>);

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
            // The others are repeated at rest.
            let writes = matches!(name.as_str(), "operate" | "acknowledge");
            let lost = || CallError::Host("simulated".to_owned());
            let request = async {
                let Some(RunningHost { host, gone, .. }) = self.host().await else {
                    return Err(CallError::NotBegun("the host is not reachable (simulated)".to_owned()));
                };
                tokio::select! {
                    replied = host.replied(asked) => replied,
                    () = gone.cancelled() => Err(lost()),
                }
            };
            match self.0.pass(format!("host {name}"), writes, "host", request).await {
                Ok(replied) => replied,
                Err(Lost::Refused) => Err(CallError::NotBegun("simulated".to_owned())),
                Err(Lost::Before | Lost::After) => Err(lost()),
            }
        })
    }
}
