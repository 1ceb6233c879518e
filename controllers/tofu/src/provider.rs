//! A provider with its configuration: one process, started when it is first needed, and again after it ended.

use std::{collections::BTreeMap, ffi::OsString, path::PathBuf, sync::Arc, time::Duration};

use kraken_spoke::{Failure, FailureClass, Location};
use kraken_tfplugin::{
    CallError, Plugin, Protocol, StartError, StartOptions, Value,
    schema::{Block, ProviderSchema},
};
use serde_json::Value as Json;
use tempfile::TempDir;
use tokio::{sync::Mutex, time::Instant};

/// How long a plugin may take to end.
const GRACE: Duration = Duration::from_secs(5);
/// Shown instead of a secret value in a text of the provider.
const HIDDEN: &str = "(sensitive)";
/// A shorter value is not hidden in texts: it would be found in ordinary words.
const MIN_SECRET: usize = 4;

/// What a provider is started with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramOptions {
    /// The program.
    pub path: PathBuf,
    /// The SHA-256 that it must have, 64 hexadecimal digits; `None` starts any program.
    pub sha256: Option<String>,
    /// Its whole environment.
    pub environment: BTreeMap<String, String>,
    /// As [`StartOptions::launcher`].
    pub launcher: Vec<OsString>,
}

/// The program of a provider, and what it declares. Many configurations of it can be used at the same time.
#[derive(Clone, Debug)]
pub struct Program {
    options: ProgramOptions,
    schema: Arc<ProviderSchema>,
    protocol: Protocol,
}

impl Program {
    /// Starts a provider once, to read its schema.
    ///
    /// # Errors
    /// If the program is not a provider, or has another digest.
    pub async fn load(options: ProgramOptions) -> Result<Self, ProviderError> {
        let folder = folder()?;
        let plugin = Plugin::start(&start_options(&options, &folder)).await.map_err(ProviderError::Start)?;
        let (schema, protocol) = (plugin.schema().clone(), plugin.protocol());
        plugin.shut_down(GRACE).await;
        Ok(Self { options, schema, protocol })
    }

    /// What it was started with.
    pub fn options(&self) -> &ProgramOptions {
        &self.options
    }

    /// What it declares.
    pub fn schema(&self) -> &Arc<ProviderSchema> {
        &self.schema
    }

    /// The version of the plugin protocol.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// Whether it has options: without any, no configuration is needed.
    pub fn has_options(&self) -> bool {
        let block = &self.schema.provider.block;
        !block.attributes.is_empty() || !block.blocks.is_empty()
    }
}

fn folder() -> Result<TempDir, ProviderError> {
    tempfile::Builder::new().prefix("kraken-").tempdir().map_err(ProviderError::Folder)
}

fn start_options(options: &ProgramOptions, folder: &TempDir) -> StartOptions {
    let ProgramOptions { path, sha256, environment, launcher } = options;
    StartOptions {
        sha256: sha256.clone(),
        env: environment.iter().map(|(name, value)| (name.into(), value.into())).collect(),
        launcher: launcher.clone(),
        ..StartOptions::new(path, folder.path())
    }
}

/// A provider with its configuration.
pub struct Provider {
    program: Arc<Program>,
    config: Config,
    /// Whether calls need the configuration.
    is_configured: bool,
    plugin: Mutex<Option<Plugin>>,
    used: parking_lot::Mutex<Instant>,
    secrets: Vec<String>,
    // The folder of the socket, deleted with it.
    folder: TempDir,
}

/// A configuration of a provider.
#[derive(Clone, Default)]
pub struct Config {
    /// Its options as JSON, in the form of the provider's schema.
    pub options: Json,
    /// Values that are secret although the schema does not say so.
    pub secrets: Vec<String>,
    /// Where its objects are, if that is known.
    pub location: Option<Location>,
}

/// Without the options, which have secret values.
impl std::fmt::Debug for Config {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Config").field("location", &self.location).finish_non_exhaustive()
    }
}

/// Why a provider cannot be used.
#[derive(Debug)]
pub enum ProviderError {
    /// The folder of its socket cannot be created.
    Folder(std::io::Error),
    /// It does not start.
    Start(StartError),
}

impl std::fmt::Display for ProviderError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Folder(error) => write!(f, "failed to create the folder of the plugin's socket: {error}"),
            Self::Start(error) => write!(f, "failed to start the provider: {error}"),
        }
    }
}

impl std::error::Error for ProviderError {}

impl Provider {
    /// The provider with this configuration, which is sent with the first call that needs it.
    ///
    /// # Errors
    /// If the folder of its socket cannot be created.
    pub fn new(program: Arc<Program>, config: Config) -> Result<Self, ProviderError> {
        let schema = &program.schema;
        let mut secrets: Vec<String> =
            config.secrets.iter().filter(|text| text.len() >= MIN_SECRET).cloned().collect();
        if let Ok(config) = Value::from_config(&config.options, &schema.provider.value_type) {
            collect_secrets(&schema.provider.block, &config, &mut secrets);
        }
        let used = parking_lot::Mutex::new(Instant::now());
        let plugin = Mutex::default();
        Ok(Self { folder: folder()?, program, config, is_configured: true, plugin, used, secrets })
    }

