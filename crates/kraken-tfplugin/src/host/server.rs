//! A host behind a Unix socket: one request per connection.

use std::io;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::net::{UnixListener, UnixStream};
use tracing::debug;

use super::messages::{Reply, Request};
use super::{Host, frame};
use crate::plugin::CallError;

/// How long a request may take to arrive.
const ARRIVAL: Duration = Duration::from_secs(30);

/// Serves a host on a socket, whose folder is created and can be entered only by this user; never returns.
///
/// # Errors
/// If it cannot listen.
pub async fn serve(host: Arc<Host>, socket: &Path) -> io::Result<()> {
    if let Some(folder) = socket.parent() {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700))?;
    }
    match std::fs::remove_file(socket) {
        // Of a former process.
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let listener = UnixListener::bind(socket)?;
    loop {
        match listener.accept().await {
            Ok((stream, _)) => drop(tokio::spawn(one(host.clone(), stream))),
            // No descriptors are left: some connection will end.
            Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
}

/// One request. A caller who does not wait any more cancels what it asked for, but for an operation.
async fn one(host: Arc<Host>, mut stream: UnixStream) {
    let request = tokio::time::timeout(ARRIVAL, frame::read::<Request>(&mut stream)).await;
    let answer = async {
        match request {
            Ok(Ok(Request { ask: Some(ask) })) => host.answer(ask).await,
            Ok(Ok(_)) => Err(CallError::NotBegun("the host does not know this request".to_owned())),
            Ok(Err(error)) => Err(CallError::NotBegun(format!("invalid request: {error}"))),
            Err(_) => Err(CallError::NotBegun("the request did not arrive in time".to_owned())),
        }
    };
    let (mut reading, mut writing) = stream.split();
    let answer = tokio::select! {
        answer = answer => answer,
        // The caller sends nothing more.
        _ = reading.read_u8() => return,
    };
    let reply = answer.unwrap_or_else(|error| Reply { failure: Some(error.into()), ..Reply::default() });
    if let Err(error) = frame::write(&mut writing, &reply).await {
        debug!("failed to reply: {error}");
    }
}
