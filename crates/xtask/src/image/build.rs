//! Builds controllers as statically linked binaries.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use super::source::Source;
use super::target;
use crate::cargo;

const RUSTC: &str = include_str!("rustc.sh");
/// Between the flags in `CARGO_ENCODED_RUSTFLAGS`.
const SEPARATOR: &str = "\u{1f}";

/// The build profile.
#[derive(clap::ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Profile {
    /// Optimized and reproducible, as in a release.
    Release,
    /// Less optimized, compiled in a fraction of the time.
    Dev,
}

/// Builds controllers, and returns the folder with the binaries.
pub(super) async fn build(
    root: &Path,
    controllers: &[String],
    profile: Profile,
    source: &Source,
) -> Result<PathBuf> {
    // By the names of binaries and not of packages: then the features are those of the whole workspace, and no dependency is compiled
    // twice.
    let binaries = controllers.iter().flat_map(|name| ["--bin".to_owned(), format!("kraken-{name}")]);
    match profile {
        Profile::Release => release(root, &target()?, binaries.collect(), source).await,
        Profile::Dev => dev(root, binaries.collect()).await,
    }
}

/// Builds one program that is no controller, statically linked, and returns its path.
pub(super) async fn program(root: &Path, name: &str, profile: Profile, source: &Source) -> Result<PathBuf> {
    let chosen = vec!["--bin".to_owned(), name.to_owned()];
    let folder = match profile {
        Profile::Release => release(root, &target()?, chosen, source).await?,
        Profile::Dev => dev(root, chosen).await?,
    };
    Ok(folder.join(name))
}

/// The release build: the same commit and toolchain give the same bytes in any folder.
pub(crate) async fn release(
    root: &Path,
    target: &Path,
    chosen: Vec<String>,
    source: &Source,
) -> Result<PathBuf> {
    let host = cargo::host().await?;
    let mut arguments = ["build", "--locked", "--release", "--target", &host].map(str::to_owned).to_vec();
    arguments.extend(chosen);
    // Before the flags: a build without sources of dependencies could not map their folder.
    cargo::output_in(root, &["fetch", "--quiet", "--locked"]).await?;
    let (flags, folder) = (flags(root, &registries()?, target)?, text(target)?);
    let environment = [
        ("CARGO_TARGET_DIR", folder),
        ("RUSTC_WORKSPACE_WRAPPER", ""), // CI lints while it compiles
        ("CARGO_ENCODED_RUSTFLAGS", &flags),
        ("KRAKEN_VERSION", &source.version),
        ("KRAKEN_COMMIT", &source.commit),
        ("KRAKEN_BUILD_DATE", source.date.get(..10).unwrap_or(&source.date)),
    ];
    run(root, arguments, &environment).await?;
    Ok(target.join(host).join("release"))
}

/// For tests. Without commit and version, because each commit would compile every crate of the workspace again.
async fn dev(root: &Path, binaries: Vec<String>) -> Result<PathBuf> {
    let (target, wrapper) = (target()?, wrapper()?);
    let mut arguments = ["build", "--locked"].map(str::to_owned).to_vec();
    arguments.extend(binaries);
    let environment = [("CARGO_TARGET_DIR", text(&target)?), ("RUSTC_WORKSPACE_WRAPPER", text(&wrapper)?)];
    run(root, arguments, &environment).await?;
    Ok(target.join("debug"))
}

async fn run(root: &Path, arguments: Vec<String>, environment: &[(&str, &str)]) -> Result<()> {
    let status = cargo::run_in(root, arguments, environment).await?;
    if status.success() { Ok(()) } else { bail!("cargo build failed; see the compiler's messages above") }
}

