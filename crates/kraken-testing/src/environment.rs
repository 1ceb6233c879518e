//! The whole environment: control plane, moto, the proxy in front of it, and the controllers.

use std::sync::Arc;

use anyhow::Result;
use tokio::sync::Mutex;

use crate::canary::random_marker;
use crate::cluster::{ControlPlane, ControlPlaneOptions};
use crate::leaks::Searched;
use crate::moto::Moto;
use crate::proxy::Proxy;
use crate::shared::Shared;
use crate::suite::{Suite, SuiteOptions};

/// The options of an environment.
#[derive(Debug, Clone, Default)]
pub struct EnvironmentOptions {
    /// The options of the control plane.
    pub control_plane: ControlPlaneOptions,
    /// The options of the controllers. Without a `cloud_endpoint` they use the proxy.
    pub suite: SuiteOptions,
}

/// All of Kraken on one machine; stopped on drop.
#[derive(Debug)]
pub struct Environment {
    // Fields are dropped in this order: the controllers end first, while the API server and the cloud still run.
    /// The controllers.
    pub suite: Suite,
    /// The proxy that they use as AWS: counts calls and can fail them.
    pub proxy: Proxy,
    /// AWS.
    pub moto: Moto,
    /// Kubernetes.
    pub control_plane: ControlPlane,
    marker: String,
    pub(crate) searched: Mutex<Searched>,
}

impl Environment {
    /// Starts everything.
    ///
    /// # Errors
    /// When a part does not start; the error names it and the path of its log.
    pub async fn start(options: EnvironmentOptions) -> Result<Self> {
        Self::start_with(options, Moto::start()).await
    }

    /// As [`Environment::start`], with moto as this future starts it.
    ///
    /// # Errors
    /// As [`Environment::start`].
    pub async fn start_with(
        options: EnvironmentOptions,
        moto: impl Future<Output = Result<Moto>>,
    ) -> Result<Self> {
        // Both take seconds, and can run in parallel.
        let (control_plane, moto) = tokio::try_join!(ControlPlane::start_with(options.control_plane), moto)?;
        let proxy = Proxy::start(moto.endpoint())?;
        let mut suite = options.suite;
        suite.cloud_endpoint.get_or_insert_with(|| proxy.endpoint().to_owned());
        let suite = Suite::start(&control_plane, &moto, suite).await?;
        Self::of(suite, proxy, moto, control_plane)
    }

    /// An environment of running parts.
    ///
    /// # Errors
    /// When the system has no random bytes for the [marker](Environment::marker).
    pub fn of(suite: Suite, proxy: Proxy, moto: Moto, control_plane: ControlPlane) -> Result<Self> {
        Ok(Self { suite, proxy, moto, control_plane, marker: random_marker()?, searched: Mutex::default() })
    }

    /// The random text that every value of a Secret in this environment contains, for [`Environment::search`].
    pub fn marker(&self) -> &str {
        &self.marker
    }

    /// A value for a Secret, with the marker and this word in it.
    pub fn secret_value(&self, word: &str) -> String {
        format!("{}-{word}", self.marker)
    }

    /// The one environment that all tests of this process share, with the controllers' defaults.
    ///
    /// Tests that stop controllers, script failures or count calls need a separate environment.
    ///
    /// # Errors
    /// As [`Environment::start`]; the next caller retries.
    pub async fn shared() -> Result<Arc<Self>> {
        static SHARED: Shared<Environment> = Shared::new();
        SHARED.get(|| Self::start(EnvironmentOptions::default())).await
    }
}
