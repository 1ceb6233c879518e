//! The shared flags of `run` of all controllers: each with its environment variable, default and bounds.
//!
//! An invalid value is rejected here, with a message that says what is expected, so that later code does not have to
//! check it.

use std::{
    collections::BTreeSet,
    fmt::{self, Display},
    net::SocketAddr,
    str::FromStr,
    time::Duration,
};

use clap::{ArgAction, Args, ValueEnum};
use kraken_api::{SYSTEM_NAMESPACE, interval};

/// Default of `--resync-interval`.
const RESYNC_INTERVAL: &str = "5m";
/// Default of `--concurrency`: enough to keep an API server and a cloud busy, far below their limits.
const CONCURRENCY: &str = "32";
/// Default of `--request-concurrency`. kube uses HTTP/1.1, so this is also the number of connections.
const REQUEST_CONCURRENCY: &str = "64";
/// Default of `--request-timeout`.
const REQUEST_TIMEOUT: &str = "15s";
/// Default of `--metrics-namespaces`: with 15 kinds and a few reasons, some thousand series at most.
const METRICS_NAMESPACES: &str = "100";
/// Default of `--listen-address`.
const LISTEN_ADDRESS: &str = "0.0.0.0:8080";
/// Default of `--lease-duration`, as in Kubernetes' own components.
const LEASE_DURATION: &str = "15s";
/// A lease is renewed every third of its duration: below 3 s, this would burden the API server.
const LEASE_DURATION_MIN: Duration = Duration::from_secs(3);
/// With a longer lease, the work of a crashed controller would wait too long.
const LEASE_DURATION_MAX: Duration = Duration::from_hours(1);
/// Below this, requests to a healthy API server across a network would fail.
const REQUEST_TIMEOUT_MIN: Duration = Duration::from_millis(500);
/// The API server itself times out a request after 60 s.
const REQUEST_TIMEOUT_MAX: Duration = Duration::from_mins(1);

/// Default of `--webhook-certificate-lifetime`.
const WEBHOOK_CERTIFICATE_LIFETIME: &str = "90d";
/// A shorter lifetime would cause constant rotation; this minimum is for tests.
const CERTIFICATE_LIFETIME_MIN: Duration = Duration::from_secs(10);
/// Some verifiers reject a lifetime of more than a year.
const CERTIFICATE_LIFETIME_MAX: Duration = Duration::from_hours(365 * 24);

