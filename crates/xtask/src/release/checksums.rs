//! `SHA256SUMS`, in the format of `sha256sum`.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use anyhow::{Context as _, Result};
use sha2::{Digest as _, Sha256};

/// The file with the checksums.
pub(super) const FILE: &str = "SHA256SUMS";

#[derive(Debug)]
pub(super) struct Checksum {
    pub(super) file: String,
    pub(super) digest: String,
    pub(super) size: u64,
}

/// Writes the checksums of these files of the folder, sorted by name.
pub(super) fn write(folder: &Path, files: &[String]) -> Result<Vec<Checksum>> {
    let mut files = files.to_vec();
    files.sort();
    let sums = files.into_iter().map(|file| sum(folder, file)).collect::<Result<Vec<_>>>()?;
    fs::write(folder.join(FILE), text(&sums)).with_context(|| format!("cannot write {FILE}"))?;
    Ok(sums)
}

fn sum(folder: &Path, file: String) -> Result<Checksum> {
    let path = folder.join(&file);
    let mut hash = Sha256::new();
    let size = File::open(&path)
        .and_then(|mut contents| io::copy(&mut contents, &mut hash))
        .with_context(|| format!("cannot read {}", path.display()))?;
    Ok(Checksum { file, digest: hex::encode(hash.finalize()), size })
}

fn text(sums: &[Checksum]) -> String {
    sums.iter().flat_map(|sum| [&sum.digest, "  ", &sum.file, "\n"]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_sorted_and_readable_by_sha256sum() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("b"), "b").unwrap();
        fs::write(folder.path().join("a"), "").unwrap();
        write(folder.path(), &["b".to_owned(), "a".to_owned()]).unwrap();
        let written = fs::read_to_string(folder.path().join(FILE)).unwrap();
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  a\n";
        assert!(written.starts_with(empty), "{written}");
        let check =
            std::process::Command::new("sha256sum").args(["-c", FILE]).current_dir(folder.path()).output();
        assert!(check.unwrap().status.success());
        assert!(write(folder.path(), &["missing".to_owned()]).is_err());
    }
}
