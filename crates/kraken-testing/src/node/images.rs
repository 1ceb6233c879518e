//! Two small images of busybox: the pause container of pods, and a shell for the pods of tests.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

use super::{PAUSE, requirements};
use crate::oci::{Config, Image, Layer};

/// The image of a shell with the usual commands.
pub const TOOLS: &str = "kraken-tools:0.1.0";
const COMMANDS: [&str; 9] = ["sh", "cat", "sleep", "echo", "wget", "nc", "ls", "mkdir", "date"];

pub(super) fn write_pause(path: &Path) -> Result<()> {
    write(path, PAUSE, &["sleep", "2147483647"], &[])
}

/// Writes the image [`TOOLS`].
///
/// # Errors
/// When busybox does not exist or the file cannot be written.
pub fn write_tools(path: &Path) -> Result<()> {
    write(path, TOOLS, &["sh"], &COMMANDS)
}

fn write(path: &Path, name: &str, entrypoint: &[&str], commands: &[&str]) -> Result<()> {
    let busybox = requirements::busybox();
    let program = fs::read(&busybox).with_context(|| format!("cannot read {}", busybox.display()))?;
    let mut layer = Layer::default().uncompressed();
    layer.file("bin/busybox", 0o755, program);
    for command in commands {
        layer.link(&format!("bin/{command}"), "busybox");
    }
    let entrypoint =
        std::iter::once("/bin/busybox").chain(entrypoint.iter().copied()).map(str::to_owned).collect();
    let environment = vec!["PATH=/bin".to_owned()];
    let config = Config { entrypoint, environment, ..Config::default() };
    Image { name: name.to_owned(), config, layer, created: 0 }.write(path).map(drop)
}
