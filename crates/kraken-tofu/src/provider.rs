//! A provider with its configuration: one process, started when it is first needed, and again after it ended.

use std::{path::PathBuf, sync::Arc, time::Duration};

use kraken_spoke::{Failure, FailureClass};
use kraken_tfplugin::{
    CallError, Plugin, StartError, StartOptions, Value,
    schema::{Block, ProviderSchema},
};
use serde_json::Value as Json;
use tempfile::TempDir;
use tokio::sync::Mutex;

/// How long a plugin may take to end.
const GRACE: Duration = Duration::from_secs(5);
/// Shown instead of a secret value in a text of the provider.
const HIDDEN: &str = "(sensitive)";
/// A shorter value is not hidden in texts: it would be found in ordinary words.
const MIN_SECRET: usize = 4;

/// A provider.
pub struct Provider {
    options: StartOptions,
    config: Json,
    plugin: Mutex<Option<Plugin>>,
    schema: Arc<ProviderSchema>,
    secrets: Vec<String>,
    // The folder of the socket, deleted with it.
    _folder: TempDir,
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
    /// Starts a provider, to read its schema. `config` is its configuration as JSON; it is sent with the first call that needs it.
    ///
    /// # Errors
    /// If the program is not a provider, or has another digest.
    pub async fn start(
        program: PathBuf,
        sha256: Option<String>,
        config: Json,
    ) -> Result<Self, ProviderError> {
        let folder = tempfile::Builder::new().prefix("kraken-").tempdir().map_err(ProviderError::Folder)?;
        let options = StartOptions { sha256, ..StartOptions::new(program, folder.path()) };
        let plugin = Plugin::start(&options).await.map_err(ProviderError::Start)?;
        let schema = plugin.schema().clone();
        let mut secrets = vec![];
        if let Ok(config) = Value::from_config(&config, &schema.provider.value_type) {
            collect_secrets(&schema.provider.block, &config, &mut secrets);
        }
        plugin.shut_down(GRACE).await;
        Ok(Self { options, config, plugin: Mutex::default(), schema, secrets, _folder: folder })
    }

    /// What it declares.
    pub fn schema(&self) -> &Arc<ProviderSchema> {
        &self.schema
    }

    /// The process id of the running plugin, if it runs.
    pub async fn process_id(&self) -> Option<i32> {
        self.plugin.lock().await.as_ref().map(Plugin::process_id)
    }

    /// The configured plugin. One that ended is started again.
    pub(crate) async fn plugin(&self) -> Result<Plugin, Failure> {
        let mut current = self.plugin.lock().await;
        if let Some(plugin) = current.as_ref().filter(|plugin| plugin.exit_status().is_none()) {
            return Ok(plugin.clone());
        }
        let started = Plugin::start(&self.options).await;
        let plugin = started.map_err(|error| {
            self.failure("failed to start the provider", FailureClass::NotConfigured, &error.to_string(), &[])
        })?;
        let config = Value::from_config(&self.config, &self.schema.provider.value_type).map_err(|error| {
            self.failure(
                "failed to configure the provider",
                FailureClass::NotConfigured,
                &error.to_string(),
                &[],
            )
        })?;
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

    /// Ends the process, after its operations.
    pub async fn shut_down(&self) {
        if let Some(plugin) = self.plugin.lock().await.take() {
            plugin.shut_down(GRACE).await;
        }
    }
}

impl std::fmt::Debug for Provider {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Provider").field("program", &self.options.program).finish_non_exhaustive()
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
