//! A module with submodules has one form in all crates, `x/mod.rs`, so that a folder contains the whole module. And a kind knows nothing of
//! the loop.
#![allow(clippy::unwrap_used)] // a panic fails the test

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Crates that still have `x.rs` beside `x/`.
const OTHERS: &[&str] = &["crates/kraken-aws"];

fn crates(root: &Path) -> Vec<PathBuf> {
    let mut found = vec![root.join("tests"), root.join("webhooks")];
    for folder in ["crates", "controllers"] {
        found.extend(folders(&root.join(folder)));
    }
    found.retain(|folder| folder.join("Cargo.toml").is_file());
    found
}

fn folders(of: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(of).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.is_dir() && !path.ends_with("target")).collect()
}

/// Adds each folder that has a file of its name beside it.
fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    for inner in folders(folder) {
        if inner.with_extension("rs").is_file() {
            found.push(inner.with_extension("rs"));
        }
        collect(&inner, found);
    }
}

#[test]
fn a_module_with_submodules_is_mod_rs_of_its_folder() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (crates, mut wrong) = (crates(&root), vec![]);
    assert!(crates.len() > 10, "{crates:?}");
    for one in crates.iter().filter(|one| !OTHERS.iter().any(|other| one.ends_with(other))) {
        collect(one, &mut wrong);
    }
    assert!(wrong.is_empty(), "move x.rs to x/mod.rs: {wrong:#?}");
}

/// The files of this folder, and of those in it.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[test]
fn a_kind_of_aws_knows_nothing_of_the_loop() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut sources = files(&root.join("crates/kraken-aws"));
    for spoke in folders(&root.join("controllers")) {
        if spoke.file_name().unwrap().to_str().unwrap().starts_with("aws-") {
            // `lib.rs` has the list of kinds, and calls the `main` of all spokes.
            let kinds =
                files(&spoke.join("src")).into_iter().filter(|path| *path != spoke.join("src/lib.rs"));
            sources.extend(kinds);
        }
    }
    assert!(sources.len() > 200, "{}", sources.len());
    let of_the_loop = ["kraken_spoke", "kraken_model", "kraken-spoke", "kraken-model"];
    sources.retain(|path| {
        let text = fs::read_to_string(path).unwrap();
        of_the_loop.iter().any(|name| text.contains(name))
    });
    assert!(sources.is_empty(), "a kind uses kraken-kind only: {sources:#?}");
}
