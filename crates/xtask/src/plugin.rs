//! `cargo xtask plugin`: builds `kubectl-kraken` and copies it to a folder on PATH, where kubectl finds it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use kraken_testing::paths;

use crate::cargo;
use crate::image::Profile;

/// The name by which kubectl finds it.
pub(crate) const NAME: &str = "kubectl-kraken";

/// Where to install it, and how it is built.
#[derive(clap::Args, Debug, Clone)]
pub(crate) struct PluginArgs {
    /// The folder; kubectl finds the plugin if it is on PATH [default: ~/.cargo/bin].
    #[arg(long)]
    to: Option<PathBuf>,
    /// The build profile.
    #[arg(long, value_enum, default_value_t = Profile::Release)]
    profile: Profile,
}

pub(crate) async fn run(args: PluginArgs) -> Result<()> {
    let folder = match args.to {
        Some(folder) => folder,
        None => default_folder()?,
    };
    // As for controllers: a binary is selected, so that the features are those of the whole workspace.
    let mut build = vec!["build", "--workspace", "--bin", NAME];
    build.extend((args.profile == Profile::Release).then_some("--release"));
    if !cargo::run(build).await?.success() {
        bail!("cargo build failed; see the compiler's messages above");
    }
    let built = built(&paths::bin_dir()?, args.profile)?;
    let installed = install(&built, &folder)?;
    println!("installed {}; try: kubectl kraken --help", installed.display());
    let is_found =
        std::env::var_os("PATH").is_some_and(|path| std::env::split_paths(&path).any(|one| one == folder));
    if !is_found {
        println!("{} is not on PATH, so that kubectl does not find it", folder.display());
    }
    Ok(())
}

fn default_folder() -> Result<PathBuf> {
    let of_cargo = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let of_home = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".cargo"));
    let folder =
        of_cargo.or_else(of_home).context("neither CARGO_HOME nor HOME is set: choose a folder with --to")?;
    Ok(folder.join("bin"))
}

/// The binary of a profile: xtask runs from the folder of one of them.
fn built(own: &Path, profile: Profile) -> Result<PathBuf> {
    let target = own.parent().context("the running executable has no folder")?;
    let folder = if profile == Profile::Release { "release" } else { "debug" };
    Ok(target.join(folder).join(NAME))
}

/// Replaces the file as a whole: a running plugin keeps its own.
fn install(built: &Path, folder: &Path) -> Result<PathBuf> {
    let (new, installed) = (folder.join(format!(".{NAME}.new")), folder.join(NAME));
    let write = || {
        fs::create_dir_all(folder)?;
        fs::copy(built, &new)?;
        fs::rename(&new, &installed)
    };
    write().with_context(|| format!("cannot copy {} to {}", built.display(), folder.display()))?;
    Ok(installed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_installed_plugin_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let bin = folder.path().join("bin");
        for text in ["one", "two"] {
            let target = folder.path().join("target");
            let program = built(&target.join("debug"), Profile::Release).unwrap();
            assert!(program.ends_with("target/release/kubectl-kraken"));
            fs::create_dir_all(program.parent().unwrap()).unwrap();
            fs::write(&program, text).unwrap();
            let installed = install(&program, &bin).unwrap();
            assert_eq!(fs::read_to_string(installed).unwrap(), text);
        }
        assert_eq!(fs::read_dir(&bin).unwrap().count(), 1, "no temporary file is left");
    }
}
