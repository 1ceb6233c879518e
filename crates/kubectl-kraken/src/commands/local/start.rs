//! Starts the process in the background, or waits for the one that runs.

use std::{process::Command, time::Duration};

use anyhow::{Context as _, Result, bail};
use kraken_local::background::{Background, Starting};
use serde::de::DeserializeOwned;
use tokio::{
    signal::unix::{SignalKind, signal},
    time::sleep,
};

/// How long an interrupted one may take to end before the command ends without it. A controller takes up to 10 s.
const ENDS_WITHIN: Duration = Duration::from_secs(15);

/// One that is ready.
#[derive(Debug, PartialEq)]
pub(super) struct Running<R> {
    pub(super) ready: R,
    /// Whether another command started it.
    pub(super) is_joined: bool,
}

/// Waits until it is ready. The command starts it if none runs, also if the one that runs ends instead of getting ready: its `up` may have
/// been interrupted a moment ago.
pub(super) async fn run<R: DeserializeOwned>(
    background: &Background,
    command: Command,
    mut show: impl FnMut(&str),
) -> Result<Running<R>> {
    if background.is_up()?
        && let Some(ready) = background.join_unless_ended(&mut show).await?
    {
        return Ok(Running { ready, is_joined: true });
    }
    Ok(Running { ready: started(background, command, show).await?, is_joined: false })
}

async fn started<R: DeserializeOwned>(
    background: &Background,
    command: Command,
    show: impl FnMut(&str),
) -> Result<R> {
    let listen = |kind| signal(kind).context("cannot listen for signals");
    let (mut terminate, mut interrupt) = (listen(SignalKind::terminate())?, listen(SignalKind::interrupt())?);
    let mut starting = background.spawn(command)?;
    let why = tokio::select! {
        ready = starting.ready(show) => return ready,
        _ = interrupt.recv() => "interrupted",
        _ = terminate.recv() => "stopped",
    };
    eprintln!("{why}: waiting until what was started has ended; Ctrl-C again ends this at once");
    let again = async {
        tokio::select! {
            _ = interrupt.recv() => (),
            _ = terminate.recv() => (),
        }
    };
    if has_ended(&mut starting, again).await {
        bail!("{why}: nothing runs");
    }
    bail!("{why}: what was started is still ending; its log is {}", background.log().display())
}

/// Stops it. Its processes hold the folder until they have ended, so that another `up` would wait for them.
async fn has_ended(starting: &mut Starting, again: impl Future<Output = ()>) -> bool {
    tokio::select! {
        stopped = starting.stop() => stopped.is_ok(),
        () = sleep(ENDS_WITHIN) => false,
        () = again => false,
    }
}

#[cfg(test)]
mod tests {
    use std::{future, path::Path};

    use super::*;

    fn shell(script: &str, folder: &Path) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]).current_dir(folder);
        command
    }

    /// Starts a process, and waits until it has set its traps.
    async fn trapping(background: &Background, script: &str) -> Starting {
        let script = format!("{script}; touch trapped; while :; do sleep 0.05; done");
        let starting = background.spawn(shell(&script, background.folder())).unwrap();
        while !background.folder().join("trapped").exists() {
            sleep(Duration::from_millis(20)).await;
        }
        starting
    }

    #[tokio::test]
    async fn an_interrupted_start_waits_until_its_processes_have_ended() {
        let folder = tempfile::tempdir().unwrap();
        let background = Background::in_folder(folder.path()).unwrap();
        let mut starting = trapping(&background, "trap 'sleep 0.5; touch ended; exit' TERM").await;
        assert!(has_ended(&mut starting, future::pending()).await);
        assert!(folder.path().join("ended").exists());
    }

    #[tokio::test]
    async fn a_second_interrupt_does_not_wait() {
        let folder = tempfile::tempdir().unwrap();
        let background = Background::in_folder(folder.path()).unwrap();
        let mut starting = trapping(&background, "trap 'sleep 2; touch ended; exit' TERM").await;
        assert!(!has_ended(&mut starting, sleep(Duration::from_millis(50))).await);
        assert!(!folder.path().join("ended").exists());
        starting.stop().await.unwrap();
    }

    #[tokio::test]
    async fn one_that_ends_instead_of_getting_ready_is_started_again() {
        let folder = tempfile::tempdir().unwrap();
        let background = Background::in_folder(folder.path()).unwrap();
        let lock = background.begin().await.unwrap();
        let ends = async {
            sleep(Duration::from_millis(300)).await;
            drop(lock); // its command was interrupted
        };
        let command = shell("echo '\"ready\"' > state.json; sleep 1", folder.path());
        let (running, ()) = tokio::join!(run::<String>(&background, command, |_| {}), ends);
        assert_eq!(running.unwrap(), Running { ready: "ready".to_owned(), is_joined: false });
    }

    #[tokio::test]
    async fn one_that_is_ready_is_joined() {
        let folder = tempfile::tempdir().unwrap();
        let background = Background::in_folder(folder.path()).unwrap();
        let _lock = background.begin().await.unwrap();
        background.say(&"ready").unwrap();
        let running = run::<String>(&background, shell("exit 1", folder.path()), |_| {}).await.unwrap();
        assert_eq!(running, Running { ready: "ready".to_owned(), is_joined: true });
    }
}
