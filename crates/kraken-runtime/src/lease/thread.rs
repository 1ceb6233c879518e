//! The thread that renews a lease.

use std::time::Duration;

use kube::Client;
use tokio::runtime::{self, Handle};

use super::Lease;

/// A thread that only holds a lease. Dropping it ends all its tasks.
#[derive(Debug)]
pub struct LeaseThread {
    runtime: Option<runtime::Runtime>,
}

impl LeaseThread {
    /// Starts it.
    ///
    /// # Errors
    /// If the system cannot create a thread.
    pub fn start() -> std::io::Result<Self> {
        let mut builder = runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads(1).thread_name("lease").enable_all().build()?;
        Ok(Self { runtime: Some(runtime) })
    }

    /// A candidate that is renewed on this thread, by a client that `connect` creates: a client's connections belong to
    /// the thread that creates it.
    ///
    /// # Errors
    /// As `connect`.
    pub fn candidate<E>(
        &self,
        connect: impl FnOnce() -> Result<Client, E>,
        namespace: &str,
        name: &'static str,
        identity: String,
        duration: Duration,
    ) -> Result<Lease, E> {
        let thread = self.runtime.as_ref().map(|runtime| runtime.handle().clone());
        let entered = thread.as_ref().map(Handle::enter);
        let lease = Lease::new(connect()?, namespace, name, identity, duration);
        drop(entered);
        Ok(Lease { thread, ..lease })
    }
}

impl Drop for LeaseThread {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // It may be dropped in a task of another runtime, which must not be blocked.
            runtime.shutdown_background();
        }
    }
}
