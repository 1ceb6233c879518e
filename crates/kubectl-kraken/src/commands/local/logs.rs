//! `kubectl kraken local logs`.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{Read as _, Seek as _, SeekFrom},
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use anyhow::{Context as _, Result, bail};
use clap::Args;
use kraken_local::background::Background;

use crate::print::out;

/// How often the logs are read while they are followed.
const EVERY: Duration = Duration::from_millis(300);

/// How much of a log is read at once, in bytes.
const BLOCK: u64 = 64 << 10;
/// How many of these blocks are kept in memory (16 MiB): the first of very many lines is cut.
const MOST: usize = 256;

/// Which logs.
#[derive(Args, Clone, Debug)]
pub(super) struct Options {
    /// A controller such as aws-vpc, or etcd, kube-apiserver, kube-controller-manager [default: all controllers].
    name: Option<String>,
    /// Print what is added, until Ctrl-C.
    #[arg(short, long)]
    follow: bool,
    /// The number of lines of each log, from its end.
    #[arg(long, value_name = "NUMBER", default_value_t = 100)]
    tail: usize,
}

pub(super) async fn run(background: &Background, options: &Options) -> Result<ExitCode> {
    let logs = chosen(background.folder(), options.name.as_deref())?;
    let mut positions = BTreeMap::new();
    for (name, path) in &logs {
        let (text, end) =
            tail(path, options.tail).with_context(|| format!("cannot read {}", path.display()))?;
        positions.insert(name, end);
        print(name, text.lines(), logs.len() > 1)?;
    }
    if !options.follow {
        return Ok(ExitCode::SUCCESS);
    }
    loop {
        tokio::time::sleep(EVERY).await;
        for (name, path) in &logs {
            let position = positions.entry(name).or_default();
            if fs::metadata(path).is_ok_and(|file| file.len() < *position) {
                *position = 0; // a new log under the same name
            }
            let mut bytes = part(path, *position, BLOCK).unwrap_or_default();
            // A line that is not complete yet is printed when it is; one that is longer than a block, in parts.
            let is_full = bytes.len() as u64 == BLOCK;
            let complete = bytes.iter().rposition(|byte| *byte == b'\n').map(|end| end + 1);
            bytes.truncate(complete.unwrap_or(if is_full { bytes.len() } else { 0 }));
            *position += bytes.len() as u64;
            print(name, String::from_utf8_lossy(&bytes).lines(), logs.len() > 1)?;
        }
    }
}

/// The logs by the names of their processes.
fn chosen(folder: &Path, name: Option<&str>) -> Result<BTreeMap<String, PathBuf>> {
    let mut logs = BTreeMap::new();
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?.flatten()
    {
        let path = entry.path();
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        if let Some(stem) = stem.filter(|_| path.extension().is_some_and(|extension| extension == "log")) {
            logs.insert(stem.trim_start_matches("kraken-").to_owned(), path);
        }
    }
    let is_of_kubernetes = |name: &str| name == "etcd" || name.starts_with("kube-");
    match name.map(|name| name.trim_start_matches("kraken-")) {
        Some(name) if !logs.contains_key(name) => {
            let names: Vec<&str> = logs.keys().map(String::as_str).collect();
            bail!("there is no log of {name}; there are {}", names.join(", "))
        }
        Some(name) => logs.retain(|one, _| one == name),
        None => logs.retain(|one, _| !is_of_kubernetes(one)),
    }
    if logs.is_empty() {
        bail!("there are no logs in {}: kubectl kraken local up", folder.display());
    }
    Ok(logs)
}

/// The last lines of a log, and its length. It is read backwards: a log can be larger than the memory.
fn tail(path: &Path, lines: usize) -> std::io::Result<(String, u64)> {
    let end = fs::metadata(path)?.len();
    let mut start = end;
    let (mut blocks, mut breaks) = (vec![], 0);
    // One more line break than lines: the first line must be complete.
    while start > 0 && blocks.len() < MOST && breaks <= lines {
        let before = start.saturating_sub(BLOCK);
        let block = part(path, before, start - before)?;
        breaks += block.split(|byte| *byte == b'\n').count() - 1;
        blocks.push(block);
        start = before;
    }
    blocks.reverse();
    let bytes = blocks.concat();
    let text = String::from_utf8_lossy(&bytes);
    let all: Vec<&str> = text.lines().collect();
    Ok((all[all.len().saturating_sub(lines)..].join("\n"), end))
}

/// At most so many bytes from a position on.
fn part(path: &Path, position: u64, length: u64) -> std::io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(position))?;
    let mut bytes = vec![];
    file.take(length).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn print<'a>(name: &str, lines: impl Iterator<Item = &'a str>, several: bool) -> Result<()> {
    let line = |line: &str| if several { format!("{name} | {line}\n") } else { format!("{line}\n") };
    out(&lines.map(line).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_log_of_any_length_is_read_without_the_rest() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kraken-hub.log");
        let read = |lines| tail(&path, lines).unwrap();
        fs::write(&path, "").unwrap();
        assert_eq!(read(3), (String::new(), 0));
        fs::write(&path, "a\nb\nc\n").unwrap();
        assert_eq!(
            (read(2).0, read(9).0, read(0).0),
            ("b\nc".to_owned(), "a\nb\nc".to_owned(), String::new())
        );
        let long: String = (0..50_000).map(|number| format!("line {number}\n")).collect();
        fs::write(&path, &long).unwrap();
        let text = read(20_000).0;
        assert!(text.starts_with("line 30000\n") && text.ends_with("line 49999"));
        // Much longer than the memory, and without a line break.
        File::options().append(true).open(&path).unwrap().set_len(1 << 40).unwrap();
        let (text, end) = read(10);
        assert!(text.len() <= 17 << 20 && end == 1 << 40);
    }

    #[test]
    fn logs_are_chosen_by_the_name_of_a_controller() {
        let folder = tempfile::tempdir().unwrap();
        assert!(chosen(folder.path(), None).unwrap_err().to_string().contains("there are no logs"));
        for name in ["kraken-hub.log", "kraken-aws-vpc.log", "etcd.log", "kraken-hub.pid", "log"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let names = |name: Option<&str>| chosen(folder.path(), name).unwrap().into_keys().collect::<Vec<_>>();
        assert_eq!(names(None), ["aws-vpc", "hub"]);
        assert_eq!(
            (names(Some("hub")), names(Some("kraken-hub"))),
            (vec!["hub".to_owned()], vec!["hub".to_owned()])
        );
        assert_eq!(names(Some("etcd")), ["etcd"]);
        let error = chosen(folder.path(), Some("vpc")).unwrap_err().to_string();
        assert_eq!(error, "there is no log of vpc; there are aws-vpc, etcd, hub");
    }
}
