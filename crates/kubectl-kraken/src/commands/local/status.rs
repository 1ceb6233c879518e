//! `kubectl kraken local status`.

use std::{fs, path::Path, process::ExitCode, time::Duration};

use anyhow::Result;
use futures::future::join_all;
use kraken_local::{background::Background, http, process::rss_bytes};
use kube::Client;

use super::{Ready, Row};
use crate::print::{Color, Style, Table, out};

/// The process that is asked by its own protocol.
const APISERVER: &str = "kube-apiserver";
/// A server that does not answer for this long is not ready.
const ANSWERED_WITHIN: Duration = Duration::from_secs(5);

pub(super) async fn run(background: &Background) -> Result<ExitCode> {
    let folder = background.folder();
    if !background.is_up()? {
        eprintln!(
            "nothing is running in {} ({} stored): kubectl kraken local up",
            folder.display(),
            size(bytes(folder))
        );
        return Ok(ExitCode::FAILURE);
    }
    let Some(ready) = background.state::<Ready>() else {
        eprintln!("it is starting; its output is in {}", background.log().display());
        return Ok(ExitCode::FAILURE);
    };
    let client = kraken_local::kubeconfig::client(&ready.kubeconfig).await?;
    let processes = join_all(ready.processes.iter().map(|row| look(&client, row))).await;
    let mut table = Table::new(&["PROCESS", "PID", "MEMORY", "STATUS"]);
    for process in &processes {
        let color = if process.problem.is_none() { Color::Green } else { Color::Red };
        let memory = process.memory.map_or_else(|| "-".to_owned(), size);
        let pid = process.pid.map_or_else(|| "-".to_owned(), |pid| pid.to_string());
        let status = process.problem.clone().unwrap_or_else(|| "ready".to_owned());
        table.row([(process.name.clone(), None), (pid, None), (memory, None), (status, Some(color))]);
    }
    let all = processes.iter().filter_map(|process| process.memory).sum();
    out(&table.render(Style::of_stdout()))?;
    out(&format!("memory {}, stored {} in {}\n", size(all), size(bytes(folder)), folder.display()))?;
    Ok(ExitCode::from(u8::from(processes.iter().any(|process| process.problem.is_some()))))
}

/// What is seen of one process.
struct Process {
    name: String,
    pid: Option<i32>,
    memory: Option<u64>,
    /// Why it is not ready, in one line.
    problem: Option<String>,
}

async fn look(client: &Client, row: &Row) -> Process {
    let memory = rss_bytes(row.pid).ok();
    let log = || format!("kubectl kraken local logs {}", row.name.trim_start_matches("kraken-"));
    let answer = match &row.health {
        Some((port, path)) => http::status(*port, path).await.ok(),
        None if row.name == APISERVER => apiserver(client).await,
        None => Some((200, String::new())),
    };
    let problem = match answer {
        _ if memory.is_none() => Some(format!("not running: {}", log())),
        Some((200, _)) => None,
        Some((_, text)) => Some(text.trim().to_owned()),
        None => Some(format!("no answer: {}", log())),
    };
    Process { name: row.name.clone(), pid: Some(row.pid).filter(|_| memory.is_some()), memory, problem }
}

/// The answer of kube-apiserver, whose port requires TLS.
async fn apiserver(client: &Client) -> Option<(u16, String)> {
    let request = ::http::Request::get("/readyz").body(vec![]).ok()?;
    match tokio::time::timeout(ANSWERED_WITHIN, client.request_text(request)).await.ok()? {
        Ok(_) => Some((200, String::new())),
        Err(kube::Error::Api(status)) => Some((status.code, status.message)),
        Err(_) => None,
    }
}

/// What the files of a folder take.
fn bytes(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(file) if file.is_dir() => bytes(&entry.path()),
            Ok(file) => file.len(),
            Err(_) => 0,
        })
        .sum()
}

fn size(bytes: u64) -> String {
    format!("{} MiB", bytes.div_ceil(1 << 20))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_process_that_ended_or_does_not_answer_is_not_ready_and_its_log_is_named() {
        let uri: ::http::Uri = "https://127.0.0.1:1".parse().unwrap();
        let client = Client::try_from(kube::Config::new(uri)).unwrap();
        let row = |name: &str, pid: i32, health: Option<u16>| Row {
            name: name.to_owned(),
            pid,
            health: health.map(|port| (port, "/readyz".to_owned())),
        };
        let own = i32::try_from(std::process::id()).unwrap();
        let ended = look(&client, &row("kraken-hub", 999_999_999, Some(1))).await;
        assert_eq!(
            (ended.pid, ended.problem.unwrap().as_str()),
            (None, "not running: kubectl kraken local logs hub")
        );
        for silent in [row("etcd", own, Some(1)), row(APISERVER, own, None)] {
            assert!(look(&client, &silent).await.problem.unwrap().starts_with("no answer"), "{silent:?}");
        }
        assert!(look(&client, &row("kube-controller-manager", own, None)).await.problem.is_none());
    }

    #[test]
    fn sizes_are_of_all_files() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("etcd")).unwrap();
        fs::write(folder.path().join("etcd/wal"), "12345").unwrap();
        assert_eq!(
            (bytes(folder.path()), size(5), size(3 << 20)),
            (5, "1 MiB".to_owned(), "3 MiB".to_owned())
        );
    }
}
