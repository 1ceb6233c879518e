//! The search for values of Secrets in everything of an environment that is not a Secret. Each value of a test has the environment's
//! [marker](Environment::marker) in it.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Seek as _, SeekFrom};
use std::path::Path;

use anyhow::{Context as _, Result, bail};

use crate::canary::Canary;
use crate::environment::Environment;

/// The calls that return the names, descriptions and tags of moto's objects.
const DESCRIBED: [&str; 3] = ["DescribeTags", "DescribeKeyPairs", "DescribeSecurityGroups"];
/// The number of reported places: further ones usually have the same cause.
const SHOWN: usize = 10;
/// The length of the text before and after a value that is reported with it, in bytes.
const AROUND: usize = 160;

impl Environment {
    /// Searches for values of Secrets: etcd outside of Secrets and all logs since the last search, and the controllers' metrics and the
    /// names, descriptions and tags in the cloud as they are now. Panics are in the logs, and conditions and events in etcd.
    ///
    /// A value is reported once, by the test that ends first, which need not be the one that leaked it; the message has the key of
    /// the object or the line of the log.
    ///
    /// # Errors
    /// The places with values, or a failed request.
    pub async fn search(&self) -> Result<()> {
        let mut searched = self.searched.lock().await;
        let canary = Canary::of(&[self.marker()]);
        let mut found = vec![];
        let mut check = |place: &str, bytes: &[u8]| {
            if let Some((at, form)) = canary.find(bytes) {
                found.push(format!("{place}, {form}: {}", around(bytes, at)));
            }
        };
        // First, because it can fail: what follows is searched once.
        for action in DESCRIBED {
            let described = self.moto.ec2(action, &[]).await?;
            check(&format!("moto's {action}"), described.to_string().as_bytes());
        }
        searched.revision = self
            .control_plane
            .stored(searched.revision, |key, value| {
                check(key, key.as_bytes());
                check(key, value);
            })
            .await?;
        for controller in self.suite.controllers() {
            let (log, place) = (controller.log(), format!("the log of {}", controller.name()));
            let from = searched.logs.get(&log).copied().unwrap_or_default();
            let to = lines(&log, from, |line| check(&place, line))
                .with_context(|| format!("cannot read {}", log.display()))?;
            searched.logs.insert(log, to);
            if let Ok(metrics) = controller.metrics().await {
                check(&format!("the metrics of {}", controller.name()), metrics.as_bytes());
            }
        }
        for text in kraken_simulator::public_texts() {
            check("a name, a description or a tag in a call to a simulator", text.as_bytes());
        }
        if found.is_empty() {
            return Ok(());
        }
        let count = found.len();
        found.truncate(SHOWN);
        bail!("values of Secrets are in {count} places:\n{}", found.join("\n"))
    }
}

/// Passes each line of a log from this position on to `each`. Returns the position of the first line that is not complete.
fn lines(log: &Path, from: u64, mut each: impl FnMut(&[u8])) -> Result<u64> {
    let mut file = File::open(log)?;
    file.seek(SeekFrom::Start(from))?;
    let (mut reader, mut position, mut line) = (BufReader::new(file), from, vec![]);
    loop {
        line.clear();
        let read = reader.read_until(b'\n', &mut line)?;
        each(&line);
        if !line.ends_with(b"\n") {
            return Ok(position);
        }
        position += u64::try_from(read)?;
    }
}

fn around(bytes: &[u8], at: usize) -> String {
    let (start, end) = (at.saturating_sub(AROUND), bytes.len().min(at + AROUND));
    String::from_utf8_lossy(&bytes[start..end]).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_read_from_the_last_complete_line() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let read = |from: u64| {
            let mut all = vec![];
            let to = lines(&log, from, |line| all.push(String::from_utf8_lossy(line).into_owned())).unwrap();
            (all.concat(), to)
        };
        std::fs::write(&log, "one\ntw").unwrap();
        assert_eq!(read(0), ("one\ntw".to_owned(), 4));
        std::fs::write(&log, "one\ntwo\n").unwrap();
        assert_eq!(read(4), ("two\n".to_owned(), 8));
        assert_eq!(read(8), (String::new(), 8));
    }

    #[test]
    fn a_place_is_shown_with_the_text_around_it() {
        let text = format!("{}secret{}", "a".repeat(400), "b".repeat(400));
        let shown = around(text.as_bytes(), 400);
        assert_eq!((shown.len(), shown.find("secret")), (2 * AROUND, Some(AROUND)));
        assert_eq!(around(b" x ", 1), "x");
    }
}
