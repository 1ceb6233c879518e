//! Compiles controllers so that they need nothing but the kernel.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use super::source::Source;
use super::target;
use crate::cargo;

const RUSTC: &str = include_str!("rustc.sh");

/// How they are compiled.
#[derive(clap::ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Profile {
    /// As they are released.
    Release,
    /// With little optimisation, in a fraction of the time.
    Dev,
}

/// Builds these controllers, and returns the folder that they are in.
pub(super) async fn build(
    root: &Path,
    controllers: &[String],
    profile: Profile,
    source: &Source,
) -> Result<PathBuf> {
    let wrapper = wrapper()?;
    let mut arguments = vec!["build".to_owned(), "--quiet".to_owned(), "--locked".to_owned()];
    if profile == Profile::Release {
        arguments.push("--release".to_owned());
    }
    // By the names of programs and not of packages: then the features are the whole workspace's, and no dependency is compiled twice.
    arguments.extend(controllers.iter().flat_map(|name| ["--bin".to_owned(), format!("kraken-{name}")]));
    let wrapper = wrapper.to_str().context("the target folder's path is no text")?;
    let day = source.date.get(..10).unwrap_or(&source.date);
    let mut environment = vec![("RUSTC_WORKSPACE_WRAPPER", wrapper)];
    if profile == Profile::Release {
        // Not for tests: each commit would compile every crate of the workspace again.
        environment.extend([("KRAKEN_COMMIT", source.commit.as_str()), ("KRAKEN_BUILD_DATE", day)]);
    }
    let status = cargo::run_in(root, arguments, &environment).await?;
    if !status.success() {
        bail!("cargo build failed; see the compiler's messages above");
    }
    Ok(target()?.join(if profile == Profile::Release { "release" } else { "debug" }))
}

/// The program that cargo calls instead of rustc. Always at the same path: cargo takes what another one built for outdated.
fn wrapper() -> Result<PathBuf> {
    let folder = target()?.join("images");
    let path = folder.join("rustc");
    let write = |path: &Path| {
        fs::create_dir_all(&folder)?;
        if fs::read_to_string(path).is_ok_and(|text| text == RUSTC) {
            return Ok(()); // a program that is being run cannot be written
        }
        fs::write(path, RUSTC)?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o755))
    };
    write(&path).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

/// Whether a program needs no loader: one that did would fail in an image with `no such file or directory`, and nothing would name what.
pub(super) fn check_static(program: &[u8]) -> Result<()> {
    // ELF of 64 bits, little-endian: where the program headers are, how large and how many; type 3 names a loader.
    const INTERPRETER: u32 = 3;
    let number = |at: usize, size: usize| -> Result<u64> {
        let bytes = program.get(at..at + size).context("it is cut short")?;
        Ok(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    };
    if !program.starts_with(b"\x7fELF\x02\x01") {
        bail!("it is no program of a 64 bit Linux");
    }
    let (table, size, count) = (number(32, 8)?, number(54, 2)?, number(56, 2)?);
    for index in 0..count {
        let at = usize::try_from(table + index * size).context("it is cut short")?;
        if number(at, 4)? == u64::from(INTERPRETER) {
            bail!("it is linked dynamically; an image has no libraries");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_needs_a_loader_is_refused() {
        // The tests themselves are such a program.
        let own = fs::read(std::env::current_exe().unwrap()).unwrap();
        assert!(check_static(&own).unwrap_err().to_string().contains("dynamically"));
        assert!(check_static(b"#!/bin/sh").is_err());
    }

    #[test]
    fn a_program_without_a_loader_passes() {
        let mut program = vec![0_u8; 64 + 56];
        program[..6].copy_from_slice(b"\x7fELF\x02\x01");
        program[32] = 64; // the table begins after the header
        program[54] = 56;
        program[56] = 1;
        program[64] = 1; // a part to load
        check_static(&program).unwrap();
        program[64] = 3;
        assert!(check_static(&program).is_err());
    }
}
