//! A running plugin: its calls, with values instead of bytes.

mod calls;
mod error;
mod resource;
mod state;

use std::sync::Arc;

pub use error::CallError;
pub use state::{Action, Answer, Applied, Plan, ResourceState};

use crate::host::{HostLink, StartRequest};
use crate::process::StartError;
use crate::rpc::messages::{Configure, PreparedConfig, ProviderConfig, checked};
use crate::rpc::schema::{Attribute5, CommonAttribute, Response};
use crate::rpc::{Method, Protocol};
use crate::schema::{self, ProviderSchema};
use crate::value::Value;

/// The version of OpenTofu whose behavior this client has; providers put it into the user agent of their requests.
const TERRAFORM_VERSION: &str = "1.12.6";

/// A plugin that runs in a [host](crate::Host). Cloning gives another handle of the same process.
#[derive(Clone, Debug)]
pub struct Plugin {
    host: HostLink,
    id: u64,
    process: i32,
    is_shared: bool,
    protocol: Protocol,
    schema: Arc<ProviderSchema>,
}

impl Plugin {
    /// Starts a plugin, or gets the one that is shared by its key, and gets its schema.
    ///
    /// # Errors
    /// When the program is not the expected one, is no plugin, does not listen in time, or has no valid schema.
    pub async fn start(host: &HostLink, request: StartRequest) -> Result<Self, StartError> {
        let mut plugin = Self::started(host, request, Arc::default()).await?;
        let read = match plugin.protocol {
            Protocol::V5 => plugin.get_schema::<Attribute5>().await,
            Protocol::V6 => plugin.get_schema::<CommonAttribute>().await,
        };
        match read {
            Ok(schema) => plugin.schema = Arc::new(schema),
            Err(error) => {
                plugin.end().await;
                return Err(error);
            }
        }
        Ok(plugin)
    }

    /// The same of a program whose schema is known.
    ///
    /// # Errors
    /// As [`Plugin::start`].
    pub async fn start_known(
        host: &HostLink,
        request: StartRequest,
        schema: Arc<ProviderSchema>,
    ) -> Result<Self, StartError> {
        let plugin = Self::started(host, request, schema).await?;
        if !plugin.is_shared {
            // A provider may rely on it that it is asked for its schema first.
            plugin.host.call(plugin.id, Method::Schema.path(plugin.protocol), vec![]).await?;
        }
        Ok(plugin)
    }

    async fn started(
        host: &HostLink,
        request: StartRequest,
        schema: Arc<ProviderSchema>,
    ) -> Result<Self, StartError> {
        let started = host.start(request).await?;
        let protocol = if started.protocol == 5 { Protocol::V5 } else { Protocol::V6 };
        let (id, process, is_shared) = (started.plugin, started.process, started.is_shared);
        Ok(Self { host: host.clone(), id, process, is_shared, protocol, schema })
    }

    async fn get_schema<A>(&self) -> Result<ProviderSchema, StartError>
    where
        A: schema::AnyAttribute + 'static,
    {
        let response: Response<A> = self.call(Method::Schema, ()).await?;
        calls::succeeded(response.diagnostics.clone())?;
        Ok(schema::provider(response)?)
    }

    /// Lets others who want its key have it, because it is configured.
    ///
    /// # Errors
    /// When the host is not reachable.
    pub async fn share(&self) -> Result<(), CallError> {
        self.host.share(self.id).await
    }

    /// Whether it was running, and is configured.
    pub fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// What the provider declares.
    pub fn schema(&self) -> &Arc<ProviderSchema> {
        &self.schema
    }

    /// The version of the protocol that is used.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// The process id, among those of the host.
    pub fn process_id(&self) -> i32 {
        self.process
    }

    /// Its host.
    pub fn host(&self) -> &HostLink {
        &self.host
    }

    /// Validates and sets the configuration of the provider, which all other calls of objects need.
    ///
    /// # Errors
    /// When the provider rejects it, or the call fails.
    pub async fn configure(&self, config: &Value) -> Result<Answer<()>, CallError> {
        let schema = &self.schema.provider;
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

    /// Ends the process: no operation starts any more, those that run are waited for without a limit, then the plugin is asked to end,
    /// and is killed if it does not.
    pub async fn end(&self) {
        // A host that is not reachable ends it when it is idle.
        let _ = self.host.end(self.id).await;
    }
}