/// Static linking, and no path of this machine in the binary: rustc writes paths into messages of panics. A later mapping has
/// precedence, because the target folder and the registry can be below the root.
fn flags(root: &Path, registries: &[PathBuf], target: &Path) -> Result<String> {
    let map = |from: &Path, to: &str| anyhow::Ok(format!("--remap-path-prefix={}={to}", text(from)?));
    let mut flags: Vec<String> = vec![map(root, "/kraken")?];
    for registry in registries {
        flags.push(map(registry, "/cargo")?);
    }
    flags.push(map(target, "/target")?);
    flags.push("-Ctarget-feature=+crt-static".to_owned());
    Ok(flags.join(SEPARATOR))
}

/// The folders with the sources of dependencies, one per registry. Their names depend on the registry or its mirror.
fn registries() -> Result<Vec<PathBuf>> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    let folder = home.context("neither CARGO_HOME nor HOME is set")?.join("registry/src");
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", folder.display())),
    };
    let mut found: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    found.sort();
    Ok(found)
}

fn text(path: &Path) -> Result<&str> {
    path.to_str().with_context(|| format!("{} is not valid UTF-8", path.display()))
}

/// The program that cargo calls instead of rustc. Always at the same path: cargo rebuilds what another wrapper built.
fn wrapper() -> Result<PathBuf> {
    let folder = target()?.join("images");
    let path = folder.join("rustc");
    let write = |path: &Path| {
        fs::create_dir_all(&folder)?;
        if fs::read_to_string(path).is_ok_and(|text| text == RUSTC) {
            return Ok(()); // a running program cannot be written
        }
        fs::write(path, RUSTC)?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o755))
    };
    write(&path).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

/// Checks that a binary is linked statically: a dynamically linked one fails in an image from scratch with
/// `no such file or directory`, without naming the missing loader.
pub(super) fn check_static(program: &[u8]) -> Result<()> {
    // 64-bit little-endian ELF: offset, size and number of the program headers. Type 3 (PT_INTERP) names a loader.
    const INTERPRETER: u32 = 3;
    let number = |at: usize, size: usize| -> Result<u64> {
        let bytes = program.get(at..at + size).context("the file is truncated")?;
        Ok(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    };
    if !program.starts_with(b"\x7fELF\x02\x01") {
        bail!("not a 64-bit Linux executable");
    }
    let (table, size, count) = (number(32, 8)?, number(54, 2)?, number(56, 2)?);
    for index in 0..count {
        let at = usize::try_from(table + index * size).context("the file is truncated")?;
        if number(at, 4)? == u64::from(INTERPRETER) {
            bail!("the executable is linked dynamically, and an image has no libraries");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dynamically_linked_executable_is_rejected() {
        // The test executable itself is linked dynamically.
        let own = fs::read(std::env::current_exe().unwrap()).unwrap();
        assert!(check_static(&own).unwrap_err().to_string().contains("dynamically"));
        assert!(check_static(b"#!/bin/sh").is_err());
    }

    #[test]
    fn a_statically_linked_executable_is_accepted() {
        let mut program = vec![0_u8; 64 + 56];
        program[..6].copy_from_slice(b"\x7fELF\x02\x01");
        program[32] = 64; // the table begins after the header
        program[54] = 56;
        program[56] = 1;
        program[64] = 1; // PT_LOAD
        check_static(&program).unwrap();
        program[64] = 3;
        assert!(check_static(&program).is_err());
    }

    #[test]
    fn release_flags_map_every_folder_of_the_machine() {
        let registries = [PathBuf::from("/home/me/.cargo/registry/src/mirror-1")];
        let flags = flags(Path::new("/src"), &registries, Path::new("/src/target")).unwrap();
        let flags: Vec<&str> = flags.split(SEPARATOR).collect();
        let expected = [
            "--remap-path-prefix=/src=/kraken",
            "--remap-path-prefix=/home/me/.cargo/registry/src/mirror-1=/cargo",
            "--remap-path-prefix=/src/target=/target",
            "-Ctarget-feature=+crt-static",
        ];
        assert_eq!(flags, expected);
    }
}
