//! `kubectl kraken local status`.

use std::{fs, path::Path, process::ExitCode};

use anyhow::Result;
use futures::future::join_all;
use kraken_local::{background::Background, http, process::rss_bytes};

use super::{Ready, Row};
use crate::print::{Color, Style, Table, out};

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
    let Some(ready) = background.state::<Ready>().and_then(|state| state.ready) else {
        eprintln!("it is starting; its output is in {}", background.log().display());
        return Ok(ExitCode::FAILURE);
    };
    let processes = join_all(ready.processes.iter().map(|row| look(folder, row))).await;
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

async fn look(folder: &Path, row: &Row) -> Process {
    let pid = fs::read_to_string(folder.join(format!("{}.pid", row.name)))
        .ok()
        .and_then(|text| text.trim().parse().ok());
    let memory = pid.and_then(|pid| rss_bytes(pid).ok());
    let log = || format!("kubectl kraken local logs {}", row.name);
    let problem = match row.health {
        _ if memory.is_none() => Some(format!("not running: {}", log())),
        None => None,
        Some(port) => match http::status(port, "/readyz").await {
            Ok((200, _)) => None,
            Ok((_, text)) => Some(text.trim().to_owned()),
            Err(_) => Some(format!("no answer: {}", log())),
        },
    };
    Process { name: row.name.clone(), pid: pid.filter(|_| memory.is_some()), memory, problem }
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
    async fn a_process_that_ended_is_not_running_and_its_log_is_named() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("kraken-hub.pid"), "999999999\n").unwrap();
        let row = Row { name: "kraken-hub".to_owned(), health: Some(1) };
        let process = look(folder.path(), &row).await;
        assert_eq!(process.pid, None);
        assert_eq!(process.problem.unwrap(), "not running: kubectl kraken local logs kraken-hub");
        let own = std::process::id().to_string();
        fs::write(folder.path().join("kraken-hub.pid"), own).unwrap();
        assert!(look(folder.path(), &row).await.problem.unwrap().starts_with("no answer"));
        assert!(look(folder.path(), &Row { health: None, ..row }).await.problem.is_none());
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
