//! The process in the background: starts everything in order, and starts again what ends.

use std::{
    convert::Infallible,
    path::{Path, PathBuf},
    process::ExitCode,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};
use futures::future::join_all;
use kraken_local::{
    assets::Assets,
    background::{Background, Lock},
    control_plane::{self, CONTROLLERS as CONTROLLERS_OF_KUBERNETES},
    http,
    ports::free_port,
    process::{Process, Spec},
    webhooks::trusted,
};
use kube::Client;
use tokio::signal::unix::{SignalKind, signal};

use super::{
    Ready, Row,
    manifests::{NAMESPACE, install, install_webhooks},
    plane::{Access, Plane},
    programs::{Found, Of},
};

/// How often it is checked whether a process has ended.
const EVERY: Duration = Duration::from_millis(500);
/// The longest pause before a process that ends again and again is started.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// How long a process must run for its next end to count as the first.
const STEADY: Duration = Duration::from_mins(1);
/// How long a controller may take to get ready. After a kill, it waits for the lease of the former one, which lasts 15 s.
const READY_WITHIN: Duration = Duration::from_secs(45);
/// A longer log is kept under another name at the next start.
const LOG_BYTES: u64 = 10 << 20;
/// The variables of the user that the controllers get, by their beginnings: cloud credentials, settings of Kraken, proxies, trusted authorities.
const INHERITED: [&str; 10] = [
    "AWS_",
    "KRAKEN_",
    "HOME",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "SSL_CERT_",
];

/// Runs until a signal.
pub(super) async fn run(background: &Background, found: &Found) -> Result<ExitCode> {
    let listen = |kind| signal(kind).context("cannot listen for signals");
    let (mut terminate, mut interrupt) = (listen(SignalKind::terminate())?, listen(SignalKind::interrupt())?);
    let _ignored = listen(SignalKind::hangup())?; // a closed terminal is not a reason to stop
    let lock = background.begin().await?;
    let served = tokio::select! {
        served = Box::pin(serve(background, &lock, found)) => served.map(|never| match never {}),
        _ = terminate.recv() => Ok(ExitCode::SUCCESS),
        _ = interrupt.recv() => Ok(ExitCode::SUCCESS),
    };
    background.forget();
    served
}

async fn serve(background: &Background, lock: &Lock, found: &Found) -> Result<Infallible> {
    let folder = background.folder();
    rotate(folder);
    let assets = Assets::ensure().await?;
    let access = Access::new(folder, found.all().map(|of| account(of.controller.name)))?;
    eprintln!("starting etcd and kube-apiserver ...");
    let Plane { etcd, apiserver, health, server, client } = Plane::start(&assets, folder, &access).await?;
    let health = health.map(|port| (port, "/health".to_owned()));
    let mut children = Children(vec![Child::of(etcd, health), Child::of(apiserver, None)]);

    let controllers: Vec<_> = found.all().map(|of| of.controller).collect();
    install(&client, &controllers).await?;
    // After the CRDs: its garbage collector looks for new kinds only every 30 seconds.
    let spec = control_plane::controller_manager(&assets, folder, CONTROLLERS_OF_KUBERNETES);
    children.0.push(Child::spawn(spec, None)?);

    eprintln!("starting the controllers ...");
    let (mut webhooks, mut waits) = (vec![], vec![]);
    for of in found.all() {
        let (health, port) = (free_port()?, free_port()?);
        let name = account(of.controller.name);
        let spec = controller(folder, of, &access.kubeconfig(&server, &name)?, health, port);
        children.0.push(Child::spawn(spec, Some((health, "/readyz".to_owned())))?);
        webhooks.push((of.controller, port));
        waits.push(warning(&client, folder, name, health));
    }
    // They get ready meanwhile.
    install_webhooks(&client, &webhooks).await?;
    let warnings = join_all(waits).await.into_iter().flatten().collect();
    let kubeconfig = control_plane::admin_kubeconfig(folder);
    supervise(background, lock, children, Ready { kubeconfig, server, processes: vec![], warnings }).await
}

/// Starts again what ends, and says what runs.
async fn supervise(
    background: &Background,
    lock: &Lock,
    mut children: Children,
    mut ready: Ready,
) -> Result<Infallible> {
    loop {
        ready.processes = children.0.iter().map(Child::row).collect();
        // Also if the file was edited.
        if background.state().as_ref() != Some(&ready) {
            background.say(&ready)?;
        }
        tokio::time::sleep(EVERY).await;
        if !lock.is_in_place() {
            let folder = background.folder().display();
            bail!("{folder} was deleted, so that this process ends: another one can be started");
        }
        children.0.iter_mut().for_each(Child::keep);
    }
}

/// The service account, program and lease of a controller.
pub(super) fn account(controller: &str) -> String {
    format!("kraken-{controller}")
}

fn controller(folder: &Path, of: &Of, kubeconfig: &Path, health: u16, webhooks: u16) -> Spec {
    let of_user = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let of_user = of_user.filter(|(name, _)| INHERITED.iter().any(|start| name.starts_with(start)));
    let own = [
        ("KUBECONFIG", kubeconfig.display().to_string()),
        ("KRAKEN_LISTEN_ADDRESS", format!("127.0.0.1:{health}")),
        ("KRAKEN_WEBHOOK_LISTEN", format!("127.0.0.1:{webhooks}")),
        ("KRAKEN_LEASE_NAMESPACE", NAMESPACE.to_owned()),
        ("KRAKEN_LOG_FORMAT", "text".to_owned()),
        ("KRAKEN_MANIFEST_VERSION", env!("CARGO_PKG_VERSION").to_owned()),
    ];
    let providers = ("KRAKEN_PROVIDERS_FOLDER".to_owned(), folder.join("providers").display().to_string());
    Spec::new(account(of.controller.name), &of.program, folder)
        .arg("run")
        .envs([providers]) // unless the user has another one
        .envs(of_user)
        .envs(own.map(|(name, value)| (name.to_owned(), value)))
}

