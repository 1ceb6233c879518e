//! The whole environment: control plane, moto, the proxy in front of it, and the controllers.

use std::sync::Arc;

use anyhow::Result;
use tokio::sync::Mutex;

use crate::canary::random_marker;
use crate::cluster::{ControlPlane, ControlPlaneOptions, Seed};
use crate::moto::Moto;
use crate::pool::Pool;
use crate::proxy::Proxy;
use crate::searched::Searched;
use crate::shared::Shared;
use crate::suite::{self, Suite, SuiteOptions};

/// The options of an environment.
#[derive(Debug, Clone, Default)]
pub struct EnvironmentOptions {
    /// The options of the control plane.
    pub control_plane: ControlPlaneOptions,
    /// The options of the controllers. Without a `cloud_endpoint` they use the proxy.
    pub suite: SuiteOptions,
}

impl EnvironmentOptions {
    /// Whether the control plane is as by default, apart from its log, with everything installed on it.
    fn is_usual(&self) -> bool {
        let Self { control_plane: ControlPlaneOptions { audit: _, network }, suite } = self;
        network.is_none() && suite.namespaces.is_none() && !suite.installed_alone
    }
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
    pub moto: Arc<Moto>,
    /// Kubernetes.
    pub control_plane: Arc<ControlPlane>,
    marker: String,
    pub(crate) searched: Mutex<Searched>,
}

impl Environment {
    /// Starts everything. Kubernetes and moto may be those of an environment that ended, as they were before.
    ///
    /// # Errors
    /// When a part does not start; the error names it and the path of its log.
    pub async fn start(options: EnvironmentOptions) -> Result<Self> {
        Self::start_with(options, reset_moto()).await
    }

    /// As [`Environment::start`], with moto as this future starts it.
    ///
    /// # Errors
    /// As [`Environment::start`].
    pub async fn start_with<M: Into<Arc<Moto>>>(
        options: EnvironmentOptions,
        moto: impl Future<Output = Result<M>>,
    ) -> Result<Self> {
        // Both take seconds, and can run in parallel.
        let (control_plane, moto) = tokio::try_join!(Box::pin(installed(&options)), moto)?;
        let moto = moto.into();
        let proxy = Proxy::start(moto.endpoint())?;
        let mut suite = options.suite;
        suite.cloud_endpoint.get_or_insert_with(|| proxy.endpoint().to_owned());
        let suite = Suite::start_installed(&control_plane, &moto, suite).await?;
        Self::of(suite, proxy, moto, control_plane)
    }

    /// An environment of running parts.
    ///
    /// # Errors
    /// When the system has no random bytes for the [marker](Environment::marker).
    pub fn of(
        suite: Suite,
        proxy: Proxy,
        moto: impl Into<Arc<Moto>>,
        control_plane: impl Into<Arc<ControlPlane>>,
    ) -> Result<Self> {
        let (moto, control_plane) = (moto.into(), control_plane.into());
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

/// A control plane on which what these options require is installed. With the usual ones, it is one that a test before used, if there is
/// any.
async fn installed(options: &EnvironmentOptions) -> Result<Arc<ControlPlane>> {
    static POOL: Pool<ControlPlane> = Pool::new();
    static AUDITED: Pool<ControlPlane> = Pool::new();
    /// What is installed on the usual ones. The first one shows it.
    static INSTALLED: Mutex<Option<Arc<Seed>>> = Mutex::const_new(None);
    let start = async || {
        let control_plane = ControlPlane::start_with(options.control_plane).await?;
        suite::install_for(&control_plane, &options.suite).await?;
        anyhow::Ok(control_plane)
    };
    if !options.is_usual() {
        return Ok(start().await?.into());
    }
    let pool = if options.control_plane.audit { &AUDITED } else { &POOL };
    let start = async || {
        // Others wait for the first one, which takes longer.
        let mut installed = INSTALLED.lock().await;
        let Some(seed) = installed.clone() else {
            let control_plane = start().await?;
            control_plane.note_baseline().await?;
            *installed = Some(control_plane.seed().await?.into());
            return Ok(control_plane);
        };
        drop(installed);
        let control_plane = ControlPlane::start_from(options.control_plane, Some(&seed)).await?;
        control_plane.note_baseline().await?;
        Ok(control_plane)
    };
    // It fails if a test installed kinds, or ended one of the programs.
    pool.get(ControlPlane::reset, start).await
}

/// moto with an empty account.
async fn reset_moto() -> Result<Arc<Moto>> {
    static POOL: Pool<Moto> = Pool::new();
    POOL.get(Moto::reset, Moto::start).await
}