/// The flags that every controller shares.
#[derive(Clone, Debug, Args)]
pub struct RunArgs {
    /// The interval between resyncs of a resource without its own interval; 0 disables resyncs
    #[arg(long, env = "KRAKEN_RESYNC_INTERVAL", value_name = "DURATION", default_value = RESYNC_INTERVAL,
          value_parser = resync_interval, allow_hyphen_values = true)]
    pub resync_interval: Duration,

    /// The maximum number of concurrent reconciles [1 to 1024]
    #[arg(long, env = "KRAKEN_CONCURRENCY", value_name = "NUMBER", default_value = CONCURRENCY,
          value_parser = one_to_1024, allow_hyphen_values = true)]
    pub concurrency: usize,

    /// The namespaces to watch, separated by commas; empty for all
    #[arg(
        long,
        env = "KRAKEN_NAMESPACES",
        value_name = "NAMES",
        default_value = "",
        hide_default_value = true
    )]
    pub namespaces: Namespaces,

    /// The format of log lines
    #[arg(
        long,
        env = "KRAKEN_LOG_FORMAT",
        value_name = "FORMAT",
        default_value = "text",
        ignore_case = true
    )]
    pub log_format: LogFormat,

    /// The log level, or a filter such as info,kraken_runtime=debug [default: RUST_LOG, else info]
    #[arg(long, env = "KRAKEN_LOG", value_name = "FILTER", value_parser = log_filter)]
    pub log_level: Option<String>,

    /// The address of /healthz, /readyz and /metrics
    #[arg(long, env = "KRAKEN_LISTEN_ADDRESS", value_name = "ADDRESS:PORT", default_value = LISTEN_ADDRESS)]
    pub listen_address: SocketAddr,

    /// The maximum number of namespaces with a label of their own in the metrics of resources; 0 for no label [0 to 1000]
    #[arg(long, env = "KRAKEN_METRICS_NAMESPACES", value_name = "NUMBER", default_value = METRICS_NAMESPACES,
          value_parser = metrics_namespaces, allow_hyphen_values = true)]
    pub metrics_namespaces: usize,

    /// Work only while holding the leader lease, which allows several replicas
    #[arg(long, env = "KRAKEN_LEADER_ELECT", value_name = "BOOL", default_value_t = true, action = ArgAction::Set,
          num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub leader_elect: bool,

    /// The namespace of the leader lease [default: POD_NAMESPACE, else kraken-system]
    #[arg(long, env = "KRAKEN_LEASE_NAMESPACE", value_name = "NAME", value_parser = namespace)]
    pub lease_namespace: Option<String>,

    /// The duration of the leader lease without renewal [3s to 1h, whole seconds]
    #[arg(long, env = "KRAKEN_LEASE_DURATION", value_name = "DURATION", default_value = LEASE_DURATION,
          value_parser = lease_duration, allow_hyphen_values = true)]
    pub lease_duration: Duration,

    /// The timeout of a request to the API server, except watches [500ms to 60s]
    #[arg(long, env = "KRAKEN_REQUEST_TIMEOUT", value_name = "DURATION", default_value = REQUEST_TIMEOUT,
          value_parser = request_timeout, allow_hyphen_values = true)]
    pub request_timeout: Duration,

    /// The maximum number of concurrent requests to the API server, except watches [1 to 1024]
    #[arg(long, env = "KRAKEN_REQUEST_CONCURRENCY", value_name = "NUMBER", default_value = REQUEST_CONCURRENCY,
          value_parser = one_to_1024, allow_hyphen_values = true)]
    pub request_concurrency: usize,

    /// The HTTPS address of the admission webhooks; empty disables them
    #[arg(long, env = "KRAKEN_WEBHOOK_LISTEN", value_name = "ADDRESS:PORT", default_value = "", hide_default_value = true,
          value_parser = listen)]
    pub webhook_listen: Listen,

    /// The lifetime of a serving certificate of the webhooks; it is rotated when a third of it remains
    #[arg(long, env = "KRAKEN_WEBHOOK_CERTIFICATE_LIFETIME", value_name = "DURATION",
          default_value = WEBHOOK_CERTIFICATE_LIFETIME, value_parser = certificate_lifetime, allow_hyphen_values = true)]
    pub webhook_certificate_lifetime: Duration,

    /// A folder with tls.crt and tls.key that is managed externally, for example by cert-manager; a process with several
    /// controllers reads those of each from the folder with its name in it; if empty, the controller issues the certificate
    #[arg(
        long,
        env = "KRAKEN_WEBHOOK_CERTIFICATE_FOLDER",
        value_name = "PATH",
        default_value = "",
        hide_default_value = true
    )]
    pub webhook_certificate_folder: String,
}

impl Default for RunArgs {
    /// The defaults of the flags, independent of the environment.
    fn default() -> Self {
        Self {
            resync_interval: Duration::from_mins(5),
            concurrency: 32,
            namespaces: Namespaces::default(),
            log_format: LogFormat::default(),
            log_level: None,
            listen_address: SocketAddr::from(([0, 0, 0, 0], 8080)),
            metrics_namespaces: 100,
            leader_elect: true,
            lease_namespace: None,
            lease_duration: Duration::from_secs(15),
            request_timeout: Duration::from_secs(15),
            request_concurrency: 64,
            webhook_listen: Listen::default(),
            webhook_certificate_lifetime: Duration::from_hours(90 * 24),
            webhook_certificate_folder: String::new(),
        }
    }
}

impl RunArgs {
    /// The default resync interval; `None` if disabled.
    pub fn resync(&self) -> Option<Duration> {
        (!self.resync_interval.is_zero()).then_some(self.resync_interval)
    }

    /// The namespace of the lease: the flag, else `pod_namespace` (the `POD_NAMESPACE` of this process), else
    /// `kraken-system`.
    pub fn lease_namespace_or(&self, pod_namespace: Option<String>) -> String {
        self.lease_namespace
            .clone()
            .or(pod_namespace.filter(|name| !name.is_empty()))
            .unwrap_or_else(|| SYSTEM_NAMESPACE.to_owned())
    }
}

