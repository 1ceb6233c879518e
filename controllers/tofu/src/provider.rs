//! A provider with its configuration: one process of the host, started when it is first needed, and again after it ended.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use kraken_kind::{Failure, FailureClass, Location};
use kraken_tfplugin::{
    CallError, HostLink, Plugin, Protocol, StartError, StartRequest, Value,
    schema::{Block, ProviderSchema},
};
use serde_json::Value as Json;
use sha2::{Digest as _, Sha256};
use tokio::sync::Mutex;

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
}

/// The program of a provider, and what it declares. Many configurations of it can be used at the same time.
#[derive(Clone, Debug)]
pub struct Program {
    host: HostLink,
    options: ProgramOptions,
    schema: Arc<ProviderSchema>,
    protocol: Protocol,
}

impl Program {
    /// Starts a provider once, to read its schema.
    ///
    /// # Errors
    /// If the program is not a provider, or has another digest.
    pub async fn load(host: HostLink, options: ProgramOptions) -> Result<Self, StartError> {
        let plugin = Plugin::start(&host, request(&options, None)).await?;
        let (schema, protocol) = (plugin.schema().clone(), plugin.protocol());
        plugin.end().await;
        Ok(Self { host, options, schema, protocol })
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

fn request(options: &ProgramOptions, key: Option<String>) -> StartRequest {
    let ProgramOptions { path, sha256, environment } = options;
    let (program, sha256) = (path.display().to_string(), sha256.clone());
    StartRequest { program, sha256, environment: environment.clone(), key }
}

/// A provider with its configuration.
pub struct Provider {
    program: Arc<Program>,
    config: Config,
    /// What its process is shared by: a digest.
    key: Arc<str>,
    /// Whether calls need the configuration.
    is_configured: bool,
    /// The id of the last process. Held while one is started, so that only one is.
    process: Mutex<Option<i32>>,
    secrets: Vec<String>,
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

impl Provider {
    /// The provider with this configuration, which is sent with the first call that needs it.
    pub fn new(program: Arc<Program>, config: Config) -> Self {
        let schema = &program.schema;
        let mut secrets: Vec<String> =
            config.secrets.iter().filter(|text| text.len() >= MIN_SECRET).cloned().collect();
        if let Ok(config) = Value::from_config(&config.options, &schema.provider.value_type) {
            collect_secrets(&schema.provider.block, &config, &mut secrets);
        }
        let (key, process) = (key(&program, &config), Mutex::default());
        Self { program, config, key, is_configured: true, process, secrets }
    }

    /// The provider without a configuration, for validations only.
    pub(crate) fn unconfigured(program: Arc<Program>) -> Self {
        let provider = Self::new(program, Config::default());
        Self { key: key_of_validations(&provider.program), is_configured: false, ..provider }
    }

    /// Its program.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// What it declares.
    pub fn schema(&self) -> &Arc<ProviderSchema> {
        &self.program.schema
    }

    /// The host of its process.
    pub(crate) fn host(&self) -> &HostLink {
        &self.program.host
    }

    /// Where its objects are, if that is known.
    pub(crate) fn location(&self) -> Option<&Location> {
        self.config.location.as_ref()
    }

    /// The id of the last process, among those of its host.
    pub async fn process_id(&self) -> Option<i32> {
        *self.process.lock().await
    }

    /// The configured plugin. One that ended is started again.
    pub(crate) async fn plugin(&self) -> Result<Plugin, Failure> {
        let mut process = self.process.lock().await;
        let plugin = self.started(Some(self.key.to_string())).await?;
        *process = Some(plugin.process_id());
        if plugin.is_shared() {
            return Ok(plugin);
        }
        self.configure(&plugin).await?;
        plugin.share().await.map_err(|error| self.failed("failed to use the provider", &error, &[]))?;
        Ok(plugin)
    }

    /// Whether a new process accepts the configuration.
    pub(crate) async fn check(&self) -> Result<(), Failure> {
        let plugin = self.started(None).await?;
        self.configure(&plugin).await?;
        plugin.end().await;
        Ok(())
    }

    async fn started(&self, key: Option<String>) -> Result<Plugin, Failure> {
        let (host, request) = (&self.program.host, request(&self.program.options, key));
        let started = Plugin::start_known(host, request, self.program.schema.clone()).await;
        started.map_err(|error| {
            let class = match &error {
                StartError::Call(CallError::NotBegun(_) | CallError::Host(_) | CallError::Stopping) => {
                    FailureClass::Transient
                }
                _ => FailureClass::NotConfigured,
            };
            self.failure("failed to start the provider", class, &error.to_string(), &[])
        })
    }

    /// Configures a new process, or ends it.
    async fn configure(&self, plugin: &Plugin) -> Result<(), Failure> {
        if !self.is_configured {
            return Ok(());
        }
        let action = "failed to configure the provider";
        let config = Value::from_config(&self.config.options, &self.schema().provider.value_type);
        let failure = match config {
            Err(error) => self.failure(action, FailureClass::NotConfigured, &error.to_string(), &[]),
            Ok(config) => match plugin.configure(&config).await {
                Ok(_) => return Ok(()),
                Err(error) => {
                    let class = if error.is_temporary() {
                        FailureClass::Transient
                    } else {
                        FailureClass::Credentials
                    };
                    self.failure(action, class, &error.to_string(), &[])
                }
            },
        };
        plugin.end().await;
        Err(failure)
    }

    /// The failure of a call. An error that the provider returned needs an edit most likely; after any other one, the call is repeated.
    pub(crate) fn failed(&self, action: &str, error: &CallError, secrets: &[String]) -> Failure {
        let class = if error.is_temporary() { FailureClass::Transient } else { FailureClass::Terminal };
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

/// The key of the process: a digest of everything that determines its calls, which reveals none of it.
pub(crate) fn key(program: &Program, config: &Config) -> Arc<str> {
    let options = program.options();
    let parts = [
        options.path.display().to_string(),
        options.sha256.clone().unwrap_or_default(),
        format!("{:?}", options.environment),
        config.options.to_string(),
        // Part of what a resource records, so that it is not that of another configuration.
        config.location.as_ref().map(|location| location.account.clone()).unwrap_or_default(),
    ];
    let mut digest = Sha256::new();
    for part in parts {
        // With its length, so that no two lists have the same text.
        digest.update(part.len().to_be_bytes());
        digest.update(part);
    }
    hex::encode(digest.finalize()).into()
}

/// What identifies the provider of this program that only validates.
pub(crate) fn key_of_validations(program: &Program) -> Arc<str> {
    format!("validations of {}", key(program, &Config::default())).into()
}
