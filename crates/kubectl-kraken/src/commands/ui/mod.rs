//! `kubectl kraken ui`: a page on 127.0.0.1 that shows what the other commands print, live.
//!
//! The server computes with the graph of the other commands and answers JSON of the same form; the page in `assets` only draws it.
//! [`guard`] decides who is answered, [`live`] keeps the state by watches, [`server`] has the routes, and the other files are pure.

mod bundle;
mod detail;
mod exports;
mod guard;
mod layers;
mod live;
mod manifest;
mod map;
mod server;
#[cfg(test)]
mod tests;

use std::{net::Ipv4Addr, process::ExitCode, sync::Arc};

use anyhow::{Context as _, Result};
use tokio::{net::TcpListener, sync::watch};

use self::{
    guard::{Guard, Token},
    live::{Live, Snapshot},
};
use crate::{cluster::Cluster, print::out};

/// Where the page is served, and what it may do.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct Options {
    /// Allow approvals, and previews of deletions, on the page.
    #[arg(long)]
    pub(crate) write: bool,
    /// The port on 127.0.0.1; 0 is a free one.
    #[arg(long, default_value_t = 0)]
    pub(crate) port: u16,
}

/// What all requests share.
struct Shared {
    cluster: Cluster,
    guard: Guard,
    /// The latest state.
    snapshots: watch::Receiver<Arc<Snapshot>>,
}

/// Serves the page until Ctrl-C.
pub(super) async fn run(cluster: Cluster, options: &Options) -> Result<ExitCode> {
    // Errors such as missing rights end the command before there is an address.
    let mut live = Live::start(&cluster).await?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, options.port)).await;
    let listener = listener
        .with_context(|| format!("cannot listen on 127.0.0.1:{}; choose another --port", options.port))?;
    let port = listener.local_addr()?.port();
    let token = Token::random()?;
    // The fragment of an address is not sent to a server and is in no log.
    out(&format!("http://127.0.0.1:{port}/#token={}\n", token.text()))?;
    let may = if options.write { "approvals are possible" } else { "read-only; --write allows approvals" };
    eprintln!("Open this address in a browser on this machine ({may}). Ctrl-C ends it.");
    let guard = Guard { token, port, can_write: options.write };
    let shared = Arc::new(Shared { cluster: cluster.clone(), guard, snapshots: live.subscribe() });
    tokio::select! {
        served = axum::serve(listener, server::router(shared)).into_future() => served?,
        () = live.follow(&cluster) => {}
        ended = tokio::signal::ctrl_c() => ended?,
    }
    Ok(ExitCode::SUCCESS)
}