/// An address to listen on, or none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Listen(pub Option<SocketAddr>);

/// The namespaces that a controller watches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Namespaces(BTreeSet<String>);

impl Namespaces {
    /// Whether all namespaces are watched.
    pub fn is_all(&self) -> bool {
        self.0.is_empty()
    }

    /// The namespaces by name; empty if all are watched.
    pub fn names(&self) -> Vec<String> {
        self.0.iter().cloned().collect()
    }

    /// Whether this controller reconciles resources in `namespace`.
    pub fn contains(&self, namespace: &str) -> bool {
        self.is_all() || self.0.contains(namespace)
    }
}

impl FromStr for Namespaces {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty())
            .map(namespace)
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

impl Display for Namespaces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_all() {
            return f.write_str("all");
        }
        f.write_str(&self.0.iter().map(String::as_str).collect::<Vec<_>>().join(","))
    }
}

/// The format of log lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// Text: one line each, coloured on a terminal.
    #[default]
    Text,
    /// JSON: one object each.
    Json,
}

fn resync_interval(text: &str) -> Result<Duration, String> {
    interval::parse(text).map(Option::unwrap_or_default)
}

fn listen(text: &str) -> Result<Listen, String> {
    match text.trim() {
        "" => Ok(Listen(None)),
        text => text
            .parse()
            .map(|address| Listen(Some(address)))
            .map_err(|_| format!("\"{text}\" is not ADDRESS:PORT, for example 0.0.0.0:9443")),
    }
}

fn certificate_lifetime(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text.trim()) {
        Ok(lifetime) if (CERTIFICATE_LIFETIME_MIN..=CERTIFICATE_LIFETIME_MAX).contains(&lifetime) => {
            Ok(lifetime)
        }
        _ => Err(format!("\"{text}\" is not a duration from 10s to 365d")),
    }
}

fn one_to_1024(text: &str) -> Result<usize, String> {
    match text.trim().parse() {
        Ok(number @ 1..=1024) => Ok(number),
        _ => Err(format!("\"{text}\" is not a whole number from 1 to 1024")),
    }
}

fn metrics_namespaces(text: &str) -> Result<usize, String> {
    match text.trim().parse() {
        Ok(number @ 0..=1000) => Ok(number),
        _ => Err(format!("\"{text}\" is not a whole number from 0 to 1000")),
    }
}

fn namespace(name: &str) -> Result<String, String> {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let fits = (1..=63).contains(&name.len())
        && name.starts_with(inner)
        && name.ends_with(inner)
        && name.chars().all(|c| inner(c) || c == '-');
    if fits {
        return Ok(name.to_owned());
    }
    Err(format!("\"{name}\" is not a namespace: lower-case letters, digits and hyphens, at most 63 of them"))
}

fn log_filter(text: &str) -> Result<String, String> {
    crate::logs::filter(text).map(|_| text.to_owned()).map_err(|e| {
        format!("\"{text}\" is not a level (error, warn, info, debug, trace, off) nor a filter: {e}")
    })
}

fn lease_duration(text: &str) -> Result<Duration, String> {
    let duration = bounded(text, LEASE_DURATION_MIN, LEASE_DURATION_MAX)?;
    if duration.subsec_nanos() > 0 {
        return Err(format!("\"{text}\" is not a whole number of seconds"));
    }
    Ok(duration)
}

fn request_timeout(text: &str) -> Result<Duration, String> {
    bounded(text, REQUEST_TIMEOUT_MIN, REQUEST_TIMEOUT_MAX)
}

fn bounded(text: &str, min: Duration, max: Duration) -> Result<Duration, String> {
    let advice = || {
        let (min, max) = (humantime::format_duration(min), humantime::format_duration(max));
        format!("\"{text}\" is not a duration from {min} to {max}; write it like 15s or 1m30s")
    };
    let duration = humantime::parse_duration(text.trim()).map_err(|_| advice())?;
    if (min..=max).contains(&duration) { Ok(duration) } else { Err(advice()) }
}

#[cfg(test)]
mod tests;
