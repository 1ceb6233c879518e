//! The controller that is killed: a separate process, restricted to one namespace, between two proxies.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use kraken_simulator::http;
use nix::sys::signal::Signal;
use serde_json::json;

use crate::moto;
use crate::ports::{PORT_ATTEMPTS, free_port, lost_its_port};
use crate::process::{Process, Spec, log_text};

/// The visibility window.
const WINDOW_MIN: Duration = Duration::from_secs(6);
const READY_WITHIN: Duration = Duration::from_secs(30);

/// A controller process, which is restarted after each kill.
#[derive(Debug)]
pub(super) struct Worker {
    name: String,
    program: PathBuf,
    folder: PathBuf,
    env: Vec<(String, String)>,
    process: Process,
    address: String,
}

impl Worker {
    /// Starts `program` with its log in `folder`.
    pub(super) fn start(
        name: &str,
        program: &Path,
        folder: &Path,
        env: Vec<(String, String)>,
    ) -> Result<Self> {
        let (process, address) = spawn(name, program, folder, &env)?;
        Ok(Self {
            name: name.to_owned(),
            program: program.to_owned(),
            folder: folder.to_owned(),
            env,
            process,
            address,
        })
    }

    pub(super) fn restart(&mut self) -> Result<()> {
        (self.process, self.address) = spawn(&self.name, &self.program, &self.folder, &self.env)?;
        Ok(())
    }

    pub(super) async fn ready(&mut self) -> Result<()> {
        let (started, mut attempts) = (Instant::now(), 1);
        while !http::get(&format!("http://{}/readyz", self.address)).await.is_ok_and(|got| got.status == 200)
        {
            if !self.is_running() && lost_its_port(self.process.log()) && attempts < PORT_ATTEMPTS {
                attempts += 1;
                self.restart()?;
            }
            if !self.is_running() || started.elapsed() > READY_WITHIN {
                bail!("{} does not become ready; {}", self.name, self.process.log_tail());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    }

    pub(super) fn pid(&self) -> i32 {
        self.process.pid()
    }

    pub(super) fn is_running(&mut self) -> bool {
        self.process.is_running()
    }

    pub(super) fn signal(&mut self, signal: Signal) -> Result<()> {
        self.process.signal(signal)
    }

    /// Its whole log.
    pub(super) fn log(&self) -> Result<String> {
        log_text(self.process.log())
    }

    pub(super) fn log_tail(&self) -> String {
        self.process.log_tail()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.process.signal(Signal::SIGKILL); // a graceful end would take longer
    }
}

fn spawn(name: &str, program: &Path, folder: &Path, env: &[(String, String)]) -> Result<(Process, String)> {
    let address = format!("127.0.0.1:{}", free_port()?);
    let spec = Spec::new(name, program, folder)
        .arg("run")
        .envs(env.iter().cloned())
        .envs([("KRAKEN_LISTEN_ADDRESS".to_owned(), address.clone())]);
    Ok((Process::spawn(&spec)?, address))
}

/// A kubeconfig for a proxy that adds the credentials itself; YAML is a superset of JSON.
pub(super) fn kubeconfig(path: &Path, server: &str) -> Result<()> {
    let named = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "proxy",
        "contexts": [{"name": "proxy", "context": {"cluster": "proxy", "user": "proxy"}}],
        "clusters": [{"name": "proxy", "cluster": {"server": server}}],
        "users": [{"name": "proxy", "user": {}}],
    });
    std::fs::write(path, named.to_string()).with_context(|| format!("cannot write {}", path.display()))
}

/// The settings of a controller of a run.
pub(super) struct Settings<'a> {
    pub(super) kubeconfig: &'a Path,
    /// The cloud's endpoint.
    pub(super) cloud: &'a str,
    pub(super) namespace: &'a str,
    pub(super) replicas: bool,
    /// The delay until Describe calls return a change.
    pub(super) lag: Duration,
}

impl Settings<'_> {
    /// Without a lease, unless there are two replicas: after a kill, the lease would block for its whole duration.
    pub(super) fn environment(&self) -> Vec<(String, String)> {
        let mut env = moto::environment(self.cloud);
        // Several times the delay of the simulator's reads, plus a margin for a busy machine.
        let window = WINDOW_MIN.max(self.lag * 3);
        env.extend(
            [
                ("KUBECONFIG", self.kubeconfig.display().to_string()),
                ("KRAKEN_LEADER_ELECT", self.replicas.to_string()),
                ("KRAKEN_LEASE_DURATION", "3s".to_owned()),
                ("KRAKEN_LEASE_NAMESPACE", self.namespace.to_owned()),
                ("KRAKEN_NAMESPACES", self.namespace.to_owned()),
                ("KRAKEN_VISIBILITY_WINDOW", format!("{}s", window.as_secs())),
                ("KRAKEN_LOG", "info,kraken_spoke=debug,kraken_hub=debug".to_owned()),
            ]
            .map(|(name, value)| (name.to_owned(), value)),
        );
        env
    }
}