    /// The provider without a configuration, for validations only.
    ///
    /// # Errors
    /// As [`Provider::new`].
    pub(crate) fn unconfigured(program: Arc<Program>) -> Result<Self, ProviderError> {
        Ok(Self { is_configured: false, ..Self::new(program, Config::default())? })
    }

    /// Its program.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// What it declares.
    pub fn schema(&self) -> &Arc<ProviderSchema> {
        &self.program.schema
    }

    /// Where its objects are, if that is known.
    pub(crate) fn location(&self) -> Option<&Location> {
        self.config.location.as_ref()
    }

    /// The process id of the running plugin, if it runs.
    pub async fn process_id(&self) -> Option<i32> {
        self.plugin.lock().await.as_ref().map(Plugin::process_id)
    }

    /// The configured plugin. One that ended is started again.
    pub(crate) async fn plugin(&self) -> Result<Plugin, Failure> {
        *self.used.lock() = Instant::now();
        let mut current = self.plugin.lock().await;
        if let Some(plugin) = current.as_ref().filter(|plugin| plugin.exit_status().is_none()) {
            return Ok(plugin.clone());
        }
        let started = Plugin::start(&start_options(&self.program.options, &self.folder)).await;
        let plugin = started.map_err(|error| {
            self.failure("failed to start the provider", FailureClass::NotConfigured, &error.to_string(), &[])
        })?;
        if !self.is_configured {
            *current = Some(plugin.clone());
            return Ok(plugin);
        }
        let config = Value::from_config(&self.config.options, &self.schema().provider.value_type).map_err(
            |error| {
                self.failure(
                    "failed to configure the provider",
                    FailureClass::NotConfigured,
                    &error.to_string(),
                    &[],
                )
            },
        )?;
        if let Err(error) = plugin.configure(&config).await {
            plugin.shut_down(GRACE).await;
            let class =
                if error.may_have_changed() { FailureClass::Transient } else { FailureClass::Credentials };
            return Err(self.failure("failed to configure the provider", class, &error.to_string(), &[]));
        }
        *current = Some(plugin.clone());
        Ok(plugin)
    }

    /// The failure of a call. An error that the provider returned needs an edit most likely; after any other one, the result is not known.
    pub(crate) fn failed(&self, action: &str, error: &CallError, secrets: &[String]) -> Failure {
        let class = if error.may_have_changed() { FailureClass::Transient } else { FailureClass::Terminal };
        self.failure(action, class, &error.to_string(), secrets)
    }

    /// A failure whose message is a text of the provider, without secret values.
    pub(crate) fn failure(
        &self,
        action: &str,
        class: FailureClass,
        text: &str,
        secrets: &[String],
    ) -> Failure {
        let mut message = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for secret in self.secrets.iter().chain(secrets) {
            message = message.replace(secret.as_str(), HIDDEN);
        }
        Failure { class, action: action.to_owned(), code: String::new(), message }
    }

    /// Ends the process if it was not used for this time. The next call starts it again.
    pub(crate) async fn rest(&self, idle: Duration) {
        let mut current = self.plugin.lock().await;
        let is_idle = self.used.lock().elapsed() >= idle;
        if let Some(plugin) = current.take_if(|plugin| is_idle && plugin.operations() == 0) {
            drop(current);
            plugin.shut_down(GRACE).await;
        }
    }

    /// Ends the process, after its operations.
    pub async fn shut_down(&self) {
        if let Some(plugin) = self.plugin.lock().await.take() {
            plugin.shut_down(GRACE).await;
        }
    }
}

impl std::fmt::Debug for Provider {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Provider").field("program", &self.program.options.path).finish_non_exhaustive()
    }
}

/// Adds the texts of all secret attributes, except those that are too short to be found in a text.
pub(crate) fn collect_secrets(block: &Block, value: &Value, secrets: &mut Vec<String>) {
    for (name, attribute) in &block.attributes {
        if attribute.has_secrets() {
            texts_in(value.attribute(name), secrets);
        }
    }
    for (name, nested) in &block.blocks {
        let blocks = value.attribute(name);
        let each: Vec<&Value> = match blocks {
            Value::List(all) => all.iter().collect(),
            Value::Set(all) => all.as_slice().iter().collect(),
            Value::Map(all) => all.values().collect(),
            one => vec![one],
        };
        for one in each {
            collect_secrets(&nested.block, one, secrets);
        }
    }
}

fn texts_in(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) if text.len() >= MIN_SECRET => texts.push(text.clone()),
        Value::List(all) => all.iter().for_each(|value| texts_in(value, texts)),
        Value::Set(all) => all.as_slice().iter().for_each(|value| texts_in(value, texts)),
        Value::Map(all) | Value::Object(all) => all.values().for_each(|value| texts_in(value, texts)),
        Value::Dynamic(dynamic) => texts_in(&dynamic.1, texts),
        _ => {}
    }
}
