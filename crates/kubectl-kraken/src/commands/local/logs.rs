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
        let bytes = from(path, 0).with_context(|| format!("cannot read {}", path.display()))?;
        positions.insert(name, bytes.len() as u64);
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text.lines().collect();
        print(name, lines[lines.len().saturating_sub(options.tail)..].iter().copied(), logs.len() > 1)?;
    }
    if !options.follow {
        return Ok(ExitCode::SUCCESS);
    }
    loop {
        tokio::time::sleep(EVERY).await;
        for (name, path) in &logs {
            let position = positions.entry(name).or_default();
            let mut bytes = from(path, *position).unwrap_or_default();
            // A line that is not complete yet is printed when it is.
            bytes.truncate(bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1));
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

fn from(path: &Path, position: u64) -> std::io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(position))?;
    let mut bytes = vec![];
    file.read_to_end(&mut bytes)?;
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