/// Waits until a controller is ready and the API server trusts its webhooks; what to say if it takes too long.
async fn warning(client: &Client, folder: &Path, name: String, health: u16) -> Option<String> {
    let both = async {
        ready(health).await?;
        trusted(client, &name).await
    };
    let problem = match tokio::time::timeout(READY_WITHIN, both).await {
        Ok(Ok(())) => return None,
        Ok(Err(error)) => format!("{error:#}"),
        Err(_) => "it is not ready".to_owned(),
    };
    Some(format!("{name}: {problem}; its log is {}", folder.join(format!("{name}.log")).display()))
}

/// Waits until a controller reports that it is ready.
async fn ready(port: u16) -> Result<()> {
    while !http::status(port, "/readyz").await.is_ok_and(|(status, _)| status == 200) {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}

/// Keeps long logs of former starts under another name, one for each process.
fn rotate(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path: PathBuf = entry.path();
        let is_long = entry.metadata().is_ok_and(|file| file.len() > LOG_BYTES);
        if is_long && path.extension().is_some_and(|extension| extension == "log") {
            let _ = std::fs::rename(&path, path.with_extension("log.1")); // a log is no reason not to start
        }
    }
}

/// All processes in the order of their start. They stop in the reverse order: the controllers at once, the database last.
struct Children(Vec<Child>);

impl Drop for Children {
    fn drop(&mut self) {
        for child in self.0.iter_mut().filter(|child| child.name().starts_with("kraken-")) {
            child.process.begin_stop();
        }
        while let Some(child) = self.0.pop() {
            drop(child); // waits until it has ended
        }
    }
}

/// A process, and what it is started by again.
struct Child {
    process: Process,
    spec: Spec,
    /// Where it says whether it is ready: port and path.
    health: Option<(u16, String)>,
    since: Instant,
    /// How often it ended soon after its start.
    failures: u32,
    /// When it is started again, if it has ended.
    next: Option<Instant>,
}

impl Child {
    fn of((process, spec): (Process, Spec), health: Option<(u16, String)>) -> Self {
        Self { process, spec, health, since: Instant::now(), failures: 0, next: None }
    }

    fn spawn(spec: Spec, health: Option<(u16, String)>) -> Result<Self> {
        Ok(Self::of((Process::spawn(&spec)?, spec), health))
    }

    fn row(&self) -> Row {
        Row { name: self.name().to_owned(), pid: self.process.pid(), health: self.health.clone() }
    }

    fn name(&self) -> &str {
        self.spec.name()
    }

    /// Starts it again if it has ended: at once, and after longer and longer pauses if it ends again and again.
    fn keep(&mut self) {
        if self.process.is_running() {
            return;
        }
        let next = *self.next.get_or_insert_with(|| {
            self.failures = if self.since.elapsed() > STEADY { 0 } else { self.failures + 1 };
            let pause = pause(self.failures);
            eprintln!("{} has ended and is started again in {} s", self.spec.name(), pause.as_secs());
            Instant::now() + pause
        });
        if Instant::now() < next {
            return;
        }
        self.next = None;
        self.since = Instant::now();
        match Process::spawn(&self.spec) {
            Ok(process) => self.process = process,
            Err(error) => eprintln!("{} cannot be started: {error:#}", self.spec.name()),
        }
    }
}

/// None for the first end, then 1, 2, 4, ... seconds.
fn pause(failures: u32) -> Duration {
    let seconds = 1_u64.checked_shl(failures.saturating_sub(1)).unwrap_or(u64::MAX);
    if failures == 0 { Duration::ZERO } else { Duration::from_secs(seconds).min(LONGEST_PAUSE) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_half_a_minute() {
        let seconds: Vec<_> =
            [0, 1, 2, 3, 6, 40, u32::MAX].map(|failures| pause(failures).as_secs()).to_vec();
        assert_eq!(seconds, [0, 1, 2, 4, 30, 30, 30]);
    }

    #[tokio::test]
    async fn a_process_that_ends_is_started_again() {
        let folder = tempfile::tempdir().unwrap();
        let count =
            || std::fs::read_to_string(folder.path().join("starts")).unwrap_or_default().lines().count();
        let spec = Spec::new("short", "/bin/sh", folder.path()).args(["-c", "echo x >> starts"]);
        let mut child = Child::spawn(spec, None).unwrap();
        let deadline = Instant::now() + Duration::from_mins(1);
        while count() < 3 && Instant::now() < deadline {
            tokio::time::sleep(Duration::from_millis(20)).await;
            child.keep();
        }
        assert!(count() >= 3 && child.failures >= 1);
    }

    #[test]
    fn only_long_logs_are_kept_under_another_name() {
        let folder = tempfile::tempdir().unwrap();
        let long = std::fs::File::create(folder.path().join("etcd.log")).unwrap();
        long.set_len(LOG_BYTES + 1).unwrap();
        std::fs::write(folder.path().join("kraken-hub.log"), "short").unwrap();
        rotate(folder.path());
        assert!(folder.path().join("etcd.log.1").is_file() && !folder.path().join("etcd.log").exists());
        assert!(folder.path().join("kraken-hub.log").is_file());
    }
}
