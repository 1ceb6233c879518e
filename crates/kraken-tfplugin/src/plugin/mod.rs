//! A running plugin.

mod calls;
mod error;
mod operation;
mod resource;
mod state;

use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

pub use error::CallError;
use nix::sys::signal::Signal;
pub use operation::Operation;
use operation::Running;
pub use state::{Action, Answer, Applied, Plan, ResourceState};
use tokio::runtime::Handle;
use tokio::time::timeout;

use crate::process::{self, Process, StartError, StartOptions};
use crate::rpc::messages::{Configure, Empty, PreparedConfig, ProviderConfig, Stopped, checked};
use crate::rpc::schema::{Attribute5, CommonAttribute, Response};
use crate::rpc::{Connection, Method, Protocol};
use crate::schema::{self, ProviderSchema};
use crate::value::Value;

/// The version of OpenTofu whose behavior this client has; providers put it into the user agent of their requests.
const TERRAFORM_VERSION: &str = "1.12.6";

/// A running plugin. Cloning gives another handle of the same process, which is killed when the last handle is dropped and no
/// operation runs. End it with [`Plugin::shut_down`], so that it can clean up.
#[derive(Clone, Debug)]
pub struct Plugin {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    connection: Connection,
    runtime: Handle,
    schema: Arc<ProviderSchema>,
    running: Running,
    process: Process,
}

impl Plugin {
    /// Starts a plugin, and gets its schema. The process belongs to the tokio runtime that it is started in.
    ///
    /// # Errors
    /// When the program is not the expected one, is no plugin, does not listen in time, or has no valid schema.
    pub async fn start(options: &StartOptions) -> Result<Self, StartError> {
        let process::Started { process, handshake } = process::start(options).await?;
        let connection = Connection::open(&handshake.socket, handshake.protocol).await?;
        // Nobody else shall connect, and a plugin that is killed would leave it. A plugin that ends removes it if it exists.
        let _ = tokio::fs::remove_file(&handshake.socket).await;
        tokio::spawn(connection.clone().discard_output());
        let schema = match connection.protocol {
            Protocol::V5 => Self::get_schema::<Attribute5>(&connection, &process).await?,
            Protocol::V6 => Self::get_schema::<CommonAttribute>(&connection, &process).await?,
        };
        let (runtime, running) = (Handle::current(), Running::default());
        Ok(Self {
            inner: Arc::new(Inner { connection, runtime, schema: Arc::new(schema), running, process }),
        })
    }

    async fn get_schema<A>(connection: &Connection, process: &Process) -> Result<ProviderSchema, StartError>
    where
        A: schema::AnyAttribute + 'static,
    {
        let response: Response<A> = calls::send(connection, process, Method::Schema, Empty {}).await?;
        calls::succeeded(response.diagnostics.clone())?;
        Ok(schema::provider(response)?)
    }

    /// What the provider declares.
    pub fn schema(&self) -> &Arc<ProviderSchema> {
        &self.inner.schema
    }

    /// The version of the protocol that is used.
    pub fn protocol(&self) -> Protocol {
        self.inner.connection.protocol
    }

    /// The process id.
    pub fn process_id(&self) -> i32 {
        self.inner.process.id()
    }

    /// How the process ended; `None` while it runs.
    pub fn exit_status(&self) -> Option<ExitStatus> {
        self.inner.process.status()
    }

    /// The last 4 KiB of the standard error. It may contain values of configurations.
    pub fn stderr(&self) -> String {
        self.inner.process.stderr.text()
    }

    /// The number of running operations.
    pub fn operations(&self) -> usize {
        self.inner.running.count()
    }

    /// Validates and sets the configuration of the provider, which all other calls of objects need.
    ///
    /// # Errors
    /// When the provider rejects it, or the call fails.
    pub async fn configure(&self, config: &Value) -> Result<Answer<()>, CallError> {
        let schema = &self.inner.schema.provider;
        let packed = calls::config(schema, config)?;
        let request = ProviderConfig { config: Some(packed.clone()) };
        let prepared: PreparedConfig = self.call(Method::ValidateProvider, request).await?;
        let mut warnings = calls::succeeded(prepared.diagnostics)?;
        let request = Configure {
            terraform_version: TERRAFORM_VERSION.to_owned(),
            // The prepared configuration, with defaults, is not sent: providers apply their defaults again.
            config: Some(packed),
            client_capabilities: None,
        };
        let configured: checked::First = self.call(Method::Configure, request).await?;
        warnings.extend(calls::succeeded(configured.diagnostics)?);
        Ok(Answer { value: (), warnings })
    }

    /// Tells the provider to cancel everything that it does. An operation that is cancelled can leave an object of which no state is
    /// returned, so call this only without operations: some providers release memory.
    ///
    /// # Errors
    /// When the call fails, or operations run.
    pub async fn cancel_all(&self) -> Result<(), CallError> {
        if self.operations() > 0 {
            return Err(CallError::Response("operations run".to_owned()));
        }
        let stopped: Stopped = self.call(Method::Stop, Empty {}).await?;
        if stopped.error.is_empty() { Ok(()) } else { Err(CallError::Response(stopped.error)) }
    }

    /// Ends the process: no operation starts any more, those that run are waited for without a limit, then the plugin is asked to end.
    /// After each `grace` it gets SIGTERM, then SIGKILL.
    pub async fn shut_down(&self, grace: Duration) {
        self.inner.running.close().await;
        let process = &self.inner.process;
        // Its response is lost if the plugin ends at once.
        let _ = timeout(grace, self.inner.connection.shut_down()).await;
        for signal in [Signal::SIGTERM, Signal::SIGKILL] {
            if process.ended_within(grace).await.is_some() {
                return;
            }
            process.signal(signal);
        }
        process.ended_within(grace).await;
    }
}
