//! `cargo xtask release --verify`: the same commit, compiled in two folders, gives the same bytes.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use kraken_testing::paths;
use sha2::{Digest as _, Sha256};
use tokio::process::Command;

use crate::image::{self, Source, git};
use crate::ui;

/// The library of the small check: pure code with a procedural macro and dozens of dependencies.
const LIBRARY: &str = "kraken-options";

/// What is compiled twice.
#[derive(clap::ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// One library.
    Crate,
    /// Every controller.
    All,
}

pub(super) async fn run(root: &Path, scope: Scope, source: &Source) -> Result<()> {
    let scratch = tempfile::tempdir().context("cannot create a temporary folder")?;
    // Of different lengths, because a shorter path in a binary changes all addresses behind it.
    let folders = ["one", "another-folder"].map(|name| scratch.path().join(name));
    let mut results = Vec::new();
    for folder in &folders {
        ui::step("checking out the commit", checkout(root, folder)).await?;
        let what = format!("compiling in {}", folder.display());
        results.push(ui::step(&what, digests(folder, scope, source)).await?);
    }
    let rows = results[0].iter().map(|(file, digest)| [file.clone(), digest.clone()]);
    print!("{}", ui::table(&["FILE", "SHA-256"], rows));
    compare(&results[0], &results[1])
}

/// The last commit, without uncommitted changes.
async fn checkout(root: &Path, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let archive = folder.join("source.tar");
    let path = archive.to_str().context("the temporary folder is not valid UTF-8")?;
    git(root, &["archive", "--format=tar", "--output", path, "HEAD"]).await?;
    let status = Command::new("tar").arg("-xf").arg(&archive).current_dir(folder).status().await;
    ensure!(status.context("cannot run tar")?.success(), "cannot unpack the commit");
    Ok(())
}

async fn digests(folder: &Path, scope: Scope, source: &Source) -> Result<BTreeMap<String, String>> {
    let target = folder.join("target");
    let chosen: Vec<String> = match scope {
        Scope::Crate => vec!["--package".to_owned(), LIBRARY.to_owned()],
        Scope::All => {
            let binaries = paths::programs()?.into_iter();
            binaries.flat_map(|name| ["--bin".to_owned(), format!("kraken-{name}")]).collect()
        }
    };
    let built = image::release(folder, &target, chosen, source).await?;
    let mut digests = BTreeMap::new();
    let entries = fs::read_dir(&built).with_context(|| format!("cannot read {}", built.display()))?;
    for entry in entries {
        let entry = entry.context("cannot read the target folder")?;
        let name = entry.file_name().to_string_lossy().into_owned();
        // Executables have no extension.
        let path = entry.path();
        let is_result = match path.extension() {
            Some(extension) => extension == "rlib",
            None => name.starts_with("kraken-"),
        };
        if is_result {
            let contents = fs::read(entry.path()).with_context(|| format!("cannot read {name}"))?;
            digests.insert(name, hex::encode(Sha256::digest(contents)));
        }
    }
    Ok(digests)
}

fn compare(one: &BTreeMap<String, String>, two: &BTreeMap<String, String>) -> Result<()> {
    ensure!(!one.is_empty(), "nothing was compiled");
    ensure!(
        one.keys().eq(two.keys()),
        "the folders have different files: {:?} and {:?}",
        one.keys(),
        two.keys()
    );
    let different = one.iter().filter(|(file, digest)| two[*file] != **digest);
    let different: Vec<&str> = different.map(|(file, _)| file.as_str()).collect();
    ensure!(different.is_empty(), "not reproducible: {}", different.join(", "));
    println!("  reproducible: both folders have the same bytes");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_reported_by_file() {
        let of = |digests: &[(&str, &str)]| {
            digests.iter().map(|(file, digest)| ((*file).to_owned(), (*digest).to_owned())).collect()
        };
        compare(&of(&[("a", "1")]), &of(&[("a", "1")])).unwrap();
        let error = compare(&of(&[("a", "1"), ("b", "1")]), &of(&[("a", "1"), ("b", "2")])).unwrap_err();
        assert_eq!(error.to_string(), "not reproducible: b");
        assert!(compare(&of(&[]), &of(&[])).is_err());
        assert!(compare(&of(&[("a", "1")]), &of(&[("b", "1")])).is_err());
    }
}
