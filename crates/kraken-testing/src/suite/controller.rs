//! One controller process, which a test may stop, kill and start again.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use kraken_simulator::http;
use nix::sys::signal::Signal;

use crate::ports::{PORT_ATTEMPTS, free_port, lost_its_port};
use crate::process::{Process, Spec, has_lost_its_lease, log_text};

const READY_WITHIN: Duration = Duration::from_mins(2);
const ENDED_WITHIN: Duration = Duration::from_secs(30);

/// The settings for restarting a controller.
#[derive(Clone, Debug)]
pub(super) struct Launch {
    pub(super) name: String,
    pub(super) program: PathBuf,
    pub(super) env: BTreeMap<String, String>,
    pub(super) folder: PathBuf,
}

/// A controller. Its methods take `&self`, so that tests can share a suite.
#[derive(Debug)]
pub struct Controller {
    launch: Launch,
    running: Mutex<Running>,
}

#[derive(Debug)]
struct Running {
    process: Process,
    /// Its settings, also those that only this start has (see [`Controller::restart_with`]).
    launch: Launch,
    /// A new port at every start: the old one may be in use by then.
    address: String,
}

impl Controller {
    pub(super) fn spawn(launch: Launch) -> Result<Self> {
        let running = Mutex::new(spawn(&launch)?);
        Ok(Self { launch, running })
    }

    /// The folder under `controllers/`.
    pub fn name(&self) -> &str {
        &self.launch.name
    }

    /// Its log: all starts, one after the other.
    pub fn log(&self) -> PathBuf {
        self.lock().process.log().to_owned()
    }

