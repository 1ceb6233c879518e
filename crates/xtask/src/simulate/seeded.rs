//! A copy of the source with all seeded bugs ([`kraken_mutants`]), each of which waits to be selected.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{fs, io};

use anyhow::{Context as _, Result, bail};
use diffy::patch_set::{FileOperation, ParseOptions, PatchSet};
use kraken_mutants::{BASE, Mutant};

use crate::image::git;

/// Where the copy is, below the root of the source.
const COPY: &str = "target/mutants";

/// Writes the copy, and returns its folder. What did not change since the last time keeps its time, so that cargo compiles only the rest.
pub(super) async fn copy(root: &Path) -> Result<PathBuf> {
    let listed = git(root, &["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).await?;
    let patched = patched(root)?;
    let folder = root.join(COPY);
    let mut names = BTreeSet::new();
    for name in listed.split('\0').filter(|name| !name.is_empty()) {
        let content = match patched.get(name) {
            Some(text) => text.clone().into_bytes(),
            None => match fs::read(root.join(name)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue, // deleted, and not committed
                content => content.with_context(|| format!("cannot read {name}"))?,
            },
        };
        write_changed(&folder.join(name), &content)
            .with_context(|| format!("cannot write a copy of {name}"))?;
        names.insert(folder.join(name));
    }
    remove_others(&folder, &names)?;
    Ok(folder)
}

/// The files that the patches change, as all patches together leave them.
fn patched(root: &Path) -> Result<BTreeMap<String, String>> {
    let mut files = BTreeMap::new();
    let mutants = Mutant::ALL.iter().map(|mutant| (mutant.name(), mutant.patch()));
    for (name, patch) in [("base", BASE)].into_iter().chain(mutants) {
        apply(root, patch, &mut files).with_context(|| {
            format!("the seeded bug in crates/kraken-mutants/patches/{name}.patch does not fit the source any more: correct it")
        })?;
    }
    Ok(files)
}

fn apply(root: &Path, patch: &str, files: &mut BTreeMap<String, String>) -> Result<()> {
    for file in PatchSet::parse(patch, ParseOptions::unidiff()) {
        let file = file?;
        let operation = file.operation().strip_prefix(1);
        let (FileOperation::Modify { modified, .. }, Some(patch)) = (&operation, file.patch().as_text())
        else {
            bail!("a seeded bug changes lines of existing files only, and not {operation:?}");
        };
        let path: &str = modified;
        let before = match files.remove(path) {
            Some(text) => text,
            None => fs::read_to_string(root.join(path)).with_context(|| format!("cannot read {path}"))?,
        };
        let after = diffy::apply(&before, patch).with_context(|| path.to_owned())?;
        files.insert(path.to_owned(), after);
    }
    Ok(())
}

fn write_changed(path: &Path, content: &[u8]) -> io::Result<()> {
    if fs::read(path).is_ok_and(|written| written == content) {
        return Ok(());
    }
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::write(path, content)
}

/// Removes what was copied before, and is no part of the source any more.
fn remove_others(folder: &Path, names: &BTreeSet<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            remove_others(&path, names)?;
        } else if !names.contains(&path) {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use kraken_testing::paths;

    use super::*;

    #[test]
    fn all_seeded_bugs_fit_the_source() {
        let files = patched(&paths::workspace_root().unwrap()).unwrap();
        let text: String = files.values().cloned().collect();
        for mutant in Mutant::ALL {
            assert!(text.contains(&format!("Mutant::{}.is_active()", mutant.name())), "{mutant:?}");
        }
    }

    #[test]
    fn a_patch_of_other_code_is_rejected_with_the_file() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.rs"), "fn one() {}\n").unwrap();
        let patch = "--- a/a.rs\n+++ b/a.rs\n@@ -1,1 +1,1 @@\n-fn two() {}\n+fn three() {}\n";
        let error = apply(folder.path(), patch, &mut BTreeMap::new()).unwrap_err();
        assert!(format!("{error:#}").starts_with("a.rs: "), "{error:#}");
    }
}