    /// The text of its log.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn log_text(&self) -> Result<String> {
        log_text(&self.log())
    }

    /// Its process id.
    pub fn pid(&self) -> i32 {
        self.lock().process.pid()
    }

    /// Whether the process runs.
    pub fn is_running(&self) -> bool {
        self.lock().process.is_running()
    }

    /// Kills it like a crash (SIGKILL), and returns when it has ended.
    ///
    /// # Errors
    /// When it was not running.
    pub async fn kill(&self) -> Result<()> {
        self.end(Signal::SIGKILL).await
    }

    /// Stops it like Kubernetes (SIGTERM), and returns when it has ended.
    ///
    /// # Errors
    /// When it was not running, or takes more than 30 seconds.
    pub async fn terminate(&self) -> Result<()> {
        self.end(Signal::SIGTERM).await
    }

    /// Suspends it for this time, like a machine without a free CPU.
    ///
    /// # Errors
    /// When it was not running.
    pub async fn suspend(&self, time: Duration) -> Result<()> {
        self.lock().process.signal(Signal::SIGSTOP)?;
        tokio::time::sleep(time).await;
        self.lock().process.signal(Signal::SIGCONT)
    }

    /// Starts it after [`Controller::kill`] or [`Controller::terminate`], and waits until it is ready.
    ///
    /// # Errors
    /// When it still runs, or is not ready within two minutes.
    pub async fn start(&self) -> Result<()> {
        self.start_without_waiting()?;
        self.wait_ready().await
    }

    /// As [`Controller::start`], but returns at once.
    ///
    /// # Errors
    /// When it still runs or cannot be started.
    pub fn start_without_waiting(&self) -> Result<()> {
        let mut running = self.lock();
        if running.process.is_running() {
            bail!("{} is running already", self.launch.name);
        }
        *running = spawn(&self.launch)?;
        Ok(())
    }

    /// [`Controller::terminate`] and [`Controller::start`].
    ///
    /// # Errors
    /// As [`Controller::terminate`] and [`Controller::start`].
    pub async fn restart(&self) -> Result<()> {
        self.terminate().await?;
        self.start().await
    }

    /// As [`Controller::restart`], with these additional variables for this start only.
    ///
    /// # Errors
    /// As [`Controller::restart`].
    pub async fn restart_with(&self, env: &[(&str, &str)]) -> Result<()> {
        self.terminate().await?;
        let mut launch = self.launch.clone();
        launch.env.extend(env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        *self.lock() = spawn(&launch)?;
        self.wait_ready().await
    }

    /// Starts it again, with the same environment, if the last line of its log says that it ended because it lost its lease.
    pub(super) fn restart_after_lost_lease(&self) -> Result<bool> {
        let mut running = self.lock();
        if running.process.is_running() || !has_lost_its_lease(running.process.log()) {
            return Ok(false);
        }
        *running = spawn(&running.launch)?;
        Ok(true)
    }

    /// Its memory in bytes.
    ///
    /// # Errors
    /// When it is not running.
    pub fn rss_bytes(&self) -> Result<u64> {
        self.lock().process.rss_bytes()
    }

    /// Its response to `GET <path>` on its health and metrics port.
    ///
    /// # Errors
    /// When it does not respond.
    pub async fn get(&self, path: &str) -> Result<http::Response> {
        let url = format!("http://{}{path}", self.lock().address);
        http::get(&url).await
    }

    /// Its first response to `GET <path>` that is as `wanted`. A controller that was just started, also by the suite after it lost its
    /// lease on a busy machine, does not respond at once, and is not ready at once.
    ///
    /// # Errors
    /// The last response, after two minutes.
    pub async fn until(
        &self,
        path: &str,
        wanted: impl Fn(&http::Response) -> bool,
    ) -> Result<http::Response> {
        let deadline = Instant::now() + READY_WITHIN;
        loop {
            match self.get(path).await {
                Ok(answer) if wanted(&answer) => return Ok(answer),
                answer if Instant::now() > deadline => {
                    bail!("{} does not respond as expected to {path}: {answer:?}", self.launch.name)
                }
                _ => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        }
    }

    /// Its metrics as text.
    ///
    /// # Errors
    /// When it does not respond.
    pub async fn metrics(&self) -> Result<String> {
        let answer = self.get("/metrics").await?;
        if answer.status == 200 { Ok(answer.body) } else { bail!("/metrics returned {}", answer.status) }
    }

    /// Waits until `/readyz` returns 200.
    ///
    /// # Errors
    /// When it ends, or is not ready within two minutes.
    pub async fn wait_ready(&self) -> Result<()> {
        let deadline = Instant::now() + READY_WITHIN;
        let mut attempts = 1;
        loop {
            let problem = match self.get("/readyz").await {
                Ok(answer) if answer.status == 200 => return Ok(()),
                Ok(answer) => format!("/readyz returns {}: {}", answer.status, answer.body.trim()),
                Err(problem) => format!("{problem:#}"),
            };
            let name = &self.launch.name;
            if !self.is_running() {
                if !lost_its_port(&self.log()) || attempts == PORT_ATTEMPTS {
                    bail!("{name} ended instead of getting ready; {}", self.lock().process.log_tail());
                }
                attempts += 1;
                self.start_without_waiting()?;
            }
            if Instant::now() > deadline {
                bail!("{name} is not ready ({problem}); {}", self.lock().process.log_tail());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    pub(super) fn begin_stop(&self) {
        self.lock().process.begin_stop();
    }

    async fn end(&self, signal: Signal) -> Result<()> {
        self.lock().process.signal(signal)?;
        let started = Instant::now();
        while self.is_running() {
            if started.elapsed() > ENDED_WITHIN {
                bail!("{} does not end after {signal}", self.launch.name);
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn spawn(launch: &Launch) -> Result<Running> {
    let address = format!("127.0.0.1:{}", free_port()?);
    let spec = Spec::new(format!("kraken-{}", launch.name), &launch.program, &launch.folder)
        .arg("run")
        .envs(launch.env.clone())
        .envs([("KRAKEN_LISTEN_ADDRESS".to_owned(), address.clone())]);
    Ok(Running { process: Process::spawn(&spec)?, launch: launch.clone(), address })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write as _;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    /// Python's file server, with files where a controller has its health and metrics.
    fn stand_in(folder: &std::path::Path) -> Controller {
        let program = folder.join("kraken-stand-in");
        let script = "#!/bin/sh\nexec python3 -m http.server -b 127.0.0.1 \"${KRAKEN_LISTEN_ADDRESS##*:}\"\n";
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(folder.join("metrics"), "up 1\n").unwrap();
        fs::write(folder.join("readyz"), "ok\n").unwrap();
        let launch =
            Launch { name: "stand-in".to_owned(), program, env: BTreeMap::new(), folder: folder.to_owned() };
        Controller::spawn(launch).unwrap()
    }

    #[tokio::test]
    async fn a_controller_can_be_killed_stopped_and_started() {
        let folder = tempfile::tempdir().unwrap();
        let controller = stand_in(folder.path());
        controller.wait_ready().await.unwrap();
        assert_eq!(controller.metrics().await.unwrap(), "up 1\n");
        assert!(controller.rss_bytes().unwrap() > 1024 * 1024, "the program's memory, not the watchdog's");
        assert!(controller.start().await.is_err(), "it runs already");

        let first = controller.pid();
        controller.kill().await.unwrap();
        assert!(!controller.is_running());
        assert!(controller.kill().await.is_err() && controller.rss_bytes().is_err());
        controller.start().await.unwrap();
        assert_ne!(controller.pid(), first);
        controller.restart().await.unwrap();
        assert!(controller.log_text().unwrap().contains("GET /readyz"));
    }

    #[tokio::test]
    async fn only_a_controller_that_lost_its_lease_is_restarted() {
        let folder = tempfile::tempdir().unwrap();
        let controller = stand_in(folder.path());
        controller.wait_ready().await.unwrap();
        assert!(!controller.restart_after_lost_lease().unwrap(), "it is running");
        controller.kill().await.unwrap();
        assert!(!controller.restart_after_lost_lease().unwrap(), "the test killed it");
        let mut log = fs::File::options().append(true).open(controller.log()).unwrap();
        writeln!(log, "Error: lost the lease: stopping at once").unwrap();
        assert!(controller.restart_after_lost_lease().unwrap());
        controller.wait_ready().await.unwrap();
    }

    #[tokio::test]
    async fn a_controller_that_ends_is_reported_with_its_log() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("kraken-broken");
        fs::write(&program, "#!/bin/sh\necho no credentials\nexit 1\n").unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let folder = folder.path().to_owned();
        let launch = Launch { name: "broken".to_owned(), program, env: BTreeMap::new(), folder };
        let error = Controller::spawn(launch).unwrap().wait_ready().await.unwrap_err().to_string();
        assert!(
            error.contains("ended instead of getting ready") && error.contains("no credentials"),
            "{error}"
        );
    }
}
